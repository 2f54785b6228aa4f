"""What the start of a benchmark, its equal lengths and its client do to the figures that it reports.

A closed loop in its steady state is what the serving model predicts. A benchmark begins with all its users at once,
so that the first of its rounds waits in a queue that no later one meets; its mean contains that round, its median
doesn't. Where every request has the same lengths, those that started together end together and queue again.
"""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.accuracy.runs import Run
from infer_cost.roofline.dispatch import Value, maximum, minimum
from infer_cost.serving.engine_times import packed_prefill_time, prompts_in_a_pass
from infer_cost.serving.scenario import Scenario
from infer_cost.serving.steady import SteadyState

TOKENIZE_S = 2.27e-6
"""Seconds a prompt token to tokenize, part of what a client measures: the first stage's figure."""

SYNCHRONISED_AHEAD = 2.4
"""Prefills before a request that ends and begins with its neighbours, two a pass: one in the pass that it misses, and
one in its own; simulated (``tools/closed_loop.py``) and seen in 114 rows with fixed lengths."""

SPREAD_ARRIVALS = 0.07
"""Arrivals a step up to which half of the requests meet nobody, so that the median wait stays behind the mean."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What a run adds to the steady state's times."""

    ttft_s: Value = 0.0
    tpot_s: Value = 0.0


def effects_of(run: Run, question: Scenario, state: SteadyState, *, median: bool) -> Effects:
    """Return what a run's start, its equal lengths and its client add to the times of its steady state.

    Parameters
    ----------
    run : Run
        How it was run
    question : Scenario
        What ran
    state : SteadyState
        Its steady state
    median : bool
        Whether the benchmark reports medians, which its first round doesn't reach
    """
    tokenizing = TOKENIZE_S * question.requests.input_tokens if run.served else 0.0
    if run.rounds is None or question.decode_pool is not None:
        return Effects(tokenizing)
    sequences = maximum(state.running / float(question.deployment.parallel.dp), 1.0)
    steps = maximum(question.requests.output_tokens - 1.0, 1.0)
    if median:
        return Effects(tokenizing - mean_over_median(state.ahead_s, sequences / steps))
    new = float(question.requests.input_tokens - question.requests.cached_tokens)
    room = prompts_in_a_pass(question.engine, new)
    packed = packed_prefill_time(question.engine, new, float(question.requests.cached_tokens), room)
    ahead = start_ahead(sequences, room, run.rounds) * packed / room
    if run.synchronised:
        ahead = ahead + (synchronised_ahead(sequences) - state.ahead) * state.occupancy_s
    return Effects(tokenizing + ahead, -1.0 * ahead / steps)


def start_ahead(sequences: Value, prompts: Value, rounds: float) -> Value:
    """Prefills before a request, on average over a run, because its first round arrives all at once.

    .. math:: n = \\left(\\frac{B - 1}{2} + \\frac{\\min(B, k) - 1}{2}\\right) / r

    Half of the others are ahead, and the prompts that share a pass all wait for its end.

    >>> start_ahead(64.0, 1.0, 10.0)
    3.15
    """
    return ((sequences - 1.0) / 2.0 + (minimum(sequences, prompts) - 1.0) / 2.0) / rounds


def synchronised_ahead(sequences: Value) -> Value:
    """Prefills before a request that queues with its neighbours in every round.

    >>> synchronised_ahead(64.0), synchronised_ahead(1.0)
    (2.4, 0.0)
    """
    return SYNCHRONISED_AHEAD * minimum((sequences - 1.0) / 4.0, 1.0)


def mean_over_median(ahead: Value, arriving: Value) -> Value:
    """Part of the mean wait for those ahead by which it exceeds the median one, at so many arrivals a step.

    >>> round(mean_over_median(0.29, 0.07), 3)
    0.145
    """
    return ahead * (1.0 - arriving / (arriving + SPREAD_ARRIVALS))
