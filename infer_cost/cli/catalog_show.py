"""``infer-cost catalog hardware show``: one machine, every figure with its confidence, sources and other readings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from infer_cost.cli.output import bold, gigabytes, wrap
from infer_cost.hardware_specs.types import Accelerator, Machine, Provenance


@dataclass(slots=True)
class Footnotes:
    """Numbers the sources in the order that they are first cited in."""

    numbers: dict[str, int] = field(default_factory=dict)

    def cite(self, origin: Provenance) -> str:
        """Return the marks of an origin: ``[two-sources: 1, 3]``."""
        cited = [f"{text}, read {origin.read}" if origin.read else text for text in origin.source.split("; ")]
        marks = [str(self.numbers.setdefault(text, len(self.numbers) + 1)) for text in cited]
        return f"[{origin.confidence}: {', '.join(marks)}]"


Row = tuple[str, str, Provenance | None]


def show(machine: Machine) -> None:
    """Print one machine: what it has, in which system it comes, what multiplies which format, what it costs."""
    chip, box, notes = machine.accelerator, machine.system, Footnotes()
    print(bold(machine.name) + f"  ({machine.id})")
    kind = ", ".join(filter(None, [chip.vendor, chip.architecture, chip.memory_kind, str(chip.year or "")]))
    if kind:
        print(wrap(kind))
    if chip.status:
        print(wrap(chip.status))
    if chip.aliases:
        print(wrap(f"also called: {', '.join(chip.aliases)}"))
    print()
    _print_rows([*_memory_rows(chip), *_rate_rows(chip), *_link_rows(chip)], notes)
    if box:
        usual = "" if machine.max_gpus else ", the system that it usually comes in"
        print(f"\n{bold(box.name)}  ({box.id}){usual}")
        _print_rows(_box_rows(machine), notes)
    print()
    print(wrap(f"number formats: {', '.join(_multiplied(chip))}"))
    _print_prices(machine, notes)
    if machine.notes or machine.warnings:
        print()
    for remark in machine.notes:
        print(wrap(f"- {remark}", indent=""))
    for warning in machine.warnings:
        print(wrap(f"warning: {warning}", indent=""))
    print("\nSources")
    for text, number in notes.numbers.items():
        print(wrap(f"{number:>3}. {text}", indent=""))


def _memory_rows(chip: Accelerator) -> Iterator[Row]:
    origin = chip.provenance.get
    usable = f"{gigabytes(chip.usable_memory_bytes)} ({chip.usable_memory_bytes / 2**30:,.1f} GiB)"
    yield "memory, as sold", f"{chip.memory_bytes / 1e9:,.6g} GB", origin("memory_bytes")
    yield "memory, usable", usable, origin("usable_memory_bytes")
    yield "memory bandwidth", _exact(chip.memory_bandwidth, "B/s"), origin("memory_bandwidth")


def _rate_rows(chip: Accelerator) -> Iterator[Row]:
    from infer_cost.roofline.roofs import ridge_point

    for precision, rate in chip.peak_flops.items():
        ridge = f"ridge {ridge_point(rate, chip.memory_bandwidth):,.1f}"
        text = f"{_exact(rate, 'FLOP/s')}, {ridge} FLOP/B"
        yield f"{precision}, dense", text, chip.provenance.get(f"peak_flops.{precision}")


def _link_rows(chip: Accelerator) -> Iterator[Row]:
    origin = chip.provenance.get
    if chip.scale_up_bandwidth:
        link = f", {chip.scale_up_link}" if chip.scale_up_link else ""
        yield "scale-up, one way", _exact(chip.scale_up_bandwidth, "B/s") + link, origin("scale_up_bandwidth")
        yield "scale-up domain", f"{chip.scale_up_domain:,}", origin("scale_up_domain")
    for label, name, unit in (
        ("scale-out, one way", "scale_out_bandwidth", "B/s"),
        ("host link, one way", "host_bandwidth", "B/s"),
        ("power", "power_w", "W"),
        ("L2 cache", "l2_bytes", "B"),
    ):
        value = getattr(chip, name)
        if value is not None:
            yield label, _exact(value, unit), origin(name)


def _box_rows(machine: Machine) -> Iterator[Row]:
    box = machine.system
    if box is None:
        return
    origin = box.provenance.get
    yield "accelerators", f"{box.gpus:,}", origin("gpus")
    if box.host_memory_bytes:
        yield "CPU memory", _exact(box.host_memory_bytes, "B"), origin("host_memory_bytes")
    if box.power_w:
        yield "power", f"{box.power_w / 1e3:,.4g} kW", origin("power_w")
    if box.all_in_power_per_gpu_w:
        yield "all-in power, each", f"{box.all_in_power_per_gpu_w:,.0f} W", origin("all_in_power_per_gpu_w")
    if machine.scale_up_bandwidth and machine.scale_out_bandwidth:
        ratio = machine.scale_up_bandwidth / machine.scale_out_bandwidth
        yield "scale-up : scale-out", f"{ratio:,.3g} (each one way, of one accelerator)", None
    if box.price_usd:
        yield "price", f"${box.price_usd:,.0f}", origin("price_usd")


def _exact(value: float, unit: str) -> str:
    """A figure with all the digits that its source has."""
    for size, prefix in ((1e16, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if unit != "W" and value >= size:
            return f"{value / (1e15 if prefix == 'P' else size):,.6g} {prefix}{unit}"
    return f"{value:,.6g} {unit}"


def _print_rows(rows: Iterator[Row] | list[Row], notes: Footnotes) -> None:
    kept = list(rows)
    label_width = max(len(label) for label, _, _ in kept)
    value_width = max(len(value) for _, value, _ in kept)
    for label, value, origin in kept:
        mark = notes.cite(origin) if origin else ""
        print(f"  {label.ljust(label_width)}  {value.ljust(value_width)}  {mark}".rstrip())
        if origin:
            _print_doubts(origin)


def _print_doubts(origin: Provenance) -> None:
    if origin.note:
        print(wrap(origin.note, indent="      "))
    for reading in origin.readings:
        print(wrap(f"contested: {reading}", indent="      "))


def _multiplied(chip: Accelerator) -> Iterator[str]:
    from infer_cost.errors import InputError
    from infer_cost.hardware_specs.formats import number_format
    from infer_cost.hardware_specs.rates import peak_rate

    for key in ("bf16", "fp8", "int8", "int4-g128", "mxfp4", "nvfp4"):
        try:
            _, precision, weight_only = peak_rate(chip, number_format(key))
        except InputError:
            yield f"{key} by no known rate"
        else:
            yield f"{key} as {precision}{' (weight-only)' if weight_only else ''}"


def _print_prices(machine: Machine, notes: Footnotes) -> None:
    if not machine.prices:
        print(wrap("no price an hour is known: give --price-per-gpu-hour"))
        return
    print("\nPrices, $ an hour for one accelerator; the first is the default tier")
    width = max(len(price.tier) for price in machine.prices)
    for price in machine.prices:
        sure = " placeholder" if price.placeholder else ""
        print(f"  {price.tier.ljust(width)}  {price.usd:6.2f}  {notes.cite(price.provenance)}{sure}")
        _print_doubts(price.provenance)
