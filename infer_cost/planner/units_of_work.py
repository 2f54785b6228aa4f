"""How many requests one engine can take under a service level, alone or as one of a pool that prefills or decodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from infer_cost.planner.candidates import Candidate
from infer_cost.planner.curves import Decodes, Prefills, decodes, prefills
from infer_cost.planner.simulation import simulate
from infer_cost.planner.tails import (
    VALID_UTILIZATION,
    Engine,
    Operating,
    memory_full,
    operating_point,
    pause_share,
    queue,
    token_times,
    ttft,
)
from infer_cost.planner.traffic import Metric, Promise, Traffic
from infer_cost.serving.budget import budget, missing_bytes, sequence_bytes_per_gpu

Role = Literal["both", "prefill", "decode"]
Method = Literal["formula", "simulation"]

RATE_STEPS = 100
"""Rates that an engine is tried at: this many equal parts of its greatest one."""
_FULL_SHARE = 0.2
"""Part of the requests beyond a promised percentile that may find the KV cache full, for the formulas to hold."""
_LONG_PAUSE = 0.3
"""A stop by prefills over the decode that it stops, beyond which token times are too ragged for a smooth curve."""
_BURSTY = 1.2
"""Burstiness beyond which the formula for token times isn't trusted."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A promise that an engine can't keep however little it is asked."""

    what: str
    """``TTFT p99``, ``memory``, ``context window``."""
    needed: float
    reached: float
    unit: str

    @property
    def excess(self) -> float:
        """How many times too large, or too little, it is."""
        low, high = sorted((self.needed, self.reached))
        return high / low if low > 0 else float("inf")

    def __str__(self) -> str:
        if self.unit == "s":
            return f"{self.what} is {self.reached * 1e3:,.1f} ms at best, {self.needed * 1e3:,.1f} ms are promised"
        if self.unit == "B":
            return f"{self.what}: {self.needed / 1e9:,.1f} GB a GPU are needed, {self.reached / 1e9:,.1f} GB usable"
        return f"{self.what} is {self.reached:,.0f} {self.unit}, {self.needed:,.0f} are needed"


@dataclass(frozen=True, slots=True)
class Unit:
    """One engine in a role, with its queue model."""

    candidate: Candidate
    role: Role
    queue: Engine

    @property
    def greatest(self) -> float:
        """Requests a second beyond which its queue grows without end."""
        return self.queue.greatest

    def at(self, rate: float) -> Operating:
        """Where it settles at a rate."""
        return operating_point(self.queue, rate)


@dataclass(frozen=True, slots=True)
class Curves:
    """The times of one engine under some traffic, from which its queue in each role is made."""

    candidate: Candidate
    prefills: Prefills
    decodes: Decodes

    def unit(self, role: Role) -> Unit:
        """The engine in a role."""
        share = self.candidate.engine.deployment.engine.interference_share
        made = queue(
            self.prefills if role != "decode" else None,
            self.decodes if role != "prefill" else None,
            share if role == "both" else 0.0,
        )
        return Unit(self.candidate, role, made)


def curves(candidate: Candidate, traffic: Traffic) -> Curves | Shortfall:
    """Compute the times of an engine, or say why it can't hold the traffic's requests at all."""
    plan = candidate.engine.deployment
    limit = plan.context_limit
    if limit is not None and traffic.longest > limit:
        return Shortfall("the context window", traffic.longest, limit, "tokens")
    if missing_bytes(plan, traffic.longest) > 0:
        share = budget(plan)
        held = float(sequence_bytes_per_gpu(plan, traffic.longest))
        return Shortfall("memory", share.usable - share.kv + held, share.usable, "B")
    return Curves(candidate, prefills(candidate.engine, traffic), decodes(candidate.engine, traffic))


@dataclass(frozen=True, slots=True)
class Kept:
    """What an engine does at a rate."""

    percentiles: tuple[float, ...]
    """By promise."""
    method: Method
    full: float
    """Share of arrivals that find the KV cache full."""


def measure(
    one: Unit,
    traffic: Traffic,
    rate: float,
    promises: Sequence[Promise],
    extra_s: float = 0.0,
    *,
    closely: bool = False,
) -> Kept:
    """Percentiles of an engine at a rate, by formula where it holds and otherwise by simulation.

    Parameters
    ----------
    one : Unit
        The engine
    traffic : Traffic
        Lengths and burstiness
    rate : float
        Requests a second at this engine
    promises : sequence of Promise
        Metrics and percentiles wanted
    extra_s : float
        Added to every time to first token
    closely : bool
        Simulate more requests, for an answer that is shown
    """
    full = memory_full(one.queue, one.at(rate))
    times, method = _times(one, traffic, rate, promises, extra_s, 40 if closely else 20)
    return Kept(tuple(times(p.metric).percentile(p.percentile / 100.0) for p in promises), method, full)


class Times(Protocol):
    """Times of many requests."""

    def percentile(self, share: float) -> float:
        """Time that a share of the requests doesn't exceed."""
        ...

    def share_within(self, limit: float) -> float:
        """Share of the requests that take no longer."""
        ...


