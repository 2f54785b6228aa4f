from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.economics.inferences import (
    batch_from_ratio,
    decode_efficiency_from_ratio,
    input_cost_bound,
    kv_bytes_from_tier,
    storage_price_from_ttls,
)
from infer_cost.economics.reveal import Assumptions, assumptions_of, reveal
from infer_cost.errors import InputError
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.pricing import Prices, Rates, Tier, find_rates

D = Decimal
H100 = Assumptions("h100-sxm in FP8", 1979e12, 3.35e12, 2.5)


@given(st.floats(1e9, 1e12), st.floats(1e3, 1e7))
def test_at_the_tier_the_cache_takes_as_long_as_the_arithmetic(active: float, threshold: float) -> None:
    k = kv_bytes_from_tier(threshold, active, H100.peak_flops, H100.memory_bandwidth)
    arithmetic = 2 * active / H100.peak_flops
    reading = k * threshold / H100.memory_bandwidth
    assert reading == pytest.approx(arithmetic)


def test_the_published_kv_size_of_a_known_model_lies_in_the_range_its_tier_would_have() -> None:
    # A latent cache of 37e9 active parameters in BF16 reads 70 kB a token: a tier at some 5,000 tokens would be its
    # break-even; 200,000 needs a far smaller cache. The formula says so in both directions.
    k = kv_bytes_from_tier(200_000, 37e9, H100.peak_flops, H100.memory_bandwidth)
    assert k < 70_272
    assert kv_bytes_from_tier(200_000 * k / 70_272, 37e9, H100.peak_flops, H100.memory_bandwidth) == pytest.approx(
        70_272
    )


def test_the_output_price_gives_decode_efficiency_and_batch() -> None:
    assert decode_efficiency_from_ratio(5.0, 0.5) == 0.1
    # Decode at that batch, limited by weight reads, takes five times a prefill token's time.
    sparsity, active = 8.0, 37e9
    ridge = H100.peak_flops / H100.memory_bandwidth / 2
    batch = batch_from_ratio(5.0, 0.5, ridge * sparsity)
    decode = active * sparsity / H100.memory_bandwidth / batch
    prefill = 2 * active / (H100.peak_flops * 0.5)
    assert decode / prefill == pytest.approx(5.0)


def test_the_price_of_space_from_two_times_to_live() -> None:
    price = storage_price_from_ttls(3.75, 6.0, 50e3)
    assert price * (50e3 / 1e9) * 3300 == pytest.approx(2.25e-6)


def test_the_cost_bound_is_arithmetic_at_the_peak() -> None:
    assert input_cost_bound(100e9, 1979e12, 2.5) == pytest.approx(1e6 * 2e11 / 1979e12 * 2.5 / 3600)


def test_a_tiered_list_reveals_all_its_patterns() -> None:
    row = find_rates("anthropic/claude-sonnet-4-5", at="2026-03-01")
    found = {one.name: one for one in reveal(row, H100)}
    assert len(found) == 7
    tier = found["KV bytes a token behind the long-context tier"]
    assert (tier.low, tier.high) == (
        pytest.approx(kv_bytes_from_tier(200_000, 20e9, 1979e12, 3.35e12)),
        pytest.approx(kv_bytes_from_tier(200_000, 200e9, 1979e12, 3.35e12)),
    )
    context = found["context that the long-context price is made for"]
    assert (context.low, context.high) == (300_000, 400_000)
    assert all(one.low <= one.high and one.formula and one.reading for one in found.values())
    assert found["margin on input"].high < 1.0


def test_a_flat_list_reveals_less() -> None:
    row = Rates("v", "m", Prices(D(1), D(2)))
    names = {one.name for one in reveal(row, H100)}
    assert names == {
        "share of the peak rate that decode reaches",
        "decode batch behind the output price",
        "margin on input",
    }
    tiered = Rates("v", "m", Prices(D(1), D(2)), tiers=(Tier(1000, Prices(D(2), D(4))),))
    assert len(reveal(tiered, H100)) == 5


def test_assumptions_come_from_the_machine() -> None:
    given_ = assumptions_of(hardware("h100-sxm"), (10e9, 20e9))
    assert given_.peak_flops == 1978.9e12 or given_.peak_flops == pytest.approx(1979e12, rel=1e-3)
    assert given_.active_parameters == (10e9, 20e9)
    with pytest.raises(InputError):
        assumptions_of(hardware("h100-sxm"), (20e9, 10e9))
