"""Open-loop queues over the step model: load, waiting and percentiles of one engine under a stream of requests.

An engine runs prefills first: an arrival waits for the step under way and for the prefills before it, then its own
prefill gives the first token. Each prefill holds up the decodes of everyone running. So the first token's wait is that
of a server with vacations (the decode steps), and a token's time is the decode's at the batch plus the prefills' share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from infer_cost.planner.curves import Decodes, Prefills
from infer_cost.planner.distributions import (
    POINTS,
    Distribution,
    on_grid,
    service_on_grid,
    summed,
    wait_bursty,
    wait_poisson,
)
from infer_cost.planner.traffic import Lengths
from infer_cost.roofline import erlang_b

VALID_UTILIZATION = 0.85
"""Share of an engine's greatest rate up to which the formulas were held against simulations."""
_BURST_POINTS = 1024


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that prefills and decodes, or one of a pool that does one of the two; see :func:`queue`."""

    prefills: Prefills | None
    decodes: Decodes | None
    interference: float
    """Share of a prefill's time that running decodes lose."""
    greatest: float
    """Requests a second beyond which its queue grows without end."""
    others: Any
    """Requests that decode at once, ascending."""
    rates: Any
    """Requests a second at which so many do, never falling."""


def queue(prefills: Prefills | None, decodes: Decodes | None, interference: float) -> Engine:
    """Return an engine as a queue: what its batch settles at for each rate, and the greatest rate."""
    import numpy as np

    if decodes is None or decodes.steps <= 0:
        most = prefills.most if prefills else math.inf
        return Engine(prefills, None, interference, most, np.zeros(1), np.zeros(1))
    others = np.concatenate([[0.0, 0.25, 0.5], decodes.batch])
    others = others[others <= max(decodes.capacity, 1.0)]
    pause = _pause(prefills, decodes, interference, others)
    rates = np.maximum.accumulate(others / (decodes.steps * (decodes.token(others + 1.0) + pause)))
    most = float(rates.max())
    if prefills is not None:
        most = min(most, prefills.most)
    return Engine(prefills, decodes, interference, most, others, rates)


def _pause(prefills: Prefills | None, decodes: Decodes, interference: float, others: Any) -> Any:
    """Time that the prefills of ``others`` add to each token: one prefill for each of them in a request's decode."""
    if prefills is None:
        return 0.0 * others
    return others / prefills.ranks * prefills.mean_occupancy_s * interference / decodes.steps


@dataclass(frozen=True, slots=True)
class Operating:
    """Where an engine settles at a rate of requests."""

    rate: float
    prefill_busy: float
    """Share of time that a rank prefills."""
    decoding: float
    """Requests that decode at once, on average."""
    token_s: float
    """Mean time of an emitted token, prefills of others included."""
    pause_s: float
    """Part of it that prefills of others take."""


def operating_point(engine: Engine, rate: float) -> Operating:
    """Return where an engine settles at a rate below its greatest one."""
    import numpy as np

    busy = rate / engine.prefills.most if engine.prefills else 0.0
    if engine.decodes is None:
        return Operating(rate, busy, 0.0, 0.0, 0.0)
    decoding = float(np.interp(rate, engine.rates, engine.others))
    pause = float(_pause(engine.prefills, engine.decodes, engine.interference, decoding))
    return Operating(rate, busy, decoding, float(engine.decodes.token(decoding + 1.0)) + pause, pause)


def ttft(engine: Engine, point: Operating, burstiness: float = 1.0, extra_s: float = 0.0) -> Distribution:
    """Distribution of the time to first token.

    Parameters
    ----------
    engine : Engine
        With prefills
    point : Operating
        Its operating point, prefill busy less than all the time
    burstiness : float
        Squared coefficient of variation of the times between arrivals
    extra_s : float
        What every request waits besides, such as the transfer to another pool

    Returns
    -------
    Distribution
        Step wait, queue, prefill and host time together
    """
    import numpy as np

    prefills = engine.prefills
    assert prefills is not None
    first, second = _moments(prefills)
    step = point.token_s - point.pause_s
    fixed = prefills.host_s + extra_s
    spread = second / first * (1.0 + burstiness) / 2.0
    # Far enough for one in a million: the tail of the wait falls like exp(-2 (1 - rho) t / spread).
    reach = 8.0 * spread / (1.0 - point.prefill_busy) + 1.5 * float(prefills.latency_s[-1]) + 2.0 * step
    points = POINTS if burstiness == 1.0 else _BURST_POINTS
    unit = reach / points
    service = service_on_grid(prefills.occupancy_s, prefills.cumulative, unit, points)
    if burstiness == 1.0:
        wait = wait_poisson(service, point.prefill_busy)
    else:
        wait = wait_bursty(service, unit, point.rate / prefills.ranks, burstiness)
    own = service_on_grid(prefills.latency_s, prefills.cumulative, unit, points)
    total = summed(wait, own, _step_under_way(step, point, prefills.ranks, unit, points))
    shifted = np.concatenate([np.zeros(int(fixed / unit)), total])
    return Distribution(unit, shifted)


