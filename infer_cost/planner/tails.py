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
_ROUNDS = 12
"""Rounds of the batch's fixed point."""


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
    """Return where an engine settles at a rate below its greatest one.

    A request decodes for its own tokens, for the prefills of those that came while it waited, which run before its
    second token, and for the prefills of those that come meanwhile.
    """
    import numpy as np

    busy = rate / engine.prefills.most if engine.prefills else 0.0
    decodes = engine.decodes
    if decodes is None:
        return Operating(rate, busy, 0.0, 0.0, 0.0)
    behind = _behind(engine, rate, busy)[0] if engine.prefills else 0.0
    free = 1.0 - busy * engine.interference
    decoding = float(np.interp(rate, engine.rates, engine.others))
    for _ in range(_ROUNDS):
        alive = (decodes.steps * float(decodes.token(decoding + 1.0)) + behind) / free
        before, decoding = decoding, min(rate * alive, decodes.capacity)
        if abs(decoding - before) < 1e-7 * decoding:
            break
    alone = float(decodes.token(decoding + 1.0))
    token = (alone + behind / decodes.steps) / free
    return Operating(rate, busy, decoding, token, token - alone)


def _behind(engine: Engine, rate: float, busy: float) -> tuple[float, float]:
    """Time that the prefills of those behind a request in the queue take of its decode: mean and variance.

    They are those that arrive while it waits and is prefilled itself; waits as Pollaczek and Khinchine have them.
    """
    prefills = engine.prefills
    assert prefills is not None
    first, second, third = prefills.moments
    arriving = rate / prefills.ranks
    idle = max(1.0 - busy, 0.02)
    wait = arriving * second / (2.0 * idle)
    sojourn = wait + first
    variance = wait**2 + arriving * third / (3.0 * idle) + second - first**2
    mean = arriving * sojourn * first * engine.interference
    return mean, (arriving * sojourn * second + (arriving * first) ** 2 * variance) * engine.interference**2


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
    first, second, _ = prefills.moments
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
    """Distribution of the time per output token over requests: log-normal for each length of answer, by weight."""

    mean: Any
    variation: Any
    """Standard deviation over mean."""
    weights: Any

    def share_within(self, limit: float) -> float:
        """Share of the requests whose tokens take no longer."""
        return float(self._reached(math.log(max(limit, 1e-12))))

    def percentile(self, share: float) -> float:
        """Time that a share of the requests doesn't exceed."""
        import numpy as np

        sigma = np.sqrt(np.log1p(self.variation**2))
        reach = _REACH * float(sigma.max()) + 0.1
        logs = np.linspace(float(np.log(self.mean.min())) - reach, float(np.log(self.mean.max())) + reach, 401)
        return math.exp(float(np.interp(share, self._reached(logs[:, None]), logs)))

    def _reached(self, logarithm: Any) -> Any:
        import numpy as np

        square = np.log1p(self.variation**2)
        sigma = np.sqrt(square)
        return _normal((logarithm - np.log(self.mean) + square / 2.0) / sigma) @ self.weights


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

    .. math:: T = \frac{O t_d + q}{1 - \rho}
    .. math:: Var(T) = \frac{Var(q)}{(1 - \rho)^2} + \frac{(O t_d + q) \lambda E[p^2]}{(1 - \rho)^3} f^2 + V_B f^2

    A request's decode is a busy period: its own tokens and the prefills queued behind it, ``q``, prolonged by the
    prefills that arrive meanwhile. The batch that it meets varies besides, by ``V_B``: each request that arrives
    during its life, or decodes already, makes its tokens slower for as long as both decode. What makes tokens slower
    keeps requests longer, so that they meet more of each other: ``f``. Answers of different lengths are mixed.
    """
    import numpy as np

    decodes = engine.decodes
    if decodes is None:
        return TokenTimes(np.full(1, 1e-12), np.full(1, 1e-9), np.ones(1))
    steps = np.maximum(outputs.points - 1.0, 1.0)
    free = 1.0 - point.prefill_busy * engine.interference
    slower = decodes.slope(point.decoding + 1.0) / free
    feedback = 1.0 / max(0.1, 1.0 - point.rate * decodes.steps * slower)
    behind, scattered, second, pause = 0.0, 0.0, 0.0, 0.0
    if engine.prefills is not None:
        behind, scattered = _behind(engine, point.rate, point.prefill_busy)
        first, square, _ = engine.prefills.moments
        second = point.rate / engine.prefills.ranks * square * engine.interference**2
        pause = first * engine.interference / engine.prefills.ranks / free
    own = steps * (point.token_s - point.pause_s) + behind
    batch = point.decoding * slower * (pause * steps / decodes.steps * steps + 2.0 / 3.0 * slower * steps**2)
    variance = scattered / free**2 + (own * second / free**3 + batch) * feedback**2
    mean = own / free
    variation = np.sqrt(burstiness * variance) / mean
    return TokenTimes(mean / steps, np.maximum(variation, 1e-9), outputs.weights)


def pause_share(engine: Engine, point: Operating) -> float:
    """How long a prefill, and those that come meanwhile, stop a decode, over how long the decode takes undisturbed."""
    if engine.decodes is None or engine.prefills is None:
        return 0.0
    alone = engine.decodes.steps * (point.token_s - point.pause_s)
    return engine.prefills.mean_occupancy_s * engine.interference / alone / max(1.0 - point.prefill_busy, 0.02)


def memory_full(engine: Engine, point: Operating) -> float:
    """Share of arrivals that find no room in the KV cache, as of a server that turns them away (Erlang B)."""
    decodes = engine.decodes
    if decodes is None or point.decoding <= 0:
        return 0.0
    room = int(decodes.capacity)
    if point.decoding + 8.0 * math.sqrt(point.decoding) < room:
        return 0.0
    return float(erlang_b(room, point.decoding))
