"""Divide the engine's times among the stages: what the total loses when a stage's work is left out, in stage order."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.serving.estimate import state_of
from infer_cost.serving.passes import NOTHING, Cause
from infer_cost.serving.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Share:
    """What a stage exposes of a request's time in the engine."""

    ttft_s: float = 0.0
    tpot_s: float = 0.0
    residence_s: float = 0.0

    def plus(self, other: Share) -> Share:
        """Return both together."""
        return Share(self.ttft_s + other.ttft_s, self.tpot_s + other.tpot_s, self.residence_s + other.residence_s)

    def minus(self, other: Share) -> Share:
        """Return what the first has beyond the second."""
        return Share(self.ttft_s - other.ttft_s, self.tpot_s - other.tpot_s, self.residence_s - other.residence_s)


@dataclass(frozen=True, slots=True)
class _Removed:
    """What is left out so far."""

    causes: frozenset[Cause] = NOTHING
    capacity_wait: bool = False
    others: bool = False
    drafts: bool = False


_ORDER: tuple[tuple[int, _Removed], ...] = (
    (4, _Removed(capacity_wait=True)),
    (6, _Removed(others=True, causes=frozenset({"host"}))),
    (7, _Removed(causes=frozenset({"cache"}))),
    (8, _Removed(causes=frozenset({"prefix"}))),
    (11, _Removed(causes=frozenset({"floors"}))),
    (12, _Removed(drafts=True)),
    (13, _Removed(causes=frozenset({"scale_up"}))),
    (14, _Removed(causes=frozenset({"scale_out"}))),
)
"""Stages with work of their own in the engine; what remains after all of them is stage 10."""


def engine_shares(question: Scenario) -> dict[int, Share]:
    """Return each stage's exposed share of the engine's times; they add up to the whole.

    Parameters
    ----------
    question : Scenario
        Deployment, workload and price

    Returns
    -------
    dict of int to Share
        By stage number of the longer digest
    """
    shares: dict[int, Share] = {}
    left_out = _Removed()
    before = _share(question, left_out)
    for number, removed in _ORDER:
        left_out = _Removed(
            left_out.causes | removed.causes,
            left_out.capacity_wait or removed.capacity_wait,
            left_out.others or removed.others,
            left_out.drafts or removed.drafts,
        )
        after = _share(question, left_out)
        shares[number] = before.minus(after)
        before = after
    shares[10] = before
    return shares


def _share(question: Scenario, removed: _Removed) -> Share:
    state = state_of(question, removed.causes, alone=removed.others)
    steps = question.requests.output_tokens - 1
    ttft, tpot, residence = float(state.ttft_s), float(state.tpot_s), float(state.residence_s)
    if removed.capacity_wait and not removed.others:
        ttft -= float(state.capacity_wait_s)
        residence -= float(state.capacity_wait_s)
    if removed.drafts:
        tpot -= float(state.draft_s)
        residence -= float(state.draft_s) * steps
    return Share(ttft, tpot if steps else 0.0, residence)
