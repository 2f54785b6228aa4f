"""Machines as rows: what a list of the catalog shows, filters and sorts by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.bundled import accelerator, accelerator_ids, system_ids
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.types import Machine, Provenance
from infer_cost.roofline.roofs import ridge_point

WIDE = ("bf16", "fp16")
"""Precisions that ridge points and prices per FLOP refer to, best first."""


@dataclass(frozen=True, slots=True)
class SourcedField:
    """A field's provenance as a list prints it."""

    field: str
    source: str
    read: str
    confidence: str
    note: str
    readings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One machine as a row. A system's memory, bandwidth and rates are those of all its accelerators together."""

    id: str
    name: str
    vendor: str
    architecture: str
    year: int | None
    status: str
    gpus: int
    memory_bytes: float
    usable_memory_bytes: float
    memory_bandwidth: float
    peak_flops: Mapping[str, float]
    ridge_flop_per_byte: float | None
    """In 16 bits."""
    scale_up_bandwidth: float | None
    scale_up_domain: int
    scale_out_bandwidth: float | None
    host_bandwidth: float | None
    scale_up_over_scale_out: float | None
    """Both one way and of one accelerator."""
    power_w: float | None
    """Of one accelerator, or of the whole system."""
    price_usd_per_hour: float | None
    price_tier: str | None
    sources: tuple[SourcedField, ...]
    unverified: tuple[str, ...]
    notes: tuple[str, ...]


def summary(machine: Machine) -> Summary:
    """Return a machine as a row.

    >>> from infer_cost.hardware_specs import hardware
    >>> row = summary(hardware("h100-sxm"))
    >>> round(row.ridge_flop_per_byte), row.scale_up_over_scale_out, row.price_tier
    (295, 9.0, 'neocloud-tco')
    """
    chip, box = machine.accelerator, machine.system if machine.max_gpus else None
    gpus = machine.max_gpus or 1
    wide = next((chip.peak_flops[p] for p in WIDE if p in chip.peak_flops), None)
    price = machine.prices[0] if machine.prices else None
    origins = {**chip.provenance, **({f"system.{k}": v for k, v in box.provenance.items()} if box else {})}
    up, out = machine.scale_up_bandwidth, machine.scale_out_bandwidth
    return Summary(
        id=machine.id,
        name=machine.name,
        vendor=chip.vendor,
        architecture=chip.architecture,
        year=chip.year,
        status=box.status if box else chip.status,
        gpus=gpus,
        memory_bytes=chip.memory_bytes * gpus,
        usable_memory_bytes=chip.usable_memory_bytes * gpus,
        memory_bandwidth=chip.memory_bandwidth * gpus,
        peak_flops={precision: rate * gpus for precision, rate in chip.peak_flops.items()},
        ridge_flop_per_byte=ridge_point(wide, chip.memory_bandwidth) if wide else None,
        scale_up_bandwidth=up,
        scale_up_domain=machine.scale_up_domain,
        scale_out_bandwidth=out,
        host_bandwidth=machine.host_bandwidth,
        scale_up_over_scale_out=up / out if up and out else None,
        power_w=(box.power_w if box else chip.power_w),
        price_usd_per_hour=price.usd * gpus if price else None,
        price_tier=price.tier if price else None,
        sources=tuple(_sourced(name, origin) for name, origin in origins.items()),
        unverified=tuple(name for name, origin in origins.items() if origin.confidence == "recalled"),
        notes=machine.notes,
    )


def accelerator_summaries(vendor: str | None = None, min_memory_bytes: float = 0.0) -> list[Summary]:
    """Return the accelerators of a vendor with at least so much memory, all by default, by vendor and year.

    >>> [row.id for row in accelerator_summaries("Google", 100e9)]
    ['tpu-v7']
    """
    wanted = _vendor(vendor)
    chosen = [key for key in accelerator_ids() if wanted in (None, accelerator(key).vendor)]
    rows = [summary(hardware(key)) for key in chosen]
    return [row for row in rows if row.memory_bytes >= min_memory_bytes]


def system_summaries(vendor: str | None = None, min_memory_bytes: float = 0.0) -> list[Summary]:
    """Return the systems of a vendor with at least so much memory in all."""
    wanted = _vendor(vendor)
    rows = [summary(hardware(key)) for key in system_ids()]
    return [row for row in rows if wanted in (None, row.vendor) and row.memory_bytes >= min_memory_bytes]


def column(row: Summary, name: str) -> float | str | None:
    """Return what a row has in a column: a field, or the rate of a precision.

    >>> from infer_cost.hardware_specs import hardware
    >>> column(summary(hardware("h100-sxm")), "fp8")
    1978900000000000.0
    """
    if name in row.peak_flops:
        return row.peak_flops[name]
    value = getattr(row, COLUMNS.get(name, name), None)
    return value if isinstance(value, float | int | str) else None


COLUMNS = {
    "id": "id",
    "name": "name",
    "vendor": "vendor",
    "architecture": "architecture",
    "year": "year",
    "gpus": "gpus",
    "memory": "memory_bytes",
    "usable": "usable_memory_bytes",
    "bandwidth": "memory_bandwidth",
    "ridge": "ridge_flop_per_byte",
    "scale-up": "scale_up_bandwidth",
    "domain": "scale_up_domain",
    "scale-out": "scale_out_bandwidth",
    "host": "host_bandwidth",
    "power": "power_w",
    "price": "price_usd_per_hour",
}
"""Columns by the name that ``--sort`` knows them by; the precisions are columns too."""
PRECISION_COLUMNS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4")


def sort_rows(rows: Iterable[Summary], by: str) -> list[Summary]:
    """Sort rows by a column, the greatest number or first letter first; rows without a value stand last.

    A minus before the column turns the order around.

    >>> [row.id for row in sort_rows(accelerator_summaries("Google"), "bf16")][:2]
    ['tpu-v7', 'tpu-v6e']
    """
    # What --json and --csv call a column will do as well.
    name, backwards = by.removeprefix("-").removeprefix("peak_flops_"), by.startswith("-")
    if name not in (*COLUMNS, *COLUMNS.values(), *PRECISION_COLUMNS):
        raise unknown_name("column", name, [*COLUMNS, *PRECISION_COLUMNS], field="sort", hint=_known_columns())
    filled = [(value, row) for row in rows if (value := column(row, name)) is not None]
    filled_ids = {row.id for _, row in filled}
    numeric = all(not isinstance(value, str) for value, _ in filled)
    ordered = sorted(filled, key=lambda pair: pair[0], reverse=numeric != backwards)
    return [row for _, row in ordered] + [row for row in rows if row.id not in filled_ids]


def _known_columns() -> str:
    return f"columns: {', '.join([*COLUMNS, *PRECISION_COLUMNS])}"


def _vendor(name: str | None) -> str | None:
    if name is None:
        return None
    vendors = sorted({accelerator(key).vendor for key in accelerator_ids()})
    found = [vendor for vendor in vendors if vendor.lower() == name.strip().lower()]
    if not found:
        raise InputError(f"no machine of vendor {name!r}", field="vendor", value=name, allowed=", ".join(vendors))
    return found[0]


def _sourced(name: str, origin: Provenance) -> SourcedField:
    return SourcedField(name, origin.source, origin.read, origin.confidence, origin.note, origin.readings)
