"""What the model predicts for a measurement: each of its metrics, with the range that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from infer_cost.accuracy.measurements import Measurement
from infer_cost.accuracy.questions import question_of, replicas_of
from infer_cost.accuracy.run_effects import effects_of
from infer_cost.accuracy.runs import Run, run_of
from infer_cost.errors import InferCostError
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engines import EngineProfile
from infer_cost.serving.estimate import state_of
from infer_cost.serving.ranges import Range, rate_range, spreads, time_range
from infer_cost.serving.scenario import Scenario
from infer_cost.serving.static_batch import static_state
from infer_cost.serving.steady import Requests


@dataclass(frozen=True, slots=True)
class Prediction:
    """One metric of one row: measured, predicted, and the range that is meant to hold 80 % of measurements."""

    id: str
    metric: str
    measured: float
    predicted: float
    low: float
    high: float
    bound: float

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A metric that isn't predicted, and why."""

    id: str
    reason: str


def predict(
    row: Measurement, profile: Callable[[Measurement, EngineProfile], EngineProfile] | None = None
) -> tuple[list[Prediction], list[Unanswered]]:
    """Predict every metric that a row has.

    Parameters
    ----------
    row : Measurement
        The measured row
    profile : function, optional
        Replaces the engine's profile for the row: other constants, for cross-validation and calibration

    Returns
    -------
    predictions, unanswered
        One of either for each metric, so that nothing is dropped in silence
    """
    reason = contradiction(row)
    if reason:
        return [], [Unanswered(row.id, reason)]
    try:
        question = asked_of(row, profile)
    except InferCostError as error:
        return [], [Unanswered(row.id, str(error).splitlines()[0])]
    ranges = ranges_of(question, row)
    found, left = [], []
    for metric, measured in row.metrics.items():
        figure = ranges.get(metric)
        if figure is None:
            left.append(Unanswered(row.id, f"{metric} isn't predicted"))
        else:
            parts = (float(figure.expected), float(figure.low), float(figure.high), float(figure.bound))
            found.append(Prediction(row.id, metric, measured, *parts))
    return found, left


def asked_of(
    row: Measurement, profile: Callable[[Measurement, EngineProfile], EngineProfile] | None = None
) -> Scenario:
    """Return the scenario that a row's predictions are made for."""
    question = question_of(row, profile=profile)
    return _as_many_as_fit(question) if row.concurrency is None else question


def contradiction(row: Measurement) -> str | None:
    """Return why a row contradicts itself, or None."""
    if not row.metrics:
        return "no measured value"
    if row.prefill and row.decode and row.prefill.gpus + row.decode.gpus != row.gpus:
        pools = f"{row.prefill.gpus} + {row.decode.gpus}"
        return f"pools of {pools} GPUs in a deployment of {row.gpus}"
    return _more_than_its_latencies_allow(row)


def _more_than_its_latencies_allow(row: Measurement) -> str | None:
    """Return a reason where throughput times latency exceeds the requests in flight (Little's law)."""
    names = ("output_tokens_per_s_per_gpu", "ttft_s", "tpot_s")
    if (
        row.static_batch
        or not row.concurrency
        or not row.output_tokens
        or not all(name in row.metrics for name in names)
    ):
        return None
    rate, first, each = (row.metrics[name] for name in names)
    flight = rate * row.gpus * (first + each * (row.output_tokens - 1)) / row.output_tokens
    if flight <= MOST_FLIGHT * row.concurrency:
        return None
    return f"its throughput and latencies need {flight:.0f} requests in flight, and it states {row.concurrency}"


MOST_FLIGHT = 1.25
"""Requests in flight by Little's law over those stated, beyond which a row contradicts itself: medians in place of
means explain a few per cent."""


def _as_many_as_fit(question: Scenario) -> Scenario:
    """Return the scenario with as many requests in flight as the memory holds: all were queued at once."""
    plan, requests = question.deployment, question.requests
    held = requests.input_tokens + requests.output_tokens * plan.engine.output_reserve
    fit = max(1, int(sequences_that_run(plan, float(held))))
    return replace(question, requests=replace(requests, concurrency=fit))


def ranges_of(question: Scenario, row: Measurement) -> Mapping[str, Range]:
    """Return every metric of a scenario by its name in the tables."""
    requests = question.requests
    load = Requests(requests.input_tokens, requests.output_tokens, requests.cached_tokens, requests.concurrency)
    state = static_state(question.engine, load) if row.static_batch else state_of(question)
    width = spreads(question, static=row.static_batch)
    steps = requests.output_tokens - 1
    run = run_of(row, question.deployment.engine.id)
    effects = effects_of(run, question, state, median=row.statistic == "median")
    ttft = time_range(state.prefill_bound_s, state.ttft_s + effects.ttft_s, width.ttft)
    tpot = time_range(state.token_bound_s, state.tpot_s + effects.tpot_s, width.tpot)
    gpus = question.gpus * replicas_of(row)
    produced = requests.output_tokens * requests.concurrency / question.gpus * whole_run_share(row, run)
    fastest = ttft.bound + steps * tpot.bound
    rate = rate_range(produced / fastest, produced / state.residence_s, width.throughput)
    both = (requests.input_tokens + requests.output_tokens) / requests.output_tokens
    prompts = requests.input_tokens * (requests.concurrency if row.static_batch else 1)
    found = {
        "ttft_s": ttft,
        "output_tokens_per_s_per_gpu": rate,
        "output_tok_per_s_per_gpu": rate,
        "output_tok_per_s_total": _times(rate, gpus),
        "total_tok_per_s": _times(rate, gpus * both),
        "prefill_tok_per_s_total": _over(prompts, ttft),
    }
    if steps:
        found |= {"tpot_s": tpot, "tok_per_s_per_user": _over(1.0, tpot)}
    power = question.deployment.machine.power_per_gpu_w
    if power:
        found["avg_power_w"] = Range(power, power * POWER_SHARE, power * POWER_SHARE / 1.3, power)
    return found


POWER_SHARE = 0.8
"""Power drawn over what the machine is provisioned for; an assumption, few tables give it."""


def whole_run_share(row: Measurement, run: Run) -> float:
    """Return the rate over a whole benchmark run over that of its steady state.

    A run starts and ends with fewer requests in flight. Where a table gives the run's tokens over its duration, its
    own times to first token and per token say by how much (Little's law): 2.6 % with one pool, 5.3 % with two, at the
    median. A run of few requests a user, whose outputs end by themselves, goes on for about another request's time
    while users have nothing left to ask.
    """
    if run.requests is not None and row.concurrency:
        rounds = run.requests / row.concurrency
        return rounds / (rounds + 1.0)
    if row.statistic != "median":
        return 1.0
    return 0.947 if row.disaggregated else 0.974


def _times(figure: Range, factor: float) -> Range:
    return Range(*(getattr(figure, name) * factor for name in ("bound", "expected", "low", "high")))


def _over(amount: float, time: Range) -> Range:
    """Rate of an amount in a time; the ends of the range change places."""
    return Range(amount / time.bound, amount / time.expected, amount / time.high, amount / time.low)