def _moments(prefills: Prefills) -> tuple[float, float]:
    import numpy as np

    times = prefills.occupancy_s
    return float(np.dot(times, prefills.weights)), float(np.dot(times**2, prefills.weights))


def _step_under_way(step: float, point: Operating, ranks: int, unit: float, points: int) -> Any:
    """What is left of the decode step that an arrival finds under way: anything up to a step, nothing when idle."""
    import numpy as np

    idle = math.exp(-point.decoding / ranks)
    cells = max(1, min(points - 1, round(step / unit)))
    left = np.zeros(points)
    left[:cells] = (1.0 - idle) / cells
    left[0] += idle
    return left if step > 0 else on_grid(np.zeros(1), np.ones(1), unit, points)


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """Distribution of the time per output token over requests: normal for each length of answer, mixed by weight."""

    mean: Any
    deviation: Any
    weights: Any

    def share_within(self, limit: float) -> float:
        """Share of the requests whose tokens take no longer."""
        import numpy as np

        return float(np.dot(_normal((limit - self.mean) / self.deviation), self.weights))

    def percentile(self, share: float) -> float:
        """Time that a share of the requests doesn't exceed."""
        import numpy as np

        reach = _REACH * float(self.deviation.max())
        times = np.linspace(float(self.mean.min()) - reach, float(self.mean.max()) + reach, 301)
        reached = _normal((times[:, None] - self.mean) / self.deviation) @ self.weights
        return max(0.0, float(np.interp(share, reached, times)))


_REACH = 5.0
"""Standard deviations that a normal distribution is tabulated to."""


@cache
def _normal_table() -> tuple[Any, Any]:
    import numpy as np

    places = np.linspace(-_REACH, _REACH, 2001)
    normal = NormalDist()
    return places, np.array([normal.cdf(place) for place in places.tolist()])


def _normal(places: Any) -> Any:
    """Normal distribution function, from a table good to a millionth."""
    import numpy as np

    return np.interp(places, *_normal_table())


def token_times(engine: Engine, point: Operating, outputs: Lengths, burstiness: float = 1.0) -> TokenTimes:
    r"""Distribution of the time per output token.

    .. math:: Var = B V_a (a^2 + a b + \frac{2}{3} b^2) f^2

    A request arriving at any moment of this one's life, or before it, makes its tokens slower: by ``a``, its prefill
    over this one's tokens, and by ``b``, what one more in the batch costs, for as long as both decode. Arrivals are
    independent, so their squares add; ``B`` of them matter. Whatever makes tokens slower keeps requests longer, so
    that they meet more prefills and more of each other: ``f``. In bursts a request meets more others than a random
    moment does. Answers of different lengths are mixed.
    """
    import numpy as np

    decodes = engine.decodes
    if decodes is None:
        return TokenTimes(np.zeros(1), np.full(1, 1e-30), np.ones(1))
    steps = np.maximum(outputs.points - 1.0, 1.0)
    lost = point.prefill_busy * engine.interference
    slower = decodes.slope(point.decoding + 1.0) / (1.0 - lost)
    pause, scatter = np.zeros_like(steps), 0.0
    if engine.prefills is not None:
        first, second = _moments(engine.prefills)
        pause = first * engine.interference / engine.prefills.ranks / steps / (1.0 - lost)
        scatter = second / first**2
    # Arrivals during this request's own decode, which is shorter or longer than the mean one.
    meets = point.decoding * steps / decodes.steps
    own = meets * (pause**2 * scatter + pause * slower)
    around = point.decoding * slower**2 * 2.0 / 3.0
    feedback = 1.0 / max(0.1, 1.0 - point.rate * decodes.steps * slower)
    deviation = np.sqrt(burstiness * (own + around)) * feedback
    clustered = (burstiness - 1.0) / 2.0 * (pause + 2.0 * slower)
    return TokenTimes(point.token_s + clustered, deviation.clip(1e-30), outputs.weights)


def memory_full(engine: Engine, point: Operating) -> float:
    """Share of arrivals that find no room in the KV cache, as of a server that turns them away (Erlang B)."""
    decodes = engine.decodes
    if decodes is None or point.decoding <= 0:
        return 0.0
    room = int(decodes.capacity)
    if point.decoding + 8.0 * math.sqrt(point.decoding) < room:
        return 0.0
    return float(erlang_b(room, point.decoding))
