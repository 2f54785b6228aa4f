"""The cheapest deployments that keep a service level under some traffic, prefill and decode together or apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.model_specs.architecture import Architecture
from infer_cost.planner.candidates import Candidate, Choice, find_candidates
from infer_cost.planner.traffic import Promise, Traffic
from infer_cost.planner.units_of_work import (
    Method,
    Role,
    Shortfall,
    Unit,
    measure,
    optimistic_rate,
    promises_of,
    sustained_rate,
    unit,
)
from infer_cost.serving.disaggregated import kv_transfer_time
from infer_cost.serving.scenario import Pool

Layout = Literal["together", "apart"]


@dataclass(frozen=True, slots=True)
class Budgets:
    """What a plan may take at most; None for no limit."""

    usd_per_hour: float | None = None
    gpus: int | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Engines that do the same work."""

    role: Role
    candidate: Candidate
    engines: int
    spare: int
    """Of these engines, those kept for failures."""
    rate: float
    """Requests a second at each engine that isn't spare."""
    most: float
    """Requests a second that each could take within the promises."""
    busy: float
    """Rate over the greatest one that doesn't let the queue grow."""
    prefill_busy: float
    in_flight: float
    """Requests that decode at once on each engine, on average."""
    token_s: float
    """Mean time of a token."""
    full: float
    """Share of arrivals that find the KV cache full."""

    @property
    def gpus(self) -> int:
        """GPUs of all engines."""
        return self.engines * self.candidate.gpus

    @property
    def usd_per_hour(self) -> float:
        """What the pool costs an hour."""
        return self.engines * self.candidate.usd_per_hour

    @property
    def power_w(self) -> float | None:
        """Power of the pool, everything that runs with its GPUs."""
        each = self.candidate.machine.power_per_gpu_w
        return each * self.gpus if each else None


@dataclass(frozen=True, slots=True)
class Plan:
    """A deployment that keeps the promises, and what it costs."""

    pools: tuple[PoolPlan, ...]
    promised: tuple[Promise, ...]
    percentiles_s: tuple[float, ...]
    """By promise."""
    methods: tuple[Method, ...]
    """How each percentile was found."""
    transfer_s: float
    usd_per_hour: float
    usd_per_million_output_tokens: float
    usd_per_request: float

    @property
    def layout(self) -> Layout:
        """Whether prefill and decode share engines."""
        return "together" if len(self.pools) == 1 else "apart"

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(pool.gpus for pool in self.pools)

    @property
    def power_w(self) -> float | None:
        """Power in all; None when a machine's isn't known."""
        powers = [pool.power_w for pool in self.pools]
        return None if None in powers else sum(power for power in powers if power)

    @property
    def headroom(self) -> float:
        """Traffic that it could take over the traffic that was planned for, spare engines aside."""
        return min(pool.most / pool.rate for pool in self.pools)

    @property
    def label(self) -> str:
        """The plan in a few words."""
        parts = []
        for pool in self.pools:
            engines = f"{pool.engines} x " if pool.engines > 1 else ""
            role = "" if pool.role == "both" else f"{pool.role}: "
            parts.append(f"{role}{engines}({pool.candidate.label})" if engines else f"{role}{pool.candidate.label}")
        return " + ".join(parts)


@dataclass(frozen=True, slots=True)
class Plans:
    """The answer: plans from the cheapest on, each of another kind."""

    best: tuple[Plan, ...]
    looked_at: int
    """Engines that were considered."""
    feasible: int
    unpriced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Offer:
    """An engine in a role, and the rate that it can't exceed."""

    one: Unit
    optimistic: float


