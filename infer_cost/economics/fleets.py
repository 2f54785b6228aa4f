"""Replicas for a traffic: how many, for how many hours, at what price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from infer_cost.checks import finite, whole
from infer_cost.economics.constants import HOURS_PER_MONTH
from infer_cost.errors import InputError

FLAT_DAY = (1.0,) * 24
OFFICE_DAY = (0.3,) * 7 + (0.8,) + (1.6,) * 10 + (1.0,) * 3 + (0.6,) * 3
"""Traffic by hour, relative: quiet nights, busy from eight to six."""
DAYS = {"flat": FLAT_DAY, "office": OFFICE_DAY}


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
        if self.on_demand_factor is not None:
            finite("on-demand factor", self.on_demand_factor, low=1e-3, high=1e3)
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
