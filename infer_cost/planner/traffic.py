"""What a deployment is asked to serve: requests, their lengths, their arrivals, and what was promised about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

from infer_cost.checks import MAX_TOKENS, finite, whole
from infer_cost.errors import InputError

Metric = Literal["ttft", "tpot"]

MAX_PERCENTILE = 99.99
_STEP, _REACH = 0.125, 4.25
"""Spacing and reach, in standard deviations, of the points that stand for a distribution of lengths."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Token counts with a mean and a coefficient of variation; log-normal, as prompts and answers roughly are."""

    mean: float
    variation: float = 0.0
    """Standard deviation over mean; 0 when all are alike."""

    @property
    def points(self) -> Any:
        """Lengths in ascending order that stand for the distribution."""
        import numpy as np

        if not self.variation:
            return np.array([self.mean])
        sigma = self.sigma
        return np.exp(sigma * _grid()[0]) * self.mean / math.exp(sigma * sigma / 2.0)

    @property
    def cumulative(self) -> Any:
        """Probability of at most each of :attr:`points`."""
        import numpy as np

        return _grid()[1] if self.variation else np.array([1.0])

    @property
    def weights(self) -> Any:
        """Probability that each of :attr:`points` stands for."""
        import numpy as np

        if not self.variation:
            return np.array([1.0])
        middles = np.array([0.0, *((self.cumulative[1:] + self.cumulative[:-1]) / 2.0), 1.0])
        return np.diff(middles)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.variation**2))

    @property
    def weighted_mean(self) -> float:
        """Mean length of the request that a randomly chosen token belongs to."""
        return self.mean * (1.0 + self.variation**2)


@cache
def _grid() -> tuple[Any, Any]:
    import numpy as np

    places = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    normal = NormalDist()
    return places, np.array([normal.cdf(place) for place in places])


@dataclass(frozen=True, slots=True)
class Traffic:
    """A stream of requests."""

    rate: float
    """Requests a second, at the peak that is planned for."""
    inputs: Lengths
    outputs: Lengths
    reuse: float = 0.0
    """Share of the input tokens found in the prefix cache."""
    burstiness: float = 1.0
    """Squared coefficient of variation of the times between arrivals: 1 for independent users, more in bursts."""
    context: int | None = None
    """Tokens that a request may have in all, however rare; None when the distribution says."""

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens a second."""
        return self.rate * self.outputs.mean

    @property
    def cached_tokens(self) -> int:
        """Cached tokens of the mean request; at least one token is left to compute."""
        return int(min(self.reuse * self.inputs.mean, self.inputs.mean - 1.0))

    @property
    def longest(self) -> float:
        """Tokens of a request that one in ten thousand exceeds, input and output; or the context that was promised."""
        if self.context is not None:
            return float(self.context)
        reach = NormalDist().inv_cdf(MAX_PERCENTILE / 100.0)
        total = 0.0
        for lengths in (self.inputs, self.outputs):
            sigma = lengths.sigma
            total += lengths.mean * math.exp(sigma * reach - sigma * sigma / 2.0) if sigma else lengths.mean
        return total


def traffic(
    rate: float,
    input_tokens: float,
    output_tokens: float,
    *,
    input_variation: float = 0.0,
    output_variation: float = 0.0,
    reuse: float = 0.0,
    burstiness: float = 1.0,
    context: int | None = None,
) -> Traffic:
    """Check and return a stream of requests.

    Raises
    ------
    InputError
        For a number out of range.

    Examples
    --------
    >>> traffic(10.0, 1000, 200).output_tokens_per_s
    2000.0
    """
    return Traffic(
        finite("rate", rate, low=1e-9, high=1e9, unit="requests/s"),
        Lengths(
            finite("input_tokens", input_tokens, low=1.0, high=MAX_TOKENS),
            finite("input_variation", input_variation, high=5.0),
        ),
        Lengths(
            finite("output_tokens", output_tokens, low=1.0, high=MAX_TOKENS),
            finite("output_variation", output_variation, high=5.0),
        ),
        finite("reuse", reuse, high=1.0),
        finite("burstiness", burstiness, low=0.05, high=100.0),
        None if context is None else whole("context", context),
    )


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of a service level: a metric at a percentile stays under a limit."""

    metric: Metric
    percentile: float
    limit_s: float

    def __str__(self) -> str:
        return f"{self.metric.upper()} p{self.percentile:g} <= {self.limit_s * 1e3:g} ms"


def promise(metric: Metric, text: str) -> Promise:
    """Read a promise: ``p99=500ms``, ``p50<0.2 s``, or a bare limit, which is meant at p99.

    Raises
    ------
    InputError
        For text that is no limit, or a percentile out of range.

    Examples
    --------
    >>> promise("ttft", "p99=500ms"), str(promise("tpot", "30 ms"))
    (Promise(metric='ttft', percentile=99.0, limit_s=0.5), 'TPOT p99 <= 30 ms')
    """
    from infer_cost.units import parse

    left, _, right = text.replace("<=", "=").replace("<", "=").replace(":", "=").rpartition("=")
    name = left.strip().lower().removeprefix("p") or "99"
    try:
        percentile = float(name)
    except ValueError:
        percentile = math.nan
    if not 1.0 <= percentile <= MAX_PERCENTILE:
        raise InputError(
            f"{metric} can't be promised at {left.strip()!r}", field=metric, value=text, allowed="p1 to p99.99"
        )
    limit = float(parse(right, "s", field=metric))
    return Promise(metric, percentile, finite(metric, limit, low=1e-6, high=86400.0, unit="s"))