def plans(
    model: Architecture,
    traffic: Traffic,
    promises: Sequence[Promise],
    choice: Choice,
    *,
    budgets: Budgets | None = None,
    spare: int = 0,
    layouts: Sequence[Layout] = ("together", "apart"),
    keep: int = 5,
) -> Plans:
    """Find the cheapest deployments that keep every promise.

    Parameters
    ----------
    model : Architecture
        What is served.
    traffic : Traffic
        The peak that is planned for.
    promises : sequence of Promise
        The service level; without any, the engines are filled and only the rate counts.
    choice : Choice
        Machines, formats and cuts to choose between.
    budgets : Budgets, optional
        Limits of money, GPUs and power.
    spare : int
        Engines beyond those needed, in each pool, for failures.
    layouts : sequence of {"together", "apart"}
        Whether prefill and decode may share engines, or have pools of their own.
    keep : int
        Plans to return, at most one for each engine.

    Returns
    -------
    Plans
        From the cheapest on.

    Raises
    ------
    CannotBeMetError
        Naming the promise that fails first and by how much.
    """
    found = find_candidates(model, choice)
    shortfalls: list[Shortfall] = []
    best: list[Plan] = []
    if "together" in layouts:
        best += _together(found.candidates, traffic, promises, spare, keep, shortfalls)
    if "apart" in layouts and traffic.outputs.mean > 1:
        best += _apart(found.candidates, traffic, promises, spare, keep, shortfalls)
    if not best:
        raise _cannot(shortfalls, promises)
    affordable = [plan for plan in best if _within(plan, budgets or Budgets())]
    if not affordable:
        raise _over_budget(min(best, key=lambda plan: plan.usd_per_hour), budgets or Budgets())
    ranked = sorted(affordable, key=lambda plan: (plan.usd_per_hour, -plan.headroom))[:keep]
    return Plans(tuple(ranked), found.looked_at, len(best), found.unpriced)


def _offers(
    candidates: Sequence[Candidate],
    traffic: Traffic,
    promises: Sequence[Promise],
    role: Role,
    shortfalls: list[Shortfall],
) -> list[_Offer]:
    """Engines that may do, those that could be cheapest first."""
    offers = []
    for candidate in candidates:
        one = unit(candidate, traffic, role)
        limit = one if isinstance(one, Shortfall) else optimistic_rate(one, promises)
        if isinstance(one, Shortfall) or isinstance(limit, Shortfall):
            shortfalls.append(limit)  # type: ignore[arg-type]
        elif limit > 0:
            offers.append(_Offer(one, limit))
    return sorted(offers, key=lambda offer: _cost(offer.one, traffic.rate, offer.optimistic, 0))


def _cost(one: Unit, rate: float, most: float, spare: int) -> float:
    return (_engines(rate, most) + spare) * one.candidate.usd_per_hour


def _engines(rate: float, most: float) -> int:
    return max(1, math.ceil(rate / most - 1e-9))


def _together(
    candidates: Sequence[Candidate],
    traffic: Traffic,
    promises: Sequence[Promise],
    spare: int,
    keep: int,
    shortfalls: list[Shortfall],
) -> list[Plan]:
    made: list[tuple[float, Unit, float]] = []
    for offer in _offers(candidates, traffic, promises, "both", shortfalls):
        if len(made) >= keep and _cost(offer.one, traffic.rate, offer.optimistic, spare) > made[keep - 1][0]:
            break
        most = sustained_rate(offer.one, traffic, promises, offer.optimistic)
        if most <= 0:
            shortfalls.append(_closest_miss(offer.one, traffic, promises))
            continue
        made.append((_cost(offer.one, traffic.rate, most, spare), offer.one, most))
        made.sort(key=lambda item: item[0])
    return [_plan([(one, most)], traffic, promises, spare, 0.0) for _, one, most in made[:keep]]


def _closest_miss(one: Unit, traffic: Traffic, promises: Sequence[Promise]) -> Shortfall:
    """What an engine misses even at a hundredth of its greatest rate."""
    mine = promises_of(one.role, promises)
    reached = measure(one, traffic, one.greatest / 100.0, mine).percentiles
    worst = max(zip(mine, reached, strict=True), key=lambda item: item[1] / item[0].limit_s)
    return Shortfall(f"{worst[0].metric.upper()} p{worst[0].percentile:g}", worst[0].limit_s, worst[1], "s")


def _apart(
    candidates: Sequence[Candidate],
    traffic: Traffic,
    promises: Sequence[Promise],
    spare: int,
    keep: int,
    shortfalls: list[Shortfall],
) -> list[Plan]:
    """Pools of their own: the cheapest few of each role, every pair of them with its transfer."""
    fronts = _offers([c for c in candidates if not _drafts(c)], traffic, promises, "prefill", shortfalls)
    backs = _offers(candidates, traffic, promises, "decode", shortfalls)
    decoders = _cheapest(backs, traffic, promises, spare, keep)
    made = []
    for front in fronts[: 2 * keep]:
        for back, most in decoders:
            if front.one.candidate.engine.deployment.kv.id != back.candidate.engine.deployment.kv.id:
                continue
            moved = _transfer(front.one, back, traffic)
            ahead = sustained_rate(front.one, traffic, promises, front.optimistic, moved)
            if ahead > 0:
                made.append(_plan([(front.one, ahead), (back, most)], traffic, promises, spare, moved))
    return sorted(made, key=lambda plan: plan.usd_per_hour)[:keep]


