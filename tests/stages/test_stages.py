"""The fifteen stages: what each says, with worked numbers where there are any."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.errors import CannotBeMetError, UnknownNameError
from infer_cost.stages.host_times import host_times

BASE = {"gpus": 8, "weights": "fp8", "input_tokens": 12022, "output_tokens": 500}


def _journey(model="llama-3.1-70b", machine="h100-sxm", **options):
    return infer_cost.journey(model, machine, **{**BASE, **options})


def _stage(trip, number):
    return next(stage for stage in trip.stages if stage.number == number)


def test_tokenizer_time_is_proportional_to_the_prompt():
    # 27.3 ms for 12,022 tokens, timed.
    assert _stage(_journey(), 1).ttft_s == pytest.approx(27.3e-3, rel=0.01)


def test_cached_tokens_shorten_the_first_token():
    cold, warm = _journey(), _journey(cached_tokens=12_000)
    assert warm.ttft_s.expected < cold.ttft_s.expected / 4
    without = _stage(warm, 8).without
    assert without.ttft_s == pytest.approx(cold.ttft_s.expected, rel=1e-9)
    assert without.cost_usd == pytest.approx(cold.cost_usd.expected, rel=1e-9)


def test_a_hit_in_host_memory_moves_the_cache_over_the_host_link():
    # 12,000 tokens of 327,680 B are 3.93 GB; each of 8 GPUs fetches an eighth over 64 GB/s.
    hbm, dram = (_journey(cached_tokens=12_000, kv="bf16", cache_tier=tier) for tier in ("hbm", "dram"))
    moved = _stage(dram, 8).ttft_s - _stage(hbm, 8).ttft_s
    assert moved == pytest.approx(12_000 * 327_680 / 8 / 64e9, rel=1e-6)
    assert dram.cost_usd.expected > hbm.cost_usd.expected


def test_round_robin_finds_the_prefix_on_one_replica():
    trip = _journey(cached_tokens=12_000, replicas=4)
    without = _stage(trip, 4).without
    cold = _journey()
    mixed = 0.25 * trip.ttft_s.expected + 0.75 * cold.ttft_s.expected
    assert without.ttft_s == pytest.approx(mixed, rel=1e-9)
    assert _stage(_journey(cached_tokens=12_000), 4).without is None


def test_a_batch_makes_tokens_slower_and_requests_cheaper():
    one, many = _journey(), _journey(concurrency=32)
    assert many.tpot_s.expected > one.tpot_s.expected
    assert many.cost_usd.expected < one.cost_usd.expected / 4
    assert _stage(one, 6).without is None
    alone = _stage(many, 6).without
    assert alone.e2e_s > many.e2e_s.expected
    assert alone.cost_usd > many.cost_usd.expected


def test_requests_beyond_the_cache_queue_at_the_load_balancer():
    trip = _journey(machine="h100-sxm", gpus=2, input_tokens=30_000, concurrency=64)
    stage = _stage(trip, 4)
    assert stage.limited_by == "queue"
    assert stage.ttft_s > 1.0


def test_quantization_says_what_16_bits_would_take():
    without = _stage(_journey(), 9).without
    assert "16 bits on 8 GPUs" in without.what
    assert without.tpot_s > _journey().tpot_s.expected
    # In 16 bits the weights no longer fit on one of these, so more GPUs are named.
    lone = _journey(machine="h200-sxm", gpus=1, input_tokens=1000)
    assert "2 GPUs" in _stage(lone, 9).without.what
    assert _stage(_journey(weights="bf16", kv="bf16"), 9).without is None


def test_speculation_is_faster_than_its_absence():
    trip = _journey("deepseek-v3", "h200-sxm", weights="fp8-block", speculative="mtp")
    assert _stage(trip, 12).tpot_s > 0
    assert _stage(trip, 12).without.tpot_s > trip.tpot_s.expected


def test_networks_take_what_crosses_them():
    inside = _journey()
    assert _stage(inside, 13).tpot_s > 0
    assert _stage(inside, 14).tpot_s == 0
    across = _journey("llama-3.1-405b", gpus=16)
    assert _stage(across, 14).tpot_s > 0


def test_pools_send_the_cache_over_the_network():
    options = {"gpus": None, "prefill_gpus": 4, "prefill_tp": 4, "decode_gpus": 4, "decode_tp": 4, "kv": "bf16"}
    inside = _journey(**options)
    assert _stage(inside, 13).ttft_s > 12_022 * 327_680 / 4 / 450e9
    assert _stage(inside, 6).tpot_s < _journey(concurrency=8).tpot_s.expected


def test_routes_to_a_smaller_model_and_to_other_silicon():
    trip = _journey()
    small, prefill, decode = trip.routing
    assert small.model == "llama-3.1-8b"
    assert small.cost_usd < trip.cost_usd.expected / 5
    assert {prefill.model, decode.model} == {"llama-3.1-70b"}


def test_own_latency_replaces_the_assumption():
    trip = _journey(latencies={"router": 0.5})
    assert _stage(trip, 5).ttft_s == 0.5
    assert any("yours" in line for line in _stage(trip, 5).assumptions)
    with pytest.raises(UnknownNameError):
        host_times({"coffee": 1.0})


def test_every_host_time_has_a_source_and_a_range():
    for time in host_times().values():
        assert time.source
        assert 0 <= time.low <= time.typical <= time.high


def test_beyond_the_window_is_refused():
    with pytest.raises(CannotBeMetError, match="context window"):
        _journey(input_tokens=131_073)


def test_moe_with_latent_attention_on_a_rack():
    trip = _journey("deepseek-v3", "gb200-nvl72", weights="nvfp4")
    assert trip.tpot_s.expected < _journey("deepseek-v3", "h200-sxm", weights="fp8-block").tpot_s.expected * 1.2
    assert trip.gpus == 8


@pytest.mark.parametrize("numbering", ["digest", "article"])
def test_no_price_of_the_machine_means_no_cost_not_a_cost_of_nothing(numbering):
    trip = infer_cost.journey("llama-3.1-8b", "m4-max", numbering=numbering, output_tokens=10)
    assert trip.cost_usd is None
    assert {stage.cost_usd for stage in trip.stages} == {None}
