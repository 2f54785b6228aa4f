"""An engine as a queue sees it: the time of a token by batch, of a prefill by length, and how many requests fit."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from infer_cost.planner.traffic import Traffic
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import CompiledEngine, prefill_time, token_time

_BATCHES = 40
"""Batch sizes that a curve is computed for, spaced geometrically."""


@dataclass(frozen=True, slots=True)
class Prefills:
    """Prefill times of an engine under some traffic."""

    latency_s: Any
    """By :attr:`Lengths.points` of the inputs: from start to first token."""
    occupancy_s: Any
    """By the same: what one prefill takes of a rank's time."""
    cumulative: Any
    weights: Any
    host_s: float
    """Before a prefill starts."""
    ranks: int
    """Prefills that run side by side."""
    moments: tuple[float, float, float]
    """Means of the occupancy, its square and its cube."""

    @property
    def mean_occupancy_s(self) -> float:
        """Mean time of a rank that a prefill takes."""
        return self.moments[0]

    @property
    def mean_latency_s(self) -> float:
        """Mean time of a prefill."""
        import numpy as np

        return float(np.dot(self.latency_s, self.weights))

    @property
    def most(self) -> float:
        """Prefills a second that all ranks together can do."""
        return self.ranks / self.mean_occupancy_s


@dataclass(frozen=True, slots=True)
class Decodes:
    """Token times of an engine under some traffic."""

    batch: tuple[float, ...]
    """Requests in the whole engine, ascending from 1."""
    token_s: tuple[float, ...]
    """Time of an emitted token at that batch, without other requests' prefills."""
    steps: float
    """Tokens after the first, of the mean request."""
    capacity: float
    """Requests that run at once at most."""

    def token(self, batch: Any) -> Any:
        """Time of a token at any batch, between the ones computed; a number or an array."""
        if not isinstance(batch, float):
            import numpy as np

            return np.interp(batch, self.batch, self.token_s)
        place = bisect_right(self.batch, batch)
        if place == 0:
            return self.token_s[0]
        if place == len(self.batch):
            return self.token_s[-1]
        low, high = self.batch[place - 1], self.batch[place]
        first, second = self.token_s[place - 1], self.token_s[place]
        return first + (batch - low) / (high - low) * (second - first)

    def slope(self, batch: float) -> float:
        """How much longer a token takes for each request more in the batch."""
        width = max(1.0, 0.1 * batch)
        low, high = max(1.0, batch - width), batch + width
        return float((self.token(high) - self.token(low)) / (high - low))


def prefills(engine: CompiledEngine, traffic: Traffic) -> Prefills:
    """Prefill times of an engine for the lengths of some traffic."""
    import numpy as np

    lengths = traffic.inputs.points
    cached = np.minimum(np.floor(traffic.reuse * lengths), np.maximum(lengths - 1.0, 0.0))
    new = np.maximum(lengths - cached, 1.0)
    # One length is a number, on which the serving model is several times as fast as on an array of one.
    loads = (new, cached) if len(lengths) > 1 else (float(new[0]), float(cached[0]))
    times = prefill_time(engine, *loads, bounds=False)
    occupancy, weights = np.broadcast_to(times.occupancy_s, lengths.shape), traffic.inputs.weights
    first, second, third = (float(np.dot(occupancy**power, weights)) for power in (1, 2, 3))
    return Prefills(
        np.broadcast_to(times.passes.total_s, lengths.shape),
        occupancy,
        traffic.inputs.cumulative,
        weights,
        engine.deployment.engine.host_request_s,
        engine.deployment.parallel.dp,
        (first, second, third),
    )


def decodes(engine: CompiledEngine, traffic: Traffic) -> Decodes:
    """Token times of an engine for the lengths of some traffic, up to as many requests as fit."""
    import numpy as np

    plan = engine.deployment
    held = traffic.inputs.mean + traffic.outputs.weighted_mean * plan.engine.output_reserve
    capacity = float(sequences_that_run(plan, held))
    top = max(capacity, 1.0)
    batch = np.unique(np.round(np.geomspace(1.0, top, _BATCHES)))
    context = traffic.inputs.mean + traffic.outputs.weighted_mean / 2.0
    token = token_time(engine, batch, context, bounds=False).total_s
    times = np.broadcast_to(token, batch.shape).tolist()
    return Decodes(tuple(batch.tolist()), tuple(times), max(traffic.outputs.mean - 1.0, 0.0), capacity)