def _times(
    one: Unit, traffic: Traffic, rate: float, promises: Sequence[Promise], extra_s: float, beyond_rarest: int
) -> tuple[Callable[[Metric], Times], Method]:
    """Give the times of each metric, by formula where it holds and otherwise by simulation, and say which.

    A simulation has at least ``beyond_rarest`` requests beyond the rarest percentile.
    """
    point = one.at(rate)
    rarest = 1.0 - max((promise.percentile for promise in promises), default=50.0) / 100.0
    # Near saturation, in bursts or with a full cache the formulas end. A pool's own queue is exact at any load.
    beyond = (
        rate > VALID_UTILIZATION * one.greatest * (1.0 + 1e-9)
        or traffic.burstiness > _BURSTY
        or memory_full(one.queue, point) > _FULL_SHARE * rarest
        or pause_share(one.queue, point) > _LONG_PAUSE
    )
    if beyond and one.role == "both" and promises and one.queue.decodes is not None:
        count = min(200_000, max(6_000, int(beyond_rarest / rarest)))
        run = simulate(one.queue, traffic, rate, requests=count)
        return lambda metric: run.times(metric, extra_s), "simulation"
    known: dict[Metric, Times] = {}

    def by_formula(metric: Metric) -> Times:
        if metric not in known:
            known[metric] = _distribution(one, traffic, point, metric, extra_s)
        return known[metric]

    return by_formula, "formula"


def _distribution(one: Unit, traffic: Traffic, point: Operating, metric: Metric, extra_s: float) -> Times:
    if metric == "tpot":
        return token_times(one.queue, point, traffic.outputs, traffic.burstiness)
    return ttft(one.queue, point, traffic.burstiness, extra_s)


def promises_of(role: Role, promises: Sequence[Promise]) -> list[Promise]:
    """Return the promises that an engine in a role answers for."""
    metric: dict[Role, Metric] = {"prefill": "ttft", "decode": "tpot"}
    return [promise for promise in promises if role == "both" or promise.metric == metric[role]]


def optimistic_rate(one: Unit, promises: Sequence[Promise]) -> float | Shortfall:
    """A rate that the engine surely can't exceed under the promises, from means alone; quick.

    A percentile above the median is at least about the mean, and no request is faster than one that is alone.
    """
    import numpy as np

    limit = one.greatest
    for promise in promises_of(one.role, promises):
        if promise.metric == "ttft" and one.queue.prefills is not None:
            alone = one.queue.prefills
            share = promise.percentile / 100.0
            place = min(int(np.searchsorted(alone.cumulative, share)), len(alone.cumulative) - 1)
            best = alone.host_s + float(alone.latency_s[place])
            if best > promise.limit_s:
                return Shortfall(f"TTFT p{promise.percentile:g}", promise.limit_s, best, "s")
        elif promise.metric == "tpot" and one.queue.decodes is not None:
            best = float(one.queue.decodes.token_s[0])
            if best > promise.limit_s:
                return Shortfall(f"TPOT p{promise.percentile:g}", promise.limit_s, best, "s")
            if promise.percentile >= 50.0:
                limit = min(limit, _rate_at_token_time(one, promise.limit_s * 1.0001))
    return limit


def _rate_at_token_time(one: Unit, limit_s: float) -> float:
    """Greatest rate at which the mean token time is within a limit."""
    return _most_parts(RATE_STEPS, lambda part: one.at(part / RATE_STEPS * one.greatest).token_s <= limit_s) * (
        one.greatest / RATE_STEPS
    )


def _most_parts(high: int, holds: Callable[[int], bool]) -> int:
    """Greatest whole number up to ``high`` for which something holds that holds for all smaller ones; 0 for none."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def sustained_rate(
    one: Unit, traffic: Traffic, promises: Sequence[Promise], limit: float, extra_s: float = 0.0
) -> float:
    """Greatest rate at which an engine keeps its promises; 0 when it never does.

    Rates are tried at hundredths of the engine's greatest one, so the answer depends on the engine and the promises,
    not on the traffic that is to be served: a plan for more never costs less. An engine that promises latency isn't
    planned beyond the load that the formulas were held against.
    """
    mine = promises_of(one.role, promises)
    if not mine:
        return min(limit, one.greatest)
    top = min(int(VALID_UTILIZATION * RATE_STEPS), int(limit / one.greatest * RATE_STEPS + 1e-9))
    keeps = partial(_keeps, one, traffic, mine, extra_s)
    return _most_parts(top, keeps) / RATE_STEPS * one.greatest


def _keeps(one: Unit, traffic: Traffic, promises: Sequence[Promise], extra_s: float, part: int) -> bool:
    rate = part / RATE_STEPS * one.greatest
    rarest = 1.0 - max(promise.percentile for promise in promises) / 100.0
    if memory_full(one.queue, one.at(rate)) > _FULL_SHARE * rarest:
        return False
    times, _ = _times(one, traffic, rate, promises, extra_s, 20)
    # The times of tokens cost a tenth of those of first tokens, so they are looked at first.
    ordered = sorted(promises, key=lambda promise: promise.metric, reverse=True)
    return all(times(p.metric).share_within(p.limit_s) >= p.percentile / 100.0 - 1e-9 for p in ordered)
