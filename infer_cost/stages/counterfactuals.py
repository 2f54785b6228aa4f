"""The same request without a stage: no batching, no paging, no prefix cache, no quantisation, no fusion, no drafts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from infer_cost.errors import InferCostError
from infer_cost.hardware_specs.formats import number_format
from infer_cost.model_specs.weights import weight_formats
from infer_cost.roofline import attention_traffic_naive
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.deployment import Deployment, Parallelism
from infer_cost.serving.estimate import state_of
from infer_cost.serving.fit import fewest_gpus, require_fit
from infer_cost.serving.scenario import Scenario
from infer_cost.stages.totals import (
    REJECTED_SHARE,
    HostShare,
    Totals,
    totals,
    usd_per_residence_second,
    variant,
)
from infer_cost.stages.types import Without

CONTIGUOUS_WASTE = 0.7
"""Share of KV memory lost to reservation and fragmentation without paging: 60 to 80 % (Kwon et al. 2023)."""

EAGER_LAUNCH_S = 4e-6
"""Gap of a kernel launched from the host: 4 to 6 µs (pegainfer measurements; Erdil), read 2026-11."""

UNFUSED_SMALL_KERNELS = 14.0
"""Small kernels of a layer when each norm, rotation, residual, activation and cast is its own: counted by hand for a
gated layer with rotary embedding."""


def counterfactuals(question: Scenario, hosts: Mapping[int, HostShare], replicas: int = 1) -> dict[int, Without]:
    """Return what the request would take and cost without each stage that changes another one."""
    return dict(_each(question, hosts, replicas))


def _each(question: Scenario, hosts: Mapping[int, HostShare], replicas: int) -> Iterator[tuple[int, Without]]:
    yield 2, _no_gateway(question, hosts)
    if question.requests.cached_tokens and replicas > 1:
        yield 4, _round_robin(question, hosts, replicas)
    if question.requests.concurrency > 1:
        yield 6, _one_at_a_time(question, hosts)
        yield 7, _contiguous(question, hosts)
    if question.requests.cached_tokens:
        yield 8, _no_prefix(question, hosts)
    wide = _unquantised(question, hosts)
    if wide is not None:
        yield 9, wide
    yield 11, _unfused(question, hosts)
    if question.deployment.speculation is not None:
        plain = variant(question, lambda plan: replace(plan, speculation=None))
        yield 12, _as_without("every token by a pass of its own", plain, totals(plain, hosts))


def _as_without(what: str, question: Scenario, result: Totals) -> Without:
    tpot = result.tpot_s if question.requests.output_tokens > 1 else None
    return Without(what, result.ttft_s, tpot, result.e2e_s, result.cost_usd)


def _no_gateway(question: Scenario, hosts: Mapping[int, HostShare]) -> Without:
    behind = {number: share for number, share in hosts.items() if number != 2}
    result = totals(question, behind)
    cost = None if result.cost_usd is None else result.cost_usd / (1.0 - REJECTED_SHARE)
    what = f"the {REJECTED_SHARE:.0%} of the traffic that is turned away here would be served and paid by the rest"
    return _as_without(what, question, replace(result, cost_usd=cost))


def _cold(question: Scenario) -> Scenario:
    return replace(question, requests=replace(question.requests, cached_tokens=0))


def _round_robin(question: Scenario, hosts: Mapping[int, HostShare], replicas: int) -> Without:
    hit, miss = totals(question, hosts), totals(_cold(question), hosts)
    share = 1.0 / replicas

    def mix(a: float, b: float) -> float:
        return share * a + (1.0 - share) * b

    cost = None if hit.cost_usd is None or miss.cost_usd is None else mix(hit.cost_usd, miss.cost_usd)
    mixed = Totals(mix(hit.ttft_s, miss.ttft_s), mix(hit.tpot_s, miss.tpot_s), mix(hit.e2e_s, miss.e2e_s), cost)
    return _as_without(
        f"round robin over {replicas} replicas finds the prefix on one of them: hit rate {share:.1%}", question, mixed
    )


def _one_at_a_time(question: Scenario, hosts: Mapping[int, HostShare]) -> Without:
    """Requests served one after the other: each waits for all the others', and no step is shared."""
    single = replace(question, requests=replace(question.requests, concurrency=1))
    state = state_of(single)
    waiting = float(state.residence_s) * (question.requests.concurrency - 1)
    result = totals(single, hosts)
    waited = replace(result, ttft_s=result.ttft_s + waiting, e2e_s=result.e2e_s + waiting)
    return _as_without("requests served one at a time, each after those before it", question, waited)


