"""Figures around the machines: links, NICs, switches, optics, latencies, purchase, power and offload tiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from infer_cost.errors import unknown_name
from infer_cost.hardware_specs.store import compiled, provenance
from infer_cost.hardware_specs.types import Provenance


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its range, in the unit of its section."""

    id: str
    name: str
    value: float | None
    """None where only a range is known."""
    unit: str
    low: float | None
    high: float | None
    provenance: Provenance


@cache
def figures(section: str) -> Mapping[str, Figure]:
    """Return the figures of a section by id.

    Parameters
    ----------
    section : str
        ``links``, ``nics``, ``switches``, ``offload_bandwidth`` [B/s one way], ``latencies`` [s],
        ``switch_prices``, ``optics_prices``, ``purchase`` [USD], ``optics_power`` [W], ``depreciation`` [years],
        ``electricity`` [USD/kWh], ``colocation`` [USD/kW/month], ``pue`` [-], ``offload_price`` [USD/GB].

    Returns
    -------
    mapping of str to Figure

    Raises
    ------
    UnknownNameError
        There is no such section.

    Examples
    --------
    >>> figures("links")["nvlink5"].value
    900000000000.0
    >>> figures("pue")["default"].value
    1.25
    """
    content = compiled("infrastructure")
    if section not in content["sections"]:
        raise unknown_name("section of figures", section, content["sections"], field="section")
    table = content["sections"][section]
    return {
        key: Figure(key, name, value, table["unit"], low, high, provenance(origin, content["sources"]))
        for key, (name, value, low, high, origin) in table["rows"].items()
    }


def figure(section: str, key: str) -> Figure:
    """Return one figure of a section.

    >>> figure("depreciation", "default").value
    5.0
    """
    rows = figures(section)
    if key not in rows:
        raise unknown_name(f"figure of {section}", key, rows, field=section)
    return rows[key]


def sections() -> tuple[str, ...]:
    """Return the names of all sections."""
    return tuple(compiled("infrastructure")["sections"])
