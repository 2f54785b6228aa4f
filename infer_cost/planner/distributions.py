"""Distributions of times on a grid: queues solved by transforms, not by approximation.

A distribution is an array of probabilities at multiples of a step. The waiting time at a server with random arrivals
is Pollaczek and Khinchine's geometric sum of residual services, which a Fourier transform evaluates exactly; with
arrivals of another kind, Lindley's recursion is iterated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

POINTS = 2048
_ITERATED_POINTS = 1024


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of 0, one step, two steps, ..."""

    step: float
    mass: Any

    @property
    def mean(self) -> float:
        """Expected value."""
        import numpy as np

        return float(np.dot(self.mass, np.arange(len(self.mass))) * self.step)

    def share_within(self, limit: float) -> float:
        """Share of all that is at most a limit."""
        place = int(limit / self.step + 1e-9) + 1
        return float(self.mass[:place].sum() / self.mass.sum())

    def percentile(self, share: float) -> float:
        """Value that a share of all (0 to 1) doesn't exceed.

        >>> import numpy as np
        >>> Distribution(1.0, np.array([0.5, 0.5])).percentile(0.75)
        1.0
        """
        import numpy as np

        reached = np.cumsum(self.mass)
        place = int(np.searchsorted(reached, share * reached[-1] - 1e-12))
        return float(min(place, len(self.mass) - 1) * self.step)


def on_grid(values: Any, weights: Any, step: float, points: int) -> Any:
    """Put weighted values on a grid, each shared by its two neighbours so that the mean stays.

    >>> import numpy as np
    >>> on_grid(np.array([1.25]), np.array([1.0]), 1.0, 4)
    array([0.  , 0.75, 0.25, 0.  ])
    """
    import numpy as np

    place = np.minimum(np.asarray(values) / step, points - 1.001)
    low = np.floor(place).astype(int)
    part = place - low
    mass = np.bincount(low, weights * (1.0 - part), points) + np.bincount(low + 1, weights * part, points)
    return np.asarray(mass)[:points]


def service_on_grid(values: Any, cumulative: Any, step: float, points: int) -> Any:
    """Put a continuous distribution on a grid, from its distribution function at some ascending values."""
    import numpy as np

    if len(values) == 1:
        return on_grid(values, np.array([1.0]), step, points)
    edges = (np.arange(points + 1) - 0.5) * step
    reached = np.interp(edges, values, cumulative, left=0.0, right=1.0)
    reached[-1] = 1.0
    return np.diff(reached)


def wait_poisson(service: Any, busy: float) -> Any:
    r"""Waiting time before a server with random arrivals, on the service's grid.

    .. math:: W(z) = \frac{1 - \rho}{1 - \rho R(z)}

    Parameters
    ----------
    service : array
        Probabilities of service times
    busy : float
        Share of time that the server works, rho [fraction]

    Returns
    -------
    array
        Probabilities of waiting times, on the same grid

    Notes
    -----
    R is the time that is left of a service at a random moment. Exact but for the grid; the tail beyond the grid
    wraps around, so the grid must reach far enough.

    Examples
    --------
    Service of 1 s, half the time busy: the mean wait is rho/(2(1 - rho)):

    >>> import numpy as np
    >>> wait = wait_poisson(on_grid(np.array([1.0]), np.array([1.0]), 0.01, 4096), 0.5)
    >>> round(float(np.dot(wait, np.arange(4096)) * 0.01), 3)
    0.5

    References
    ----------
    .. [1] Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th edition, 2008, section 5.1.
    """
    import numpy as np

    longer = 1.0 - np.cumsum(service)
    residual = np.maximum(longer, 0.0)
    residual = residual / residual.sum() if residual.sum() > 0 else _at_zero(len(service))
    # A residual lies anywhere inside its cell, half a step further on average.
    residual = (residual + np.concatenate([[0.0], residual[:-1]])) / 2.0
    transform = np.fft.rfft(residual)
    wait = np.fft.irfft((1.0 - busy) / (1.0 - busy * transform), len(service))
    return np.maximum(wait, 0.0)


def wait_bursty(service: Any, step: float, rate: float, burstiness: float, *, rounds: int = 400) -> Any:
    r"""Waiting time before a server with Gamma arrivals, by Lindley's recursion.

    .. math:: W_{n+1} = \max(0, W_n + S - A)

    Parameters
    ----------
    service : array
        Probabilities of service times
    step : float
        Step of the grid [s]
    rate : float
        Arrivals a second [request/s]
    burstiness : float
        Squared coefficient of variation of the times between arrivals [ratio]

    Returns
    -------
    array
        Probabilities of waiting times, on the same grid

    References
    ----------
    .. [1] Lindley, "The theory of queues with a single server", Proc. Cambridge Phil. Soc. 48, 1952.
    """
    import numpy as np

    points = len(service)
    shape = 1.0 / burstiness
    reached = gamma_cumulative(shape, (np.arange(points) + 0.5) * step * rate * shape)
    gaps = np.diff(np.concatenate([[0.0], reached]))
    gaps[-1] += 1.0 - reached[-1]
    size = 4 * points
    change = np.fft.rfft(service, size) * np.conj(np.fft.rfft(gaps, size))
    wait = _at_zero(points)
    for _ in range(rounds):
        moved = np.fft.irfft(np.fft.rfft(wait, size) * change, size)
        fresh = moved[:points].copy()
        # What went below zero has wrapped around to the end: the server was idle.
        fresh[0] += moved[2 * points :].sum()
        fresh = np.maximum(fresh, 0.0)
        fresh /= fresh.sum()
        moving = float(np.abs(fresh - wait).sum())
        wait = fresh
        if moving < 1e-5:
            break
    return wait


def gamma_cumulative(shape: float, values: Any) -> Any:
    """Distribution function of a Gamma variable of scale 1, by its power series.

    >>> import numpy as np
    >>> [round(float(p), 4) for p in gamma_cumulative(1.0, np.array([0.0, 1.0, 100.0]))]
    [0.0, 0.6321, 1.0]
    """
    import numpy as np

    near = np.minimum(values, 40.0 + 4.0 * shape)
    term = np.ones_like(near) / shape
    total = term.copy()
    for index in range(1, 200 + int(8 * shape)):
        term = term * near / (shape + index)
        total += term
        if float(term.max(initial=0.0)) < 1e-12 * float(total.max(initial=1.0)):
            break
    with np.errstate(divide="ignore"):
        logarithm = shape * np.log(near) - near - math.lgamma(shape)
    return np.where(values > 40.0 + 4.0 * shape, 1.0, np.minimum(np.exp(logarithm) * total, 1.0))


def summed(*parts: Any) -> Any:
    """Distribution of a sum of independent times on one grid; what goes beyond the grid is cut off."""
    import numpy as np

    size = 2 * len(parts[0])
    product = np.fft.rfft(parts[0], size)
    for part in parts[1:]:
        product = product * np.fft.rfft(part, size)
    return np.maximum(np.fft.irfft(product, size)[: len(parts[0])], 0.0)


def _at_zero(points: int) -> Any:
    import numpy as np

    mass = np.zeros(points)
    mass[0] = 1.0
    return mass
