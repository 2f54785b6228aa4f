"""An independent simulation of one engine, with simpy: every step, every request, nothing clever.

It shares the times of tokens and prefills with the code under test, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
import simpy


@dataclass
class Measured:
    """Times of the requests that were counted."""

    ttft: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)

    def percentile(self, metric: str, share: float) -> float:
        values = sorted(getattr(self, metric))
        return values[int(share * len(values))]


@dataclass
class Request:
    arrived: float
    prompt: float
    tokens: int
    first: float = 0.0
    done: int = 1


def simulate(
    *,
    rate: float,
    token_s: Callable[[int], float],
    prefill_s: Callable[[float], float],
    host_s: float,
    prompt: Callable[[random.Random], float],
    tokens: Callable[[random.Random], int],
    gap: Callable[[random.Random], float],
    capacity: int,
    requests: int,
    seed: int,
) -> Measured:
    """Run a server that prefills one request at a time before it decodes all running ones a token further."""
    dice = random.Random(seed)
    world = simpy.Environment()
    waiting: list[Request] = []
    running: list[Request] = []
    measured = Measured()
    woken = [world.event()]
    skipped = requests // 10
    left = [requests]

    def arrivals() -> Generator[Any, Any, None]:
        for _ in range(requests):
            yield world.timeout(gap(dice) / rate)
            waiting.append(Request(world.now, prompt(dice), tokens(dice)))
            if not woken[0].triggered:
                woken[0].succeed()

    def leave(request: Request) -> None:
        left[0] -= 1
        if left[0] < requests - skipped and request.tokens > 1:
            measured.tpot.append((world.now - request.first) / (request.tokens - 1))

    def engine() -> Generator[Any, Any, None]:
        while left[0]:
            if waiting and len(running) < capacity:
                request = waiting.pop(0)
                yield world.timeout(prefill_s(request.prompt))
                request.first = world.now
                if left[0] < requests - skipped:
                    measured.ttft.append(world.now - request.arrived + host_s)
                if request.tokens == 1:
                    leave(request)
                else:
                    running.append(request)
            elif running:
                yield world.timeout(token_s(len(running)))
                for request in list(running):
                    request.done += 1
                    if request.done == request.tokens:
                        running.remove(request)
                        leave(request)
            else:
                woken[0] = world.event()
                yield woken[0]

    world.process(arrivals())
    world.run(until=world.process(engine()))
    return measured


@pytest.fixture(scope="session")
def simpy_simulation() -> Callable[..., Measured]:
    """The independent simulation."""
    return simulate
