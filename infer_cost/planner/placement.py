"""Sessions kept where their cache is, against sessions spread at random: the hit rate depends on the engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from infer_cost.planner.plan import Plans
from infer_cost.planner.sessions import Session, session_traffic
from infer_cost.planner.traffic import Traffic

Placement = Literal["cache-aware", "random"]
PLACEMENTS: tuple[Placement, ...] = ("cache-aware", "random")

_ROUNDS = 8


def placed(
    plan_for: Callable[[Traffic], Plans], turn: Traffic, kind: Session, placement: Placement
) -> tuple[Plans, Traffic]:
    """Plan sessions under a placement, and return the plans and the traffic that they are for.

    Spread at random, a session finds less of its cache the more engines there are, and the less it finds the more
    engines are needed: planned again until the number of engines stays, with the larger number if it swings.
    """
    engines = 1
    tried: set[int] = set()
    while True:
        asked = session_traffic(turn, kind, engines)
        answer = plan_for(asked)
        pool = answer.best[0].pools[0]
        needed = pool.engines - pool.spare
        if placement == "cache-aware" or needed <= engines or needed in tried or len(tried) > _ROUNDS:
            return answer, asked
        tried.add(engines)
        engines = needed
