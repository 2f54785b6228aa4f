"""Fit the engine constants on published serving measurements, and say how well they predict rows left out.

``python tools/fit_engines.py`` reads ``tests/data/measurements/serving.csv``, fits ten constants an engine
and accelerator generation, and writes ``infer_cost/serving/engines/constants.csv``. ``--validate`` prints
the errors on rows whose curve, accelerator, model or engine the fit hasn't seen.

The constants enter times almost linearly, so a row is reduced once to sums over its operators
(:class:`Features`) and the fit works on those; a test compares the reduced model with the full one.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.accuracy.questions import question_of
from infer_cost.hardware_specs.efficiency import architecture_group
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import decode_load, prompts_in_a_pass
from infer_cost.serving.engines import EngineProfile
from infer_cost.serving.operators import Load
from infer_cost.serving.passes import operator_times, transfer_time
from infer_cost.serving.program import Program
from infer_cost.serving.steady import CROWD_GROWTH, CROWD_LOAD

ROOT = Path(__file__).parents[1]
INPUT = ROOT / "tests" / "data" / "measurements" / "serving.csv"
OUTPUT = ROOT / "infer_cost" / "serving" / "engines" / "constants.csv"

Array = NDArray[np.float64]

FITTED = (
    "kernel_factor",
    "expert_prefill_factor",
    "floor_share",
    "latent_kernels_per_layer",
    "host_sequence_s",
    "interference_share",
    "yearly_gain",
    "host_request_s",
    "eager_layer_s",
    "crowding",
)
# What an engine is expected to be before any of its rows is seen, and how far it may stray (one deviation).
EXPECTED = np.array([1.0, 1.3, 0.75, 5.0, 4e-6, 0.95, 0.5, 25e-3, 0.8e-3, 0.25])
STRAY = np.array([0.07, 0.3, 0.2, 4.0, 4e-6, 0.08, 0.2, 15e-3, 0.4e-3, 0.2])
HOST_STEP_S = 0.5e-3
SMALL_KERNELS = 4.5
SMALL_FLOOR_S = 2.5e-6
TPOT_SCATTER, TTFT_SCATTER = 0.05, 0.12
PRIOR_WEIGHT = 1.5
LEAST = np.array([0.25] * 9 + [0.0])  # of what is expected: what costs time costs some; arrivals may not crowd
FEWEST = 6  # rows that a fit needs; what they leave open stays as expected

CONTRADICTED = {("vllm", "0.12.0"), ("trtllm", "1.2.0rc6.post1"), ("vllm", "0.11.2")}
"""Engine versions whose rows serve more prompt tokens than their own times to first token allow: left out
of the fit (24 rows), not of the validation."""


@dataclass(frozen=True)
class Pass:
    """Sums over the operators of one pass, in seconds; what constants multiply."""

    floors: float
    busy: float
    experts: float
    """Part of ``busy``."""
    small_floor: float
    small_busy: float
    latent_floor: float
    latent_busy: float
    transfers: float


@dataclass(frozen=True)
class Features:
    """A row, reduced to what the constants multiply."""

    decode: Pass
    prefill: Pass
    together: float
    """Prompts in a prefill pass."""
    chunks: float
    layers: float
    sequences: float
    """Running on one rank."""
    ranks: float
    stages: float
    steps: float
    age: float


def reduce_pass(program: Program, load: Load, small: float, latent: float) -> Pass:
    """Sum a pass; ``small`` and ``latent`` are the layers' small kernels at one a layer."""
    floors = busy = experts = small_busy = 0.0
    for share in operator_times(program, load):
        if share.name == "small kernels":
            small_busy += share.busy_s / share.launches
        else:
            floors += share.floor_s
            busy += share.busy_s
            experts += share.busy_s if share.name == "experts" else 0.0
    groups = max(1, sum(operator.name == "small kernels" for operator in program.operators))
    each = small_busy / groups
    transfers = sum(transfer_time(program, load))
    floor = SMALL_FLOOR_S
    return Pass(floors, busy, experts, small * floor, small * each, latent * floor, latent * each, float(transfers))


def neutral(_row: Measurement, engine: EngineProfile) -> EngineProfile:
    """Return the profile with constants that leave the sums as they are."""
    return replace(
        engine,
        kernel_factor=1.0,
        expert_prefill_factor=1.0,
        floor_share=1.0,
        small_kernels_per_layer=1.0,
        latent_kernels_per_layer=0.0,
        yearly_gain=0.0,
        eager_layer_s=0.0,
    )


