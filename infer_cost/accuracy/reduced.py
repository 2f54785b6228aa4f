"""The serving model reduced to what its fitted constants multiply, and their fit by least squares.

The constants enter times almost linearly. A row is reduced once to sums over its operators (:class:`Features`); the
fit then works on arrays and takes no time. A test holds the reduced model against the full one. Only fits import
this module: it needs numpy and scipy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from infer_cost.accuracy.measurements import Measurement
from infer_cost.accuracy.questions import question_of
from infer_cost.accuracy.run_effects import TOKENIZE_S, mean_over_median, start_ahead, synchronised_ahead
from infer_cost.accuracy.runs import run_of
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import decode_load, prompts_in_a_pass
from infer_cost.serving.engines import EngineProfile
from infer_cost.serving.engines.profile import KERNEL_AGEING
from infer_cost.serving.operators import Load
from infer_cost.serving.passes import operator_times, transfer_time
from infer_cost.serving.program import Program
from infer_cost.serving.steady import busy_ranks, passes_ahead, prefills_ahead

Array = NDArray[np.float64]

FITTED = (
    "kernel_factor",
    "expert_prefill_factor",
    "floor_share",
    "latent_kernels_per_layer",
    "host_sequence_s",
    "prefill_factor",
    "yearly_gain",
    "host_request_s",
    "eager_layer_s",
)
# What an engine is expected to be before any of its rows is seen, and how far it may stray (one deviation).
EXPECTED = np.array([1.0, 1.3, 0.75, 15.0, 4e-6, 1.0, 0.5, 8e-3, 0.5e-3])
STRAY = np.array([0.07, 0.3, 0.2, 8.0, 4e-6, 0.1, 0.2, 8e-3, 0.4e-3])
TPOT_SCATTER, TTFT_SCATTER = 0.05, 0.12
PRIOR_WEIGHT = 1.5
LEAST = 0.25  # of what is expected: what costs time costs some


@dataclass(frozen=True)
class Pass:
    """Sums over the operators of one pass, in seconds; what constants multiply."""

    floors: float
    busy: float
    experts: float
    """Part of ``busy``."""
    latent_floor: float
    latent_busy: float
    transfers: float


@dataclass(frozen=True)
class Features:
    """A row, reduced to what the constants multiply."""

    decode: Pass
    prefill: Pass
    """With one prompt, on every rank when the others are busy too."""
    packed: Pass
    """With as many prompts as the token budget holds."""
    most: float
    """Prompts in a packed pass."""
    together: float
    """Prompts that share a pass."""
    ahead: float
    """Prefills before an arriving request in the steady state."""
    started: float
    """More of them because of how the run was started and how equal its lengths are, as full passes."""
    synchronised: float
    """The same, as passes of one request."""
    passes: float
    """Passes that those ahead fill."""
    median: float
    """Share of the wait for them that the median doesn't have, where that is what was measured."""
    admission: float
    """Steps until the scheduler takes a request in."""
    tokenizing: float
    """Seconds."""
    chunks: float
    layers: float
    sequences: float
    """Running on one rank."""
    stages: float
    steps: float
    age: float
    host_step: float
    queued: float
    """1 where the time to first token isn't the fit's business: some requests wait for room in the cache, or equal
    requests and an engine whose prefills stop its decodes keep in step, in waves that aren't modelled."""


def reduce_pass(program: Program, load: Load, latent_layers: float) -> Pass:
    """Sum a pass; its layers' small kernels apart, and once more for the layers with latent attention."""
    floors = busy = experts = small_floor = small_busy = launches = 0.0
    for share in operator_times(program, load):
        if share.name == "small kernels":
            small_floor += share.floor_s
            small_busy += share.busy_s
            launches += share.launches
        else:
            floors += share.floor_s
            busy += share.busy_s
            experts += share.busy_s if share.name == "experts" else 0.0
    latent = latent_layers / launches if launches else 0.0
    return Pass(
        floors + small_floor,
        busy + small_busy,
        experts,
        latent * small_floor,
        latent * small_busy,
        float(sum(transfer_time(program, load))),
    )


