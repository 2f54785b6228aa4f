from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.economics.break_even import break_even
from infer_cost.economics.buying import commitment_cost, payback_months, provisioned_cost
from infer_cost.economics.fleets import FLAT_DAY, OFFICE_DAY, Fleet, fleet_month
from infer_cost.errors import InputError

MONTH_S = 730 * 3600


def test_a_flat_day_by_hand() -> None:
    # Two a second are 5,256,000 requests a month and replica; twelve million need three.
    month = fleet_month(12e6, Fleet(20.0, 2.0, people_usd_per_month=1000.0))
    assert month.replicas_at_peak == 3
    assert month.total_usd == pytest.approx(3 * 20 * 730 + 1000)
    assert month.utilization == pytest.approx(12e6 / (3 * 2 * MONTH_S))


def test_a_load_that_fills_replicas_exactly_needs_no_more() -> None:
    assert fleet_month(3 * 2.0 * MONTH_S, Fleet(20.0, 2.0)).replicas_at_peak == 3
    assert fleet_month(3 * 2.0 * MONTH_S + 10, Fleet(20.0, 2.0)).replicas_at_peak == 4


def test_a_busy_day_needs_replicas_for_its_peak_and_renting_them_by_the_hour_is_cheaper() -> None:
    requests = 10 * 2.0 * MONTH_S
    flat = fleet_month(requests, Fleet(20.0, 2.0))
    office = fleet_month(requests, Fleet(20.0, 2.0), OFFICE_DAY)
    rented = fleet_month(requests, Fleet(20.0, 2.0, on_demand_factor=1.5), OFFICE_DAY)
    assert flat.replicas_at_peak < office.replicas_at_peak
    assert flat.total_usd < rented.total_usd < office.total_usd
    assert rented.replicas_reserved < rented.replicas_at_peak


def test_spot_hours_make_it_cheaper_still() -> None:
    requests = 10 * 2.0 * MONTH_S
    rented = Fleet(20.0, 2.0, on_demand_factor=1.5)
    spot = Fleet(20.0, 2.0, on_demand_factor=1.5, spot_share=0.5)
    assert fleet_month(requests, spot, OFFICE_DAY).total_usd < fleet_month(requests, rented, OFFICE_DAY).total_usd


@given(st.floats(0, 1e8), st.floats(0, 1e8), st.sampled_from([None, 1.0, 1.5, 3.0]))
def test_more_traffic_never_costs_less(one: float, other: float, factor: float | None) -> None:
    fleet = Fleet(20.0, 2.0, on_demand_factor=factor, spare_replicas=1)
    low, high = sorted((one, other))
    low_cost, high_cost = (fleet_month(x, fleet, OFFICE_DAY).total_usd for x in (low, high))
    assert low_cost <= high_cost + 1e-6


def test_break_even_of_one_replica_by_hand() -> None:
    point = break_even(0.01, Fleet(20.0, 2.0))
    assert point.first_requests == pytest.approx(20 * 730 / 0.01)
    assert point.always_requests == pytest.approx(20 * 730 / 0.01)
    assert point.utilization == pytest.approx(20 / 7200 / 0.01)


def test_a_staircase_crosses_the_line_more_than_once() -> None:
    # A replica must be filled to 95 %: after each new one the API is cheaper again for a while.
    price = 20 / 7200 / 0.95
    point = break_even(price, Fleet(20.0, 2.0))
    assert point.first_requests is not None and point.always_requests is not None
    assert point.always_requests > point.first_requests
    fleet = Fleet(20.0, 2.0)
    just_after_a_step = 2.0 * MONTH_S + 1000
    assert fleet_month(just_after_a_step, fleet).total_usd > price * just_after_a_step


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.05, 0.98),
    st.integers(0, 2),
    st.floats(0, 50_000),
    st.sampled_from([FLAT_DAY, OFFICE_DAY]),
    st.sampled_from([None, 1.4]),
)
def test_the_break_even_is_where_the_costs_cross(
    load: float, spares: int, people: float, day: tuple[float, ...], factor: float | None
) -> None:
    fleet = Fleet(20.0, 2.0, spares, factor, people_usd_per_month=people)
    price = 20 / 7200 / load * (1.6 if day is OFFICE_DAY else 1.0)
    point = break_even(price, fleet, day)
    if point.first_requests is None:
        assert point.full_cost_usd >= price
        return
    assert point.always_requests is not None

    def own(x: float) -> float:
        return fleet_month(x, fleet, day).total_usd

    first, always = point.first_requests, point.always_requests
    # A step may touch the line with its last request only, so just above the point the next replica may be due.
    assert own(first * (1 - 1e-12)) <= price * first * (1 + 1e-6)
    for share in (0.2, 0.5, 0.9, 0.999):
        assert own(first * share) > price * first * share
    for factor_ in (1.0001, 1.01, 1.3, 2.0, 7.7):
        assert own(always * factor_) <= price * always * factor_ * (1 + 1e-6)


def test_an_api_below_the_full_cost_is_never_beaten() -> None:
    point = break_even(0.002, Fleet(20.0, 2.0))
    assert (point.first_requests, point.always_requests, point.first_replicas) == (None, None, None)
    assert point.utilization > 1


def test_payback() -> None:
    assert payback_months(240_000, 30_000, 10_000) == 12
    assert payback_months(240_000, 10_000, 10_000) is None


def test_a_commitment_pays_from_the_share_that_the_discount_says() -> None:
    # 30 % off: it pays once 70 % of what it buys is used.
    buys = 7000 / 0.7
    assert commitment_cost(0.69 * buys, 7000, 0.3) > 0.69 * buys
    assert commitment_cost(0.71 * buys, 7000, 0.3) < 0.71 * buys


def test_provisioned_units_are_whole_and_for_the_peak() -> None:
    per_unit = 50_000 * 730 * 60
    assert provisioned_cost(per_unit, 50_000, 100.0) == 100.0
    assert provisioned_cost(per_unit * 1.01, 50_000, 100.0) == 200.0
    assert provisioned_cost(per_unit, 50_000, 100.0, peak_to_mean=2.5) == 300.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"replica_requests_per_s": 0.0},
        {"replica_usd_per_hour": -1.0},
        {"spare_replicas": -1},
        {"spot_share": 1.5},
        {"people_usd_per_month": math.nan},
    ],
)
def test_a_fleet_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Fleet(**{"replica_usd_per_hour": 20.0, "replica_requests_per_s": 2.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("day", [(1.0,) * 23, (0.0,) * 24, (-1.0, *(1.0,) * 23), (math.nan,) * 24])
def test_a_day_that_is_none_is_refused(day: tuple[float, ...]) -> None:
    with pytest.raises(InputError):
        fleet_month(1e6, Fleet(20.0, 2.0), day)


def test_a_free_api_is_refused() -> None:
    with pytest.raises(InputError, match="free"):
        break_even(0.0, Fleet(20.0, 2.0))
