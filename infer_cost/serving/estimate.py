"""The answer of ``infer-cost estimate``: TTFT, TPOT, throughput, what limits it, utilization and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from infer_cost.checks import known_options
from infer_cost.display import repr_html
from infer_cost.roofline.dispatch import Value, maximum, minimum
from infer_cost.serving.budget import budget, sequence_bytes_per_gpu
from infer_cost.serving.disaggregated import disaggregated_state
from infer_cost.serving.limits import limits_of
from infer_cost.serving.passes import NOTHING, Cause
from infer_cost.serving.ranges import Range, rate_range, spreads, time_range
from infer_cost.serving.scenario import Scenario, scenario
from infer_cost.serving.steady import Requests, SteadyState, steady_state
from infer_cost.serving.work import request_flops

Limit = Literal["compute", "memory", "network", "host", "queue"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a deployment does under a load. Times in seconds, rates a second, money in dollars.

    Times keep ``bound <= low <= expected <= high``; rates ``low <= expected <= high <= bound``.
    """

    _repr_html_ = repr_html

    model: str
    hardware: str
    gpus: int
    concurrency: int
    running: int
    """Requests that run at once; fewer than the concurrency when the KV cache is full."""
    ttft_s: Range
    tpot_s: Range | None
    """None when there is one output token."""
    e2e_s: Range
    output_tokens_per_s_per_user: Range
    output_tokens_per_s_per_gpu: Range
    limited_by: Limit
    mfu: float
    """Arithmetic that the requests need over the peak rate of the weights' format, prefill and decode together."""
    mbu: float
    """Bytes moved in a decode step over what the bandwidth could have moved meanwhile."""
    kv_occupancy: float
    optimal_batch: float | None
    critical_context_tokens: float | None
    cost_per_million_input_tokens_usd: float | None
    cost_per_million_output_tokens_usd: float | None
    cost_usd: float | None
    """Of one request."""
    power_w: float | None
    tokens_per_joule: float | None
    fits: bool
    assumptions: tuple[str, ...]


def state_of(
    question: Scenario, without: frozenset[Cause] = NOTHING, *, alone: bool = False, bounds: bool = True
) -> SteadyState:
    """Steady state of a scenario, aggregated or disaggregated."""
    requests = Requests(
        question.requests.input_tokens,
        question.requests.output_tokens,
        question.requests.cached_tokens,
        question.requests.concurrency,
    )
    if question.prefill_pool is not None and question.decode_pool is not None:
        pools = question.prefill_pool, question.decode_pool
        return disaggregated_state(*pools, requests, without, alone=alone, bounds=bounds)
    return steady_state(question.engine, requests, without, alone=alone, bounds=bounds)


def estimate(model: Any, hardware: Any, **options: Any) -> Estimate:
    """Estimate latency, throughput and cost of a model on a machine at a concurrency.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names or files.
    options
        See :func:`infer_cost.serving.scenario.scenario`: input_tokens, output_tokens, concurrency, gpus, tp, weights,
        kv, engine, ...

    Returns
    -------
    Estimate
        With ranges, causes and assumptions.

    Raises
    ------
    InputError
        For anything unknown, out of range or contradictory.
    CannotBeMetError
        When the model doesn't fit or the request is longer than the context window.

    Examples
    --------
    >>> answer = estimate("llama-3.1-70b", "h100-sxm", gpus=8, weights="fp8", input_tokens=12022, output_tokens=500)
    >>> answer.tpot_s.bound < answer.tpot_s.low < answer.tpot_s.expected < answer.tpot_s.high
    True
    """
    known_options(scenario, options)
    return estimate_of(scenario(model, hardware, **options))


