"""How ``infer-cost catalog`` prints number formats and prices."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from infer_cost.cli.explanation import emit_explained, print_chains
from infer_cost.cli.output import bold, table, wrap

if TYPE_CHECKING:
    from infer_cost.hardware_specs.types import GpuHourPrice, NumberFormat, Provenance
    from infer_cost.steps import Chain


def list_formats(formats: Sequence[NumberFormat], as_json: bool, as_csv: bool, explain: bool) -> None:
    """Print all number formats."""
    told = _format_chains(formats) if explain else None
    if as_json:
        emit_explained({"formats": formats}, told)
        return
    header = ["format", "bits", "scale bits", "block", "bits/weight", "multiplied as"]
    rows = [
        [
            f.id,
            f"{f.bits:g}",
            f"{f.scale_bits:g}",
            f"{f.block_size:,}",
            f"{f.bits_per_weight:.6g}",
            ", ".join(f.compute),
        ]
        for f in formats
    ]
    _print(header, rows, as_csv, left=(0, 5))
    if told and not as_csv:
        print_chains(told)


def _format_chains(formats: Sequence[NumberFormat]) -> list[Chain]:
    from infer_cost.hardware_specs.explained import format_chain

    return [format_chain(one) for one in formats]


def show_format(one: NumberFormat, as_json: bool, explain: bool) -> None:
    """Print one number format with its source."""
    told = _format_chains([one]) if explain else None
    if as_json:
        emit_explained(one, told)
        return
    print(bold(one.name) + f"  ({one.id})")
    scale = f" + {one.scale_bits:g}/{one.block_size:,}" if one.scale_bits else ""
    print(f"  {one.bits:g}{scale} = {one.bits_per_weight:.6g} bits a weight")
    print(wrap(f"multiplied as {', '.join(one.compute)}, the first that the chip has"))
    if one.aliases:
        print(wrap(f"also called: {', '.join(one.aliases)}"))
    _print_origin(one.provenance)
    if told:
        print_chains(told)


def list_prices(as_json: bool, as_csv: bool, explain: bool) -> None:
    """Print what every accelerator costs an hour, tier by tier."""
    from infer_cost.hardware_specs.bundled import accelerator_ids, prices
    from infer_cost.hardware_specs.explained import figures_chain, prices_chain
    from infer_cost.hardware_specs.infrastructure import figures, sections

    priced = {key: prices(key) for key in accelerator_ids() if prices(key)}
    told = [prices_chain(key, tiers) for key, tiers in priced.items()] if explain else None
    if as_json:
        beside = {name: figures(name) for name in sections()}
        also = None if told is None else [*told, *(figures_chain(name, rows) for name, rows in beside.items())]
        emit_explained({"gpu_hours": priced, "figures": beside}, also)
        return
    rows = [[key, price.tier, f"{price.usd:.2f}", _remark(price)] for key, tiers in priced.items() for price in tiers]
    _print(["accelerator", "tier", "$/h", "remark"], rows, as_csv, left=(0, 1, 3))
    if not as_csv:
        print()
        text = "The first tier of each is its default. Purchase and power: infer-cost catalog prices show purchase"
        print(wrap(text, indent=""))
        if told:
            print_chains(told, "Where they were read")


def show_prices(name: str, as_json: bool, explain: bool) -> None:
    """Print the prices of one accelerator, or one section of figures, with their sources."""
    from infer_cost.hardware_specs.explained import figures_chain, prices_chain
    from infer_cost.hardware_specs.infrastructure import figures, sections

    if name in sections():
        rows = figures(name)
        _show_figures(rows, as_json, [figures_chain(name, rows)] if explain else None)
        return
    from infer_cost.hardware_specs.catalog import hardware

    machine = hardware(name)
    if as_json:
        told = [prices_chain(machine.id, machine.prices)] if explain else None
        emit_explained({"id": machine.id, "gpu_hours": machine.prices}, told)
        return
    print(bold(machine.name))
    for price in machine.prices:
        print(f"  {price.tier}  ${price.usd:.2f} an hour{' (placeholder)' if price.placeholder else ''}")
        _print_origin(price.provenance)
    if not machine.prices:
        print(wrap(f"no price an hour is known; other figures: {', '.join(sections())}"))


def _show_figures(rows: Any, as_json: bool, told: list[Chain] | None) -> None:
    if as_json:
        emit_explained(rows, told)
        return
    for row in rows.values():
        print(f"  {row.id}: {row.name}")
        spread = f"{row.low:,.6g} to {row.high:,.6g}" if row.low is not None and row.high is not None else ""
        value = f"{row.value:,.6g}" if row.value is not None else ""
        print(f"      {'; '.join(filter(None, [value, spread]))} {row.unit} [{row.provenance.confidence}]")
        _print_origin(row.provenance)


def _remark(price: GpuHourPrice) -> str:
    text = "placeholder" if price.placeholder else price.provenance.note
    return text if len(text) <= 45 else text[:44] + "…"


def _print_origin(origin: Provenance) -> None:
    print(wrap(f"{origin.source}, read {origin.read} [{origin.confidence}]", indent="      "))
    if origin.note:
        print(wrap(f"note: {origin.note}", indent="      "))
    for reading in origin.readings:
        print(wrap(f"contested: {reading}", indent="      "))


def _print(header: list[str], rows: list[list[str]], as_csv: bool, left: tuple[int, ...]) -> None:
    if as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
    else:
        print(table(header, rows, left=left))
