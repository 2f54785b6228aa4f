"""How ``infer-cost compare`` prints: one column a name, blocks of columns as wide as the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from infer_cost.cli.explanation import emit_explained
from infer_cost.cli.output import bold, dollars, seconds, table, three_digits, width, wrap
from infer_cost.errors import CannotBeMetError

if TYPE_CHECKING:
    from infer_cost.hardware_specs.comparison import Comparison
    from infer_cost.serving.estimate import Estimate
    from infer_cost.serving.ranges import Range
    from infer_cost.steps import Chain

Column = Any
Line = tuple[str, Callable[[Any], str]]


def print_json(
    kind: str,
    names: Sequence[str],
    sheets: Sequence[Comparison],
    columns: Sequence[Column],
    told: Sequence[Chain] | None,
) -> None:
    """Print one JSON document."""
    rows = []
    for place, name in enumerate(names):
        row: dict[str, Any] = {"name": name}
        if sheets:
            row["datasheet"] = sheets[place]
        if columns:
            answer = columns[place]
            unmet = isinstance(answer, CannotBeMetError)
            row["estimate"] = None if unmet else answer
            row["cannot_be_met"] = str(answer) if unmet else None
        rows.append(row)
    emit_explained({"kind": "number format" if kind == "weights" else kind, "compared": rows}, told)


def print_tables(kind: str, names: Sequence[str], sheets: Sequence[Comparison], columns: Sequence[Column]) -> None:
    """Print what the datasheets say, then what the workload does."""
    if sheets:
        _print_block([sheet.summary.id for sheet in sheets], sheets, _sheet_lines(sheets))
        print(wrap("Rates dense (fp16 where there is no bf16), bandwidth one way; $/h of the default tier.", indent=""))
    if columns:
        met = [answer for answer in columns if not isinstance(answer, CannotBeMetError)]
        if sheets:
            print()
        if met:
            print(bold(_title(kind, met[0])))
        _print_block(names, columns, _workload_lines())
        for name, answer in zip(names, columns, strict=True):
            if isinstance(answer, CannotBeMetError):
                print(wrap(f"{name}: {answer}".replace("\n", ". "), indent=""))


def _title(kind: str, answer: Estimate) -> str:
    parts = [] if kind == "model" else [answer.model]
    machine = f"{answer.gpus} x {answer.hardware}" if kind != "hardware" else f"{answer.gpus} of each"
    return f"{', '.join([*parts, machine])}, {answer.concurrency} in flight, expected (low to high)"


def _print_block(names: Sequence[str], columns: Sequence[Column], lines: Sequence[Line]) -> None:
    cells = [[name, *[write(column) for _, write in lines]] for name, column in zip(names, columns, strict=True)]
    labels = ["", *[label for label, _ in lines]]
    room, block, used = width() - max(len(label) for label in labels), [labels], 0
    for column in cells:
        wide = max(len(cell) for cell in column) + 2
        if used + wide > room and len(block) > 1:
            _flush(block)
            block, used = [labels], 0
        block.append(column)
        used += wide
    _flush(block)


def _flush(block: list[list[str]]) -> None:
    rows = [list(row) for row in zip(*block, strict=True)]
    shown = [row for row in rows if any(cell != "-" for cell in row[1:])]
    print(table(shown[0], shown[1:]))
    print()


def _sheet_lines(sheets: Sequence[Comparison]) -> list[Line]:
    stated = {precision for sheet in sheets for precision in sheet.summary.peak_flops}
    precisions = [p for p in ("bf16", "fp8", "fp4") if p in stated or p == "bf16"]
    lines: list[Line] = [
        ("accelerators", lambda s: f"{s.summary.gpus:,}"),
        ("memory as sold, GB", lambda s: _number(s.summary.memory_bytes, 1e9)),
        ("memory a process sees, GB", lambda s: _number(s.summary.usable_memory_bytes, 1e9)),
        ("bandwidth, TB/s", lambda s: _number(s.summary.memory_bandwidth, 1e12)),
    ]
    lines += [(f"{p}, TFLOP/s", _of("peak_flops", p, 1e12, inner=True)) for p in precisions]
    lines += [(f"ridge {p}, FLOP/B", _of("ridge_flop_per_byte", p, 1.0)) for p in precisions]
    lines += [
        ("scale-up, GB/s each", lambda s: _number(s.summary.scale_up_bandwidth, 1e9)),
        ("scale-up domain", lambda s: f"{s.summary.scale_up_domain:,}"),
        ("scale-out, GB/s each", lambda s: _number(s.summary.scale_out_bandwidth, 1e9)),
        ("power, W", lambda s: _number(s.summary.power_w, 1.0)),
        ("with its share of the box, W", lambda s: _number(s.all_in_power_w, 1.0)),
        ("price tier", lambda s: s.summary.price_tier or "-"),
        ("$/h", lambda s: _money(s.summary.price_usd_per_hour)),
    ]
    lines += [(f"$/h per PFLOP/s {p}", _of("usd_per_hour_per_pflops", p, 1.0)) for p in precisions]
    lines += [
        ("$/h per TB/s", lambda s: _number(s.usd_per_hour_per_tbs, 1.0)),
        ("$/h per 100 GB", lambda s: _number(s.usd_per_hour_per_100_gb, 1.0)),
    ]
    lines += [(f"W per PFLOP/s {p}", _of("watts_per_pflops", p, 1.0)) for p in precisions]
    return lines


def _of(field: str, precision: str, unit: float, *, inner: bool = False) -> Callable[[Comparison], str]:
    def write(sheet: Comparison) -> str:
        figures: Mapping[str, float] = getattr(sheet.summary if inner else sheet, field)
        instead = "fp16" if precision == "bf16" else precision
        return _number(figures.get(precision, figures.get(instead)), unit)

    return write


def _workload_lines() -> list[Line]:
    def met(write: Callable[[Estimate], str]) -> Callable[[Column], str]:
        return lambda answer: "-" if isinstance(answer, CannotBeMetError) else write(answer)

    lines: list[tuple[str, Callable[[Estimate], str]]] = [
        ("time to first token", lambda e: _range(e.ttft_s, seconds)),
        ("time per output token", lambda e: _range(e.tpot_s, seconds) if e.tpot_s else "-"),
        ("end to end", lambda e: _range(e.e2e_s, seconds)),
        ("output tokens/s a user", lambda e: three_digits(e.output_tokens_per_s_per_user.expected)),
        ("output tokens/s a GPU", lambda e: three_digits(e.output_tokens_per_s_per_gpu.expected)),
        ("$ per million input tokens", lambda e: dollars(e.cost_per_million_input_tokens_usd)),
        ("$ per million output tokens", lambda e: dollars(e.cost_per_million_output_tokens_usd)),
        ("power, kW", lambda e: _number(e.power_w, 1e3)),
        ("output tokens a joule", lambda e: _number(e.tokens_per_joule, 1.0)),
        ("KV cache filled", lambda e: f"{e.kv_occupancy:.1%}"),
        ("limited by", lambda e: e.limited_by),
    ]
    return [(label, met(write)) for label, write in lines]


def _range(figure: Range, write: Callable[[float], str]) -> str:
    return f"{write(figure.expected)} ({write(figure.low)} to {write(figure.high)})"


def _number(value: float | None, unit: float) -> str:
    return "-" if value is None else three_digits(value / unit)


def _money(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
