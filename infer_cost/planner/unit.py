"""One engine in a role, with its queue model: serving whole requests, or as one of a pool that prefills or decodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from infer_cost.planner.candidates import Candidate
from infer_cost.planner.curves import Decodes, Prefills, decodes, prefills
from infer_cost.planner.tails import Engine, Operating, operating_point, queue
from infer_cost.planner.traffic import Metric, Promise, Traffic
from infer_cost.serving.budget import budget, missing_bytes, sequence_bytes_per_gpu

Role = Literal["both", "prefill", "decode"]


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
            return f"{self.what} is {self.reached * 1e3:,.4g} ms at best, {self.needed * 1e3:,.4g} ms are promised"
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
        made = queue(
            self.prefills if role != "decode" else None,
            self.decodes if role != "prefill" else None,
            1.0 if role == "both" else 0.0,
        )
        return Unit(self.candidate, role, made)


def curves(candidate: Candidate, traffic: Traffic, known: dict[Hashable, Prefills]) -> Curves | Shortfall:
    """Compute the times of an engine, or say why it can't hold the traffic's requests at all.

    Speculation doesn't change a prefill, so engines that differ in nothing else find theirs in ``known``.
    """
    plan = candidate.engine.deployment
    limit = plan.context_limit
    if limit is not None and traffic.longest > limit:
        return Shortfall("the context window", traffic.longest, limit, "tokens")
    if missing_bytes(plan, traffic.longest) > 0:
        share = budget(plan)
        held = float(sequence_bytes_per_gpu(plan, traffic.longest))
        return Shortfall("memory", share.usable - share.kv + held, share.usable, "B")
    key = candidate.machine.id, *(item for item in candidate.settings if item[0] != "speculative")
    if key not in known:
        known[key] = prefills(candidate.engine, traffic)
    return Curves(candidate, known[key], decodes(candidate.engine, traffic))


def promises_of(role: Role, promises: Sequence[Promise]) -> list[Promise]:
    """Return the promises that an engine in a role answers for."""
    metric: dict[Role, Metric] = {"prefill": "ttft", "decode": "tpot"}
    return [promise for promise in promises if role == "both" or promise.metric == metric[role]]
