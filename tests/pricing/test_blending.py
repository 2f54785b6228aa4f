from __future__ import annotations

import csv
from ast import literal_eval
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError
from infer_cost.pricing import Prices, Rates
from infer_cost.pricing.blending import (
    TrafficMix,
    blend,
    blended_price,
    parse_fraction,
    parse_ratio,
    weighted_price,
)

NAMES = {"in": "input", "out": "output", "cr": "cache_read", "cw": "cache_write_5m"}
shares = st.fractions(0, 1)


def _oracles() -> list[dict[str, str]]:
    path = Path(__file__).parents[1] / "data" / "pricing" / "blended_oracles.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _rates(text: str) -> Rates:
    return Rates("v", "m", Prices(**{NAMES[key]: Decimal(amount) for key, amount in literal_eval(text).items()}))


@pytest.mark.parametrize("row", _oracles(), ids=lambda row: row["id"])
def test_blend_equals_hand_calculation(row: dict[str, str]) -> None:
    mix = TrafficMix(*parse_ratio(row["in_to_out"]), Fraction(row["cache_hit"]), Fraction(row["cache_write"]))
    other = _rates(row["batch"]) if row["batch"] else None
    result = blend(_rates(row["std"]), mix, other, Fraction(row["batch_share"]))
    assert result.usd_per_mtok == Fraction(row["usd_per_mtok_exact"])
    assert float(result.usd_per_mtok) == pytest.approx(float(row["usd_per_mtok"]), abs=1e-9)
    assert float(result.list_usd_per_mtok) == pytest.approx(float(row["list_mix_without_discounts"]), abs=1e-9)
    assert result.saving == pytest.approx(float(row["saving"]), abs=1e-6)


@given(shares, shares)
def test_a_blend_lies_between_its_cheapest_and_dearest_token(hit: Fraction, share: Fraction) -> None:
    prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"))
    price = blended_price(prices, TrafficMix(cache_hit=hit))
    assert Fraction(3, 10) <= price <= 15
    assert price <= blended_price(prices, TrafficMix())
    half = price / 2
    assert half <= weighted_price(price, half, share) <= price


@pytest.mark.parametrize(
    "wrong",
    [
        {"cache_hit": Fraction(11, 10)},
        {"cache_hit": Fraction(3, 5), "cache_write": Fraction(3, 5)},
        {"input_parts": Fraction(-1)},
        {"input_parts": Fraction(0), "output_parts": Fraction(0)},
    ],
)
def test_a_mix_that_is_none_is_refused(wrong: dict[str, Fraction]) -> None:
    with pytest.raises(InputError):
        TrafficMix(**wrong)


def test_a_mix_with_an_unpriced_token_is_refused() -> None:
    with pytest.raises(InputError, match="no price for cache_read"):
        blended_price(Prices(Decimal(3), Decimal(15)), TrafficMix(cache_hit=Fraction(1, 2)))


@pytest.mark.parametrize("text", ["", "a", "1/0", "80 percent", "nan", "1" * 50])
def test_a_share_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_fraction(text, "hit_rate")
