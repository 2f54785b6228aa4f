"""A discrete-event simulation of one engine, for loads that the formulas don't hold for.

Requests arrive, wait, are prefilled one at a time on each rank, decode together and leave. The engine works as in
:mod:`infer_cost.planner.tails`: prefills first, decodes lose a share of each prefill's time.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Literal

from infer_cost.planner.tails import Engine
from infer_cost.planner.traffic import Lengths, Traffic

WhenFull = Literal["queue", "reject"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a simulation measured."""

    ttft_s: tuple[float, ...]
    """Sorted."""
    tpot_s: tuple[float, ...]
    """Sorted; of requests with more than one token."""
    rejected: float
    """Share of requests turned away."""
    in_flight: float
    """Mean number of requests that decode."""

    def times(self, metric: str, extra_s: float = 0.0) -> Sample:
        """Times of a metric, each so much longer."""
        return Sample(self.ttft_s, extra_s) if metric == "ttft" else Sample(self.tpot_s)

    def percentile(self, metric: str, share: float) -> float:
        """Percentile of a metric."""
        return self.times(metric).percentile(share)


@dataclass(frozen=True, slots=True)
class Sample:
    """Sorted times of many requests, and what is added to each."""

    values: tuple[float, ...]
    extra_s: float = 0.0

    def share_within(self, limit: float) -> float:
        """Share of the requests that take no longer."""
        return bisect_right(self.values, limit - self.extra_s) / len(self.values) if self.values else 1.0

    def percentile(self, share: float) -> float:
        """Time that a share of the requests doesn't exceed."""
        count = len(self.values)
        return self.values[min(count - 1, int(share * count))] + self.extra_s if count else 0.0


def simulate(
    engine: Engine,
    traffic: Traffic,
    rate: float,
    *,
    requests: int = 20_000,
    when_full: WhenFull = "queue",
    seed: int = 1,
) -> Simulated:
    """Simulate one engine under a stream of requests.

    Parameters
    ----------
    engine : Engine
        With prefills and decodes.
    traffic : Traffic
        Lengths and burstiness; its rate isn't used.
    rate : float
        Requests a second at this engine.
    requests : int
        Requests to simulate; the first tenth isn't counted.
    when_full : {"queue", "reject"}
        What happens to a request that finds no room in the KV cache: it waits, or is answered 429.
    seed : int
        The same seed gives the same answer.
    """
    return _Run(engine, traffic, rate, when_full, random.Random(seed)).go(requests)


class _Run:
    def __init__(self, engine: Engine, traffic: Traffic, rate: float, when_full: WhenFull, dice: random.Random) -> None:
        assert engine.prefills is not None and engine.decodes is not None
        self.engine, self.prefills, self.decodes = engine, engine.prefills, engine.decodes
        self.ranks = self.prefills.ranks
        self.rate, self.traffic, self.dice = rate / self.ranks, traffic, dice
        self.capacity = max(1, int(self.decodes.capacity / self.ranks))
        self.when_full = when_full
        # Tables, for an interpolation a step would take most of the time.
        self.token = [float(self.decodes.token(max(1, n) * self.ranks)) for n in range(self.capacity + 1)]
        self.points = traffic.inputs.points.tolist()
        self.occupancy = self.prefills.occupancy_s.tolist()
        self.latency = self.prefills.latency_s.tolist()

    def go(self, requests: int) -> Simulated:
        arrivals = self._arrivals(requests)
        waiting: deque[tuple[float, float, int]] = deque()
        running: list[tuple[float, float, float, int]] = []
        """Heap of (progress at the end, number, time of first token, tokens)."""
        now = progress = busy = 0.0
        skipped = requests // 10
        next_one = 0
        ttfts: list[float] = []
        tpots: list[float] = []
        rejected = 0
        while next_one < requests or waiting or running:
            while next_one < requests and arrivals[next_one][0] <= now:
                if self.when_full == "reject" and len(running) + len(waiting) >= self.capacity:
                    rejected += next_one >= skipped
                else:
                    waiting.append((*arrivals[next_one], next_one))  # type: ignore[arg-type]
                next_one += 1
            if waiting and len(running) < self.capacity:
                arrived, size, tokens, number = waiting.popleft()  # type: ignore[misc]
                occupied, latency = self._prefill(size)
                start = now
                now += occupied
                busy += occupied * len(running)
                if running:
                    progress += (1.0 - self.engine.interference) * occupied / self.token[len(running)]
                if number >= skipped:
                    ttfts.append(self.prefills.host_s + start + latency - arrived)
                if tokens > 1:
                    heapq.heappush(running, (progress + tokens - 1, float(number), now, tokens))
            elif running:
                now, progress, worked = self._decode(
                    now, progress, running, arrivals, next_one, requests, bool(waiting)
                )
                busy += worked * len(running)
            else:
                now = max(now, arrivals[next_one][0])
            while running and running[0][0] <= progress + 1e-9:
                _, number, first, tokens = heapq.heappop(running)
                if number >= skipped:
                    tpots.append((now - first) / (tokens - 1))
        counted = max(1, requests - skipped)
        return Simulated(tuple(sorted(ttfts)), tuple(sorted(tpots)), rejected / counted, busy / max(now, 1e-12))

    def _decode(
        self,
        now: float,
        progress: float,
        running: list[tuple[float, float, float, int]],
        arrivals: list[tuple[float, float, int]],
        next_one: int,
        requests: int,
        full: bool,
    ) -> tuple[float, float, float]:
        """Run whole decode steps until one ends, a request leaves or, when there is room, one arrives."""
        step = self.token[len(running)]
        steps = max(1, -int(-(running[0][0] - progress - 1e-9) // 1))
        if next_one < requests and not full:
            steps = min(steps, max(1, -int(-(arrivals[next_one][0] - now) // step)))
        return now + steps * step, progress + steps, steps * step

    def _prefill(self, size: float) -> tuple[float, float]:
        place = bisect_left(self.points, size)
        if place == 0:
            return self.occupancy[0], self.latency[0]
        if place == len(self.points):
            return self.occupancy[-1], self.latency[-1]
        low, high = self.points[place - 1], self.points[place]
        part = (size - low) / (high - low)
        return self._between(self.occupancy, place, part), self._between(self.latency, place, part)

    @staticmethod
    def _between(values: list[float], place: int, part: float) -> float:
        return values[place - 1] + part * (values[place] - values[place - 1])

    def _arrivals(self, requests: int) -> list[tuple[float, float, int]]:
        shape = 1.0 / self.traffic.burstiness
        scale = 1.0 / (self.rate * shape)
        now = 0.0
        made = []
        for _ in range(requests):
            now += self.dice.gammavariate(shape, scale) if shape != 1.0 else self.dice.expovariate(self.rate)
            made.append((now, self._draw(self.traffic.inputs), max(1, round(self._draw(self.traffic.outputs)))))
        return made

    def _draw(self, lengths: Lengths) -> float:
        if not lengths.variation:
            return lengths.mean
        sigma = lengths.sigma
        drawn = lengths.mean * self.dice.lognormvariate(-sigma * sigma / 2.0, sigma)
        return max(1.0, drawn)
