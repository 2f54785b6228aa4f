"""The bundled machines by name: accelerators, the systems they come in, and their prices."""

from __future__ import annotations

from functools import cache
from typing import Any

from infer_cost.errors import UnknownNameError, join_names, shorten, unknown_name
from infer_cost.hardware_specs.names import normalise
from infer_cost.hardware_specs.store import compiled, provenance
from infer_cost.hardware_specs.types import Accelerator, GpuHourPrice, Machine, Provenance, System

_BOX = 8
"""Cards without a link of their own sit in servers of up to eight."""

_BUILDING = 1.25
"""Share of the building in an all-in power figure: the default power usage effectiveness."""


def machine(name: str) -> Machine:
    """Return the bundled machine that ``name`` is a spelling of.

    >>> machine("H100").accelerator.memory_bandwidth
    3350000000000.0
    """
    return _machine(resolve(name))


def resolve(name: str) -> str:
    """Return the id of the accelerator or system that ``name`` is a spelling of.

    >>> resolve("NVIDIA GeForce RTX 4090")
    'rtx-4090'
    """
    names = compiled("catalog")["names"]
    found = names.get(normalise(name))
    if isinstance(found, str):
        return found
    if found:
        raise UnknownNameError(
            f"{shorten(name)!r} is the name of several machines",
            field="hardware",
            value=name,
            allowed=join_names(found),
            hint="say which",
        )
    raise unknown_name(
        "hardware",
        name,
        [*accelerator_ids(), *system_ids()],
        field="hardware",
        hint="`infer-cost catalog hardware` lists all; a TOML file describes your own",
    )


def accelerator_ids() -> tuple[str, ...]:
    """Return the ids of all bundled accelerators, in the order of vendor and year."""
    return tuple(compiled("catalog")["accelerators"])


def system_ids() -> tuple[str, ...]:
    """Return the ids of all bundled systems."""
    return tuple(compiled("catalog")["systems"])


@cache
def accelerator(key: str) -> Accelerator:
    """Return the bundled accelerator with this id.

    >>> accelerator("h200-sxm").memory_bytes
    141000000000.0
    """
    row = _row("accelerators", key)
    values, origins = _values(row)
    domain = values.pop("scale_up_domain", 1)
    peaks = {name[11:]: values.pop(name) for name in list(values) if name.startswith("peak_flops.")}
    return Accelerator(
        id=key,
        name=row["name"],
        vendor=row["vendor"],
        architecture=row["architecture"],
        peak_flops=peaks,
        scale_up_domain=int(domain),
        year=row["year"],
        aliases=tuple(row["aliases"]),
        provenance=origins,
        notes=tuple(row["notes"]),
        system=row["system"],
        memory_kind=row["memory_kind"],
        scale_up_link=row["scale_up_link"],
        status=row["status"],
        **values,
    )


@cache
def system(key: str) -> System:
    """Return the bundled system with this id.

    >>> system("gb200-nvl72").gpus
    72
    """
    row = _row("systems", key)
    values, origins = _values(row)
    return System(
        id=key,
        name=row["name"],
        accelerator=row["accelerator"],
        gpus=int(values.pop("gpus")),
        aliases=tuple(row["aliases"]),
        provenance=origins,
        notes=tuple(row["notes"]),
        status=row["status"],
        **values,
    )


@cache
def prices(key: str) -> tuple[GpuHourPrice, ...]:
    """Return what one accelerator costs an hour, tier by tier, the default tier first.

    >>> [(price.tier, price.usd) for price in prices("h100-sxm")][0]
    ('neocloud-tco', 1.69)
    """
    catalog = compiled("catalog")
    rows = [
        GpuHourPrice(tier, usd, provenance(origin, catalog["sources"]), placeholder)
        for tier, usd, placeholder, origin in catalog["gpu_hours"].get(key, ())
    ]
    return tuple(sorted(rows, key=lambda price: price.tier != "neocloud-tco"))


def build_machine(chip: Accelerator, box: System | None, *, limited: bool, rates: tuple[GpuHourPrice, ...]) -> Machine:
    """Put an accelerator into its system: what the system doesn't say of itself is the accelerator's own.

    Cards without a link of their own talk over PCIe inside a server of eight; this is said in the notes.
    """
    notes = [*chip.notes, *(box.notes if box else ())]
    up, domain = chip.scale_up_bandwidth, chip.scale_up_domain
    out = chip.scale_out_bandwidth
    host = chip.host_bandwidth
    power = chip.power_w
    if box:
        up = box.scale_up_bandwidth or up
        out = box.scale_out_bandwidth or out
        host = box.host_bandwidth or host
        domain = box.gpus
        power = _power_per_gpu(box) or power
    if up is None and host is not None:
        up, domain = host, _BOX
        notes.append(f"no link of its own: traffic between cards takes the host link, in a server of {_BOX}")
    return Machine(
        id=box.id if box and limited else chip.id,
        name=box.name if box and limited else chip.name,
        accelerator=chip,
        scale_up_bandwidth=up,
        scale_up_domain=domain,
        scale_out_bandwidth=out,
        host_bandwidth=host,
        max_gpus=box.gpus if box and limited else None,
        power_per_gpu_w=power,
        prices=rates,
        system=box,
        notes=tuple(notes),
    )


def _power_per_gpu(box: System) -> float | None:
    if box.power_w:
        return box.power_w / box.gpus
    return box.all_in_power_per_gpu_w and box.all_in_power_per_gpu_w / _BUILDING


@cache
def _machine(key: str) -> Machine:
    if key in compiled("catalog")["systems"]:
        box = system(key)
        return build_machine(accelerator(box.accelerator), box, limited=True, rates=prices(box.accelerator))
    chip = accelerator(key)
    return build_machine(chip, system(chip.system) if chip.system else None, limited=False, rates=prices(key))


def _row(table: str, key: str) -> dict[str, Any]:
    rows = compiled("catalog")[table]
    if key not in rows:
        raise unknown_name(table[:-1], key, rows, field="hardware")
    row: dict[str, Any] = rows[key]
    return row


def _values(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Provenance]]:
    sources = compiled("catalog")["sources"]
    values = {name: value for name, (value, _) in row["values"].items()}
    return values, {name: provenance(origin, sources) for name, (_, origin) in row["values"].items()}
