from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.economics.constants import HOURS_PER_YEAR
from infer_cost.economics.ownership import Ownership, capital_charge, ownership_cost
from infer_cost.economics.tokens import (
    cost_per_million_from_gpu_seconds,
    cost_per_success,
    margin,
    resale_price,
    tokens_per_second_per_megawatt,
)
from infer_cost.errors import InputError

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "data/pricing/field_cases.jsonl").read_text("utf-8").splitlines()
    for case in [json.loads(line)]
}


def test_field_case_t07_dollars_an_hour_and_tokens_a_second() -> None:
    case = CASES["T07"]
    cost = cost_per_million_from_gpu_seconds(case["input"]["usd_per_h"], 1 / case["input"]["tok_s"])
    assert cost == pytest.approx(case["expected"], rel=case["tolerance_rel"])


def test_field_case_t08_a_million_sentences() -> None:
    case = CASES["T08"]
    cost = cost_per_million_from_gpu_seconds(case["input"]["usd_per_h"], 1 / case["input"]["per_s"])
    assert cost * case["input"]["n"] / 1e6 == pytest.approx(case["expected"], rel=case["tolerance_rel"])


def test_field_case_r17_a_reported_cost_already_holds_the_upstream_one() -> None:
    case = CASES["R17"]
    given_ = case["input"]
    assert resale_price(given_["real"], given_["markup"]) == pytest.approx(case["expected"][0], rel=0.01)
    assert resale_price(given_["inflated"], given_["markup"]) == pytest.approx(case["expected"][1], rel=0.01)


def test_gb300_from_the_source_document_with_its_arithmetic_put_right() -> None:
    # 30,000 dollars over three years and 5,000 a year for the rest are 15,000 a year, as the document says. A year of
    # 2,400 sequences every 20 ms over 72 GPUs is 5.26e10 tokens of one GPU, so 0.285 dollars a million: not 0.000015
    # dollars a token, which is 15 dollars a million.
    year = ownership_cost(Ownership(30_000, 0.0, years=3, other_usd_per_year=5_000)).usd_per_gpu_hour * HOURS_PER_YEAR
    assert year == pytest.approx(15_000)
    rate = 2400 / 0.020 / 72
    assert rate * HOURS_PER_YEAR * 3600 == pytest.approx(5.26e10, rel=1e-3)
    cost = cost_per_million_from_gpu_seconds(year / HOURS_PER_YEAR, 1 / rate)
    assert cost == pytest.approx(0.2854, rel=1e-3)
    assert pytest.approx(0.015) == 15_000 / 1e12 * 1e6


def test_capital_charge_by_hand() -> None:
    assert capital_charge(30_000, 3) == 10_000
    # 8 % over three years: the factor is 0.38803 in every table of compound interest.
    assert capital_charge(1.0, 3, 0.08) == pytest.approx(0.38803, abs=1e-5)
    assert capital_charge(1000.0, 5, 0.1, residual_usd=1000.0) == pytest.approx(100.0)


prices = st.floats(1, 1e6)
rates = st.floats(0, 0.5)


@given(prices, st.floats(0, 5000), st.floats(1, 10), rates, rates, st.floats(1, 2), rates, rates)
def test_the_parts_add_up_and_none_is_negative(
    purchase: float,
    power: float,
    years: float,
    residual: float,
    financing: float,
    pue: float,
    network: float,
    maintenance: float,
) -> None:
    cost = ownership_cost(
        Ownership(
            purchase,
            power,
            years,
            residual_share=residual,
            financing_rate=financing,
            network_share=network,
            pue=pue,
            maintenance_share=maintenance,
            facility_usd_per_kw_month=200.0,
        )
    )
    assert sum(cost.parts().values()) == pytest.approx(cost.usd_per_gpu_hour)
    assert all(part >= -1e-9 for part in cost.parts().values())
    assert cost.optics_usd_per_hour <= cost.network_usd_per_hour


@given(prices, st.floats(0.01, 0.9))
def test_the_network_has_its_share_of_the_whole(purchase: float, share: float) -> None:
    owned = Ownership(purchase, 0.0, network_share=share)
    assert owned.network_usd / owned.capital_usd == pytest.approx(share)


@pytest.mark.parametrize(
    "wrong",
    [
        {"purchase_usd": -1.0},
        {"purchase_usd": float("nan")},
        {"years": 0.0},
        {"pue": 0.9},
        {"residual_share": 1.1},
        {"network_share": 1.0},
        {"financing_rate": -0.1},
        {"power_w": float("inf")},
    ],
)
def test_what_no_machine_can_have_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Ownership(**{"purchase_usd": 1.0, "power_w": 1.0, **wrong})


def test_power() -> None:
    # A joule a token and a megawatt: a million tokens a second.
    assert tokens_per_second_per_megawatt(1000.0, 1000.0) == pytest.approx(1e6)
    assert tokens_per_second_per_megawatt(1000.0, 1000.0, 1.25) == pytest.approx(0.8e6)


@given(st.floats(1e-6, 1e3), st.floats(0, 0.99))
def test_failures_only_add(cost: float, failures: float) -> None:
    assert cost_per_success(cost, failures) == pytest.approx(cost / (1 - failures))
    assert cost_per_success(cost, failures, 0.0) == cost


def test_a_margin_needs_a_price() -> None:
    assert margin(10.0, 15.0) == -0.5
    with pytest.raises(InputError):
        margin(0.0, 1.0)


@pytest.mark.parametrize("utilization", [0.0, -1.0, 1.1, float("nan")])
def test_a_utilization_beyond_its_range_is_refused(utilization: float) -> None:
    with pytest.raises(InputError):
        cost_per_million_from_gpu_seconds(1.0, 1.0, utilization)
