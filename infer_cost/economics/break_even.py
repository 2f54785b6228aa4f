"""Buying whole replicas against paying by the token: a staircase against a line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infer_cost.checks import finite, whole
from infer_cost.economics.constants import HOURS_PER_MONTH, SECONDS_PER_MONTH
from infer_cost.errors import InputError

FLAT_DAY = (1.0,) * 24
OFFICE_DAY = (0.3,) * 7 + (0.8,) + (1.6,) * 10 + (1.0,) * 3 + (0.6,) * 3
"""Traffic by hour, relative: quiet nights, busy from eight to six."""
DAYS = {"flat": FLAT_DAY, "office": OFFICE_DAY}
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Fleet:
    """How replicas are bought.

    Parameters
    ----------
    replica_usd_per_hour : float
        Reserved price of one replica, all its GPUs [USD/h].
    replica_requests_per_s : float
        What one replica serves at the load that it is planned for [request/s].
    spare_replicas : int
        Replicas beyond what the traffic needs, for failures and rollouts.
    on_demand_factor : float or None
        On-demand price over the reserved one; None when every replica is paid day and night. With a factor, each
        replica is reserved or rented by the hour, whichever is cheaper for the hours that it's needed.
    spot_share : float
        Share of the rented hours that is spot capacity [1].
    spot_factor : float
        Spot price over the reserved one [1].
    people_usd_per_month : float
        People's time that the service takes [USD/month].
    """

    replica_usd_per_hour: float
    replica_requests_per_s: float
    spare_replicas: int = 0
    on_demand_factor: float | None = None
    spot_share: float = 0.0
    spot_factor: float = 0.5
    people_usd_per_month: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a fleet that can't be."""
        finite("replica price", self.replica_usd_per_hour, unit="USD/h")
        if finite("replica throughput", self.replica_requests_per_s) <= 0:
            raise InputError("a replica serves nothing", field="replica_requests_per_s", allowed="above 0")
        whole("spare replicas", self.spare_replicas, low=0, high=10_000)
        finite("spot share", self.spot_share, high=1.0)
        finite("spot factor", self.spot_factor)
        finite("people", self.people_usd_per_month, unit="USD/month")

    def rented_factor(self) -> float:
        """Price of a rented hour over a reserved one; infinite where nothing is rented by the hour."""
        if self.on_demand_factor is None:
            return math.inf
        return self.on_demand_factor * (1.0 - self.spot_share) + self.spot_factor * self.spot_share


@dataclass(frozen=True, slots=True)
class FleetMonth:
    """A month of one's own service at a traffic."""

    requests: float
    replicas_at_peak: int
    replicas_reserved: int
    replica_hours: float
    machines_usd: float
    people_usd: float
    total_usd: float
    utilization: float
    """Share of the paid capacity that served."""


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


def fleet_month(requests_per_month: float, fleet: Fleet, day: Sequence[float] = FLAT_DAY) -> FleetMonth:
    r"""Return what a month of one's own service costs at a traffic, in whole replicas.

    .. math:: n_h = \lceil x_h / q \rceil, \quad n = \max(1, n_h) + s

    Parameters
    ----------
    requests_per_month : float
        Traffic, x [request/month].
    fleet : Fleet
        Prices and capacity q of a replica, spares s.
    day : sequence of float
        Traffic of each hour of the day, relative to each other.

    Returns
    -------
    FleetMonth
        Replicas, hours and dollars.

    Notes
    -----
    At least one replica runs day and night. An hour's traffic is taken as even within the hour: a peak within it
    belongs into the capacity that a replica is planned for.

    Examples
    --------
    Ten million requests a month on replicas that serve two a second for 20 dollars an hour, one spare:

    >>> month = fleet_month(10e6, Fleet(20.0, 2.0, spare_replicas=1))
    >>> month.replicas_at_peak, month.total_usd, round(month.utilization, 2)
    (3, 43800.0, 0.63)
    """
    finite("traffic", requests_per_month)
    needed = sorted(_replicas(requests_per_month, fleet, shares(day)))
    paid, weighted, reserved = _paid_hours(needed, fleet.rented_factor())
    hours = paid * HOURS_PER_MONTH / 24.0
    machines = weighted * HOURS_PER_MONTH / 24.0 * fleet.replica_usd_per_hour
    return FleetMonth(
        requests=requests_per_month,
        replicas_at_peak=needed[-1],
        replicas_reserved=reserved,
        replica_hours=hours,
        machines_usd=machines,
        people_usd=fleet.people_usd_per_month,
        total_usd=machines + fleet.people_usd_per_month,
        utilization=requests_per_month / (hours * 3600.0 * fleet.replica_requests_per_s),
    )


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


