"""One's own service against an API: margin, break-even traffic, payback, a month's bill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infer_cost.economics.break_even import BreakEven, break_even
from infer_cost.economics.buying import commitment_cost, payback_months, provisioned_cost
from infer_cost.economics.fleets import FLAT_DAY, Fleet, FleetMonth, fleet_month, shares
from infer_cost.economics.own import OwnCost
from infer_cost.economics.tokens import cost_per_success, margin
from infer_cost.pricing.billing import Bill, bill
from infer_cost.pricing.rates import Rates
from infer_cost.pricing.usage import Usage


@dataclass(frozen=True, slots=True)
class Against:
    """One's own service and one API, for the same requests."""

    api: Bill
    api_usd_per_success: float
    margin_if_sold_at_api_price: float
    """At the planned utilization; negative where the API sells below one's own cost."""
    break_even: BreakEven
    month: MonthView | None = None


@dataclass(frozen=True, slots=True)
class MonthView:
    """A month at one traffic: what the API bills and what one's own service costs."""

    requests: float
    api_usd: float
    own: FleetMonth
    api_committed_usd: float | None
    """The API's bill under a commitment."""
    api_provisioned_usd: float | None
    """The API's bill in whole units of provisioned throughput."""
    payback_months: float | None
    """Months until bought machines have paid for themselves; None when rented or never."""

    @property
    def saving_usd(self) -> float:
        """What one's own service saves against the API bought as cheaply as it can be; may be negative [USD]."""
        ways = (self.api_usd, self.api_committed_usd, self.api_provisioned_usd)
        return min(way for way in ways if way is not None) - self.own.total_usd


def fleet_of(
    cost: OwnCost,
    *,
    spare_replicas: int = 0,
    on_demand_factor: float | None = None,
    spot_share: float = 0.0,
    spot_factor: float = 0.5,
    people_usd_per_month: float = 0.0,
) -> Fleet:
    """Return how replicas of a deployment are bought.

    A replica is the whole deployment; it is planned to carry ``utilization`` of its full load, so that a burst within
    the hour finds room. Failed requests take capacity as well.
    """
    attempts = cost_per_success(1.0, cost.failure_share)
    return Fleet(
        replica_usd_per_hour=cost.usd_per_hour,
        replica_requests_per_s=cost.requests_per_s * cost.utilization / attempts,
        spare_replicas=spare_replicas,
        on_demand_factor=on_demand_factor,
        spot_share=spot_share,
        spot_factor=spot_factor,
        people_usd_per_month=people_usd_per_month,
    )


def against_api(
    cost: OwnCost,
    rates: Rates,
    fleet: Fleet,
    *,
    api_failure_share: float = 0.0,
    requests_per_month: float | None = None,
    day: Sequence[float] = FLAT_DAY,
    commitment: tuple[float, float] | None = None,
    provisioned: tuple[float, float] | None = None,
) -> Against:
    """Compare one's own cost with an API's bill for the same requests, cached tokens cached at both.

    Parameters
    ----------
    cost : OwnCost
        One's own cost.
    rates : Rates
        The API's row.
    fleet : Fleet
        How replicas are bought; see :func:`fleet_of`.
    api_failure_share : float
        Share of the API's calls that are billed and fail [1].
    requests_per_month : float, optional
        Traffic for the monthly view.
    day : sequence of float
        Traffic by hour of the day.
    commitment : (float, float), optional
        Dollars a month promised to the API, and the discount that they bring.
    provisioned : (float, float), optional
        Tokens a minute of a unit of provisioned throughput, and its dollars a month.

    Returns
    -------
    Against
        Bill, margin, break-even and the month.
    """
    call = bill(Usage(cost.input_tokens, cost.output_tokens, cached_tokens=cost.cached_tokens), rates)
    price = cost_per_success(float(call.cost_usd), api_failure_share)
    result = Against(
        api=call,
        api_usd_per_success=price,
        margin_if_sold_at_api_price=margin(price, cost.usd_per_successful_request),
        break_even=break_even(price, fleet, day),
    )
    if requests_per_month is None:
        return result
    own = fleet_month(requests_per_month, fleet, day)
    api = price * requests_per_month
    tokens = requests_per_month * (cost.input_tokens + cost.output_tokens)
    peak = max(shares(day)) * 24.0
    month = MonthView(
        requests=requests_per_month,
        api_usd=api,
        own=own,
        api_committed_usd=commitment_cost(api, *commitment) if commitment else None,
        api_provisioned_usd=provisioned_cost(tokens, *provisioned, peak_to_mean=peak) if provisioned else None,
        payback_months=_payback(cost, own, api),
    )
    return replace(result, month=month)


def _payback(cost: OwnCost, own: FleetMonth, api_usd: float) -> float | None:
    hour = cost.gpu_hour
    if hour.owned is None or hour.cost is None:
        return None
    gpus = own.replicas_at_peak * cost.gpus
    running = hour.cost.electricity_usd_per_hour + hour.cost.facility_usd_per_hour
    running += hour.cost.maintenance_usd_per_hour + hour.cost.other_usd_per_hour
    gpu_hours = own.machines_usd / hour.usd if hour.usd else 0.0
    return payback_months(hour.owned.capital_usd * gpus, api_usd, gpu_hours * running + own.people_usd)
