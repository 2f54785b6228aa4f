"""Predictions held against a table of measurements: errors by group, coverage of the ranges, what wasn't answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.accuracy.predictions import Prediction, Unanswered, predict
from infer_cost.errors import InputError, join_names
from infer_cost.serving.engines import EngineProfile
from infer_cost.serving.engines.constants import FittedConstant, fitted_constants

GROUPS: dict[str, Callable[[Measurement], str]] = {
    "hardware": lambda row: row.hardware,
    "model": lambda row: row.model,
    "engine": lambda row: row.engine,
    "format": lambda row: row.weights,
    "kind": lambda row: kind_of(row),
}
"""What errors can be grouped by."""


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Errors of one metric in one group; relative, ``bias`` the median of predicted over measured minus 1."""

    group: str
    metric: str
    n: int
    median_ape: float
    mape: float
    p90_ape: float
    bias: float
    inside_range: float
    """Share of measurements between low and high."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Every prediction, its errors by group, what wasn't answered and why, and the constants that were fitted."""

    rows: tuple[Prediction, ...]
    summary: tuple[GroupErrors, ...]
    unanswered: tuple[Unanswered, ...]
    fitted_constants: tuple[FittedConstant, ...]


def kind_of(row: Measurement) -> str:
    """Return how a row was served: one pool or two, speculative or not, static batches."""
    if row.static_batch:
        return "static batch"
    if row.concurrency is None:
        return "maximum throughput"
    parts = ["disaggregated" if row.disaggregated else "one pool"]
    if row.speculative != "none":
        parts.append("speculative")
    return ", ".join(parts)


def validate(
    source: Path | Sequence[Measurement],
    by: Iterable[str] = ("kind",),
    profile: Callable[[Measurement, EngineProfile], EngineProfile] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Validation:
    """Predict every row of a table and compare.

    Parameters
    ----------
    source : Path or sequence of Measurement
        A CSV file, see :func:`infer_cost.accuracy.measurements.read_measurements`, or its rows
    by : iterable of str
        What the summary groups by, together: names from :data:`GROUPS`
    profile : function, optional
        Replaces the engine's profile for a row
    progress : function, optional
        Called with rows done and rows in all

    Returns
    -------
    Validation
        Each metric present in a row is either predicted or unanswered

    Raises
    ------
    InputError
        For a file that can't be read, or an unknown group
    """
    names = tuple(by)
    wrong = [name for name in names if name not in GROUPS]
    if wrong:
        raise InputError(f"can't group by {wrong[0]!r}", field="by", value=wrong[0], allowed=join_names(list(GROUPS)))
    rows = read_measurements(source) if isinstance(source, Path) else source
    predictions: list[Prediction] = []
    unanswered: list[Unanswered] = []
    groups: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    for done, row in enumerate(rows, start=1):
        found, left = predict(row, profile)
        predictions += found
        unanswered += left
        group = " ".join(GROUPS[name](row) for name in names) or "all"
        for prediction in found:
            groups[group, prediction.metric].append(prediction)
        if progress is not None:
            progress(done, len(rows))
    summary = tuple(errors_of(group, metric, members) for (group, metric), members in sorted(groups.items()))
    return Validation(tuple(predictions), summary, tuple(unanswered), tuple(fitted_constants()))


def errors_of(group: str, metric: str, members: Sequence[Prediction]) -> GroupErrors:
    """Summarise the errors of one metric in one group.

    >>> two = [Prediction("a", "tpot_s", 1.0, 1.1, 0.9, 1.2, 0.5), Prediction("b", "tpot_s", 1.0, 0.8, 0.7, 0.9, 0.5)]
    >>> errors_of("x", "tpot_s", two).inside_range
    0.5
    """
    errors = [member.error for member in members]
    sizes = sorted(abs(error) for error in errors)
    return GroupErrors(
        group=group,
        metric=metric,
        n=len(members),
        median_ape=median(sizes),
        mape=fmean(sizes),
        p90_ape=quantile(sizes, 0.9),
        bias=median(errors),
        inside_range=fmean(member.low <= member.measured <= member.high for member in members),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """Quantile of sorted values, interpolated.

    >>> quantile([1.0, 2.0, 3.0], 0.75)
    2.5
    """
    place = share * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def scatter_between_runs(rows: Iterable[Measurement]) -> dict[str, tuple[int, float]]:
    """Return, by metric, how many runs were repeated and their median distance from the repetitions' median.

    No predictor can do better: it gives one answer to the same question.
    """
    repeated: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    for row in rows:
        repeated[(*row.curve, row.concurrency, row.date, row.engine_version)].append(row)
    found: dict[str, list[float]] = defaultdict(list)
    for metric, values in _repeated_values(repeated.values()):
        middle = median(values)
        found[metric] += [abs(value / middle - 1) for value in values]
    return {metric: (len(sizes), median(sizes)) for metric, sizes in found.items()}


def _repeated_values(groups: Iterable[list[Measurement]]) -> Iterator[tuple[str, list[float]]]:
    for group in groups:
        for metric in {name for row in group for name in row.metrics}:
            values = [row.metrics[metric] for row in group if metric in row.metrics]
            if len(values) > 1:
                yield metric, values
