"""``infer-cost sweep``: every combination of many options, to a file or the best of them to the screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import SCENARIO, Explain, Json, pairs, with_options
from infer_cost.cli.output import bold, count, dollars, seconds, table, three_digits, wrap

if TYPE_CHECKING:
    from infer_cost.planner.explained_sweep import SweepExplanation
    from infer_cost.planner.grid import Grid
    from infer_cost.planner.sweep import SweepResult

_SHOWN = 20
_REASONS_SHOWN = 8
_IN_JSON = 10_000
_RESULTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "ttft_s": ("TTFT", seconds),
    "tpot_s": ("TPOT", seconds),
    "output_tokens_per_s_per_user": ("tok/s/user", three_digits),
    "output_tokens_per_s_per_gpu": ("tok/s/GPU", three_digits),
    "cost_per_million_output_tokens_usd": ("$/M output", dollars),
    "limited_by": ("limited by", str),
}

_AXES = tuple(
    option
    if option.name == "set_"
    else option._replace(
        kind=list[str] if option.name == "hardware" else str | None,
        default=[] if option.name == "hardware" else None,
        metavar="NAMES" if option.kind in (str, str | None) and option.name != "price_per_gpu_hour" else "VALUES",
    )
    for option in SCENARIO
)
"""Every option of an estimate, as an axis: text that says one or several values."""


@with_options(_AXES)
def command(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="One or several models, separated by commas.")
    ] = None,
    grid_path: Annotated[
        Path | None, typer.Option("--grid", help="A TOML file of options; those given here come first.", metavar="FILE")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output-file", help="Write the rows: .csv, .jsonl or .parquet.", metavar="FILE"),
    ] = None,
    where: Annotated[
        list[str], typer.Option(help="Keep rows only where this holds, e.g. 'tpot_s < 30 ms'.", metavar="CONDITION")
    ] = [],  # noqa: B006
    top: Annotated[int | None, typer.Option(help="Keep the best rows only.", metavar="N")] = None,
    by: Annotated[
        str, typer.Option(help="The column that --top goes by.", metavar="COLUMN")
    ] = "cost_per_million_output_tokens_usd",
    front: Annotated[
        str | None,
        typer.Option(help="Keep what nothing beats in two results: speed, cost, first-token or X,Y.", metavar="VIEW"),
    ] = None,
    each: Annotated[
        str, typer.Option(help="The option that has a front for each value; none for one.", metavar="OPTION")
    ] = "hardware",
    chart: Annotated[bool, typer.Option("--chart", help="Draw the fronts.")] = False,
    svg: Annotated[
        Path | None, typer.Option(help="Draw the fronts into a file: .svg or .html.", metavar="FILE")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes to spread over.", metavar="N")] = 1,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Evaluate every combination of options, each a list (1,2,4), a range (1..256) or a geometric one (128..8192*2).

    Example: infer-cost sweep llama-3.1-70b --hardware h100-sxm,b200-sxm --tp 1,2,4,8 --weights fp8 --concurrency 1..256
    --where "tpot_s < 30 ms" --top 5
    """
    from infer_cost.planner.grid import grid, grid_file
    from infer_cost.planner.pareto import front_pair
    from infer_cost.planner.sweep import sweep

    pair = front_pair(front or "speed") if front or chart or svg else None

    overrides = pairs(options.pop("set_"), "set")
    options["hardware"] = ",".join(options["hardware"]) or None
    given = {name: value for name, value in {"model": model, **options}.items() if value is not None}
    asked = {**(grid_file(grid_path) if grid_path else {}), **given}
    made = grid(asked, overrides)
    with _Bar(made.rows, hidden=as_json) as bar:
        answer = sweep(
            made,
            output=output,
            where=where,
            top=top,
            by=by,
            front=pair,
            each=None if each == "none" else each,
            workers=workers,
            limit=_IN_JSON if as_json else _SHOWN,
            progress=bar.advance if bar.visible else None,
        )
    # Before anything is printed: a picture that can't be written is an error, and an error prints no answer.
    if svg and pair:
        from infer_cost.cli.front_charts import write

        write(svg, answer, pair, each)
    told = _told(made, answer) if explain else None
    if as_json:
        from infer_cost.cli.explanation import emit_explained

        emit_explained(_document(answer, output), told.chains if told else None)
    else:
        varying = [name for name, values in made.axes.items() if len(values) > 1]
        _print(answer, varying, output, whole=top is not None or pair is not None)
        if chart and pair:
            from infer_cost.cli.front_charts import draw

            print("\n" + draw(answer, pair, each))
        if told:
            _print_explanation(told)


