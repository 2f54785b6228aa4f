"""Simulate closed loops request by request: what the wait in ``infer_cost/serving/steady.py`` was measured in.

Users send a request, wait for its end and send the next one. An engine gives its token budget to waiting prompts, in
the order in which they came, and decodes one token of every running request in the same step. A step takes the time
of its decode and of its prompt tokens. Run without arguments it prints the prefills that a request waits for, beside
the formula, over loads of five lengths.
"""

from __future__ import annotations

import heapq
import random
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parents[1]))

from infer_cost.serving.steady import prefills_ahead

MISSED_STEPS = 1.5  # the step under way and the one already launched


@dataclass(frozen=True)
class Loop:
    """A closed loop; lengths are uniform from ``shortest`` times the stated ones up to these."""

    users: int
    input_tokens: int
    output_tokens: int
    token_s: float
    """Prefill of one prompt token."""
    step_s: float
    """A decode step."""
    shortest: float = 0.8
    budget: int = 8192
    rounds: int = 12
    reply_s: float = 2e-3
    """From the end of a request to its user's next one."""


@dataclass
class Run:
    """What became of every request, in the order of their start."""

    arrived: list[float]
    first: list[float]
    ended: list[float]

    def waits(self, skipped: int = 0) -> list[float]:
        """Return times to first token without those of the first requests."""
        return [b - a for a, b in zip(self.arrived[skipped:], self.first[skipped:], strict=True)]


@dataclass
class _Engine:
    loop: Loop
    lengths: list[tuple[int, int]]
    run: Run
    now: float = 0.0
    steps: int = 0
    sent: int = 0
    arriving: list[tuple[float, int]] = field(default_factory=list)
    waiting: deque[list[int]] = field(default_factory=deque)
    """Request and prompt tokens that it still needs."""
    running: list[tuple[int, int]] = field(default_factory=list)
    """Last step and request."""

    def send(self, when: float) -> None:
        """Let a user send the next request, if one is left."""
        if self.sent < len(self.lengths):
            self.run.arrived[self.sent] = when
            heapq.heappush(self.arriving, (when, self.sent))
            self.sent += 1

    def step(self) -> None:
        """Admit who has arrived, fill the budget, decode."""
        while self.arriving and self.arriving[0][0] <= self.now:
            request = heapq.heappop(self.arriving)[1]
            self.waiting.append([request, self.lengths[request][0]])
        if not self.waiting and not self.running:
            self.now = self.arriving[0][0]
            return
        prompts, done = self._prefill()
        self.now += prompts * self.loop.token_s + (self.loop.step_s if self.running else 0.0)
        self.steps += 1
        for request in done:
            self.run.first[request] = self.now
            heapq.heappush(self.running, (self.steps + self.lengths[request][1] - 1, request))
        while self.running and self.running[0][0] <= self.steps:
            request = heapq.heappop(self.running)[1]
            self.run.ended[request] = self.now
            self.send(self.now + self.loop.reply_s)

    def _prefill(self) -> tuple[int, list[int]]:
        """Return the prompt tokens of this step and the requests whose prompts are through."""
        room, done = self.loop.budget, []
        while self.waiting and room:
            taken = min(room, self.waiting[0][1])
            room -= taken
            self.waiting[0][1] -= taken
            if not self.waiting[0][1]:
                done.append(self.waiting.popleft()[0])
        return self.loop.budget - room, done


def simulate(loop: Loop, seed: int = 0) -> Run:
    """Run a closed loop from an empty engine, all users at once, until every request has ended."""
    draw = random.Random(seed)
    count = loop.rounds * loop.users

    def length(stated: int) -> int:
        return max(1, int(stated * draw.uniform(loop.shortest, 1.0)))

    lengths = [(length(loop.input_tokens), max(2, length(loop.output_tokens))) for _ in range(count)]
    engine = _Engine(loop, lengths, Run([0.0] * count, [0.0] * count, [0.0] * count))
    for _ in range(loop.users):
        engine.send(0.0)
    while engine.arriving or engine.waiting or engine.running:
        engine.step()
    return engine.run


def waited(loop: Loop) -> float:
    """Return the prefills that requests wait for before their own, once the first two rounds are over."""
    prefill = loop.token_s * loop.input_tokens * (1.0 + loop.shortest) / 2.0
    ttft = fmean(simulate(loop).waits(2 * loop.users))
    return (ttft - prefill - MISSED_STEPS * loop.step_s) / prefill


def main() -> int:
    """Print the waits beside the formula."""
    print(f"{'in':>6}{'out':>6}{'users':>7}{'busy':>7}{'waited':>9}{'formula':>9}")
    for inputs, outputs in ((8192, 1024), (1024, 1024), (1024, 8192), (8192, 64), (1024, 64)):
        for users in (4, 16, 64):
            for busy in (0.1, 0.3, 0.5, 0.7, 0.9):
                steps = 0.9 * outputs
                prefill = busy * steps * 0.01 / (users * (1.0 - busy))
                loop = Loop(users, inputs, outputs, prefill / (0.9 * inputs), 0.01)
                formula = float(prefills_ahead(float(users), steps, 8192.0 / (0.9 * inputs)))
                print(f"{inputs:>6}{outputs:>6}{users:>7}{busy:>7.1f}{waited(loop):>9.2f}{formula:>9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
