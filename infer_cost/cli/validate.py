"""``infer-cost validate``: predictions held against a table of measurements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.cli.options import Explain, Json
from infer_cost.cli.output import bold, count, table

if TYPE_CHECKING:
    from infer_cost.accuracy.explained import ValidationExplanation
    from infer_cost.accuracy.measurements import Measurement
    from infer_cost.accuracy.validation import Validation

By = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Group errors by hardware, model, engine, format or kind; may be repeated."),
]
File = Annotated[Path, typer.Argument(metavar="FILE.csv", help="Measurements: the columns are in docs/accuracy.md.")]


def command(file: File, by: By = None, explain: Explain = False, as_json: Json = False) -> None:
    """Predict every row of a CSV of measurements and print how far off the predictions are.

    Example: infer-cost validate my-benchmarks.csv --by hardware
    """
    from infer_cost.accuracy.measurements import read_measurements
    from infer_cost.accuracy.validation import validate
    from infer_cost.cli.explanation import emit_explained

    measured = read_measurements(file)
    progress = _Progress() if sys.stderr.isatty() and not as_json else None
    report = validate(measured, by or ("kind",), progress=progress)
    if progress is not None:
        progress.clear()
    told = _told(measured, report) if explain else None
    if as_json:
        emit_explained(report, told.chains if told else None)
        return
    _print(report)
    if told:
        _print_explanation(told)


def _told(measured: Sequence[Measurement], report: Validation) -> ValidationExplanation:
    from infer_cost.accuracy.explained import explain_validation

    return explain_validation(measured, report)


def _print_explanation(told: ValidationExplanation) -> None:
    from infer_cost.cli.explanation import print_chains, print_ladder

    print_chains([told.constants])
    if told.ladder is not None:
        print_ladder(told.ladder, "The first row")
    print_chains([told.row, told.errors], "From predictions to errors")


class _Progress:
    """Rewrites one line on standard error with the rows done."""

    def __call__(self, done: int, total: int) -> None:
        if done % 20 == 0 or done == total:
            print(f"\r{done:,} of {total:,} rows", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)


def _print(report: Validation) -> None:
    header = ["group", "metric", "n", "median", "mean", "90th", "bias", "in range"]
    rows = [
        [
            group.group,
            group.metric,
            count(group.n),
            f"{group.median_ape:.1%}",
            f"{group.mape:.1%}",
            f"{group.p90_ape:.1%}",
            f"{group.bias:+.1%}",
            f"{group.inside_range:.0%}",
        ]
        for group in report.summary
    ]
    print(bold("Predicted against measured: absolute errors, bias, share of measurements inside the 80 % range") + "\n")
    print(table(header, rows, left=(0, 1)))
    print(f"\n{len(report.rows):,} predictions, {len(report.unanswered):,} unanswered")
    for item in report.unanswered[:MOST_REASONS]:
        print(f"  {item.id}: {item.reason}")
    if len(report.unanswered) > MOST_REASONS:
        print(f"  and {len(report.unanswered) - MOST_REASONS:,} more: see --json")


MOST_REASONS = 10