def neutral(_row: Measurement, engine: EngineProfile) -> EngineProfile:
    """Return the profile with constants that leave the sums as they are."""
    return replace(
        engine,
        kernel_factor=1.0,
        expert_prefill_factor=1.0,
        floor_share=1.0,
        prefill_factor=1.0,
        latent_kernels_per_layer=0.0,
        yearly_gain=0.0,
        eager_layer_s=0.0,
    )


def features_of(row: Measurement) -> Features:
    """Reduce a row."""
    question = question_of(row, profile=neutral)
    engine, requests = question.engine, question.requests
    plan = engine.deployment
    latent = float(sum(g.count for g in plan.model.groups if g.layer.mixer.kind == "latent_attention"))
    held = requests.input_tokens + requests.output_tokens * plan.engine.output_reserve
    running = max(1.0, min(float(requests.concurrency), float(sequences_that_run(plan, float(held)))))
    steps = max(requests.output_tokens - 1.0, 1.0)
    most = float(prompts_in_a_pass(engine, float(requests.input_tokens)))
    chunks = max(1.0, float(np.ceil(requests.input_tokens / plan.max_batched_tokens)))
    size = requests.input_tokens / chunks
    # One pass of as many ranks as prefill at once is the mean of one rank's and all ranks', or close to it.
    ranks = 1.0 + (plan.parallel.dp - 1) * float(busy_ranks(running, plan.parallel.dp))
    before = size * (chunks - 1) / 2
    prefill = Load(1.0, size, before, False, ranks)
    packed = Load(most, size, before, False, plan.parallel.dp if running > plan.parallel.dp else 1)
    decode = decode_load(engine, running, requests.input_tokens + requests.output_tokens / 2)
    sequences = max(running / plan.parallel.dp, 1.0)
    run = run_of(row, plan.engine.id)
    ahead = float(prefills_ahead(sequences, steps, plan.max_batched_tokens / requests.input_tokens))
    median = row.statistic == "median"
    in_waves = run.synchronised and plan.engine.prefill == "blocking"
    started = 0.0 if median or run.rounds is None else float(start_ahead(sequences, most, run.rounds))
    synchronised = float(synchronised_ahead(sequences) - ahead) if run.synchronised and not median else 0.0
    return Features(
        decode=reduce_pass(engine.decode, decode, latent),
        prefill=reduce_pass(engine.prefill, prefill, latent),
        packed=reduce_pass(engine.prefill, packed, latent),
        most=most,
        together=min(max(sequences / steps, 1.0), most),
        ahead=ahead,
        started=started,
        synchronised=synchronised,
        passes=float(passes_ahead(ahead, most)),
        median=float(mean_over_median(1.0, sequences / steps)) if median and run.rounds is not None else 0.0,
        admission=plan.engine.admission_steps if sequences > 1 else 0.0,
        tokenizing=TOKENIZE_S * requests.input_tokens,
        chunks=chunks,
        layers=float(plan.model.layers),
        sequences=sequences,
        stages=float(plan.parallel.pp),
        steps=steps,
        age=plan.engine.age_years,
        host_step=plan.engine.host_step_s,
        queued=float(running < 0.99 * requests.concurrency or in_waves),
    )


class Table:
    """Rows as arrays: their features, and what was measured (NaN where nothing was)."""

    def __init__(self, rows: Sequence[Measurement], features: Sequence[Features]) -> None:
        self.rows = list(rows)
        self.features = list(features)
        self.tpot = np.array([row.metrics.get("tpot_s", np.nan) for row in rows])
        self.ttft = np.array([row.metrics.get("ttft_s", np.nan) for row in rows])
        self.decode = _columns([f.decode for f in features])
        self.prefill = _columns([f.prefill for f in features])
        self.packed = _columns([f.packed for f in features])
        self.other = _columns(features, skip=("decode", "prefill", "packed"))

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, keep: NDArray[np.bool_]) -> Table:
        """Return the rows that ``keep`` marks."""
        chosen = np.flatnonzero(keep)
        return Table([self.rows[i] for i in chosen], [self.features[i] for i in chosen])


def _columns(items: Sequence[Pass] | Sequence[Features], skip: Sequence[str] = ()) -> dict[str, Array]:
    kind = type(items[0]) if items else Pass
    names = [field.name for field in fields(kind) if field.name not in skip]
    return {name: np.array([getattr(item, name) for item in items]) for name in names}