def payback_months(capital_usd: float, api_usd_per_month: float, running_usd_per_month: float) -> float | None:
    """Return the months after which a purchase has paid for itself; None when it never does.

    >>> payback_months(240_000.0, 30_000.0, 10_000.0)
    12.0
    """
    saved = api_usd_per_month - running_usd_per_month
    return capital_usd / saved if saved > 0 else None


def commitment_cost(usage_usd: float, commitment_usd: float, discount: float) -> float:
    """Return what a month costs under a commitment: its price even unused, list price beyond it.

    ``commitment_usd`` is what is committed to pay; it buys usage worth ``commitment / (1 - discount)`` at list price.

    >>> commitment_cost(8000.0, 7000.0, 0.3), commitment_cost(12000.0, 7000.0, 0.3)
    (7000.0, 9000.0)
    """
    finite("discount", discount, high=0.99)
    finite("commitment", commitment_usd)
    covered = commitment_usd / (1.0 - discount)
    return commitment_usd + max(0.0, usage_usd - covered)


def provisioned_cost(
    tokens_per_month: float, unit_tokens_per_minute: float, unit_usd_per_month: float, peak_to_mean: float = 1.0
) -> float:
    """Return a month of provisioned throughput: whole units for the peak minute, paid day and night.

    >>> provisioned_cost(2e9, 50_000.0, 2000.0)
    2000.0
    >>> provisioned_cost(2e9, 50_000.0, 2000.0, peak_to_mean=3.0)
    6000.0
    """
    if finite("unit of throughput", unit_tokens_per_minute) <= 0:
        raise InputError("a unit of throughput carries nothing", field="provisioned", allowed="above 0 tokens/min")
    finite("price of a unit", unit_usd_per_month)
    per_minute = tokens_per_month / (SECONDS_PER_MONTH / 60.0) * peak_to_mean
    return max(1, math.ceil(per_minute / unit_tokens_per_minute)) * unit_usd_per_month


def shares(day: Sequence[float]) -> tuple[float, ...]:
    """Return the share of the day's traffic that falls in each of the 24 hours.

    Raises
    ------
    InputError
        Unless there are 24 numbers, none negative and not all zero.
    """
    total = math.fsum(day) if len(day) == 24 and all(math.isfinite(hour) and hour >= 0 for hour in day) else 0.0
    if total <= 0:
        raise InputError(
            "the day must have 24 hours of traffic, none negative",
            field="day",
            value=len(day),
            allowed="24 numbers",
        )
    return tuple(hour / total for hour in day)


def _replicas(requests_per_month: float, fleet: Fleet, parts: Sequence[float]) -> list[int]:
    daily = requests_per_month * 24.0 / HOURS_PER_MONTH
    capacity = 3600.0 * fleet.replica_requests_per_s
    # The tolerance keeps a load that fills n replicas exactly from asking for one more by a rounding error.
    return [max(1, math.ceil(daily * part / capacity - 1e-9)) + fleet.spare_replicas for part in parts]


def _paid_hours(needed: Sequence[int], rented_factor: float) -> tuple[float, float, int]:
    """Return paid replica-hours a day, the same weighted by price, and the replicas reserved.

    ``needed`` is ascending. A replica that is needed in ``h`` hours of the day costs ``min(24, factor * h)``.
    """
    paid = weighted = 0.0
    reserved = below = 0
    for index, count in enumerate(needed):
        level, in_use = count - below, 24 - index
        by_the_hour = rented_factor * in_use < 24.0
        paid += level * (in_use if by_the_hour else 24.0)
        weighted += level * (rented_factor * in_use if by_the_hour else 24.0)
        reserved += 0 if by_the_hour else level
        below = count
    return paid, weighted, reserved


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
