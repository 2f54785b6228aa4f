from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.economics.clusters import (
    capital_per_million_tokens,
    cluster,
    elasticity,
    fleet_power,
    gpus_for_power,
    optics_power,
    optics_share_of_cluster,
    spend_growth,
    spend_path,
)
from infer_cost.economics.defaults import default, purchase, value_of
from infer_cost.economics.ownership import Ownership
from infer_cost.economics.sensitivity import tornado
from infer_cost.errors import InputError
from infer_cost.hardware_specs.catalog import hardware

fractions = st.floats(0, 1)


def test_optics_are_a_tenth_of_a_cluster_as_the_source_documents_say() -> None:
    assert optics_share_of_cluster(0.15, 0.6) == pytest.approx(0.09)
    assert optics_share_of_cluster(0.18, 0.6) == pytest.approx(0.108)


def test_co_packaged_optics_save_seven_tenths() -> None:
    power = optics_power(1000, 2)
    assert (power.pluggable_w, power.co_packaged_w) == (60_000, 18_000)
    assert power.saved_w / power.pluggable_w == pytest.approx(0.7)


def test_a_fleet_of_racks_and_its_inverse() -> None:
    assert fleet_power(100, 132e3, 1.25) == pytest.approx(16.5e6)
    assert gpus_for_power(16.5e6, 132e3 / 72, 1.25) == 7200


def test_capital_a_token_by_hand() -> None:
    life = 3 * 365 * 86400
    assert capital_per_million_tokens(30_000, 1000, 3, 0.5) == pytest.approx(30_000 / (1000 * 0.5 * life / 1e6))


def test_two_hundred_times_cheaper_and_seven_times_more_use_is_no_paradox() -> None:
    assert spend_growth(200, 7) == pytest.approx(0.035)
    answer = elasticity(200, 7)
    assert answer is not None and answer < 1


@given(st.floats(1.01, 1000), st.floats(0.1, 1000))
def test_spend_rises_exactly_when_the_elasticity_is_above_one(fall: float, growth: float) -> None:
    answer = elasticity(fall, growth)
    assert answer is not None
    if abs(answer - 1) > 1e-9:
        assert (spend_growth(fall, growth) > 1) == (answer > 1)


def test_a_path_multiplies_year_by_year() -> None:
    path = spend_path(2, 3, 2)
    assert [(p.price, p.usage, p.spend) for p in path] == [(1, 1, 1), (0.5, 3, 1.5), (0.25, 9, 2.25)]


def test_a_cluster_adds_up() -> None:
    owned = Ownership(50_000, 2000.0, network_share=0.15, optics_share=0.6, pue=1.2)
    found = cluster(owned, 1000, 5, tokens_per_s_per_gpu=2000.0)
    assert found.network_usd / found.capital_usd == pytest.approx(0.15)
    assert found.optics_usd / found.capital_usd == pytest.approx(0.09)
    assert found.site_w == pytest.approx((2e6 + 150_000) * 1.2)
    assert found.tokens_per_s_per_megawatt == pytest.approx(2e6 / 2.58)
    with pytest.raises(InputError):
        cluster(owned, 0, 5)


def test_the_widest_swing_comes_first_and_zero_stays_zero() -> None:
    swings = tornado(lambda x: x["a"] + 10 * x["b"], {"a": 1.0, "b": 1.0, "c": 1.0})
    assert [swing.name for swing in swings] == ["b", "a", "c"]
    assert [swing.width for swing in swings] == pytest.approx([4.0, 0.4, 0.0])


def test_every_assumption_has_a_range_a_source_and_a_confidence() -> None:
    for name in (
        "years",
        "pue",
        "usd_per_kwh",
        "facility_usd_per_kw_month",
        "network_share",
        "optics_share",
        "financing_rate",
        "maintenance_share",
        "server_factor",
        "flash_writes",
    ):
        found = default(name)
        assert found.provenance.source and found.provenance.read
        assert found.provenance.confidence in ("two-sources", "one-source", "recalled", "derived")
        assert found.low is not None and found.high is not None
        assert found.low <= value_of(name) <= found.high


def test_a_purchase_price_is_the_systems_share_or_the_bare_one_with_its_server() -> None:
    assert purchase(hardware("h100-sxm")).value == pytest.approx(269_000 / 8)
    assert purchase(hardware("h200-sxm")).value == pytest.approx(32_000 * 1.25)
    with pytest.raises(InputError, match="no purchase price"):
        purchase(hardware("tpu-v5e"))
