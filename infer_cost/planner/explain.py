"""Why a plan wins: what binds it, where its time goes, who comes next, and what would change the choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from infer_cost.planner.capacity import RATE_STEPS, measure
from infer_cost.planner.curves import Prefills
from infer_cost.planner.result import Plan, PoolPlan
from infer_cost.planner.tails import VALID_UTILIZATION, memory_full
from infer_cost.planner.traffic import Promise, Traffic
from infer_cost.planner.unit import promises_of
from infer_cost.serving.engine_times import prefill_time, token_time
from infer_cost.serving.passes import PassTime


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a time, and what takes it."""

    cause: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Binding:
    """What keeps an engine from taking more."""

    what: str
    """``TTFT p99``, ``TPOT p99``, ``KV cache``, ``load`` or ``throughput``."""
    text: str


def binding(pool: PoolPlan, traffic: Traffic, promises: Sequence[Promise], moved: float) -> Binding:
    """Return what gives first when an engine is asked for a hundredth more than it can take."""
    one = pool.one
    mine = promises_of(pool.role, promises)
    if not mine:
        return Binding(
            "throughput",
            f"throughput: an engine is full at {pool.most:.3g} requests/s; {limit_of_token(pool, traffic)}",
        )
    part = round(pool.most / one.greatest * RATE_STEPS) + 1
    rate = part / RATE_STEPS * one.greatest
    if part > VALID_UTILIZATION * RATE_STEPS:
        return Binding(
            "load", f"load: no engine that promises latency is planned beyond {VALID_UTILIZATION:.0%} of its rate"
        )
    reached = measure(one, traffic, rate, mine, moved if pool.role == "prefill" else 0.0).percentiles
    ratios = [(value / promise.limit_s, promise, value) for promise, value in zip(mine, reached, strict=True)]
    worst, promise, value = max(ratios, key=lambda item: item[0])
    if worst <= 1.0:
        full = memory_full(one.queue, one.at(rate))
        return Binding("KV cache", f"memory: the KV cache would be full for {full:.2%} of the requests")
    name = f"{promise.metric.upper()} p{promise.percentile:g}"
    return Binding(
        name,
        f"{name}: at {rate:.3g} requests/s instead of {pool.rate:.3g} an engine would reach {value * 1e3:,.4g} ms, "
        f"{promise.limit_s * 1e3:,.4g} ms are promised",
    )


def token_shares(pool: PoolPlan, traffic: Traffic) -> list[Share]:
    """Where the mean time of an output token goes, the largest part first."""
    decodes = pool.one.queue.decodes
    if decodes is None:
        return []
    context = traffic.inputs.mean + traffic.outputs.weighted_mean / 2.0
    time = token_time(pool.candidate.engine, pool.point.decoding + 1.0, context, bounds=False)
    drafts = [Share("drafting", float(time.draft_s))]
    return _sorted([*_pass_shares(time.step), *drafts, Share("prefills of other requests", pool.point.pause_s)])


def first_token_shares(pool: PoolPlan, traffic: Traffic, moved: float) -> list[Share]:
    """Where the mean time to first token goes, the largest part first."""
    prefills = pool.one.queue.prefills
    if prefills is None:
        return []
    cached = float(traffic.cached_tokens)
    time = prefill_time(pool.candidate.engine, traffic.inputs.mean - cached, cached, bounds=False)
    waits = [
        Share("queue behind other prefills", mean_wait(prefills, pool.point.prefill_busy, traffic.burstiness)),
        Share("decode step under way", (pool.point.token_s - pool.point.pause_s) / 2.0),
        Share("host, before it starts", prefills.host_s),
        Share("transfer to the decode pool", moved),
    ]
    return _sorted([*_pass_shares(time.passes), *waits])


def mean_wait(prefills: Prefills, busy: float, burstiness: float) -> float:
    """Mean wait behind the prefills of those that came before."""
    from infer_cost.roofline import kingman_wait

    mean, second, _ = prefills.moments
    return float(kingman_wait(busy, burstiness, second / mean**2 - 1.0, mean))


def _pass_shares(time: PassTime) -> list[Share]:
    return [
        Share("arithmetic", float(time.compute_s)),
        Share("memory traffic", float(time.memory_s)),
        Share("network", float(time.scale_up_s) + float(time.scale_out_s)),
        Share("kernel launches and host", float(time.floor_s) + float(time.host_s)),
    ]


def _sorted(shares: list[Share]) -> list[Share]:
    return sorted((share for share in shares if share.seconds > 0), key=lambda share: -share.seconds)


def limit_of_token(pool: PoolPlan, traffic: Traffic) -> str:
    """Say in a few words what a token's time, or a prefill's, mostly is."""
    shares = token_shares(pool, traffic) or first_token_shares(pool, traffic, 0.0)
    whole = sum(share.seconds for share in shares)
    return (
        f"{shares[0].cause} takes {shares[0].seconds / whole:.0%} of a token's time"
        if token_shares(pool, traffic)
        else f"{shares[0].cause} takes {shares[0].seconds / whole:.0%} of a first token's time"
    )


@dataclass(frozen=True, slots=True)
class Flip:
    """A change that would make another plan the cheapest."""

    change: str
    winner: str
    usd_per_hour: float | None = None


def price_flips(plans: Sequence[Plan]) -> list[Flip]:
    """Prices at which another machine would win, nearest first: one for each machine that has a plan of its own."""
    best = plans[0]
    mine = {pool.candidate.machine.id for pool in best.pools}
    flips, seen = [], set(mine)
    for plan in plans[1:]:
        machines = {pool.candidate.machine.id for pool in plan.pools}
        (machine,) = machines if len(machines) == 1 else (None,)
        if machine is None or machine in seen:
            continue
        seen.add(machine)
        now = plan.pools[0].candidate.price.usd_per_hour
        then = math.floor(now * best.usd_per_hour / plan.usd_per_hour * 1000.0) / 1000.0
        flips.append(Flip(f"{machine} below ${then:.2f} a GPU-hour instead of ${now:.2f}", plan.label))
    return flips


def promise_flips(
    best: Plan, promises: Sequence[Promise], again: Callable[[Sequence[Promise]], Plan | None]
) -> list[Flip]:
    """What wins when a promise is halved or doubled, where that isn't the same engines."""
    flips = []
    for place, promise in enumerate(promises):
        for factor in (0.5, 2.0):
            changed = list(promises)
            changed[place] = Promise(promise.metric, promise.percentile, promise.limit_s * factor)
            other = again(changed)
            if other is None:
                flips.append(Flip(f"{changed[place]}", "nothing among these machines"))
            elif _engines(other) != _engines(best):
                flips.append(Flip(f"{changed[place]}", other.label, other.usd_per_hour))
    return flips


def _engines(plan: Plan) -> list[tuple[Any, ...]]:
    return [(pool.role, pool.candidate.machine.id, pool.candidate.settings) for pool in plan.pools]


def estimate_options(pool: PoolPlan, traffic: Traffic) -> dict[str, Any]:
    """Options with which ``estimate`` gives this engine's mean times, at the requests in flight that each one meets."""
    options: dict[str, Any] = dict(pool.candidate.settings)
    plan = pool.candidate.engine.deployment
    if plan.engine.id != "generic":
        options["engine"] = plan.engine.id
    return {
        **options,
        "input_tokens": round(traffic.inputs.mean),
        "output_tokens": round(traffic.outputs.mean),
        **({"cached_tokens": traffic.cached_tokens} if traffic.cached_tokens else {}),
        "concurrency": pool.in_flight,
    }