def _drafts(candidate: Candidate) -> bool:
    return candidate.engine.deployment.speculation is not None


def _cheapest(
    offers: Sequence[_Offer], traffic: Traffic, promises: Sequence[Promise], spare: int, keep: int
) -> list[tuple[Unit, float]]:
    made: list[tuple[float, Unit, float]] = []
    for offer in offers:
        if len(made) >= keep and _cost(offer.one, traffic.rate, offer.optimistic, spare) > made[keep - 1][0]:
            break
        most = sustained_rate(offer.one, traffic, promises, offer.optimistic)
        if most > 0:
            made.append((_cost(offer.one, traffic.rate, most, spare), offer.one, most))
            made.sort(key=lambda item: item[0])
    return [(one, most) for _, one, most in made[:keep]]


def _transfer(front: Unit, back: Unit, traffic: Traffic) -> float:
    pools = Pool(front.candidate.engine, 1), Pool(back.candidate.engine, 1)
    return float(kv_transfer_time(*pools, traffic.inputs.mean))


def _plan(
    sized: Sequence[tuple[Unit, float]], traffic: Traffic, promises: Sequence[Promise], spare: int, moved: float
) -> Plan:
    pools = []
    values: dict[Promise, tuple[float, Method]] = {}
    for one, most in sized:
        engines = _engines(traffic.rate, most)
        rate = traffic.rate / engines
        point = one.at(rate)
        mine = promises_of(one.role, promises)
        kept = measure(one, traffic, rate, mine, moved if one.role == "prefill" else 0.0, closely=True)
        values |= {promise: (value, kept.method) for promise, value in zip(mine, kept.percentiles, strict=True)}
        pools.append(
            PoolPlan(
                one.role,
                one.candidate,
                engines + spare,
                spare,
                rate,
                most,
                rate / one.greatest,
                point.prefill_busy,
                point.decoding,
                point.token_s,
                kept.full,
            )
        )
    hourly = sum(pool.usd_per_hour for pool in pools)
    return Plan(
        tuple(pools),
        tuple(promises),
        tuple(values[promise][0] for promise in promises),
        tuple(values[promise][1] for promise in promises),
        moved,
        hourly,
        hourly / 3600.0 / traffic.output_tokens_per_s * 1e6,
        hourly / 3600.0 / traffic.rate,
    )


def _within(plan: Plan, budgets: Budgets) -> bool:
    return (
        (budgets.usd_per_hour is None or plan.usd_per_hour <= budgets.usd_per_hour)
        and (budgets.gpus is None or plan.gpus <= budgets.gpus)
        and (budgets.power_w is None or plan.power_w is None or plan.power_w <= budgets.power_w)
    )


def _over_budget(cheapest: Plan, budgets: Budgets) -> CannotBeMetError:
    for field, limit, needed, unit_name in (
        ("max_cost_per_hour", budgets.usd_per_hour, cheapest.usd_per_hour, "$ an hour"),
        ("max_gpus", budgets.gpus, float(cheapest.gpus), "GPUs"),
        ("max_power", budgets.power_w, cheapest.power_w, "W"),
    ):
        if limit is not None and needed is not None and needed > limit:
            return CannotBeMetError(
                f"the promises can be kept, but not within {limit:,.6g} {unit_name}: the cheapest plan takes "
                f"{needed:,.6g} ({cheapest.label})",
                field=field,
                value=limit,
                hint=f"{needed / limit:.2f} times the budget",
            )
    return CannotBeMetError("no plan is within all budgets together", field="budget")


def _cannot(shortfalls: Sequence[Shortfall], promises: Sequence[Promise]) -> CannotBeMetError:
    """Name what fails on the engine that comes closest."""
    if not shortfalls:
        raise InputError("nothing to choose from", field="hardware")
    # Who fails at the lightest promise by the least came closest; an engine without room for the model never did.
    timed = [short for short in shortfalls if short.unit == "s"]
    nearest = min(timed or shortfalls, key=lambda short: short.excess)
    names = {str(promise).partition(" <")[0]: promise.metric for promise in promises}
    return CannotBeMetError(
        f"no deployment keeps the promise: {nearest}, even for a single request"
        if nearest.unit == "s"
        else f"no deployment can hold it: {nearest}",
        field=names.get(nearest.what, "hardware"),
        hint=f"{nearest.excess:.2f} times what would do; more GPUs an engine (--tp), other machines or formats may help",
    )
