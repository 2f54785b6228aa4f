"""``infer-cost catalog hardware``: list, filter and sort machines, show one with its sources, start your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import Sources
from infer_cost.cli.output import emit_json, table, three_digits, wrap
from infer_cost.errors import InputError

if TYPE_CHECKING:
    from infer_cost.hardware_specs.summary import Summary
    from infer_cost.hardware_specs.types import Machine
    from infer_cost.steps import Chain


def wanted(action: str | None, name: str | None) -> str | None:
    """Return the name after ``show``, or None for a list."""
    if action is None:
        return None
    if action == "show" and name is None:
        raise InputError("show needs a name", field="name", allowed="show NAME; without show all are listed")
    if action != "show":
        raise InputError(f"don't know {action!r}", field="action", value=action, allowed="show NAME, or nothing")
    return name


def command(
    action: Annotated[str | None, typer.Argument(metavar="[show NAME]", help="Show one instead of all.")] = None,
    name: Annotated[str | None, typer.Argument(hidden=True)] = None,
    vendor: Annotated[str | None, typer.Option(help="Only machines of this vendor.")] = None,
    min_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help='Only with at least so much memory, such as "80 GB".')
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sort by a column, greatest first; -COLUMN turns it.")
    ] = None,
    explain: Sources = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated, in base units.")] = False,
    template: Annotated[bool, typer.Option("--template", help="Print a file to describe your own machine.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of such a file.")] = False,
) -> None:
    """Accelerators and the systems they come in: memory, bandwidth, dense rates, links, power, price.

    Example: infer-cost catalog hardware show b200-sxm
    """
    from infer_cost.cli.explanation import emit_explained, print_chains
    from infer_cost.hardware_specs.catalog import hardware
    from infer_cost.hardware_specs.quantities import FIELDS
    from infer_cost.hardware_specs.summary import accelerator_summaries, sort_rows, summary, system_summaries

    if template or schema:
        _print_own(template, as_json)
        return
    one = wanted(action, name)
    if one is not None:
        machine = hardware(one)
        if as_json:
            emit_explained(summary(machine), _chains([machine]) if explain else None)
        else:
            from infer_cost.cli.catalog_show import show

            show(machine)
            if explain:
                # The figures themselves stand above, each with its sources.
                print_chains([replace(chain, inputs=()) for chain in _chains([machine])], "What follows from them")
        return
    least = FIELDS["memory"].read(min_memory, field="min_memory") if min_memory else 0.0
    chips, boxes = accelerator_summaries(vendor, least), system_summaries(vendor, least)
    if sort:
        chips, boxes = sort_rows(chips, sort), sort_rows(boxes, sort)
    told = _chains([hardware(row.id) for row in (*chips, *boxes)]) if explain and not as_csv else None
    if as_json:
        emit_explained({"accelerators": chips, "systems": boxes}, told)
    elif as_csv:
        print_csv([*chips, *boxes])
    else:
        _print_list(chips, boxes)
        if told:
            print_chains(told)


def _chains(machines: Sequence[Machine]) -> list[Chain]:
    from infer_cost.hardware_specs.explained import machine_chain

    return [machine_chain(machine) for machine in machines]


def _print_own(template: bool, as_json: bool) -> None:
    from infer_cost.hardware_specs.user import TEMPLATE, json_schema

    if template and as_json:
        emit_json({"template": TEMPLATE})
    elif template:
        print(TEMPLATE, end="")
    else:
        emit_json(json_schema())


_RATES = ("bf16", "fp8", "int8", "fp4")


def _print_list(chips: list[Summary], boxes: list[Summary]) -> None:
    if chips:
        header = ["accelerator", "vendor", "year", "GB", "TB/s", *_RATES, "ridge", "W", "$/h"]
        print(table([*header], [_list_row(row) for row in chips], left=(0, 1)))
    if boxes:
        print()
        header = ["system", "vendor", "GPUs", "TB", "TB/s", "PF bf16", "fp8", "fp4", "kW", "up:out", "$/h"]
        print(table(header, [_system_row(row) for row in boxes], left=(0, 1)))
    if not chips and not boxes:
        print("no machine is like that")
        return
    print()
    legend = (
        "Memory in decimal GB as it is sold, bandwidth one way, rates in dense TFLOP/s (fp16 where there is no bf16), "
        "ridge in FLOP/byte at 16 bits, price of the default tier. * is recalled and unverified, ~ derived. "
        "up:out is scale-up over scale-out bandwidth of one accelerator. Show one with its sources: "
        "infer-cost catalog hardware show NAME"
    )
    print(wrap(legend, indent=""))


def _list_row(row: Summary) -> list[str]:
    marks = {item.field: _MARKS.get(item.confidence, "") for item in row.sources}
    cells = [row.id, row.vendor, str(row.year or "-"), _number(row.memory_bytes, 1e9) + marks.get("memory_bytes", "")]
    cells.append(_number(row.memory_bandwidth, 1e12) + marks.get("memory_bandwidth", ""))
    for precision in _RATES:
        key = "fp16" if precision == "bf16" and "bf16" not in row.peak_flops else precision
        cells.append(_number(row.peak_flops.get(key), 1e12) + marks.get(f"peak_flops.{key}", ""))
    price = "-" if row.price_usd_per_hour is None else f"{row.price_usd_per_hour:.2f}"
    return [*cells, _number(row.ridge_flop_per_byte, 1), _number(row.power_w, 1) + marks.get("power_w", ""), price]


def _system_row(row: Summary) -> list[str]:
    rates = [_number(row.peak_flops.get(precision), 1e15) for precision in ("bf16", "fp8", "fp4")]
    marks = {item.field: _MARKS.get(item.confidence, "") for item in row.sources}
    power = _number(row.power_w, 1e3) + (marks.get("system.power_w", "") if row.power_w else "")
    ratio = _number(row.scale_up_over_scale_out, 1)
    price = "-" if row.price_usd_per_hour is None else f"{row.price_usd_per_hour:,.2f}"
    memory = [_number(row.memory_bytes, 1e12), _number(row.memory_bandwidth, 1e12)]
    return [row.id, row.vendor, f"{row.gpus:,}", *memory, *rates, power, ratio, price]


_MARKS = {"recalled": "*", "derived": "~"}


def _number(value: float | None, unit: float) -> str:
    if value is None:
        return "-"
    text = three_digits(value / unit)
    return text.rstrip("0").rstrip(".") if "." in text else text


def print_csv(rows: list[Summary]) -> None:
    """Print rows as CSV in base units, one column a precision."""
    import csv
    import sys

    from infer_cost.hardware_specs.summary import COLUMNS, PRECISION_COLUMNS

    fields = list(COLUMNS.values())
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*fields, "price_tier", *(f"peak_flops_{p}" for p in PRECISION_COLUMNS), "unverified"])
    for row in rows:
        cells: list[Any] = [getattr(row, field) for field in fields]
        writer.writerow(
            [*cells, row.price_tier, *(row.peak_flops.get(p) for p in PRECISION_COLUMNS), " ".join(row.unverified)]
        )
