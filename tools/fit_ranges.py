"""Predict every serving row by constants that haven't seen it, and fit the ranges to how far off that is.

``python tools/fit_ranges.py`` writes ``fits/engines/left_out.csv`` (logarithms of predicted over measured with a
row's curve, model, accelerator and engine left out in turn) and ``infer_cost/serving/ranges.csv``: the width of the
range that holds 80 % of measurements, as a sum over a deployment's traits (a linear quantile regression of the
logarithm of the error). Rows that no constant is fitted on (two pools, speculation, static batches) are out of sample
as they are.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).parent))

import fit_engines as engines

from infer_cost.accuracy.measurements import SERVING_METRICS, Measurement, read_measurements
from infer_cost.accuracy.predictions import predict
from infer_cost.accuracy.questions import question_of
from infer_cost.serving.engines import EngineProfile
from infer_cost.serving.ranges import traits

ROOT = Path(__file__).parents[1]
LEFT_OUT = ROOT / "fits" / "engines" / "left_out.csv"
OUTPUT = ROOT / "infer_cost" / "serving" / "ranges.csv"
COVERAGE = 0.82  # a little more than is promised, so that groups of 30 rows scatter around it without falling short
LABELS: dict[str, Callable[[Measurement], object]] = {
    "curve": lambda row: row.curve,
    "model": lambda row: row.model,
    "hardware": lambda row: row.hardware,
    "engine": lambda row: row.engine,
}
Array = NDArray[np.float64]
Errors = dict[tuple[str, str], dict[str, float]]
"""By row and metric: the error for each label that was left out."""


def log_errors(rows: Sequence[Measurement], fits: dict[tuple[str, str], Array]) -> dict[tuple[str, str], float]:
    """Predict rows with the full model under given constants."""

    def profile(row: Measurement, engine: EngineProfile) -> EngineProfile:
        constants = engines.constants_for(fits, engines.group_of(row))
        return replace(engine, **{**dict(zip(engines.FITTED, constants.tolist(), strict=True)), **engine.own})

    found = {}
    for row in rows:
        for p in predict(row, profile)[0]:
            found[row.id, p.metric] = float(np.log(p.predicted / p.measured))
    return found


def leave_out() -> Errors:
    """Return every serving row's errors with its curve, model, accelerator and engine left out of the fit."""
    table = engines.load()
    good = engines.trusted(table)
    fitted = {row.id for row in table.rows}
    rows = read_measurements(engines.INPUT)
    errors: Errors = {}
    everything = engines.fit_all(table, good)
    for key, value in log_errors(rows, everything).items():
        errors[key] = {"none": value}
    for name, label in LABELS.items():
        fold = engines.folds([label(row) for row in table.rows])
        fold_of = {row.id: number for row, number in zip(table.rows, fold.tolist(), strict=True)}
        for number in sorted(set(fold_of.values())):
            fits = engines.fit_all(table, good & (fold != number))
            held = [row for row in rows if fold_of.get(row.id) == number]
            for key, value in log_errors(held, fits).items():
                errors[key][name] = value
        for key, found in errors.items():
            if key[0] not in fitted:
                found[name] = found["none"]
    return errors


def write_errors(errors: Errors) -> None:
    """Write the errors, one row and metric a line."""
    LEFT_OUT.parent.mkdir(exist_ok=True)
    with LEFT_OUT.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "metric", "none", *LABELS])
        for (row, metric), found in errors.items():
            out.writerow([row, metric, *(f"{found[name]:.4f}" for name in ("none", *LABELS))])


def read_errors() -> Errors:
    """Read what :func:`write_errors` wrote."""
    with LEFT_OUT.open(encoding="utf-8") as file:
        return {
            (row["id"], row["metric"]): {name: float(row[name]) for name in ("none", *LABELS)}
            for row in csv.DictReader(file)
        }


def quantile_regression(design: Array, values: Array, share: float, ridge: float = 0.3) -> Array:
    """Coefficients whose sums lie above ``share`` of the values, every trait's rows included, as a linear program.

    ``ridge`` is the cost of a coefficient's size other than the first's, so that a trait of few rows stays small.
    """
    n, k = design.shape
    penalty = np.r_[0.0, np.full(k - 1, ridge)]
    cost = np.r_[penalty, penalty, np.full(n, share), np.full(n, 1 - share)]
    equal = np.hstack([design, -design, np.eye(n), -np.eye(n)])
    found = linprog(cost, A_eq=equal, b_eq=values, bounds=(0, None), method="highs")
    return np.asarray(found.x[:k] - found.x[k : 2 * k])


def fit_ranges(errors: Errors) -> list[tuple[str, str, float]]:
    """Return metric, trait and its part of the logarithm of the width."""
    rows = {row.id: row for row in read_measurements(engines.INPUT)}
    found = []
    for metric in SERVING_METRICS:
        keys = [key for key in errors if key[1] == metric]
        described = [traits(question_of(rows[row]), static=rows[row].static_batch) for row, _ in keys]
        names = [name for name in described[0] if not name.startswith("unseen")]
        design = np.array([[item[name] for name in names] for item in described])
        sizes = np.array([max(abs(errors[key]["curve"]), 1e-3) for key in keys])
        coefficients = quantile_regression(design, np.log(sizes), COVERAGE)
        found += [(metric, name, float(value)) for name, value in zip(names, coefficients, strict=True)]
        for name, label in (("model", "model"), ("generation", "hardware"), ("engine", "engine")):
            wider = _quantile(errors, keys, label) / _quantile(errors, keys, "curve")
            found.append((metric, f"unseen {name}", float(max(0.0, np.log(wider)))))
    return found


def _quantile(errors: Errors, keys: Sequence[tuple[str, str]], name: str) -> float:
    moved = [key for key in keys if errors[key][name] != errors[key]["none"]]
    return float(np.quantile([abs(errors[key][name]) for key in moved], COVERAGE))


def main(arguments: Sequence[str] = ()) -> int:
    """Leave out, unless ``--keep`` says that the errors on file are good, and fit the ranges."""
    if "--keep" not in arguments:
        write_errors(leave_out())
    with OUTPUT.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["metric", "trait", "log_width"])
        out.writerows((metric, name, f"{value:.4g}") for metric, name, value in fit_ranges(read_errors()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
