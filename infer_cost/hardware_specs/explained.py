"""Machines, number formats and prices explained: where each figure was read, and what is worked out from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from infer_cost.hardware_specs.comparison import Comparison, compare
from infer_cost.hardware_specs.readings import price_input, provenance_words
from infer_cost.hardware_specs.types import GpuHourPrice, Machine, NumberFormat, Provenance
from infer_cost.steps import Chain, Input, Step

if TYPE_CHECKING:
    from infer_cost.hardware_specs.infrastructure import Figure

UNITS = {
    "memory_bytes": "B",
    "usable_memory_bytes": "B",
    "memory_bandwidth": "B/s",
    "scale_up_bandwidth": "B/s",
    "scale_up_domain": "GPU",
    "scale_out_bandwidth": "B/s",
    "host_bandwidth": "B/s",
    "host_memory_bytes": "B",
    "power_w": "W",
    "all_in_power_per_gpu_w": "W",
    "l2_bytes": "B",
    "gpus": "GPU",
    "price_usd": "USD",
}
"""Units of a datasheet's fields, the rates apart."""


def machine_chain(machine: Machine) -> Chain:
    """Return every figure of a machine with its source, and the formulas of those that follow from others.

    Parameters
    ----------
    machine : Machine
        Its default price tier is taken

    Returns
    -------
    Chain
        Its steps have the values of :func:`infer_cost.hardware_specs.comparison.compare`

    Examples
    --------
    >>> from infer_cost.hardware_specs import hardware
    >>> chain = machine_chain(hardware("h100-sxm"))
    >>> [step.name for step in chain.steps if step.formula][:2], round(chain.steps[0].value)
    (['ridge fp32', 'ridge tf32'], 20)
    """
    row = compare(machine)
    inputs = [*_figures(machine), *([price_input(machine.prices[0])] if machine.prices else [])]
    return Chain(
        machine.id, (*_totals(row), *_ridges(row), *_links(row), *_paid(row), *_drawn(machine, row)), (*inputs,)
    )


def _figures(machine: Machine) -> Iterator[Input]:
    chip, box = machine.accelerator, machine.system
    for owner, prefix in ((chip, ""), (box, "system.")):
        if owner is None:
            continue
        for field, origin in owner.provenance.items():
            kind, _, precision = field.partition(".")
            value = chip.peak_flops.get(precision) if kind == "peak_flops" else getattr(owner, field, None)
            if isinstance(value, int | float):
                yield Input(f"{prefix}{field}", float(value), UNITS.get(field, "FLOP/s"), _words(origin))


def _words(origin: Provenance) -> str:
    """Source, date and confidence, with what else was read."""
    doubts = [*([origin.note] if origin.note else []), *(f"contested: {reading}" for reading in origin.readings)]
    return "; ".join([provenance_words(origin), *doubts])


def _totals(row: Comparison) -> Iterator[Step]:
    """What a system has in all; an accelerator's own figures are inputs."""
    found = row.summary
    if found.gpus == 1:
        return
    yield Step("memory", f"{found.gpus:,} · memory_bytes", found.memory_bytes, "B")
    yield Step("memory that processes see", f"{found.gpus:,} · usable_memory_bytes", found.usable_memory_bytes, "B")
    yield Step("bandwidth", f"{found.gpus:,} · memory_bandwidth", found.memory_bandwidth, "B/s")
    for precision, rate in found.peak_flops.items():
        yield Step(precision, f"{found.gpus:,} · peak_flops.{precision}", rate, "FLOP/s")


def _ridges(row: Comparison) -> Iterator[Step]:
    for precision, ridge in row.ridge_flop_per_byte.items():
        yield Step(f"ridge {precision}", "I = C / BW", ridge, "FLOP/B", (), "ridge_point")


def _links(row: Comparison) -> Iterator[Step]:
    if row.summary.scale_up_over_scale_out:
        ratio = row.summary.scale_up_over_scale_out
        yield Step("scale-up over scale-out", "scale_up_bandwidth / scale_out_bandwidth, one way", ratio, "ratio")


def _paid(row: Comparison) -> Iterator[Step]:
    found = row.summary
    if found.price_usd_per_hour is None or row.usd_per_hour_per_tbs is None or row.usd_per_hour_per_100_gb is None:
        return
    if found.gpus > 1:
        yield Step("price", f"{found.gpus:,} · price_per_gpu_hour", found.price_usd_per_hour, "USD/h")
    yield from _by_precision("$/h per PFLOP/s", "price / C", row.usd_per_hour_per_pflops, "USD/h/(PFLOP/s)")
    yield Step("$/h per TB/s", "price / BW", row.usd_per_hour_per_tbs, "USD/h/(TB/s)")
    yield Step("$/h per 100 GB", "price / memory · 100 GB", row.usd_per_hour_per_100_gb, "USD/h")


def _drawn(machine: Machine, row: Comparison) -> Iterator[Step]:
    if row.all_in_power_w is None:
        return
    box = machine.system
    how = "power_w of the accelerator, nothing else known"
    if box is not None and box.power_w:
        how = f"system.power_w / {box.gpus:,} · accelerators"
    elif box is not None and box.all_in_power_per_gpu_w:
        how = "system.all_in_power_per_gpu_w without the building · accelerators"
    yield Step("power with its share of the box", how, row.all_in_power_w, "W")
    yield from _by_precision("W per PFLOP/s", "power with its share / C", row.watts_per_pflops, "W/(PFLOP/s)")


def _by_precision(name: str, equation: str, values: Mapping[str, float], unit: str) -> Iterator[Step]:
    for precision, value in values.items():
        yield Step(f"{name} {precision}", equation, value, unit)


def format_chain(one: NumberFormat) -> Chain:
    """Return how many bits a weight takes in a format, its block's scale included.

    >>> from infer_cost.hardware_specs.formats import number_format
    >>> format_chain(number_format("nvfp4")).steps[-1].value
    4.5
    """
    source = _words(one.provenance)
    inputs = (
        Input("bits", one.bits, "bit", source),
        Input("scale_bits", one.scale_bits, "bit", source),
        Input("block_size", float(one.block_size), "ratio", source),
    )
    equation = "bits + scale_bits / block_size"
    step = Step("bits a weight", equation, one.bits_per_weight, "bit", inputs, "bits_per_weight")
    return Chain(one.id, (step,))


def prices_chain(name: str, prices: Iterable[GpuHourPrice]) -> Chain:
    """Return the prices of an accelerator's hour by tier, each with its source; the first is the default."""
    return Chain(f"{name}, an hour of one", (), tuple(price_input(price) for price in prices))


def figures_chain(section: str, rows: Mapping[str, Figure]) -> Chain:
    """Return the figures of a section with their sources; where only a range is known, both of its ends."""
    return Chain(section, (), tuple(item for row in rows.values() for item in _readings(row)))


def _readings(row: Figure) -> Iterator[Input]:
    source = f"{row.name}; {_words(row.provenance)}"
    for suffix, value in (("", row.value), (", low", row.low), (", high", row.high)):
        if value is not None:
            yield Input(f"{row.id}{suffix}", value, row.unit, source)
