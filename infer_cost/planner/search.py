"""Search deployments under promises: bounds first, then queues, then simulations of those that are left."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

from infer_cost.planner.candidates import Candidate
from infer_cost.planner.capacity import Method, confirmed_rate, measure, optimistic_rate, sustained_rate
from infer_cost.planner.curves import Prefills
from infer_cost.planner.result import Layout, Plan, PoolPlan
from infer_cost.planner.traffic import Promise, Traffic
from infer_cost.planner.unit import Curves, Role, Shortfall, Unit, curves, promises_of
from infer_cost.serving.disaggregated import kv_transfer_time
from infer_cost.serving.scenario import Pool

_FEW = 3
"""Engines that are carried on whatever their machine."""
_RACK = 32
"""GPUs of a scale-up domain from which on two pools are taken to share it."""


def _engines(rate: float, most: float) -> int:
    return max(1, math.ceil(rate / most - 1e-9))


class Search:
    """One search: its traffic and promises, the engines' curves, and what failed on the way."""

    def __init__(self, traffic: Traffic, promises: tuple[Promise, ...], spare: int, keep: int) -> None:
        self.traffic, self.promises, self.spare, self.keep = traffic, promises, spare, keep
        self.every_machine = True
        """Whether the best engine of each machine is wanted, or only the best of all."""
        self.curves: list[Curves] = []
        self.shortfalls: list[Shortfall] = []
        self.units: dict[tuple[int, Role], Unit] = {}
        self.rates: dict[tuple[Any, ...], float] = {}
        """Sustained rates by engine and the promises that it answers for."""
        self.limits: dict[tuple[Any, ...], float | Shortfall] = {}
        """The same for the rates that it can't exceed."""

    def again(self, promises: Sequence[Promise]) -> Search:
        """Return the search of only the best plan under other promises; what doesn't depend on them is kept."""
        other = Search(self.traffic, tuple(promises), self.spare, 1)
        other.every_machine = False
        other.curves, other.units = self.curves, self.units
        other.rates, other.limits = self.rates, self.limits
        return other

    def compute(self, candidates: Sequence[Candidate]) -> None:
        """Compute the curves of every engine that has room for the model and its requests."""
        known: dict[Hashable, Prefills] = {}
        for candidate in candidates:
            made = curves(candidate, self.traffic, known)
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
        return [self.plan([sized], simulated=place < _FEW) for place, sized in enumerate(self.cheapest("both"))]

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
        for least, front, back, most in sorted(pairs, key=lambda pair: pair[0]):
            if len(made) >= self.keep and least > made[self.keep - 1][0]:
                break
            moved = self.transfer(front, back)
            ahead = self.sustained(front, front.greatest, moved)
            if ahead > 0:
                cost = self.cost(front, ahead) + self.cost(back, most)
                made.append((cost, [(front, ahead), (back, most)], moved))
                made.sort(key=lambda item: item[0])
        return [self.plan(sized, moved) for _, sized, moved in made[: self.keep]]

    def offers(self, role: Role) -> list[tuple[float, Unit, float]]:
        """Engines that may do: least cost, engine, and the rate that it can't exceed; the cheapest first."""
        found = []
        for each in self.curves:
            key = id(each), role
            one = self.units.get(key) or self.units.setdefault(key, each.unit(role))
            limit = self.optimistic(one)
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
            dearest = made[_FEW - 1][0] if len(made) >= _FEW else math.inf
            if self.every_machine:
                dearest = max(dearest, machines.get(machine, math.inf))
            if least > dearest:
                continue
            most = self.sustained(one, limit, least=self.least_rate(one, dearest))
            if most > 0:
                cost = self.cost(one, most)
                made.append((cost, one, most))
                made.sort(key=lambda item: item[0])
                machines[machine] = min(cost, machines.get(machine, math.inf))
            elif dearest == math.inf:
                self.shortfalls.append(self.closest_miss(one))
        made = self.confirm(made)
        seen: set[str] = set()
        kept = []
        for place, (_, one, most) in enumerate(made):
            if place < _FEW or one.candidate.machine.id not in seen:
                kept.append((one, most))
            seen.add(one.candidate.machine.id)
        return kept

    def confirm(self, made: list[tuple[float, Unit, float]]) -> list[tuple[float, Unit, float]]:
        """Simulate the cheapest engines that the formulas don't hold for, until the best ones are sure.

        A simulation only ever lowers a rate, so an engine that is dearer by the formulas needn't be simulated.
        """
        sure: list[tuple[float, Unit, float]] = []
        unsure = list(made)
        while unsure and sum(cost <= unsure[0][0] for cost, _, _ in sure) < (_FEW if self.every_machine else 1):
            _, one, most = unsure.pop(0)
            most = confirmed_rate(one, self.traffic, self.promises, most) if self.promises else most
            if most > 0:
                sure.append((self.cost(one, most), one, most))
            else:
                self.shortfalls.append(self.closest_miss(one))
        return sorted([*sure, *unsure], key=lambda item: item[0])

    def optimistic(self, one: Unit) -> float | Shortfall:
        """Rate that an engine can't exceed, computed once for each set of promises that it answers for."""
        key = id(one), *promises_of(one.role, self.promises)
        if key not in self.limits:
            self.limits[key] = optimistic_rate(one, self.promises)
        return self.limits[key]

    def sustained(self, one: Unit, limit: float, extra_s: float = 0.0, least: float = 0.0) -> float:
        """Rate that an engine sustains, 0 below ``least``; computed once for each set of promises of its role."""
        key = id(one), limit, extra_s, *promises_of(one.role, self.promises)
        if key in self.rates:
            return self.rates[key]
        rate = sustained_rate(one, self.traffic, self.promises, limit, extra_s, least)
        if rate > 0 or least == 0:
            self.rates[key] = rate
        return rate

    def least_rate(self, one: Unit, dearest: float) -> float:
        """Rate that each engine must sustain for as many as the traffic needs to cost no more than ``dearest``."""
        if dearest == math.inf:
            return 0.0
        affordable = math.floor(dearest / one.candidate.usd_per_hour + 1e-9) - self.spare
        return self.traffic.rate / affordable if affordable > 0 else math.inf

    def cost(self, one: Unit, most: float) -> float:
        """Dollars an hour of as many engines as the traffic needs."""
        return (_engines(self.traffic.rate, most) + self.spare) * one.candidate.usd_per_hour

    def closest_miss(self, one: Unit) -> Shortfall:
        """What an engine misses even at a hundredth of its greatest rate."""
        mine = promises_of(one.role, self.promises)
        reached = measure(one, self.traffic, one.greatest / 100.0, mine, may_simulate=False).percentiles
        worst = max(zip(mine, reached, strict=True), key=lambda item: item[1] / item[0].limit_s)
        return Shortfall(f"{worst[0].metric.upper()} p{worst[0].percentile:g}", worst[0].limit_s, worst[1], "s")

    def transfer(self, front: Unit, back: Unit) -> float:
        """Seconds that the mean prompt's cache takes from one pool to the other."""
        # Between boxes the cache takes the NICs; only a rack-sized domain is sure to hold both ends of every transfer.
        machine = front.candidate.machine
        many = 1 if machine.scale_up_domain >= _RACK else machine.scale_up_domain
        pools = Pool(front.candidate.engine, many), Pool(back.candidate.engine, many)
        return float(kv_transfer_time(*pools, self.traffic.inputs.mean))

    def plan(self, sized: Sequence[tuple[Unit, float]], moved: float = 0.0, *, simulated: bool = True) -> Plan:
        """Put pools together into a plan, with its percentiles; by simulation where need be, if wanted."""
        pools = []
        values: dict[Promise, tuple[float, Method]] = {}
        for one, most in sized:
            pool = self.pool(one, most)
            mine = promises_of(one.role, self.promises)
            extra = moved if one.role == "prefill" else 0.0
            kept = measure(one, self.traffic, pool.rate, mine, extra, may_simulate=simulated)
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