def predict(constants: Array, table: Table) -> tuple[Array, Array]:
    """Return TPOT and TTFT of the reduced model."""
    kernel, experts, share, latent, sequence, prefilling, gain, request, eager = constants
    o = table.other
    overhead = np.exp(gain * o["age"])
    kernels = kernel * overhead**KERNEL_AGEING

    def gpu(p: dict[str, Array], factor: float = 1.0) -> Array:
        floors = p["floors"] + latent * p["latent_floor"]
        busy = p["busy"] + latent * p["latent_busy"]
        return np.asarray(share * overhead * floors + factor * kernels * busy + p["transfers"])

    launching = eager * overhead * o["layers"]

    def prefill(p: dict[str, Array]) -> Array:
        running = gpu(p, prefilling) + prefilling * kernels * (experts - 1.0) * p["experts"]
        return np.asarray(o["chunks"] * (running**4 + launching**4) ** 0.25 / o["stages"])

    single = prefill(table.prefill)
    each = (prefill(table.packed) - single) / np.maximum(o["most"] - 1.0, 1e-9)
    own = single + (o["together"] - 1.0) * each
    occupancy = own / o["together"]
    step = gpu(table.decode) + overhead * (o["host_step"] + sequence * o["sequences"])
    started = o["started"] * prefill(table.packed) / o["most"] + o["synchronised"] * occupancy
    lost = (o["sequences"] - o["together"] - o["ahead"]) * occupancy - started
    ahead = o["ahead"] * each + o["passes"] * (single - each)
    wait = o["admission"] * step + (1.0 - o["median"]) * ahead + started
    return step + lost / o["steps"], o["tokenizing"] + request + wait + own


def errors(constants: Array, table: Table) -> tuple[Array, Array]:
    """Logarithms of predicted over measured TPOT and TTFT; NaN where nothing was measured or requests queued."""
    tpot, ttft = predict(constants, table)
    return np.log(tpot / table.tpot), np.where(table.other["queued"] > 0, np.nan, np.log(ttft / table.ttft))


def fit(table: Table, expected: Array = EXPECTED, free: NDArray[np.bool_] | None = None) -> Array:
    """Fit constants to rows of one engine, held near what is expected.

    Parameters
    ----------
    table : Table
        The rows
    expected : array
        Where each constant starts and is held
    free : array of bool, optional
        Constants that are fitted; all by default

    Returns
    -------
    array
        The constants, those that aren't free as expected
    """
    from scipy.optimize import least_squares

    chosen = np.ones(len(expected), dtype=bool) if free is None else free

    def whole(x: Array) -> Array:
        constants = expected.copy()
        constants[chosen] = x * STRAY[chosen]
        return constants

    def residuals(x: Array) -> Array:
        return np.concatenate([scaled_errors(whole(x), table), (x - start) * PRIOR_WEIGHT])

    start = expected[chosen] / STRAY[chosen]
    least = np.minimum(LEAST * EXPECTED, expected)[chosen] / STRAY[chosen]
    found = least_squares(residuals, start, bounds=(least, np.inf), loss="soft_l1")
    return whole(np.asarray(found.x))


def scaled_errors(constants: Array, table: Table) -> Array:
    """Errors over the scatter that they are expected to have."""
    tpot, ttft = errors(constants, table)
    found = np.concatenate([tpot / TPOT_SCATTER, ttft / TTFT_SCATTER])
    return np.asarray(found[np.isfinite(found)])


def determined(constants: Array, table: Table) -> Array:
    """Return how much of each constant's uncertainty the rows leave: 1 nothing learnt, 0 known exactly.

    From the curvature of the errors at the constants, against that of what is expected beforehand.
    """
    step = 1e-3 * STRAY
    slopes = np.column_stack(
        [(scaled_errors(constants + s, table) - scaled_errors(constants - s, table)) / 2e-3 for s in np.diag(step)]
    )
    information = slopes.T @ slopes + PRIOR_WEIGHT**2 * np.eye(len(constants))
    return np.asarray(np.sqrt(np.diag(np.linalg.inv(information))) * PRIOR_WEIGHT)
