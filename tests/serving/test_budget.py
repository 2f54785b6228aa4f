"""One GPU's memory, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from infer_cost.model_specs.architecture import Layer, LayerGroup, Mixer
from infer_cost.model_specs.weights import weight_formats
from infer_cost.serving.budget import (
    budget,
    gpu_weight_bytes,
    missing_bytes,
    sequence_bytes_per_gpu,
    sequences_that_run,
)
from tests.serving.support import DENSE, DENSE_LAYER, DENSE_MATRICES, MOE_LAYER, engine, model, plan


def test_the_whole_model_on_one_gpu():
    # 4 layers of 14 million weights, embedding and head of 10 million, 4 · 2,000 + 1,000 of norms, 2 bytes each.
    assert gpu_weight_bytes(plan()) == pytest.approx(2 * (4 * 14e6 + 20e6 + 9000))


def test_a_tied_head_is_held_once():
    assert gpu_weight_bytes(plan(model(tied=True))) == pytest.approx(2 * (4 * 14e6 + 10e6 + 9000))


def test_tensor_ranks_hold_a_share_of_the_matrices_and_every_vector():
    assert gpu_weight_bytes(plan(tp=2)) == pytest.approx(2 * ((4 * 14e6 + 20e6) / 2 + 9000))


def test_a_pipeline_stage_holds_its_layers_and_one_end():
    # Three stages of four layers: the fullest has two.
    assert gpu_weight_bytes(plan(pp=3)) == pytest.approx(2 * (2 * (14e6 + 2000) + 10e6 + 1000))
    assert gpu_weight_bytes(plan(pp=2, tp=2)) == pytest.approx(2 * (2 * (7e6 + 2000) + 5e6 + 1000))


def test_the_wider_end_decides():
    narrow = weight_formats(model(), "bf16", head="fp8")
    assert gpu_weight_bytes(replace(plan(pp=4), weights=narrow)) == pytest.approx(2 * (14e6 + 2000 + 10e6 + 1000))
    assert gpu_weight_bytes(replace(plan(), weights=narrow)) == pytest.approx(2 * (4 * 14e6 + 15e6 + 9000))


def test_position_tables_lie_on_every_rank():
    more = gpu_weight_bytes(plan(model(lookup_vectors=500))) - gpu_weight_bytes(plan())
    assert more == pytest.approx(2 * 500)


def test_layers_in_8_bits_between_ends_in_16():
    assert gpu_weight_bytes(plan(weights="fp8")) == pytest.approx(4 * 14e6 + 2 * (20e6 + 9000))


def test_experts_are_divided_over_all_ranks_and_attention_over_tensor_ranks():
    mixture = model(LayerGroup(MOE_LAYER, 4))
    # Attention 2 million over tp 2, the router whole, 12 million of experts and 800 of their biases over four.
    layer = 1e6 + 8000 + 3e6 + 2000 + 200
    assert gpu_weight_bytes(plan(mixture, tp=2, dp=2, ep=4)) == pytest.approx(2 * (4 * layer + 10e6 + 1000))


def test_adapters_are_divided_over_tensor_ranks_and_stages():
    def taken(**cut):
        return gpu_weight_bytes(plan(adapter_bytes=8e6, **cut)) - gpu_weight_bytes(plan(**cut))

    assert taken() == pytest.approx(8e6)
    assert taken(tp=2, pp=2) == pytest.approx(2e6)


def test_activations_of_a_full_token_budget():
    # 1,000 tokens of 4 · 1,000 + 3 · 4,000 elements of 2 bytes; logits of 64 sequences over 10,000 words in 4 bytes.
    share = budget(plan())
    assert share.activations == pytest.approx(1000 * 16_000 * 2 + 64 * 10_000 * 4)
    assert share.usable == pytest.approx(0.9e9)
    assert share.runtime == 1e8
    assert share.kv == pytest.approx(0.9e9 - 1e8 - share.activations - 2 * (76e6 + 9000))


def test_activations_of_a_rank():
    # The width and the vocabulary are halved, the residual stream isn't.
    assert budget(plan(tp=2)).activations == pytest.approx(1000 * (4000 + 3 * 2000) * 2 + 64 * 5000 * 4)


def test_activations_of_experts():
    mixture = model(LayerGroup(MOE_LAYER, 4))
    # A token goes through 2 experts of 500 beside the shared 300.
    assert budget(plan(mixture)).activations == pytest.approx(1000 * (4000 + 3 * 1300) * 2 + 64 * 10_000 * 4)
    assert budget(plan(mixture, tp=2)).activations == pytest.approx(1000 * (4000 + 3 * 650) * 2 + 64 * 5000 * 4)
    # The widest layer decides.
    mixed = model(LayerGroup(MOE_LAYER, 2), LayerGroup(DENSE_LAYER, 2))
    assert budget(plan(mixed)).activations == budget(plan()).activations


def test_a_rank_of_several_takes_its_share_of_expert_tokens():
    # Two data-parallel ranks send 2 · 1,000 tokens to twice as many GPUs: each gets 1,000 tokens' two experts of 500
    # over its tensor ranks, beside the shared 300, as if alone.
    mixture = model(LayerGroup(MOE_LAYER, 4))
    one = 1000 * (4000 + 3 * 1300) * 2 + 64 * 10_000 * 4
    assert budget(plan(mixture, dp=2, ep=2)).activations == pytest.approx(one)
    assert budget(plan(mixture, dp=4, ep=4)).activations == pytest.approx(one)
    two = 1000 * (4000 + 3 * 650) * 2 + 64 * 5000 * 4
    assert budget(plan(mixture, tp=2, dp=2, ep=4)).activations == pytest.approx(two)
    # What is saved is room for the cache: eight experts of 1.5 million weights on two ranks, attention on both.
    left = budget(plan(mixture, dp=2, ep=2)).kv
    weights = 2 * (4 * (2e6 + 8000 + 6e6 + 2000 + 400) + 20e6 + 1000)
    assert left == pytest.approx(0.9e9 - 1e8 - one - weights)


def test_no_more_tokens_than_the_window():
    short = budget(plan(max_model_len=40)).activations
    assert short == pytest.approx(40 * 16_000 * 2 + 40 * 10_000 * 4)


def test_a_sequence_in_blocks_of_16():
    # A token is 400 elements of 2 bytes in each of 4 layers: 3,200 B; 100 tokens take 7 blocks of 16.
    assert sequence_bytes_per_gpu(plan(), 100.0) == 112 * 3200
    assert sequence_bytes_per_gpu(plan(), 100.0, "exact") == 100 * 3200
    assert sequence_bytes_per_gpu(plan(kv="fp8"), 112.0) == 112 * 1600
    # Two KV heads go over two ranks; four ranks hold copies. Two stages hold two layers each.
    assert sequence_bytes_per_gpu(plan(tp=2), 112.0) == 112 * 1600
    assert sequence_bytes_per_gpu(plan(tp=4), 112.0) == 112 * 1600
    assert sequence_bytes_per_gpu(plan(tp=2, pp=2), 112.0) == 112 * 800


def test_a_recurrent_state_is_held_beside_the_cache():
    # 1,000 elements of 4 bytes and 60 of convolution in 2 a layer, whatever the context.
    state = Mixer("mamba", state_elements=1000, conv_state_elements=60, conv_kernel=3)
    hybrid = model(LayerGroup(DENSE_LAYER, 2), LayerGroup(Layer(state, DENSE, DENSE_MATRICES), 2))
    cache = 112 * 1600
    assert sequence_bytes_per_gpu(plan(hybrid), 112.0, "exact") == cache + 2 * 4120
    assert sequence_bytes_per_gpu(plan(hybrid, tp=2, pp=2), 112.0, "exact") == (cache / 2 + 4120) / 2


def test_sequences_by_room_and_by_the_engine_s_limit():
    held = 1600 * 3200
    many = plan(max_num_seqs=1000)
    assert sequences_that_run(many, 1600.0) == budget(many).kv // held > 64
    assert sequences_that_run(plan(max_num_seqs=5), 1600.0) == 5
    assert sequences_that_run(plan(max_num_seqs=5, dp=3), 1600.0) == 15
    assert sequences_that_run(plan(max_num_seqs=1000, dp=2), 1600.0) == 2 * (budget(many).kv // held)


def test_no_room_runs_nothing():
    crowded = plan(memory_utilization=0.2)
    assert budget(crowded).kv < 0
    assert sequences_that_run(crowded, 1600.0) == 0


def test_a_model_without_a_cache_runs_as_many_as_the_engine_takes():
    nothing = model(LayerGroup(replace(DENSE_LAYER, mixer=Mixer("none")), 4))
    assert sequence_bytes_per_gpu(plan(nothing), 100.0) == 0
    assert sequences_that_run(plan(nothing), 100.0) == 64


def test_what_is_missing():
    # 0.32 GB usable, 0.1 of runtime and 0.152 of weights; less 34.56 MB of activations 33.4 MB are left: 10,442 tokens.
    tight = plan(memory_utilization=0.32, profile=engine())
    room = 0.32e9 - 1e8 - 34.56e6 - 2 * (76e6 + 9000)
    assert missing_bytes(tight, 1600) == 0
    assert missing_bytes(tight, 16_000) == pytest.approx(16_000 * 3200 - room)
    both = missing_bytes(tight, numpy.array([1600, 16_000]))
    assert list(both) == pytest.approx([0.0, 16_000 * 3200 - room])
