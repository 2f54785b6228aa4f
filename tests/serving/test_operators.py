"""The operators of a pass account for exactly the model: its weights, its cache, its arithmetic, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import infer_cost
from infer_cost.hardware_specs.efficiency.collectives import CollectiveModel
from infer_cost.model_specs.architecture import Mixer
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_sequence
from infer_cost.model_specs.weights import weight_bytes
from infer_cost.serving.budget import gpu_weight_bytes
from infer_cost.serving.deployment import deployment
from infer_cost.serving.limits import every_weight_read
from infer_cost.serving.operators import (
    Attention,
    Elementwise,
    Gemm,
    GroupedGemm,
    Load,
    Recurrence,
    Transfer,
    index_pairs,
    seen_pairs,
)
from infer_cost.serving.program import compile_program
from tests.serving.support import kernel, matrix

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
    full, window = Mixer("attention"), Mixer("attention", window=4)
    assert seen_pairs(5.0, 0.0, full) == 15
    assert seen_pairs(5.0, 10.0, full) == 65
    assert seen_pairs(5.0, 0.0, window) == sum(min(i, 4) for i in range(1, 6))
    assert seen_pairs(5.0, 10.0, window) == 20


def test_expanded_prefill_and_absorbed_decode_of_latent_attention():
    mixer = infer_cost.model("deepseek-v3").groups[0].layer.mixer
    assert 2 * (mixer.score_dim + mixer.value_dim) == 2 * (192 + 128)
    assert 2 * (mixer.decode_score_dim + mixer.decode_value_dim) == 2 * (576 + 512)


PREFILL = Load(sequences=3.0, query=50.0, cached=200.0, decode=False, prefix=120.0)
DECODE = Load(sequences=3.0, query=1.0, cached=249.0, decode=True)


def attention(mixer, **fields):
    sizes = {"heads": 4.0, "cache_bytes": 100.0, "window_cache_bytes": 0.0, "index_bytes": 0.0}
    return Attention("attention", 1.0, kernel(), 1e14, mixer, **{**sizes, **fields})


def test_a_matrix_sees_every_token():
    # A million weights, 150 tokens of 1,000 elements in and out; a weight of 8 bits is a byte.
    assert matrix().flops(PREFILL) == 2e6 * 150
    assert matrix().traffic(PREFILL).weights == 1e6
    assert matrix().traffic(PREFILL).activations == 150 * 2000 * 2


def test_the_head_sees_one_token_a_sequence_in_prefill():
    head = matrix(last_only=True)
    assert head.flops(PREFILL) == 2e6 * 3
    assert head.traffic(PREFILL).activations == 3 * 2000 * 2
    # A verify pass needs the logits of every guess.
    assert head.flops(Load(3.0, 4.0, 249.0, True)) == 2e6 * 12


EXPERTS = GroupedGemm("experts", 1.0, kernel(), 1e14, 8, 2, 3e6, 1000.0, 500.0, 4.0, 2)


def test_experts_of_a_rank():
    # 10 tokens on each of 2 data ranks choose 2 of 8 experts: 40 pairs, half of them on each of 2 expert ranks.
    load = Load(10.0, 1.0, 0.0, True, ranks=2)
    assert EXPERTS.routed_rows(load) == 20
    assert EXPERTS.flops(load) == 2 * 3e6 * 20
    moved = EXPERTS.traffic(load)
    # Half a byte a weight; 20 tokens are 5 an expert, so 8 · 5/6 experts are hit, half of them on this rank.
    assert moved.weights == pytest.approx(8 * 5 / 6 / 2 * 3e6 / 2)
    # Rows are permuted, multiplied and reduced: 3 · (2 · 1,000 + 3 · 500) elements of 2 bytes.
    assert moved.activations == 20 * 3 * 3500 * 2


def test_the_fewest_experts_are_those_of_one_token():
    alone = EXPERTS.traffic(Load(1000.0, 1.0, 0.0, True), fewest=True)
    assert alone.weights == 2 / 2 * 3e6 / 2


GQA = Mixer("attention", 4, 2, 100, 60, 100, 60, cache_elements=320)


def test_attention_of_a_prefill():
    op = attention(GQA)
    # Each of 50 queries sees 200 cached tokens and the new ones up to itself: 50 · 200 + 50 · 51 / 2 pairs.
    pairs = 10_000 + 1275
    assert op.flops(PREFILL) == 3 * 2 * 4 * 160 * pairs
    moved = op.traffic(PREFILL)
    assert moved.prefix == 3 * 120 * 100
    assert moved.cache == 3 * 130 * 100
    assert moved.activations == 3 * 50 * 4 * 160 * 2


def test_attention_of_a_decode_step():
    latent = Mixer("latent_attention", 4, 1, 192, 128, 576, 512, cache_elements=576)
    op = attention(latent)
    # The token sees 249 cached ones and itself, in the absorbed widths.
    assert op.flops(DECODE) == 3 * 2 * 4 * (576 + 512) * 250
    assert op.traffic(DECODE).cache == 3 * 250 * 100
    assert op.traffic(DECODE).prefix == 0
    assert op.traffic(DECODE).activations == 3 * 4 * (576 + 512) * 2
    # Prefill expands the heads.
    assert op.flops(PREFILL) == 3 * 2 * 4 * 320 * 11_275
    assert op.traffic(PREFILL).activations == 3 * 50 * 4 * 320 * 2


def test_a_window_is_read_with_the_tokens_that_slide_it_on():
    op = attention(Mixer("attention", 4, 2, 100, 60, 100, 60, cache_elements=320, window=100))
    assert op.traffic(DECODE).cache == 3 * 101 * 100
    # Of 250 tokens 150 are read: the window before the first query, and the 50 queries.
    everything = op.traffic(PREFILL)
    assert everything.cache + everything.prefix == 3 * 150 * 100
    # Without the prefix 130 tokens would be there, all within the window and the queries.
    assert everything.prefix == 3 * 20 * 100


SPARSE = Mixer(
    "latent_attention", 4, 1, 192, 128, 576, 512, sparse_topk=100, index_heads=2, index_dim=30, cache_elements=576
)


def test_a_sparse_layer_reads_what_was_chosen_and_every_indexer_key():
    op = attention(SPARSE, index_bytes=7.0)
    assert op.traffic(DECODE).cache == 3 * (100 * 100 + 250 * 7)
    # 100 chosen pairs; 2 indexer heads of 30 score all 250.
    assert op.flops(DECODE) == 3 * (2 * 4 * 1088 * 100 + 2 * 2 * 30 * 250)
    # In prefill the queries choose differently, so everything is read.
    whole = op.traffic(PREFILL)
    assert whole.cache + whole.prefix == 3 * 250 * 107
    chosen = sum(min(200 + place, 100) for place in range(1, 51))
    assert op.flops(PREFILL) == 3 * (2 * 4 * 320 * chosen + 2 * 2 * 30 * 11_275)


COMPRESSED = Mixer(
    "attention", 4, 1, 100, 100, 100, 100, window=40, cache_elements=200, cache_stride=10, window_cache_elements=200
)


def test_a_compressed_cache_stands_beside_a_windowed_one():
    op = attention(COMPRESSED, window_cache_bytes=30.0, index_bytes=7.0)
    # 250 tokens are 25 entries, each with its indexer key; the last 40 tokens and the new one are there as they are.
    assert op.traffic(DECODE).cache == 3 * (25 * (100 + 7) + 41 * 30)
    # The token sees 25 entries and 40 tokens.
    assert op.flops(DECODE) == 3 * 2 * 4 * 200 * (25 + 40)


def test_a_selection_among_compressed_entries():
    mixer = Mixer("attention", 4, 1, window=40, sparse_topk=5, cache_stride=10, window_cache_elements=200)
    # Five of 25 entries stand for 50 tokens.
    assert seen_pairs(1.0, 249.0, mixer) == 40 + 5
    assert seen_pairs(1.0, 19.0, mixer) == 20 + 2
    assert seen_pairs(1.0, 249.0, Mixer("attention", 4, 1, cache_stride=10)) == 25


def test_an_indexer_scores_entries_not_tokens():
    mixer = Mixer("attention", 4, 1, cache_stride=10, index_heads=2, index_dim=30)
    assert index_pairs(1.0, 249.0, mixer) == 25
    assert index_pairs(1.0, 249.0, Mixer("attention", 4, 1)) == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 60), st.integers(1, 50), st.sampled_from(["window", "sparse_topk"]))
def test_pairs_are_a_sum_over_the_queries(query, cached, limit, kind):
    mixer = Mixer("attention", **{kind: limit})
    counted = sum(min(cached + place, limit) for place in range(1, query + 1))
    assert seen_pairs(float(query), float(cached), mixer) == counted
    assert seen_pairs(float(query), float(cached), Mixer("attention")) == sum(
        cached + place for place in range(1, query + 1)
    )


def test_the_narrower_of_window_and_selection_holds():
    assert seen_pairs(1.0, 99.0, Mixer("attention", window=30, sparse_topk=20)) == 20
    assert seen_pairs(1.0, 99.0, Mixer("attention", window=20, sparse_topk=30)) == 20


def test_a_state_goes_in_and_out_once_a_token_or_once_a_chunk():
    op = Recurrence("state", 1.0, kernel(), 1e14, state_bytes=4000.0, state_elements=1000.0)
    # Decay, update and readout: three multiply-adds an element and token.
    assert op.flops(PREFILL) == 6 * 1000 * 150
    assert op.traffic(DECODE).cache == 2 * 4000 * 3
    # 600 tokens are three chunks of 256 at most.
    assert op.traffic(Load(3.0, 600.0, 0.0, False)).cache == 2 * 4000 * 3 * 3


def test_small_kernels_move_their_width_and_vanish_from_the_bound():
    op = Elementwise("norm", 1.0, kernel(), 1e14, width=500.0)
    assert op.flops(PREFILL) == 0
    assert op.traffic(PREFILL).activations == 150 * 500 * 2
    assert op.traffic(PREFILL, fewest=True).activations == 0
    sampling = Elementwise("sampling", 1.0, kernel(), 1e14, width=500.0, last_only=True)
    assert sampling.traffic(PREFILL).activations == 3 * 500 * 2
    assert sampling.traffic(Load(3.0, 4.0, 9.0, True)).activations == 12 * 500 * 2


def test_a_message_grows_with_the_tokens():
    exchange = CollectiveModel("all_to_all", 0.0, 0.0, 0.5, "chip", 0.1)
    op = Transfer("exchange", 1.0, 4, "scale_up", 1e9, exchange, 1000.0)
    # 150 tokens of 1,000 bytes; three quarters of them leave the rank, at 10⁹ B/s and at half of it.
    assert op.message_bytes(PREFILL) == 150_000
    assert op.wire_time(PREFILL) == pytest.approx(0.75 * 150e-6)
    assert op.time(PREFILL) == pytest.approx(2 * 0.75 * 150e-6)
    last = Transfer("logits", 1.0, 4, "scale_up", 1e9, exchange, 1000.0, last_only=True)
    assert last.message_bytes(PREFILL) == 3000
    assert last.message_bytes(Load(3.0, 4.0, 9.0, True)) == 12_000