def features_of(row: Measurement) -> Features:
    """Reduce a row."""
    question = question_of(row, profile=neutral)
    engine, requests = question.engine, question.requests
    plan = engine.deployment
    layers = float(plan.model.layers)
    latent = float(sum(g.count for g in plan.model.groups if g.layer.mixer.kind == "latent_attention"))
    context = requests.input_tokens + requests.output_tokens / 2
    held = requests.input_tokens + requests.output_tokens * plan.engine.output_reserve
    running = max(1.0, min(float(requests.concurrency), float(sequences_that_run(plan, float(held)))))
    chunks = max(1.0, float(np.ceil(requests.input_tokens / plan.max_batched_tokens)))
    steps = max(requests.output_tokens - 1.0, 1.0)
    most = float(prompts_in_a_pass(engine, float(requests.input_tokens)))
    together = min(max(running / plan.parallel.dp / steps, 1.0), most)
    size = requests.input_tokens / chunks
    before = size * (chunks - 1) / 2
    return Features(
        decode=reduce_pass(engine.decode, decode_load(engine, running, context), layers, latent),
        prefill=reduce_pass(engine.prefill, Load(together, size, before, False, 1), layers, latent),
        together=together,
        chunks=chunks,
        layers=layers,
        sequences=max(running / plan.parallel.dp, 1.0),
        ranks=float(plan.parallel.dp),
        stages=float(plan.parallel.pp),
        steps=steps,
        age=plan.engine.age_years,
    )


class Table:
    """Rows as arrays: their features, and what was measured (NaN where nothing was)."""

    def __init__(self, rows: Sequence[Measurement], features: Sequence[Features]) -> None:
        self.rows = list(rows)
        self.features = list(features)
        self.tpot = np.array([row.metrics.get("tpot_s", np.nan) for row in rows])
        self.ttft = np.array([row.metrics.get("ttft_s", np.nan) for row in rows])
        names = Pass.__dataclass_fields__
        self.decode = {n: np.array([getattr(f.decode, n) for f in features]) for n in names}
        self.prefill = {n: np.array([getattr(f.prefill, n) for f in features]) for n in names}
        others = ("together", "chunks", "layers", "sequences", "ranks", "stages", "steps", "age")
        self.other = {n: np.array([getattr(f, n) for f in features]) for n in others}

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, keep: NDArray[np.bool_]) -> Table:
        """Return the rows that ``keep`` marks."""
        chosen = np.flatnonzero(keep)
        return Table([self.rows[i] for i in chosen], [self.features[i] for i in chosen])


def predict(constants: Array, table: Table) -> tuple[Array, Array]:
    """Return TPOT and TTFT of the reduced model."""
    kernel, experts, share, latent, sequence, interference, gain, request, eager, crowding = constants
    o = table.other
    overhead = np.exp(gain * o["age"])

    def gpu(p: dict[str, Array]) -> Array:
        floors = p["floors"] + SMALL_KERNELS * p["small_floor"] + latent * p["latent_floor"]
        busy = p["busy"] + SMALL_KERNELS * p["small_busy"] + latent * p["latent_busy"]
        return np.asarray(share * overhead * floors + kernel * busy + p["transfers"])

    launching = eager * overhead * o["layers"]
    running = gpu(table.prefill) + kernel * (experts - 1.0) * table.prefill["experts"]
    own = o["chunks"] * (running**4 + launching**4) ** 0.25 / o["stages"]
    occupancy = own / o["together"]
    step = gpu(table.decode) + overhead * (HOST_STEP_S + sequence * o["sequences"])
    others = o["sequences"] - 1.0
    lost = interference * others * occupancy / o["steps"]
    cycle = o["steps"] * (step + lost) + occupancy
    load = np.minimum(o["sequences"] * occupancy / cycle, 1.0)
    crowd = crowding * others**CROWD_GROWTH * load**CROWD_LOAD
    wait = np.where(others > 0, step / 2 + np.minimum(crowd, others) * occupancy, 0.0)
    return step + lost, request + wait + own


def errors(constants: Array, table: Table) -> tuple[Array, Array]:
    """Logarithms of predicted over measured TPOT and TTFT; NaN where nothing was measured or requests queued."""
    tpot, ttft = predict(constants, table)
    in_flight = np.array([row.concurrency or 1 for row in table.rows])
    queued = table.other["sequences"] * table.other["ranks"] < 0.99 * in_flight
    return np.log(tpot / table.tpot), np.where(queued, np.nan, np.log(ttft / table.ttft))


def fit(table: Table, expected: Array = EXPECTED) -> Array:
    """Fit the constants of one engine on one generation, held near what is expected of any engine."""

    def residuals(x: Array) -> Array:
        tpot, ttft = errors(x * STRAY, table)
        found = np.concatenate([tpot / TPOT_SCATTER, ttft / TTFT_SCATTER])
        return np.concatenate([found[np.isfinite(found)], (x - expected / STRAY) * PRIOR_WEIGHT])

    start = expected / STRAY
    found = least_squares(residuals, start, bounds=(LEAST * expected / STRAY, np.inf), loss="soft_l1")
    return np.asarray(found.x * STRAY)


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
