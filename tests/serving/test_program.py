"""What a deployment's pass is made of: how many launches of what size, and what crosses which link."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from infer_cost.hardware_specs.efficiency.kernels import kernel_model
from infer_cost.model_specs.architecture import Layer, LayerGroup, Mixer
from infer_cost.roofline import busiest_rank
from infer_cost.serving.engines.profile import KERNEL_AGEING
from infer_cost.serving.operators import Attention, GroupedGemm, Load, Recurrence
from infer_cost.serving.program import PCIE3_X16, UNEVEN_ROUTING, compile_program, slowest_link
from tests.serving.support import (
    CHIP,
    DENSE,
    DENSE_LAYER,
    DENSE_MATRICES,
    GQA,
    HIDDEN,
    MACHINE,
    MOE_LAYER,
    VOCABULARY,
    engine,
    model,
    plan,
)


def operators(deployment, phase="decode"):
    return {op.name: op for op in compile_program(deployment, phase).operators}


def transfers(deployment, phase="decode"):
    return {op.name: op for op in compile_program(deployment, phase).transfers}


MIXED = model(LayerGroup(DENSE_LAYER, 1), LayerGroup(MOE_LAYER, 3))


def test_matrices_of_a_rank():
    found = operators(plan(tp=2))
    sizes = {name: (op.launches, op.inputs, op.outputs) for name, op in found.items() if hasattr(op, "outputs")}
    assert sizes == {
        "qkv_proj": (4, 1000, 600),
        "o_proj": (4, 400, 1000),
        "gate_up_proj": (4, 1000, 4000),
        "down_proj": (4, 2000, 1000),
        "lm_head": (1, 1000, 5000),
    }
    assert found["lm_head"].last_only
    assert not found["o_proj"].last_only
    assert {op.bits for op in operators(plan(weights="fp8")).values() if hasattr(op, "bits")} == {8, 16}


def test_copies_of_a_matrix_are_launches():
    twice = replace(DENSE_LAYER, matrices=(replace(DENSE_MATRICES[0], copies=3),))
    assert operators(plan(model(LayerGroup(twice, 4))))["gate_up_proj"].launches == 12


def test_rates_are_those_of_the_format():
    assert operators(plan(weights="fp8"))["o_proj"].peak_flops == 2e14
    assert operators(plan(weights="fp8"))["lm_head"].peak_flops == 1e14
    # A chip without FP8 widens the weights.
    plain = replace(MACHINE, accelerator=replace(CHIP, peak_flops={"bf16": 1e14}))
    assert operators(plan(weights="fp8", machine=plain))["o_proj"].peak_flops == 1e14


def test_a_matrix_multiplication_has_the_floor_of_a_16_bit_one():
    narrow = kernel_model(CHIP, "gemm", "fp8", "generic")
    wide = kernel_model(CHIP, "gemm", "bf16", "generic")
    assert operators(plan(weights="fp8"))["o_proj"].kernel.floor_s == min(narrow.floor_s, wide.floor_s)


def test_sampling_reads_the_logits_twice():
    sampling = operators(plan(tp=2))["sampling"]
    assert (sampling.launches, sampling.width, sampling.last_only) == (2, VOCABULARY, True)


def test_small_kernels_of_every_layer():
    found = operators(plan(profile=engine(small_kernels_per_layer=5.0, latent_kernels_per_layer=3.0)))
    assert (found["small kernels"].launches, found["small kernels"].width) == (20, 2 * HIDDEN)
    latent = replace(DENSE_LAYER, mixer=Mixer("latent_attention", 8, 1, 100, 100, 150, 120, cache_elements=150))
    profile = engine(small_kernels_per_layer=5.0, latent_kernels_per_layer=3.0)
    assert operators(plan(model(LayerGroup(latent, 4)), profile=profile))["small kernels"].launches == 32


def attention_of(deployment, phase="decode"):
    (found,) = (op for op in compile_program(deployment, phase).operators if isinstance(op, Attention))
    return found


def test_attention_of_a_rank():
    # A token of this layer caches 400 elements; two KV heads are divided over at most two ranks.
    for tp, heads, cache in ((1, 8, 800), (2, 4, 400), (4, 2, 400)):
        found = attention_of(plan(tp=tp))
        assert (found.launches, found.heads, found.cache_bytes) == (4, heads, cache)
    assert attention_of(plan(kv="fp8")).cache_bytes == 400
    assert attention_of(plan()).name == "decode attention"
    assert attention_of(plan(), "prefill").name == "prefill attention"


def test_attention_reads_a_cache_that_another_layer_keeps():
    shared = replace(DENSE_LAYER, mixer=replace(GQA, cache_elements=0, shared_cache_elements=400))
    assert attention_of(plan(model(LayerGroup(shared, 4)))).cache_bytes == 800


def test_windowed_and_indexed_caches():
    mixer = replace(GQA, window=40, window_cache_elements=300, cache_stride=10, index_elements=20)
    found = attention_of(plan(model(LayerGroup(replace(DENSE_LAYER, mixer=mixer), 4)), kv="bf16", tp=2))
    assert found.window_cache_bytes == 300
    assert found.index_bytes == 20


def test_latent_attention_has_a_kernel_of_its_own():
    latent = replace(DENSE_LAYER, mixer=Mixer("latent_attention", 8, 1, 100, 100, 150, 120, cache_elements=150))
    deployment = plan(model(LayerGroup(latent, 4)), tp=2)
    found = attention_of(deployment)
    # Every rank holds the whole row.
    assert (found.name, found.heads, found.cache_bytes) == ("mla decode", 4, 300)
    assert attention_of(deployment, "prefill").name == "mla prefill"


def test_a_recurrent_layer_keeps_a_state():
    mixer = Mixer("mamba", state_elements=1000, conv_state_elements=60, conv_kernel=3)
    hybrid = model(LayerGroup(DENSE_LAYER, 2), LayerGroup(Layer(mixer, DENSE, DENSE_MATRICES), 3))
    (found,) = (op for op in compile_program(plan(hybrid, tp=2), "decode").operators if isinstance(op, Recurrence))
    # 500 elements of 4 bytes and 30 of 2 on a rank.
    assert (found.launches, found.state_elements, found.state_bytes) == (3, 500, 2060)
    linear = replace(mixer, kind="linear")
    assert "state update" in operators(plan(model(LayerGroup(Layer(linear, DENSE, DENSE_MATRICES), 3))))
    nothing = model(LayerGroup(Layer(Mixer("none"), DENSE, DENSE_MATRICES), 3))
    assert set(operators(plan(nothing))) == {"gate_up_proj", "down_proj", "small kernels", "lm_head", "sampling"}


def experts_of(deployment, phase="decode"):
    (found,) = (op for op in compile_program(deployment, phase).operators if isinstance(op, GroupedGemm))
    return found


def test_experts_of_a_rank():
    # Four GPUs: two expert ranks, each expert cut in two. 750,000 weights of an expert and a width of 250 on a rank.
    found = experts_of(plan(MIXED, tp=2, dp=2, ep=2))
    assert (found.launches, found.experts, found.experts_per_token, found.expert_ranks) == (3, 8, 2, 2)
    assert (found.expert_elements, found.inputs, found.width) == (750_000, HIDDEN, 250)
    assert found.bits == 16
    whole = experts_of(plan(MIXED))
    assert (whole.expert_elements, whole.width, whole.expert_ranks) == (1.5e6, 500, 1)


def test_uneven_routing_and_a_prefill_slow_the_experts():
    profile = engine(expert_prefill_factor=1.5)
    plain = kernel_model(CHIP, "grouped_gemm", "bf16", "generic")
    one, two = (experts_of(plan(MIXED, profile=profile, tp=2, ep=ep)).kernel for ep in (1, 2))
    assert one.compute_efficiency == pytest.approx(plain.compute_efficiency / UNEVEN_ROUTING)
    assert two.compute_efficiency == pytest.approx(plain.compute_efficiency / UNEVEN_ROUTING / busiest_rank(8.0, 2.0))
    assert one.memory_efficiency == two.memory_efficiency == plain.memory_efficiency
    prefill = experts_of(plan(MIXED, profile=profile, tp=2), "prefill").kernel
    assert prefill.compute_efficiency == pytest.approx(one.compute_efficiency / 1.5)
    assert prefill.memory_efficiency == pytest.approx(one.memory_efficiency / 1.5)


def test_one_gpu_sends_nothing():
    assert transfers(plan()) == {}


def test_tensor_ranks_reduce_twice_a_layer_and_gather_the_logits():
    found = transfers(plan(tp=2))
    assert set(found) == {"all-reduce", "gather logits"}
    reduce, gather = found["all-reduce"], found["gather logits"]
    assert (reduce.launches, reduce.ranks, reduce.bytes_per_token) == (8, 2, 2 * HIDDEN)
    assert (gather.launches, gather.bytes_per_token, gather.last_only) == (1, 2 * VOCABULARY, True)
    # A layer without a mixer reduces once.
    halves = model(LayerGroup(DENSE_LAYER, 1), LayerGroup(replace(DENSE_LAYER, mixer=Mixer("none")), 3))
    assert transfers(plan(halves, tp=2))["all-reduce"].launches == 5


def test_experts_exchange_where_data_ranks_hold_different_tokens():
    found = transfers(plan(MIXED, tp=2, dp=2, ep=4))
    # Three of four layers exchange: those reduce once, after attention.
    assert found["all-reduce"].launches == 4 + 1
    for name in ("dispatch", "combine"):
        one = found[name]
        # Two experts a token, 2 bytes an element; each tensor rank sends its share.
        assert (one.launches, one.ranks, one.bytes_per_token) == (3, 4, 2 * HIDDEN * 2 / 2)
    assert "dispatch" not in transfers(plan(MIXED, tp=4, ep=4))
    assert "dispatch" not in transfers(plan(tp=2, dp=2))
    alone = transfers(plan(MIXED, dp=2, ep=2))
    assert set(alone) == {"dispatch", "combine"}


def test_dispatch_goes_in_8_bits_where_experts_multiply_in_8():
    found = transfers(plan(MIXED, dp=4, ep=4, weights="fp8"))
    assert found["dispatch"].bytes_per_token == 2 * HIDDEN
    assert found["combine"].bytes_per_token == 2 * HIDDEN * 2


def test_a_token_goes_to_no_more_ranks_than_there_are():
    many = replace(MOE_LAYER, ffn=replace(MOE_LAYER.ffn, experts_per_token=6))
    assert transfers(plan(model(LayerGroup(many, 4)), dp=2, ep=2))["combine"].bytes_per_token == 2 * HIDDEN * 2


def test_stages_send_hidden_states_once():
    found = transfers(plan(tp=2, pp=4))["pipeline send"]
    load = Load(10.0, 1.0, 0.0, True)
    # Three sends; each rank's half of 10 tokens of 2,000 bytes crosses the link.
    assert found.launches == 3
    assert found.wire_time(load) * found.bandwidth == pytest.approx(10 * 2000 / 2, rel=1e-9)


def test_what_stays_in_the_domain_and_what_leaves_it():
    inside, beyond = (transfers(plan(tp=4, machine=replace(MACHINE, scale_up_domain=n))) for n in (4, 3))
    assert {(op.scope, op.bandwidth) for op in inside.values()} == {("scale_up", 1e11)}
    assert {(op.scope, op.bandwidth) for op in beyond.values()} == {("scale_out", 1e10)}
    # Stages in two domains: their ranks reduce inside, and send across.
    both = transfers(plan(tp=4, pp=4, machine=replace(MACHINE, scale_up_domain=8)))
    assert both["all-reduce"].scope == "scale_up"
    assert both["pipeline send"].scope == "scale_out"


def test_where_no_link_is_known_it_is_the_host():
    bare = replace(MACHINE, scale_up_bandwidth=None)
    assert slowest_link(bare) == 1e10
    assert transfers(plan(tp=2, machine=bare))["all-reduce"].bandwidth == 1e10
    assert slowest_link(replace(bare, scale_out_bandwidth=None)) == 5e10
    assert slowest_link(replace(bare, scale_out_bandwidth=None, host_bandwidth=None)) == PCIE3_X16
    # 8 GT/s on 16 lanes, 128 of 130 bits are data.
    assert pytest.approx(8e9 * 16 * 128 / 130 / 8, rel=1e-3) == PCIE3_X16


def test_overheads_of_a_phase():
    profile = engine(
        floor_share=0.5,
        host_step_s=1e-3,
        host_sequence_s=1e-6,
        eager_layer_s=2e-3,
        launch_s=3e-6,
        kernel_factor=1.25,
        yearly_gain=0.5,
        age_years=2.0,
    )
    older = 2.718281828459045  # e to half a year's gain, twice
    prefill, decode = (compile_program(plan(profile=profile), phase) for phase in ("prefill", "decode"))
    for either in (prefill, decode):
        assert either.floor_share == pytest.approx(0.5 * older)
        assert (either.launch_s, either.memory_bandwidth) == (3e-6, 1e12)
        # Kernels age a tenth as fast as what surrounds them.
        assert either.kernel_factor == pytest.approx(1.25 * older**0.1)
    assert (decode.host_step_s, decode.host_sequence_s) == pytest.approx((1e-3 * older, 1e-6 * older))
    assert decode.eager_s == 0
    # A graph replays decode; a prefill's four layers are launched one by one.
    assert prefill.eager_s == pytest.approx(4 * 2e-3 * older)
    assert (prefill.host_step_s, prefill.host_sequence_s) == (0, 0)


def test_a_prefill_s_kernels_have_a_factor_of_their_own():
    deployment = plan(profile=engine(kernel_factor=1.25, prefill_factor=1.6))
    assert compile_program(deployment, "decode").kernel_factor == 1.25
    assert compile_program(deployment, "prefill").kernel_factor == pytest.approx(2.0)


def test_kernels_age_less_than_the_overheads():
    # Half a year's e-fold, twice: overheads grow by e, kernels by a fixed share of that exponent.
    profile = engine(kernel_factor=1.25, prefill_factor=1.6, floor_share=0.5, yearly_gain=0.5, age_years=2.0)
    older = math.exp(KERNEL_AGEING)
    assert profile.kernel_overhead == pytest.approx(older)
    assert 1 < profile.kernel_overhead < profile.overhead
    assert compile_program(plan(profile=profile), "decode").kernel_factor == pytest.approx(1.25 * older)
    assert compile_program(plan(profile=profile), "prefill").kernel_factor == pytest.approx(2.0 * older)
    # A newer version is faster by the same law; a version of the same age is the same.
    newer = replace(profile, age_years=-2.0)
    assert newer.kernel_overhead == pytest.approx(1 / older)
    assert replace(profile, age_years=0.0).kernel_overhead == 1
