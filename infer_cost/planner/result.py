"""A plan: pools of engines, what they promise, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infer_cost.planner.candidates import Candidate
from infer_cost.planner.capacity import Method
from infer_cost.planner.tails import Operating, memory_full
from infer_cost.planner.traffic import Promise
from infer_cost.planner.unit import Role, Unit

Layout = Literal["together", "apart"]


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
    def full(self) -> float:
        """Share of the arrivals that find the KV cache full: they wait, or are answered 429."""
        return memory_full(self.one.queue, self.point)

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
