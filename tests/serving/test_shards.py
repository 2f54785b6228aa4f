"""What one rank holds of a matrix, for each way of dividing one."""

from __future__ import annotations

from dataclasses import replace

from infer_cost.model_specs.architecture import Matrix, Mixer
from infer_cost.serving.shards import kv_shards, local_elements, local_shape
from tests.serving.support import GQA, MOE_MATRICES, plan

LATENT = Mixer("latent_attention", heads=8, kv_heads=1, cache_elements=576)


def test_columns_are_outputs_and_rows_are_inputs():
    assert local_shape(Matrix("up", 600, 900, "dense_ffn", "column"), GQA, 3) == (600, 300)
    assert local_shape(Matrix("down", 600, 900, "dense_ffn", "row"), GQA, 3) == (200, 900)
    assert local_shape(Matrix("router", 600, 900, "router", "replicated"), GQA, 3) == (600, 900)


def test_kv_heads_shrink_to_one_and_no_further():
    # 8 query heads and 2 + 2 KV heads of 100: 800 + 400 outputs.
    qkv = Matrix("qkv", 1000, 1200, "attention", "kv")
    assert local_shape(qkv, GQA, 1) == (1000, 1200)
    assert local_shape(qkv, GQA, 2) == (1000, 400 + 200)
    assert local_shape(qkv, GQA, 4) == (1000, 200 + 200)
    assert local_shape(qkv, GQA, 8) == (1000, 100 + 200)
    one = Matrix("qkv", 1000, 1000, "attention", "kv")
    assert local_shape(one, replace(GQA, kv_heads=1), 4) == (1000, 200 + 200)


def test_a_projection_that_holds_only_keys_and_values():
    assert local_shape(Matrix("kv", 1000, 300, "attention", "kv"), GQA, 4) == (1000, 150)


def test_without_kv_heads_the_whole_projection_stays():
    mixer = Mixer("attention", heads=4, kv_heads=0, score_dim=100, value_dim=100)
    assert local_shape(Matrix("q", 1000, 400, "attention", "kv"), mixer, 4) == (1000, 100)


def test_experts_are_divided_over_tensor_and_data_ranks():
    gate_up = MOE_MATRICES[1]  # 8 experts of a million weights
    assert local_elements(gate_up, GQA, plan(tp=2, dp=2, ep=4)) == 2e6
    assert local_elements(gate_up, GQA, plan(tp=4, ep=1)) == 2e6
    # Three copies of a column-split matrix stay three.
    assert local_elements(Matrix("up", 600, 900, "dense_ffn", "column", 3), GQA, plan(tp=2)) == 600 * 450 * 3


def test_a_cache_is_divided_by_its_heads():
    assert [kv_shards(plan(tp=tp), GQA) for tp in (1, 2, 4)] == [1, 2, 2]
    assert kv_shards(plan(tp=4), LATENT) == 1
    assert kv_shards(plan(tp=4), Mixer("mamba")) == 1
