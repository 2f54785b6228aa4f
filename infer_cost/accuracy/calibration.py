"""Fitting the engine constants to one's own benchmark: which ones the rows determine, and what that gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from infer_cost.accuracy.benchmarks import read_benchmark
from infer_cost.accuracy.measurements import Measurement
from infer_cost.errors import CannotBeMetError, InputError

if TYPE_CHECKING:
    from infer_cost.accuracy.reduced import Array, Table

LEARNT = 0.8
"""A constant is fitted if the rows leave at most this share of its uncertainty."""
FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """A constant before and after; ``left`` is the share of its uncertainty that the rows leave."""

    name: str
    before: float
    after: float
    left: float
    fitted: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a calibration found: median errors are relative, those after by cross-validation."""

    engine: str
    rows: int
    constants: tuple[Moved, ...]
    tpot_error_before: float | None
    tpot_error_after: float | None
    ttft_error_before: float | None
    ttft_error_after: float | None
    left_out: str
    """What cross-validation left out at a time."""

    @property
    def worthwhile(self) -> bool:
        """Whether the fit predicts rows that it hasn't seen better than the constants did as they were."""
        pairs = ((self.tpot_error_before, self.tpot_error_after), (self.ttft_error_before, self.ttft_error_after))
        gains = [before - after for before, after in pairs if before is not None and after is not None]
        return sum(gains) > 0

    def toml(self, source: str) -> str:
        """Return the file that ``--engine FILE.toml`` reads."""
        lines = [
            f"# infer-cost calibrate, {self.rows} rows of {source}",
            f'base = "{self.engine}"',
            f'name = "{self.engine}, calibrated"',
            "",
            "[constants]",
        ]
        lines += [f"{moved.name} = {moved.after:.4g}" for moved in self.constants if moved.fitted]
        return "\n".join(lines) + "\n"


def calibrate(files: Sequence[Path], given: Mapping[str, Any] | None = None) -> Calibration:
    """Fit an engine's constants to one's own runs.

    Parameters
    ----------
    files : sequence of Path
        CSV files of measurements or JSON results of load generators
    given : mapping, optional
        What the files don't say, by field of a measurement

    Returns
    -------
    Calibration
        Constants that the rows can't tell from what was known before are left as they were

    Raises
    ------
    InputError
        For files that can't be read, rows of several engines, or a missing scipy
    CannotBeMetError
        When the rows determine no constant
    """
    rows = [row for path in files for row in read_benchmark(path, given or {})]
    usable = [row for row in rows if not row.disaggregated and not row.static_batch and row.concurrency]
    engines = sorted({row.engine for row in usable})
    if len(engines) > 1:
        raise InputError(
            f"rows of {len(engines)} engines: {', '.join(engines)}", field="engine", allowed="one engine at a time"
        )
    if len(usable) < FEWEST_ROWS:
        raise CannotBeMetError(
            f"{len(usable)} rows to fit on, and {FEWEST_ROWS} are the least",
            field="file",
            hint="measure at several concurrencies, with one pool and a fixed concurrency",
        )
    return _calibrate(usable)


def _calibrate(rows: Sequence[Measurement]) -> Calibration:
    try:
        import scipy  # noqa: F401
    except ImportError:
        raise InputError(
            "calibrate needs scipy", field="extra", allowed="pip install 'infer-cost[calibrate]'"
        ) from None
    import numpy as np

    from infer_cost.accuracy.questions import question_of
    from infer_cost.accuracy.reduced import FITTED, Table, determined, features_of, fit

    profile = question_of(rows[0]).deployment.engine
    before = np.array([float(getattr(profile, name)) for name in FITTED])
    table = Table(rows, [features_of(row) for row in rows])
    left = determined(before, table)
    free = left <= LEARNT
    if not free.any():
        raise CannotBeMetError(
            "the rows determine none of the engine's constants",
            field="file",
            hint="vary the concurrency, the lengths or the number of GPUs between runs",
        )
    after = fit(table, before, free)
    return Calibration(
        profile.id,
        len(rows),
        tuple(
            Moved(name, float(b), float(a), float(share), bool(is_free))
            for name, b, a, share, is_free in zip(FITTED, before, after, left, free, strict=True)
        ),
        *_errors_before_and_after(table, before, free),
    )


def _errors_before_and_after(
    table: Table, before: Array, free: Any
) -> tuple[float | None, float | None, float | None, float | None, str]:
    """Median errors with the constants as they were, and with those fitted without the rows that they predict."""
    import numpy as np

    from infer_cost.accuracy.reduced import errors, fit

    curves = [row.curve for row in table.rows]
    by_curve = len(set(curves)) > 2
    folds = [sorted(set(curves), key=str).index(curve) if by_curve else n for n, curve in enumerate(curves)]
    tpot, ttft = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for number in set(folds):
        held = np.array([fold == number for fold in folds])
        fitted = fit(table.where(~held), before, free)
        tpot[held], ttft[held] = errors(fitted, table.where(held))
    old_tpot, old_ttft = errors(before, table)
    sizes = (_median(old_tpot), _median(tpot), _median(old_ttft), _median(ttft))
    return (*sizes, "a curve of concurrencies" if by_curve else "a row")


def _median(errors: Array) -> float | None:
    found = [abs(expm1(value)) for value in errors.tolist() if value == value]
    return median(found) if found else None