def _contiguous(question: Scenario, hosts: Mapping[int, HostShare]) -> Without:
    """As many sequences as fit when each reserves its maximum in one piece and most of the memory lies idle."""
    plan, requests = question.deployment, question.requests
    fit = float(sequences_that_run(plan, float(requests.input_tokens + requests.output_tokens)))
    fewer = max(1, int(fit * (1.0 - CONTIGUOUS_WASTE)))
    limited = variant(question, lambda engine: replace(engine, max_num_seqs=max(1, fewer // engine.parallel.dp)))
    what = f"contiguous caches waste {CONTIGUOUS_WASTE:.0%} of their memory: {fewer:,} sequences fit, not {int(fit):,}"
    return _as_without(what, question, totals(limited, hosts))


def _no_prefix(question: Scenario, hosts: Mapping[int, HostShare]) -> Without:
    cold = _cold(question)
    return _as_without("the whole prompt is computed", question, totals(cold, hosts))


def _unquantised(question: Scenario, hosts: Mapping[int, HostShare]) -> Without | None:
    plan = question.deployment
    if min(plan.weights.bits.values()) >= 16 and plan.kv.bits_per_weight >= 16:
        return None
    wide = variant(question, _in_16_bits)
    context = question.requests.input_tokens + question.requests.output_tokens
    try:
        require_fit(wide.deployment, context)
        if wide.prefill_pool is not None:
            require_fit(wide.prefill_pool.engine.deployment, question.requests.input_tokens)
    except InferCostError:
        gpus = fewest_gpus(wide.deployment, context)
        if gpus is None or question.prefill_pool is not None:
            return None
        wide = variant(wide, lambda engine: replace(engine, parallel=Parallelism(tp=gpus)))
    what = f"weights and cache in 16 bits on {wide.gpus} GPU{'s' if wide.gpus > 1 else ''}"
    return _as_without(what, question, totals(wide, hosts))


def _in_16_bits(plan: Deployment) -> Deployment:
    return replace(plan, weights=weight_formats(plan.model, "bf16"), kv=number_format("bf16"))


def _unfused(question: Scenario, hosts: Mapping[int, HostShare]) -> Without:
    """Every elementwise step its own kernel, launched from the host, and attention scores through memory."""
    loose = variant(
        question,
        lambda plan: replace(
            plan,
            engine=replace(
                plan.engine,
                small_kernels_per_layer=max(UNFUSED_SMALL_KERNELS, plan.engine.small_kernels_per_layer),
                launch_s=max(EAGER_LAUNCH_S, plan.engine.launch_s),
            ),
        ),
    )
    result = totals(loose, hosts)
    scores = _score_seconds(question)
    rate = usd_per_residence_second(question)
    cost = None if result.cost_usd is None or rate is None else result.cost_usd + scores * rate
    slower = replace(result, ttft_s=result.ttft_s + scores, e2e_s=result.e2e_s + scores, cost_usd=cost)
    return _as_without("one kernel a step, launched by the host; attention scores written to memory", question, slower)


def _score_seconds(question: Scenario) -> float:
    """Time that the scores of one prefill take through memory, at full bandwidth."""
    pool = question.prefill_pool
    plan = pool.engine.deployment if pool is not None else question.deployment
    requests = question.requests
    # Without operands: those a fused kernel moves too.
    moved = sum(
        group.count
        * attention_traffic_naive(
            group.layer.mixer.heads / plan.parallel.tp,
            0.0,
            0.0,
            requests.new_tokens,
            min(requests.input_tokens, group.layer.mixer.window or requests.input_tokens),
            2.0,
        )
        for group in plan.model.groups
        if group.layer.mixer.kind in ("attention", "latent_attention")
    )
    return float(moved / plan.machine.accelerator.memory_bandwidth / plan.parallel.pp)
