"""The cheapest deployments that keep a service level under some traffic, prefill and decode together or apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.model_specs.architecture import Architecture
from infer_cost.planner.candidates import Candidate, Choice, find_candidates
from infer_cost.planner.tails import Operating
from infer_cost.planner.traffic import Promise, Traffic
from infer_cost.planner.units_of_work import (
    Curves,
    Method,
    Role,
    Shortfall,
    Unit,
    curves,
    measure,
    optimistic_rate,
    promises_of,
    sustained_rate,
)
from infer_cost.serving.disaggregated import kv_transfer_time
from infer_cost.serving.scenario import Pool

Layout = Literal["together", "apart"]

_FEW = 3
"""Engines that are carried on whatever their machine."""
_RACK = 32
"""GPUs of a scale-up domain from which on two pools are taken to share it."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """What a plan may take at most; None for no limit."""

    usd_per_hour: float | None = None
    gpus: int | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Engines that do the same work."""

    one: Unit
    engines: int
    spare: int
    """Of these engines, those kept for failures."""
    most: float
    """Requests a second that each could take within the promises."""
    point: Operating
    """Where each engine that isn't spare settles."""

    @property
    def role(self) -> Role:
        """What the engines do."""
        return self.one.role

    @property
    def candidate(self) -> Candidate:
        """The engine."""
        return self.one.candidate

    @property
    def rate(self) -> float:
        """Requests a second at each engine that isn't spare."""
        return self.point.rate

    @property
    def busy(self) -> float:
        """Rate over the greatest one that doesn't let the queue grow."""
        return self.point.rate / self.one.greatest

    @property
    def in_flight(self) -> int:
        """Requests in flight at each engine as one of them sees it: itself, and those that decode besides."""
        return max(1, round(self.point.decoding + 1.0)) if self.role != "prefill" else 1

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
    unpriced: tuple[str, ...]
    again: Callable[[Sequence[Promise]], Plan | None]
    """The cheapest plan under other promises, None when there is none; the engines' times are kept."""


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
        Plans with pools of their own to consider.

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
    search = _Search(traffic, tuple(promises), spare, keep)
    search.compute(found.candidates)
    best = search.best(layouts)
    if not best:
        raise _cannot(search.shortfalls, promises)
    affordable = [plan for plan in best if _within(plan, budgets or Budgets())]
    if not affordable:
        raise _over_budget(min(best, key=lambda plan: plan.usd_per_hour), budgets or Budgets())
    ranked = sorted(affordable, key=lambda plan: (plan.usd_per_hour, -plan.headroom))
    return Plans(tuple(ranked), found.looked_at, found.unpriced, partial(_again, search, layouts))


def _again(search: _Search, layouts: Sequence[Layout], promises: Sequence[Promise]) -> Plan | None:
    other = _Search(search.traffic, tuple(promises), search.spare, 1)
    other.curves, other.every_machine = search.curves, False
    return min(other.best(layouts), key=lambda plan: (plan.usd_per_hour, -plan.headroom), default=None)


def _engines(rate: float, most: float) -> int:
    return max(1, math.ceil(rate / most - 1e-9))


