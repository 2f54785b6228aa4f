"""Assumptions about ownership, each with its range and source: the hardware catalog's, and a few of this room's."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.infrastructure import Figure, figure, figures
from infer_cost.hardware_specs.types import Machine, Provenance

_CATALOG = {
    "years": ("depreciation", "default"),
    "pue": ("pue", "default"),
    "usd_per_kwh": ("electricity", "default"),
    "facility_usd_per_kw_month": ("colocation", "default"),
}


@cache
def default(name: str) -> Figure:
    """Return one assumption by the name of the option that replaces it.

    >>> default("pue").value, default("network_share").value
    (1.25, 0.15)
    """
    if name in _CATALOG:
        return figure(*_CATALOG[name])
    rows = _own()
    if name not in rows:
        raise unknown_name("assumption", name, [*_CATALOG, *rows], field="assumption")
    return rows[name]


def value_of(name: str) -> float:
    """Return an assumption's value.

    >>> value_of("years")
    5.0
    """
    value = default(name).value
    assert value is not None
    return value


def purchase(machine: Machine) -> Figure:
    """Return the price of one GPU with its share of the server [USD].

    The system's price over its GPUs where that was read; otherwise the bare accelerator's times a server factor.

    Raises
    ------
    InputError
        If no price is known.

    Examples
    --------
    >>> from infer_cost.hardware_specs.catalog import hardware
    >>> purchase(hardware("h100-sxm")).value
    33625.0
    """
    system = machine.system
    if system is not None and system.price_usd:
        read = system.provenance.get("price_usd", Provenance(""))
        each = system.price_usd / system.gpus
        return Figure("system", f"{system.name}, one of {system.gpus} GPUs", each, "USD", None, None, read)
    bare = figures("purchase").get(machine.accelerator.id)
    if bare is None or bare.value is None:
        raise InputError(
            f"no purchase price of {machine.id} is known",
            field="purchase_price",
            hint="give --purchase-price, for one GPU with its share of the server",
        )
    factor = value_of("server_factor")
    low, high = (None if edge is None else edge * factor for edge in (bare.low, bare.high))
    return Figure("bare", f"{bare.name} with its server", bare.value * factor, "USD", low, high, bare.provenance)


@cache
def _own() -> Mapping[str, Figure]:
    text = (Path(__file__).parent / "data" / "defaults.toml").read_text("utf-8")
    return {
        key: Figure(
            key,
            key.replace("_", " "),
            row["value"],
            row["unit"],
            row["low"],
            row["high"],
            Provenance(row["source"], str(row["read"]), row["confidence"], row.get("note", "")),
        )
        for key, row in tomllib.loads(text).items()
    }
