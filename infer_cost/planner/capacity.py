"""How many requests one engine can take under a service level, by formula where it holds, otherwise by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from infer_cost.planner.simulation import Simulated, simulate
from infer_cost.planner.tails import VALID_UTILIZATION, Operating, memory_full, pause_share, token_times, ttft
from infer_cost.planner.traffic import Metric, Promise, Traffic
from infer_cost.planner.unit import Shortfall, Unit, promises_of

Method = Literal["formula", "simulation"]

RATE_STEPS = 100
"""Rates that an engine is tried at: this many equal parts of its greatest one."""
_FULL_SHARE = 0.2
"""Part of the requests beyond a promised percentile that may find the KV cache full, for the formulas to hold."""
_LONG_PAUSE = 0.3
"""A stop by prefills over the decode that it stops, beyond which token times are too ragged for a smooth curve."""
_BURSTY = 1.2
"""Burstiness beyond which the formula for token times isn't trusted."""
_FEWEST, _MOST = 3_000, 200_000
"""Requests of a simulation."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an engine does at a rate."""

    percentiles: tuple[float, ...]
    """By promise."""
    method: Method


class Times(Protocol):
    """Times of many requests."""

    def percentile(self, share: float) -> float:
        """Time that a share of the requests doesn't exceed."""
        ...

    def share_within(self, limit: float) -> float:
        """Share of the requests that take no longer."""
        ...


def measure(
    one: Unit,
    traffic: Traffic,
    rate: float,
    promises: Sequence[Promise],
    extra_s: float = 0.0,
    *,
    may_simulate: bool = True,
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
    may_simulate : bool
        False for the formula even where it doesn't hold
    """
    if may_simulate and beyond_formulas(one, traffic, rate, promises):
        run = _simulation(one, traffic, rate, promises, beyond_rarest=40)
        times: Callable[[Metric], Times] = partial(run.times, extra_s=extra_s)
        method: Method = "simulation"
    else:
        times, method = partial(_by_formula, one, traffic, one.at(rate), extra_s), "formula"
    known = {metric: times(metric) for metric in {promise.metric for promise in promises}}
    return Kept(tuple(known[p.metric].percentile(p.percentile / 100.0) for p in promises), method)


def beyond_formulas(one: Unit, traffic: Traffic, rate: float, promises: Sequence[Promise]) -> bool:
    """Whether the formulas weren't found to hold: near saturation, in bursts, with a full cache or long pauses.

    The queue of a pool that only prefills is exact at any load, and one that only decodes has no pauses.
    """
    if one.role != "both" or not promises or one.queue.decodes is None:
        return False
    point = one.at(rate)
    return (
        rate > VALID_UTILIZATION * one.greatest * (1.0 + 1e-9)
        or traffic.burstiness > _BURSTY
        or memory_full(one.queue, point) > _FULL_SHARE * _rarest(promises)
        or pause_share(one.queue, point) > _LONG_PAUSE
    )


def _rarest(promises: Sequence[Promise]) -> float:
    return 1.0 - max(promise.percentile for promise in promises) / 100.0


def _simulation(
    one: Unit, traffic: Traffic, rate: float, promises: Sequence[Promise], *, beyond_rarest: int
) -> Simulated:
    """Simulate so many requests that some lie beyond the rarest percentile promised."""
    count = min(_MOST, max(_FEWEST, int(beyond_rarest / _rarest(promises))))
    return simulate(one.queue, traffic, rate, requests=count)


def _by_formula(one: Unit, traffic: Traffic, point: Operating, extra_s: float, metric: Metric) -> Times:
    if metric == "tpot":
        return token_times(one.queue, point, traffic.outputs, traffic.burstiness)
    return ttft(one.queue, point, traffic.burstiness, extra_s)


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


def _most_parts(high: int, holds: Callable[[int], bool], least: int = 0) -> int:
    """Greatest whole number up to ``high`` for which something holds that holds for all smaller ones; 0 for none.

    Also 0 when it doesn't hold for ``least``, below which the answer is of no interest.
    """
    if least > high or (least > 0 and not holds(least)):
        return 0
    low = least
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def sustained_rate(
    one: Unit, traffic: Traffic, promises: Sequence[Promise], limit: float, extra_s: float = 0.0, least: float = 0.0
) -> float:
    """Greatest rate at which an engine keeps its promises by the formulas; 0 when it never does, or not at ``least``.

    Rates are tried at hundredths of the engine's greatest one, so the answer depends on the engine and the promises,
    not on the traffic that is to be served: a plan for more never costs less. An engine that promises latency isn't
    planned beyond the load that the formulas were held against.
    """
    mine = promises_of(one.role, promises)
    if not mine:
        return min(limit, one.greatest)
    top = min(int(VALID_UTILIZATION * RATE_STEPS), int(limit / one.greatest * RATE_STEPS + 1e-9))
    keeps = partial(_keeps, one, traffic, mine, extra_s)
    lowest = math.ceil(least / one.greatest * RATE_STEPS - 1e-9)
    return _most_parts(top, keeps, lowest) / RATE_STEPS * one.greatest


def _keeps(one: Unit, traffic: Traffic, promises: Sequence[Promise], extra_s: float, part: int) -> bool:
    point = one.at(part / RATE_STEPS * one.greatest)
    if memory_full(one.queue, point) > _FULL_SHARE * _rarest(promises):
        return False
    # The times of tokens cost a tenth of those of first tokens, so they are looked at first.
    ordered = sorted(promises, key=lambda promise: promise.metric, reverse=True)
    return all(_holds(p, _by_formula(one, traffic, point, extra_s, p.metric)) for p in ordered)


def _holds(promise: Promise, times: Times) -> bool:
    return times.share_within(promise.limit_s) >= promise.percentile / 100.0 - 1e-9


def confirmed_rate(one: Unit, traffic: Traffic, promises: Sequence[Promise], rate: float) -> float:
    """Return a rate that the formulas allow, or as much of it as a simulation confirms where they don't hold."""
    mine = promises_of(one.role, promises)
    part = round(rate / one.greatest * RATE_STEPS)
    while part > 0:
        rate = part / RATE_STEPS * one.greatest
        if not beyond_formulas(one, traffic, rate, mine):
            return rate
        run = _simulation(one, traffic, rate, mine, beyond_rarest=20)
        if all(_holds(promise, run.times(promise.metric)) for promise in mine):
            return rate
        part = min(part - 1, int(0.93 * part))
    return 0.0