def estimate_of(question: Scenario) -> Estimate:
    """Estimate a scenario that has been put together already."""
    state = state_of(question)
    requests, plan = question.requests, question.deployment
    steps = requests.output_tokens - 1
    width = spreads(question)
    ttft = time_range(state.prefill_bound_s, state.ttft_s, width.ttft)
    tpot = time_range(state.token_bound_s, state.tpot_s, width.tpot)
    e2e = Range(*(getattr(ttft, f) + steps * getattr(tpot, f) for f in ("bound", "expected", "low", "high")))
    per_user = rate_range(1.0 / tpot.bound, 1.0 / tpot.expected, width.tpot)
    produced = requests.output_tokens * requests.concurrency / question.gpus
    throughput = rate_range(produced / e2e.bound, produced / state.residence_s, width.throughput)
    paid = money(question, state)
    power = _power(question)
    best_batch, critical = limits_of(plan, requests.input_tokens + requests.output_tokens / 2)
    return Estimate(
        model=plan.model.name,
        hardware=plan.machine.id,
        gpus=question.gpus,
        concurrency=requests.concurrency,
        running=int(state.running),
        ttft_s=ttft,
        tpot_s=tpot if steps else None,
        e2e_s=e2e,
        output_tokens_per_s_per_user=per_user,
        output_tokens_per_s_per_gpu=throughput,
        limited_by=limit_of(state, steps),
        mfu=_mfu(question, state),
        mbu=state.token.bytes_moved / (plan.machine.accelerator.memory_bandwidth * state.tpot_s),
        kv_occupancy=_kv_occupancy(question, state),
        optimal_batch=best_batch,
        critical_context_tokens=critical,
        cost_per_million_input_tokens_usd=paid[0],
        cost_per_million_output_tokens_usd=paid[1],
        cost_usd=paid[2],
        power_w=power,
        tokens_per_joule=throughput.expected * question.gpus / power if power else None,
        fits=True,
        assumptions=question.assumptions,
    )


def limit_of(state: SteadyState, steps: int) -> Limit:
    """Return what takes the most of a request's time in the engine."""
    shares = limit_shares(state, steps)
    return max(shares, key=lambda name: shares[name])


def limit_shares(state: SteadyState, steps: Value) -> dict[Limit, Value]:
    """Return a request's seconds in the engine by what limits them; floats or arrays."""
    interference = state.interference_s * steps
    decode, prefill = state.token, state.prefill
    # Interference is other requests' prefill, so it's made of what prefill is made of.
    prefills = 1.0 + interference / maximum(prefill.total_s, 1e-30)
    return {
        "compute": prefill.compute_s * prefills + decode.compute_s * steps,
        "memory": prefill.memory_s * prefills + decode.memory_s * steps,
        "network": (prefill.scale_up_s + prefill.scale_out_s) * prefills
        + (decode.scale_up_s + decode.scale_out_s) * steps
        + state.kv_transfer_s,
        "host": (prefill.floor_s + prefill.host_s) * prefills + (decode.floor_s + decode.host_s) * steps,
        "queue": state.wait_s + state.capacity_wait_s,
    }


def gpu_seconds_per_request(question: Scenario, state: SteadyState) -> Value:
    """GPU-seconds that one request takes, shared by those that run together."""
    return question.gpus * state.residence_s / question.requests.concurrency


def prefill_share(question: Scenario, state: SteadyState) -> Value:
    """Share of a request's GPU-seconds that its prefill takes: its pool's, or its time on the engine."""
    if question.prefill_pool is not None:
        return question.prefill_pool.gpus / question.gpus
    # Data-parallel ranks prefill side by side.
    each = maximum(question.requests.concurrency / float(question.deployment.parallel.dp), 1.0)
    return minimum(1.0, state.occupancy_s * each / state.residence_s)


def money(question: Scenario, state: SteadyState) -> tuple[Value | None, Value | None, Value | None]:
    """Return dollars a million input tokens, a million output tokens, and a request; floats or arrays."""
    if question.price is None:
        return None, None, None
    seconds = gpu_seconds_per_request(question, state)
    request = question.price.usd_per_second * seconds / question.utilization
    share = prefill_share(question, state)
    requests = question.requests
    return (
        request * share / requests.input_tokens * 1e6,
        request * (1.0 - share) / requests.output_tokens * 1e6,
        request,
    )


def _power(question: Scenario) -> float | None:
    per_gpu = question.deployment.machine.power_per_gpu_w
    return per_gpu * question.gpus if per_gpu else None


def _mfu(question: Scenario, state: SteadyState) -> float:
    """Arithmetic that the requests need over what all GPUs could have done meanwhile."""
    requests = question.requests
    flops = request_flops(
        question.deployment.model, requests.new_tokens, requests.cached_tokens, requests.output_tokens
    )
    peak = max(operator.peak_flops for operator in question.engine.decode.operators)
    return float(flops * requests.concurrency / (state.residence_s * peak * question.gpus))


def _kv_occupancy(question: Scenario, state: SteadyState) -> float:
    plan, requests = question.deployment, question.requests
    per_rank = float(state.running) / plan.parallel.dp
    if question.decode_pool is not None:
        per_rank /= question.decode_pool.instances
    held = sequence_bytes_per_gpu(plan, requests.input_tokens + requests.output_tokens / 2.0) * per_rank
    return min(1.0, float(held) / max(budget(plan).kv, 1.0))
