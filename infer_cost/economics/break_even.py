"""Buying whole replicas against paying by the token: a staircase against a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infer_cost.checks import finite
from infer_cost.economics.constants import HOURS_PER_MONTH
from infer_cost.economics.fleets import FLAT_DAY, Fleet, fleet_month, shares
from infer_cost.errors import InputError

_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Where one's own service begins to cost less than an API, in requests a month; None where it never does."""

    first_requests: float | None
    """The least traffic at which own costs no more."""
    always_requests: float | None
    """The traffic from which on it never costs more again, new replicas included."""
    first_replicas: int | None
    full_cost_usd: float
    """Own cost of a request when every replica is full and nothing else counts."""
    utilization: float
    """Share of its capacity at which a replica alone, without spares and people, costs what the API does."""


def break_even(api_usd_per_request: float, fleet: Fleet, day: Sequence[float] = FLAT_DAY) -> BreakEven:
    r"""Return the traffic from which one's own replicas cost less than an API.

    .. math:: F + c\,(\lceil x/q \rceil + s) \le p\,x

    Parameters
    ----------
    api_usd_per_request : float
        What the API charges a request, p [USD].
    fleet : Fleet
        Replica price c, capacity q, spares s, people F.
    day : sequence of float
        Traffic of each hour of the day, relative.

    Returns
    -------
    BreakEven
        First crossing, the traffic from which it stays, and the utilization that a replica needs.

    Notes
    -----
    Each new replica lifts the staircase above the line again, so there may be several crossings: between the first
    and the last, own is cheaper only in part of the range.

    Examples
    --------
    A cent a request against replicas of 20 dollars an hour and two requests a second:

    >>> point = break_even(0.01, Fleet(20.0, 2.0))
    >>> round(point.first_requests), round(point.full_cost_usd, 5), round(point.utilization, 3)
    (1460000, 0.00278, 0.278)
    """
    if finite("API price", api_usd_per_request) <= 0:
        raise InputError("the API is free: nothing to break even with", field="api_price", allowed="above 0 USD")
    parts = shares(day)
    full = _full_cost(fleet, parts)
    alone = fleet.replica_usd_per_hour / (3600.0 * fleet.replica_requests_per_s)
    utilization = alone / api_usd_per_request
    if full >= api_usd_per_request:
        return BreakEven(None, None, None, full, utilization)
    first: float | None = None
    last = 0.0
    for low, high, cost in _stairs(fleet, day, api_usd_per_request, full):
        crossing = cost / api_usd_per_request
        if crossing > high:
            continue
        first = max(low, crossing) if first is None else first
        if crossing > low:
            last = crossing
    return BreakEven(first, last, fleet_month(first or 0.0, fleet, day).replicas_at_peak, full, utilization)


def _full_cost(fleet: Fleet, parts: Sequence[float]) -> float:
    """Cost of a request at unlimited traffic, where whole replicas no longer matter."""
    weight, below = 0.0, 0.0
    for index, part in enumerate(sorted(parts)):
        weight += (part - below) * min(24.0, fleet.rented_factor() * (24 - index))
        below = part
    return weight * fleet.replica_usd_per_hour / (3600.0 * fleet.replica_requests_per_s)


def _stairs(fleet: Fleet, day: Sequence[float], price: float, full: float) -> Iterator[tuple[float, float, float]]:
    """Yield (from, to, cost) of each step of the staircase, until the line stays above it."""
    parts = shares(day)
    capacity = 3600.0 * fleet.replica_requests_per_s * HOURS_PER_MONTH / 24.0
    counts = dict.fromkeys((part for part in parts if part > 0), 1)
    # Rounding up adds at most one replica an hour, so beyond this traffic the line stays above.
    spare = (1 + fleet.spare_replicas) * HOURS_PER_MONTH * fleet.replica_usd_per_hour
    end = (fleet.people_usd_per_month + spare) / (price - full)
    low = 0.0
    for _ in range(_MOST_STEPS):
        part = min(counts, key=lambda one: counts[one] * capacity / one)
        high = counts[part] * capacity / part
        cost = fleet_month(high, fleet, day).total_usd
        if high > low:
            yield low, high, cost
        if low > end:
            return
        low = high
        counts[part] += 1
    raise InputError(
        "own and API cost nearly the same: no break-even within 200,000 replica steps",
        field="api_price",
        value=price,
        allowed=f"well above {full:.3g} USD a request",
    )