class _Search:
    """One search: its traffic and promises, the engines' curves, and what failed on the way."""

    def __init__(self, traffic: Traffic, promises: tuple[Promise, ...], spare: int, keep: int) -> None:
        self.traffic, self.promises, self.spare, self.keep = traffic, promises, spare, keep
        self.every_machine = True
        """Whether the best engine of each machine is wanted, or only the best of all."""
        self.curves: list[Curves] = []
        self.shortfalls: list[Shortfall] = []

    def compute(self, candidates: Sequence[Candidate]) -> None:
        """Compute the curves of every engine that has room for the model and its requests."""
        for candidate in candidates:
            made = curves(candidate, self.traffic)
            if isinstance(made, Shortfall):
                self.shortfalls.append(made)
            else:
                self.curves.append(made)

    def best(self, layouts: Sequence[Layout]) -> list[Plan]:
        """The best plans of every machine and layout, in no order."""
        found = self.together() if "together" in layouts else []
        return found + (self.apart() if "apart" in layouts and self.traffic.outputs.mean > 1 else [])

    def together(self) -> list[Plan]:
        """Engines that do both, the best few of every machine."""
        return [self.plan([sized]) for sized in self.cheapest("both")]

    def apart(self) -> list[Plan]:
        """Pools of their own, on the same or different machines: the best few pairs."""
        fronts = [offer for offer in self.offers("prefill") if offer[1].candidate.engine.deployment.speculation is None]
        pairs = [
            (least + self.cost(back, most), front, back, most)
            for back, most in self.cheapest("decode")
            for least, front, _ in fronts
            if front.candidate.engine.deployment.kv.id == back.candidate.engine.deployment.kv.id
        ]
        made: list[tuple[float, list[tuple[Unit, float]], float]] = []
        known: dict[tuple[int, float], float] = {}
        for least, front, back, most in sorted(pairs, key=lambda pair: pair[0]):
            if len(made) >= self.keep and least > made[self.keep - 1][0]:
                break
            moved = self.transfer(front, back)
            key = id(front), moved
            if key not in known:
                known[key] = sustained_rate(front, self.traffic, self.promises, front.greatest, moved)
            if known[key] > 0:
                made.append(
                    (self.cost(front, known[key]) + self.cost(back, most), [(front, known[key]), (back, most)], moved)
                )
                made.sort(key=lambda item: item[0])
        return [self.plan(sized, moved) for _, sized, moved in made[: self.keep]]

    def offers(self, role: Role) -> list[tuple[float, Unit, float]]:
        """Engines that may do: least cost, engine, and the rate that it can't exceed; the cheapest first."""
        found = []
        for each in self.curves:
            one = each.unit(role)
            limit = optimistic_rate(one, self.promises)
            if isinstance(limit, Shortfall):
                self.shortfalls.append(limit)
            elif limit > 0:
                found.append((self.cost(one, limit), one, limit))
        return sorted(found, key=lambda offer: offer[0])

    def cheapest(self, role: Role) -> list[tuple[Unit, float]]:
        """The cheapest engines in a role, and the rate that each sustains: the few best, and the best of each machine.

        An engine whose least cost is beyond those that were found already isn't looked at closer.
        """
        made: list[tuple[float, Unit, float]] = []
        machines: dict[str, float] = {}
        for least, one, limit in self.offers(role):
            machine = one.candidate.machine.id
            few = len(made) < _FEW or least <= made[_FEW - 1][0]
            if not few and (not self.every_machine or least > machines.get(machine, math.inf)):
                continue
            most = sustained_rate(one, self.traffic, self.promises, limit)
            if most > 0:
                cost = self.cost(one, most)
                made.append((cost, one, most))
                made.sort(key=lambda item: item[0])
                machines[machine] = min(cost, machines.get(machine, math.inf))
            else:
                self.shortfalls.append(self.closest_miss(one))
        return [
            (one, most)
            for place, (cost, one, most) in enumerate(made)
            if place < _FEW or cost <= machines[one.candidate.machine.id]
        ]

    def cost(self, one: Unit, most: float) -> float:
        """Dollars an hour of as many engines as the traffic needs."""
        return (_engines(self.traffic.rate, most) + self.spare) * one.candidate.usd_per_hour

    def closest_miss(self, one: Unit) -> Shortfall:
        """What an engine misses even at a hundredth of its greatest rate."""
        mine = promises_of(one.role, self.promises)
        reached = measure(one, self.traffic, one.greatest / 100.0, mine).percentiles
        worst = max(zip(mine, reached, strict=True), key=lambda item: item[1] / item[0].limit_s)
        return Shortfall(f"{worst[0].metric.upper()} p{worst[0].percentile:g}", worst[0].limit_s, worst[1], "s")

    def transfer(self, front: Unit, back: Unit) -> float:
        """Seconds that the mean prompt's cache takes from one pool to the other."""
        # Between boxes the cache takes the NICs; only a rack-sized domain is sure to hold both ends of every transfer.
        machine = front.candidate.machine
        many = 1 if machine.scale_up_domain >= _RACK else machine.scale_up_domain
        pools = Pool(front.candidate.engine, many), Pool(back.candidate.engine, many)
        return float(kv_transfer_time(*pools, self.traffic.inputs.mean))

    def plan(self, sized: Sequence[tuple[Unit, float]], moved: float = 0.0) -> Plan:
        """Put pools together into a plan, with its percentiles."""
        pools = []
        values: dict[Promise, tuple[float, Method]] = {}
        for one, most in sized:
            pool = self.pool(one, most)
            mine = promises_of(one.role, self.promises)
            extra = moved if one.role == "prefill" else 0.0
            kept = measure(one, self.traffic, pool.rate, mine, extra, closely=True)
            values |= {promise: (value, kept.method) for promise, value in zip(mine, kept.percentiles, strict=True)}
            pools.append(pool)
        hourly = sum(pool.usd_per_hour for pool in pools)
        return Plan(
            tuple(pools),
            self.promises,
            tuple(values[promise][0] for promise in self.promises),
            tuple(values[promise][1] for promise in self.promises),
            moved,
            hourly,
            hourly / 3600.0 / self.traffic.output_tokens_per_s * 1e6,
            hourly / 3600.0 / self.traffic.rate,
        )

    def pool(self, one: Unit, most: float) -> PoolPlan:
        """Size a pool for the traffic."""
        engines = _engines(self.traffic.rate, most)
        return PoolPlan(one, engines + self.spare, self.spare, most, one.at(self.traffic.rate / engines))


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
        hint=f"{nearest.excess:.2f} times what would do; larger --tp, other machines or formats may help",
    )
