from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError
from infer_cost.pricing import Prices, Rates, Tier, Usage, bill

D = Decimal
SONNET = Prices(D(3), D(15), D("0.3"), D("3.75"), D(6))
amounts = st.decimals(0, 1000, places=6)
counts = st.integers(0, 10**12)


def _rates(prices: Prices, **extra: object) -> Rates:
    return Rates("vendor", "model", prices, **extra)  # type: ignore[arg-type]


@given(counts, counts, counts, counts, counts, amounts, amounts, amounts)
def test_a_bill_is_exact_and_its_lines_add_up(
    plain: int, read: int, w5: int, w1: int, out: int, a: Decimal, b: Decimal, c: Decimal
) -> None:
    usage = Usage(
        input_tokens=plain + read + w5 + w1,
        cached_tokens=read,
        cache_write_5m_tokens=w5,
        cache_write_1h_tokens=w1,
        output_tokens=out,
    )
    result = bill(usage, _rates(Prices(a, b, c, a, b)))
    exact = Fraction(a) * (plain + w5) + Fraction(b) * (out + w1) + Fraction(c) * read
    assert Fraction(result.cost_usd) == exact / 10**6
    assert sum(Fraction(line.cost_usd) for line in result.lines) == Fraction(result.cost_usd)


def _tiered(counts: str = "input") -> Rates:
    long = Prices(D(6), D("22.5"), D("0.6"))
    return _rates(SONNET, tiers=(Tier(200_000, long), Tier(500_000, Prices(D(9), D(30), D(1)))), tier_counts=counts)


def test_a_tier_starts_strictly_above_its_threshold_and_moves_the_whole_request() -> None:
    at = bill(Usage(200_000, 1000), _tiered())
    above = bill(Usage(200_001, 1000), _tiered())
    assert (at.cost_usd, at.tier_above_tokens) == (D("0.615"), None)
    assert (above.cost_usd, above.tier_above_tokens) == (D("1.222506"), 200_000)
    assert bill(Usage(500_001, 0), _tiered()).tier_above_tokens == 500_000


@pytest.mark.parametrize(
    ("counted", "tier"), [("input", 200_000), ("plain_input", None), ("input_and_output", 200_000)]
)
def test_which_tokens_count_towards_a_tier_differs_by_vendor(counted: str, tier: int | None) -> None:
    usage = Usage(210_000, 1000, cached_tokens=60_000)
    assert bill(usage, _tiered(counted)).tier_above_tokens == tier


def test_output_counts_towards_a_tier_only_where_the_vendor_says_so() -> None:
    usage = Usage(199_500, 1000)
    assert bill(usage, _tiered("input")).tier_above_tokens is None
    assert bill(usage, _tiered("input_and_output")).tier_above_tokens == 200_000


def test_reasoning_is_output_unless_priced_apart() -> None:
    usage = Usage(0, 1000, reasoning_tokens=600)
    assert bill(usage, _rates(Prices(output=D(30)))).cost_usd == D("0.03")
    apart = Prices(output=D(8), reasoning=D(3))
    assert bill(usage, _rates(apart)).cost_usd == (400 * D(8) + 600 * D(3)) / 10**6


@pytest.mark.parametrize(
    ("usage", "unit"),
    [
        (Usage(10, cache_write_1h_tokens=5), "cache_write_1h"),
        (Usage(10, cached_tokens=5), "cache_read"),
        (Usage(10, input_audio_tokens=5), "input_audio"),
        (Usage(0, 10, output_image_tokens=5), "output_image"),
        (Usage(web_searches=1), "web_search_per_thousand"),
    ],
)
def test_what_a_list_cannot_price_is_an_error_never_zero(usage: Usage, unit: str) -> None:
    with pytest.raises(InputError, match=f"has no price for {unit}") as caught:
        bill(usage, _rates(Prices(D(3), D(15))))
    assert caught.value.field == unit
    assert "input, output" in str(caught.value)


def test_a_list_without_a_fee_per_request_does_not_charge_one() -> None:
    assert bill(Usage(1_000_000, requests=7), _rates(Prices(D(3)))).cost_usd == D(3)
    with_fee = _rates(Prices(D(3), request_per_thousand=D(5)))
    assert bill(Usage(1_000_000, requests=7), with_fee).cost_usd == D("3.035")


def test_an_amount_that_no_list_can_have_is_refused() -> None:
    for wrong in (D(-1), D("nan"), D("inf")):
        with pytest.raises(InputError, match="the price of input"):
            Prices(input=wrong)


def test_the_formula_gives_the_cost() -> None:
    usage = Usage(1000, 9000, reasoning_tokens=6000, web_searches=10)
    one = bill(usage, _rates(Prices(D(2), D(8), reasoning=D(3), web_search_per_thousand=D(5))))
    assert one.formula() == "(1000*2 + 3000*8 + 6000*3)/1e6 + (10*5)/1e3 = 0.094"
