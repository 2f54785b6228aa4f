"""Conversations and reasoning as traffic: what the mean request of a session looks like, and what it finds cached."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from infer_cost.checks import finite, whole
from infer_cost.planner.traffic import Lengths, Traffic
from infer_cost.roofline import prefix_hit_rate

MAX_TURNS = 1000


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation or an agent's task: so many requests, each with all that was said before in front of it."""

    turns: int = 1
    reasoning_tokens: float = 0.0
    """Generated before each answer, and not sent back with the next request."""


def session(turns: int = 1, reasoning_tokens: float = 0.0) -> Session:
    """Check and return a session.

    Raises
    ------
    InputError
        For a number out of range.
    """
    return Session(whole("turns", turns, high=MAX_TURNS), finite("reasoning_tokens", reasoning_tokens, high=1e7))


def session_traffic(one: Traffic, kind: Session, engines: int = 1) -> Traffic:
    r"""Return the traffic of whole sessions, given that of a turn by itself.

    .. math:: I_n = I + \frac{n - 1}{2} (I + O)

    Parameters
    ----------
    one : Traffic
        Rate of requests (turns); tokens that each turn brings and answers; reuse of its own tokens, such as a
        system prompt's
    kind : Session
        Turns and reasoning
    engines : int
        Engines that the turns of a session are spread over at random; 1 when a session stays where its cache is

    Returns
    -------
    Traffic
        Of the mean turn: longer prompts, most of them cached

    Notes
    -----
    A turn that lands on an engine where no earlier one was finds nothing. Prompts vary with the place in the session,
    uniformly, on top of their own variation.

    Examples
    --------
    Ten turns of 200 tokens in and 300 out: the mean prompt is 2,450 tokens, 92 % of them cached; 39 % over eight
    engines:

    >>> from infer_cost.planner.traffic import traffic
    >>> kept = session_traffic(traffic(1.0, 200, 300), session(10))
    >>> spread = session_traffic(traffic(1.0, 200, 300), session(10), engines=8)
    >>> kept.inputs.mean, round(kept.reuse, 2), round(spread.reuse, 2)
    (2450.0, 0.92, 0.42)
    """
    if kind.turns == 1 and not kind.reasoning_tokens:
        return one
    grown = one.inputs.mean + one.outputs.mean
    before = (kind.turns - 1) / 2.0 * grown
    mean = one.inputs.mean + before
    spread = grown * math.sqrt((kind.turns**2 - 1) / 12.0)
    variation = math.hypot(one.inputs.mean * one.inputs.variation, spread) / mean
    found = before * _kept(kind.turns, engines) + one.reuse * one.inputs.mean
    return replace(
        one,
        inputs=Lengths(mean, variation),
        outputs=replace(one.outputs, mean=one.outputs.mean + kind.reasoning_tokens),
        reuse=min(found / mean, 1.0),
        context=one.context or math.ceil(kind.turns * one.longest + kind.reasoning_tokens),
    )


def _kept(turns: int, engines: int) -> float:
    """Share of the hits of a session that are left when its turns are spread over several engines."""
    if turns == 1 or engines == 1:
        return 1.0
    return float(prefix_hit_rate(turns, engines) / prefix_hit_rate(turns, 1))
