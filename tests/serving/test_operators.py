"""The operators of a pass account for exactly the model: its weights, its cache, its arithmetic, however it is cut."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_sequence
from infer_cost.model_specs.weights import weight_bytes
from infer_cost.serving.budget import gpu_weight_bytes
from infer_cost.serving.deployment import deployment
from infer_cost.serving.limits import every_weight_read
from infer_cost.serving.operators import Attention, Gemm, GroupedGemm, Load, seen_pairs
from infer_cost.serving.program import compile_program

MODELS = ["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3", "qwen3-32b", "gemma-3-27b"]
ONE_TOKEN = Load(1.0, 1.0, 0.0, True)


def _plan(model, **options):
    return deployment(model, "b200-sxm", weights="bf16", kv="bf16", **options)


@pytest.mark.parametrize("model", MODELS)
def test_gemms_of_one_token_are_two_flops_a_multiplied_parameter(model):
    plan = _plan(model)
    program = compile_program(plan, "decode")
    done = sum(op.flops(ONE_TOKEN) * op.launches for op in program.operators if isinstance(op, Gemm | GroupedGemm))
    vectors = plan.model.vectors + sum(g.count * (g.layer.vectors + g.layer.expert_vectors) for g in plan.model.groups)
    counted = counts(plan.model)
    # A tied head is multiplied though it is looked up too; vectors are added, not multiplied.
    multiplied = counted.active_without_embedding
    assert done / 2 == pytest.approx(multiplied, abs=vectors + 1)


@pytest.mark.parametrize("model", MODELS)
def test_a_large_batch_reads_every_weight_once(model):
    plan = _plan(model)
    program = compile_program(plan, "decode")
    load = Load(1e9, 1.0, 0.0, True)
    read = sum(op.traffic(load).weights * op.launches for op in program.operators)
    vectors = plan.model.vectors + sum(g.count * (g.layer.vectors + g.layer.expert_vectors) for g in plan.model.groups)
    # All but certainly every expert is hit; vectors aren't read by matrix kernels.
    expected = every_weight_read(plan)
    assert expected * (1 - 1e-6) - 2 * (vectors + plan.model.lookup_vectors) <= read <= expected


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("context", [1, 1000, 100_000])
def test_decode_attention_reads_the_cache_once(model, context):
    plan = _plan(model)
    program = compile_program(plan, "decode")
    load = Load(3.0, 1.0, float(context - 1), True)
    read = sum(op.traffic(load).cache * op.launches for op in program.operators if isinstance(op, Attention))
    # A window of W tokens is read with the token that slides it on.
    slack = 3 * sum(g.count * g.layer.mixer.cache_elements * 2 for g in plan.model.groups if g.layer.mixer.window)
    assert read == pytest.approx(3 * kv_bytes_per_sequence(plan.model, context), abs=slack + 1)


@pytest.mark.parametrize(("model", "cut"), [
    ("llama-3.1-70b", {"tp": 8}),
    ("llama-3.1-70b", {"tp": 2, "pp": 4}),
    ("mixtral-8x7b", {"tp": 2, "dp": 2, "ep": 4}),
    ("deepseek-v3", {"tp": 8, "ep": 8}),
])  # fmt: skip
def test_a_cut_divides_the_work(model, cut):
    whole, parts = _plan(model), _plan(model, **cut)
    load = Load(64.0, 1.0, 100.0, True)
    shared = Load(64.0 / parts.parallel.dp, 1.0, 100.0, True, parts.parallel.dp)

    def flops(plan, load):
        kinds = (Gemm, GroupedGemm, Attention)
        program = compile_program(plan, "decode")
        split = [op for op in program.operators if isinstance(op, kinds) and "router" not in op.name]
        return sum(float(op.flops(load)) * op.launches for op in split)

    ranks = parts.parallel.tp * parts.parallel.dp
    together = flops(parts, shared) * ranks
    assert together >= flops(whole, load) * 0.999
    # What isn't divided (latent down-projections, an uneven expert load) is a small part.
    assert together <= flops(whole, load) * 1.35


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_tensor_parallel_shards_hold_the_model_once(tp):
    plan = deployment("llama-3.1-70b", "h100-sxm", tp=tp, weights="fp8")
    together = gpu_weight_bytes(plan) * tp
    vectors = 2 * (plan.model.vectors + sum(g.count * g.layer.vectors for g in plan.model.groups))
    assert together == pytest.approx(weight_bytes(plan.model, plan.weights), abs=vectors * tp)


def test_kv_heads_are_replicated_beyond_their_number():
    model = infer_cost.model("llama-3.1-70b")
    eight = deployment(model, "h100-sxm", tp=8, weights="bf16")
    sixteen = deployment(model, "h100-sxm", tp=16, weights="bf16")
    layer = model.groups[0].layer
    query = layer.mixer.heads * layer.mixer.score_dim * model.hidden_size * 2 * model.layers
    key_value = layer.mixer.kv_heads * 2 * layer.mixer.score_dim * model.hidden_size * 2 * model.layers
    # Halving the shards halves everything but the KV projections, which are already down to one head.
    saved = gpu_weight_bytes(eight) - gpu_weight_bytes(sixteen)
    everything = weight_bytes(model, eight.weights)
    vectors = 2 * (model.vectors + sum(g.count * g.layer.vectors for g in model.groups))
    assert query > 0
    assert saved == pytest.approx((everything - key_value - vectors) / 16, rel=1e-6)


def test_causal_pairs():
    from infer_cost.model_specs.architecture import Mixer

    full, window = Mixer("attention"), Mixer("attention", window=4)
    assert seen_pairs(5.0, 0.0, full) == 15
    assert seen_pairs(5.0, 10.0, full) == 65
    assert seen_pairs(5.0, 0.0, window) == sum(min(i, 4) for i in range(1, 6))
    assert seen_pairs(5.0, 10.0, window) == 20


def test_expanded_prefill_and_absorbed_decode_of_latent_attention():
    mixer = infer_cost.model("deepseek-v3").groups[0].layer.mixer
    assert 2 * (mixer.score_dim + mixer.value_dim) == 2 * (192 + 128)
    assert 2 * (mixer.decode_score_dim + mixer.decode_value_dim) == 2 * (576 + 512)
