"""A plan explained: from the roofline of its engines over their queues to what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from infer_cost.planner.explain import mean_wait
from infer_cost.planner.fleet import FleetPlan, merged
from infer_cost.planner.result import Plan, PoolPlan
from infer_cost.planner.tails import VALID_UTILIZATION
from infer_cost.planner.traffic import Lengths, Traffic
from infer_cost.planner.unit import promises_of
from infer_cost.serving.engine_times import prefill_time, token_time
from infer_cost.serving.ladder import draft_step, machine_inputs, pass_steps
from infer_cost.steps import Chain, Input, Step

_OPTION = "your option, or its default"


def plan_chains(plan: Plan, traffic: Traffic) -> tuple[Chain, ...]:
    """Return how a plan's figures come about.

    Parameters
    ----------
    plan : Plan
        Usually the cheapest one
    traffic : Traffic
        What it was planned for

    Returns
    -------
    tuple of Chain
        Of each pool: a prefill, a token, its queue and its size; then what all pools cost. The last figure is the
        price of a million output tokens that the plan has
    """
    found: list[Chain] = [Chain("the traffic", (), tuple(_asked(traffic)))]
    for pool in plan.pools:
        before = "" if pool.role == "both" else f"{pool.role} pool: "
        inputs = _machine(pool)
        moved = plan.transfer_s if pool.role == "prefill" else 0.0
        found += [
            Chain(f"{before}a first token on average", tuple(_first(pool, traffic, moved)), inputs),
            Chain(f"{before}an output token on average", tuple(_token(pool, traffic)), inputs),
            Chain(f"{before}each engine's queue", tuple(_queue(pool, plan))),
            Chain(f"{before}engines", tuple(_size(pool, traffic))),
        ]
    found.append(Chain("the plan", tuple(_cost(plan, traffic))))
    return (found[0], *(chain for chain in found if chain.steps))


def fleet_chains(fleet: FleetPlan) -> tuple[Chain, ...]:
    """Return how each part of a fleet comes about, and what all of them cost."""
    found = []
    for share in fleet.shares:
        names = " + ".join(service.name for service in share.services)
        asked = merged([service.traffic for service in share.services])
        found += [replace(chain, about=f"{names}: {chain.about}") for chain in plan_chains(share.plan, asked)]
    whole = Step("cost", "Σ parts", fleet.usd_per_hour, "USD/h")
    return (*found, Chain("the fleet", (Step("GPUs", "Σ parts", fleet.gpus, "GPU"), whole)))


def _asked(traffic: Traffic) -> Iterator[Input]:
    yield Input("requests λ", traffic.rate, "request/s", f"{_OPTION}, peak and growth included")
    yield Input("input tokens I", traffic.inputs.mean, "token", _lengths(traffic.inputs))
    yield Input("output tokens O", traffic.outputs.mean, "token", _lengths(traffic.outputs))
    yield Input("share of the input found cached", traffic.reuse, "ratio", _OPTION)
    yield Input("burstiness", traffic.burstiness, "ratio", _OPTION)


def _lengths(lengths: Lengths) -> str:
    return f"{_OPTION}; log-normal, coefficient of variation {lengths.variation:.3g}" if lengths.variation else _OPTION


def _machine(pool: PoolPlan) -> tuple[Input, ...]:
    engine = pool.candidate.engine
    rates = {op.kernel.rate: op.peak_flops for op in engine.decode.operators}
    return machine_inputs(engine.deployment.machine, rates, engine.deployment.gpus)


def _first(pool: PoolPlan, traffic: Traffic, moved: float) -> Iterator[Step]:
    queue, point = pool.one.queue, pool.point
    if queue.prefills is None:
        return
    cached = float(traffic.cached_tokens)
    time = prefill_time(pool.candidate.engine, traffic.inputs.mean - cached, cached)
    terms = pass_steps(time.passes, float(time.bound_s))
    yield from terms
    yield Step("prefill of the mean prompt", "sum of the above", float(time.passes.total_s), "s")
    wait = mean_wait(queue.prefills, point.prefill_busy, traffic.burstiness)
    kingman = "ρ/(1 − ρ) · (burstiness + c_S²)/2 · E[S]"
    under_way = (point.token_s - point.pause_s) / 2.0
    waits = [
        Step("queue behind other prefills", kingman, wait, "s", (), "kingman_wait"),
        *([Step("decode step under way", "half of it", under_way, "s")] if under_way else []),
        Step("host, before it starts", "a request's handling, fitted", queue.prefills.host_s, "s"),
        *([Step("transfer to the decode pool", "hand-over + KV bytes / link", moved, "s")] if moved else []),
    ]
    yield from waits
    whole = float(time.passes.total_s) + sum(step.value for step in waits)
    yield Step("first token on average", "prefill + the waits", whole, "s")


def _token(pool: PoolPlan, traffic: Traffic) -> Iterator[Step]:
    decodes, point = pool.one.queue.decodes, pool.point
    if decodes is None or decodes.steps <= 0:
        return
    context = traffic.inputs.mean + traffic.outputs.weighted_mean / 2.0
    time = token_time(pool.candidate.engine, point.decoding + 1.0, context)
    yield from pass_steps(time.step, float(time.bound_s))
    if time.draft_s:
        yield draft_step(float(time.draft_s))
    alone = point.token_s - point.pause_s
    yield Step("at a batch of L + 1", "sum of the above", float(time.total_s), "s")
    yield Step("the same, t_d", f"interpolated between {len(decodes.batch)} batches", alone, "s")
    yield Step(
        "prefills of other requests", "those queued behind it q, and those that arrive meanwhile", point.pause_s, "s"
    )
    yield Step("output token on average", "(t_d + q/(O − 1)) / (1 − ρ·s)", point.token_s, "s")


def _queue(pool: PoolPlan, plan: Plan) -> Iterator[Step]:
    one, point = pool.one, pool.point
    prefills, decodes = one.queue.prefills, one.queue.decodes
    yield Step("greatest rate", _greatest(pool), one.greatest, "request/s")
    if prefills is not None:
        busy = f"rate · E[S] / {prefills.ranks} rank{'s' if prefills.ranks > 1 else ''}"
        served = Input("mean prefill E[S]", prefills.mean_occupancy_s, "s", "prefill, over the lengths of the traffic")
        yield Step("prefills' share of time ρ", busy, point.prefill_busy, "ratio", (served,))
    if decodes is not None and decodes.steps > 0:
        origin = "all of it on the same engine, nothing in pools of their own"
        lost = Input("share of a prefill that decodes lose, s", one.queue.interference, "ratio", origin)
        room = Input("requests that fit", decodes.capacity, "request", "memory plan: KV cache over a request's")
        little = "L = rate · time that a request decodes"
        yield Step("decoding at once L", little, point.decoding, "request", (lost, room), "little_law")
        yield Step("cache found full", "Erlang B", pool.full, "ratio", (), "erlang_b")
    mine = promises_of(pool.role, plan.promised)
    for promise, value, method in zip(plan.promised, plan.percentiles_s, plan.methods, strict=True):
        if promise in mine:
            how = _distribution(promise.metric) if method == "formula" else "simulated requests, sorted"
            yield Step(f"{promise.metric.upper()} p{promise.percentile:g}", how, value, "s")


def _greatest(pool: PoolPlan) -> str:
    bounds = {"prefill": "ranks/E[S]", "decode": "max_B B/((O − 1)·t)"}
    both = "min(ranks/E[S], max_B B/((O − 1)·t))"
    return bounds.get(pool.role, both)


def _distribution(metric: str) -> str:
    if metric == "ttft":
        return "wait + step under way + prefill, distributions"
    return "log-normal, from a busy period's moments"


def _size(pool: PoolPlan, traffic: Traffic) -> Iterator[Step]:
    candidate = pool.candidate
    working = pool.engines - pool.spare
    within = f"with every promise kept; {VALID_UTILIZATION:.0%} of the greatest at most"
    if not pool.one.greatest > pool.most * (1.0 + 1e-9):
        within = "the greatest: no latency is promised"
    price = Input(
        f"price_per_gpu_hour of {candidate.machine.id}", candidate.price.usd_per_hour, "USD/h", candidate.price.source
    )
    spare = f" + {pool.spare} spare" if pool.spare else ""
    yield Step("rate that one can take", within, pool.most, "request/s")
    yield Step("engines", f"⌈λ / that rate⌉{spare}", pool.engines, "ratio")
    yield Step("rate of each", f"λ / {working}", traffic.rate / working, "request/s")
    yield Step("busy", "rate of each / greatest rate", pool.busy, "ratio")
    yield Step("GPUs", f"engines · {candidate.gpus} of an engine", pool.gpus, "GPU")
    yield Step("cost of the pool", "GPUs · price_per_gpu_hour", pool.usd_per_hour, "USD/h", (price,))


def _cost(plan: Plan, traffic: Traffic) -> Iterator[Step]:
    yield Step("headroom", "min over pools of the rate one can take / rate of each", plan.headroom, "ratio")
    if plan.power_w:
        yield Step("power", "Σ GPUs · power with their share of the box", plan.power_w, "W")
    yield Step("cost", "Σ pools", plan.usd_per_hour, "USD/h")
    yield Step("a request", "cost / 3600 / λ", plan.usd_per_request, "USD")
    per_token = plan.usd_per_million_output_tokens
    yield Step("a million output tokens", "cost / 3600 / (λ·O) · 10⁶", per_token, "USD/Mtok")
