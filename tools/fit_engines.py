"""Fit the engine constants on published serving measurements, and say how well they predict rows left out.

``python tools/fit_engines.py`` reads ``tests/data/measurements/serving.csv``, fits nine constants an engine
and accelerator generation, and writes ``infer_cost/serving/engines/constants.csv``. ``--validate`` prints
the errors on rows whose curve, accelerator, model or engine the fit hasn't seen.

The fit itself is in :mod:`infer_cost.accuracy.reduced`.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.accuracy.questions import question_of
from infer_cost.accuracy.reduced import EXPECTED, FITTED, Array, Table, errors, features_of, fit
from infer_cost.hardware_specs.generations import architecture_group

ROOT = Path(__file__).parents[1]
INPUT = ROOT / "tests" / "data" / "measurements" / "serving.csv"
OUTPUT = ROOT / "infer_cost" / "serving" / "engines" / "constants.csv"

CONTRADICTED = {("vllm", "0.12.0"), ("trtllm", "1.2.0rc6.post1"), ("vllm", "0.11.2")}
"""Engine versions whose rows serve more prompt tokens than their own times to first token allow: left out
of the fit (24 rows), not of the validation."""
FEWEST = 6  # rows that a fit needs; what they leave open stays as expected


def load() -> Table:
    """Read the rows that constants are fitted on: one pool, no speculation, concurrency held constant."""
    rows = [
        row
        for row in read_measurements(INPUT)
        if not row.disaggregated and row.speculative == "none" and not row.static_batch
    ]
    return Table(rows, [features_of(row) for row in rows])


def group_of(row: Measurement) -> tuple[str, str]:
    """Return engine profile and accelerator generation of a row."""
    plan = question_of(row).deployment
    return plan.engine.id, architecture_group(plan.machine.accelerator.architecture)


def trusted(table: Table) -> NDArray[np.bool_]:
    """Mark the rows that a fit may use."""
    return np.array([(row.engine, row.engine_version) not in CONTRADICTED for row in table.rows])


def fit_all(table: Table, keep: NDArray[np.bool_]) -> dict[tuple[str, str], Array]:
    """Fit every engine and generation with enough rows, and fall-backs: an engine's median and everyone's."""
    groups = [group_of(row) for row in table.rows]
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        if keep[index]:
            members[group].append(index)
    fits: dict[tuple[str, str], Array] = {}
    for group, indices in members.items():
        if len(indices) >= FEWEST:
            mask = np.zeros(len(table), dtype=bool)
            mask[indices] = True
            fits[group] = fit(table.where(mask))
    for engine in sorted({engine for engine, _ in fits}):
        fits[engine, ""] = np.median([c for (e, g), c in fits.items() if e == engine and g], axis=0)
    if fits:
        fits["generic", ""] = np.median([c for (_, g), c in fits.items() if g == ""], axis=0)
    return fits


def constants_for(fits: dict[tuple[str, str], Array], group: tuple[str, str]) -> Array:
    """Return the nearest constants: engine and generation, the engine's, everyone's."""
    engine, _ = group
    for key in (group, (engine, ""), ("generic", "")):
        if key in fits:
            return fits[key]
    return EXPECTED


def folds(labels: Sequence[object], number: int = 5) -> NDArray[np.int64]:
    """Return the fold of each row: rows with one label share one; few labels are left out one by one."""
    names = sorted(set(labels), key=str)
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {name: (int(order[i]) % number if len(names) > 2 * number else i) for i, name in enumerate(names)}
    return np.array([fold_of[label] for label in labels])


def left_out(table: Table, label: Callable[[Measurement], object]) -> tuple[Array, Array]:
    """Return the errors of every row by constants that were fitted without the rows that share its label's
    fold."""
    fold = folds([label(row) for row in table.rows])
    good = trusted(table)
    groups = [group_of(row) for row in table.rows]
    tpot, ttft = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for number in sorted(set(fold)):
        fits = fit_all(table, good & (fold != number))
        for group in sorted(set(groups)):
            mask = (fold == number) & np.array([g == group for g in groups])
            if mask.any():
                tpot[mask], ttft[mask] = errors(constants_for(fits, group), table.where(mask))
    return tpot, ttft


def summary(name: str, values: Array) -> str:
    """Return median, 90th percentile and bias of errors as text."""
    off = np.abs(np.expm1(values[np.isfinite(values)]))
    figures = f"median {np.median(off):.1%} p90 {np.quantile(off, 0.9):.1%} bias {np.nanmedian(values):+.1%}"
    return f"{name} n={len(off)} {figures}"


def write(fits: dict[tuple[str, str], Array]) -> None:
    """Write the constants, one a row."""
    with OUTPUT.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["engine", "generation", "constant", "value"])
        for (engine, generation), constants in sorted(fits.items()):
            for name, value in zip(FITTED, constants, strict=True):
                out.writerow([engine, generation, name, f"{value:.4g}"])


def write_models(table: Table) -> None:
    """Write the names of the models whose rows took part: any other model's range is wider."""
    names = sorted({question_of(row).deployment.model.name for row in table.rows})
    with OUTPUT.with_name("fitted_on.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["model"], *([name] for name in names)])


def main(arguments: Iterable[str] = ()) -> int:
    """Fit and write; with ``--validate`` also leave out."""
    table = load()
    fits = fit_all(table, trusted(table))
    write(fits)
    write_models(table)
    tpot, ttft = np.full(len(table), np.nan), np.full(len(table), np.nan)
    groups = [group_of(row) for row in table.rows]
    for group in sorted(set(groups)):
        mask = np.array([g == group for g in groups])
        tpot[mask], ttft[mask] = errors(constants_for(fits, group), table.where(mask))
        shown = {n: float(f"{v:.3g}") for n, v in zip(FITTED, constants_for(fits, group), strict=True)}
        print(group, int(mask.sum()), shown)
    print("in sample ", summary("TPOT", tpot), summary("TTFT", ttft))
    if "--validate" in arguments:
        for name, label in (
            ("curve", lambda row: row.curve),
            ("model", lambda row: row.model),
            ("hardware", lambda row: row.hardware),
            ("engine", lambda row: row.engine),
        ):
            tpot, ttft = left_out(table, label)
            print(f"without {name:9}", summary("TPOT", tpot), summary("TTFT", ttft))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