def _told(grid: Grid, answer: SweepResult) -> SweepExplanation:
    from infer_cost.planner.explained_sweep import explain_sweep

    return explain_sweep(grid, answer)


def _print_explanation(told: SweepExplanation) -> None:
    from infer_cost.cli.explanation import print_chains, print_ladder

    print_chains([told.rows])
    if told.ladder is None:
        print("\nNo row with results is at hand to be explained: --top 1 keeps the best.")
    else:
        print("\n" + wrap(f"The first row: {told.about}", indent=""))
        print_ladder(told.ladder)


def _document(answer: SweepResult, output: Path | None) -> dict[str, Any]:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return {
        "rows": rows,
        "rows_kept": answer.kept,
        "rows_left_out": 0 if output else answer.kept - len(rows),
        "combinations": answer.total,
        "fitting": answer.fitting,
        "invalid": answer.invalid,
        "invalid_reasons": answer.reasons,
        "output": str(output) if output else None,
    }


def _print(answer: SweepResult, varying: list[str], output: Path | None, *, whole: bool) -> None:
    if answer.rows:
        if "gpus" not in varying and set(varying) & {"tp", "pp", "dp"}:
            varying = [*varying, "gpus"]
        names = [name for name in answer.columns if name in varying]
        shown = answer.rows[:_SHOWN]
        cells = [
            [_cell(name, value) for name, value in _pick(answer.columns, row, [*names, *_RESULTS])] for row in shown
        ]
        texts = [place for place, name in enumerate(names) if name in ("model", "hardware", "weights", "kv", "engine")]
        print(table([*names, *(title for title, _ in _RESULTS.values())], cells, left=[*texts, len(names) + 5]))
        print()
    print(_summary(answer))
    reasons = list(answer.reasons.items())
    for reason, number in reasons[:_REASONS_SHOWN]:
        print(wrap(f"- {count(number)} left out: {reason}"))
    if len(reasons) > _REASONS_SHOWN:
        print(wrap(f"- {count(sum(number for _, number in reasons[_REASONS_SHOWN:]))} left out for other reasons"))
    if output:
        print(bold(f"Written to {output}"))
    elif whole and len(answer.rows) > _SHOWN:
        print(f"Shown are {_SHOWN} of {len(answer.rows)} rows; -o FILE writes all.")
    elif not whole and answer.kept > _SHOWN:
        print("Shown are the first; -o FILE writes all, --top N sorts.")


def _summary(answer: SweepResult) -> str:
    said = f"{count(answer.total)} combinations, {count(answer.fitting)} fit"
    if answer.kept != answer.total - answer.invalid:
        said += f", {count(answer.kept)} satisfy the conditions"
    if answer.invalid:
        said += f"; {count(answer.invalid)} make no sense"
    return said


def _pick(columns: tuple[str, ...], row: tuple[Any, ...], names: list[str]) -> list[tuple[str, Any]]:
    values = dict(zip(columns, row, strict=True))
    picked = [(name, values[name]) for name in names]
    return picked if values["fits"] else [*picked[:-1], ("limited_by", "doesn't fit")]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return _RESULTS[name][1](value) if name in _RESULTS else str(value)


class _Bar:
    """A progress bar with rate and time left, on a terminal only; rich is imported only there."""

    def __init__(self, total: int, *, hidden: bool) -> None:
        import sys

        self.visible = sys.stderr.isatty() and not hidden and total > 200_000
        self.total = total

    def __enter__(self) -> _Bar:
        if self.visible:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            rate = TextColumn("{task.fields[rate]}")
            self.progress = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                rate,
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.progress.start()
            self.task = self.progress.add_task("sweep", total=self.total, rate="")
        return self

    def advance(self, done: int, total: int) -> None:
        """Show how far the sweep is."""
        speed = self.progress.tasks[0].speed
        self.progress.update(self.task, completed=done, total=total, rate=f"{speed:,.0f}/s" if speed else "")

    def __exit__(self, *exc: object) -> None:
        if self.visible:
            self.progress.stop()
