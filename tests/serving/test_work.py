"""The arithmetic of a request, and the utilization that follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import infer_cost
from infer_cost.model_specs.architecture import LayerGroup, Mixer
from infer_cost.serving.deployment import deployment
from infer_cost.serving.operators import Attention, Gemm, GroupedGemm, Load, Recurrence
from infer_cost.serving.program import compile_program
from infer_cost.serving.work import request_flops
from tests.serving.support import DENSE_LAYER, GQA, model

MODELS = ["llama-3.1-8b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b"]


def _operators(model, phase, load):
    program = compile_program(deployment(model, "b200-sxm", weights="bf16", kv="bf16"), phase)
    kinds = (Gemm, GroupedGemm, Attention, Recurrence)
    return sum(float(op.flops(load)) * op.launches for op in program.operators if isinstance(op, kinds))


@pytest.mark.parametrize("name", MODELS)
def test_a_request_is_the_sum_of_its_operators(name):
    architecture = infer_cost.model(name)
    read = _operators(name, "prefill", Load(1.0, 3000.0, 500.0, False))
    step = _operators(name, "decode", Load(1.0, 1.0, 3500.0 + 98 / 2, True))
    vectors = architecture.vectors + sum(
        group.count * (group.layer.vectors + group.layer.expert_vectors) for group in architecture.groups
    )
    # Vectors are among the active parameters and added, not multiplied.
    found = request_flops(architecture, 3000, 500, 100)
    assert found == pytest.approx(read + 99 * step, abs=2 * vectors * 3100)


LAYOUTS = [
    {"gpus": 8},
    {"gpus": 8, "tp": 2, "pp": 4},
    {"prefill_gpus": 8, "prefill_tp": 4, "decode_gpus": 8, "decode_tp": 4},
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_utilization_is_work_over_rate_in_every_layout(layout):
    load = {"input_tokens": 4000, "output_tokens": 300, "concurrency": 64}
    answer = infer_cost.estimate("llama-3.1-70b", "h100-sxm", weights="fp8", **load, **layout)
    work = request_flops(infer_cost.model("llama-3.1-70b"), 4000, 0, 300)
    requests_per_s_per_gpu = answer.output_tokens_per_s_per_gpu.expected / 300
    assert answer.mfu == pytest.approx(work * requests_per_s_per_gpu / 1978.9e12, rel=1e-9)
    assert 0 < answer.mfu < 1


def layers(mixer):
    return model(LayerGroup(replace(DENSE_LAYER, mixer=mixer), 4))


def mixing(mixer):
    """FLOPs that a mixer adds to 600 new tokens after 100 cached ones and 100 decode steps, in one of four layers."""
    return (request_flops(layers(mixer), 600, 100, 101) - request_flops(layers(Mixer("none")), 600, 100, 101)) / 4


def test_a_request_by_hand():
    # 66 million weights and 9,000 of norms for each of 700 tokens; the head, 10 million, for the prompt's last only.
    matrices = 2 * (66_009_000 * 700 - 10e6 * 599)
    # 8 heads of 100 + 100: queries see 100 cached tokens and the prompt up to themselves, then 701 to 800 tokens.
    pairs = 600 * 100 + 600 * 601 / 2 + sum(range(701, 801))
    assert request_flops(model(), 600, 100, 101) == pytest.approx(matrices + 4 * 2 * 8 * 200 * pairs, rel=1e-12)
    assert request_flops(layers(Mixer("none")), 600, 100, 101) == pytest.approx(matrices, rel=1e-12)


def test_latent_attention_is_expanded_then_absorbed():
    latent = Mixer("latent_attention", 8, 1, 192, 128, 576, 512)
    read, written = 600 * 100 + 600 * 601 / 2, sum(range(701, 801))
    assert mixing(latent) == pytest.approx(2 * 8 * (320 * read + 1088 * written), rel=1e-9)


def test_an_indexer_scores_what_the_layer_then_leaves():
    sparse = replace(GQA, sparse_topk=50, index_heads=3, index_dim=10)
    scored = 600 * 100 + 600 * 601 / 2 + sum(range(701, 801))
    assert mixing(sparse) == pytest.approx(2 * (8 * 200 * 50 * 700 + 3 * 10 * scored), rel=1e-9)


def test_a_recurrence_is_the_same_for_every_token():
    for kind in ("mamba", "linear"):
        assert mixing(Mixer(kind, state_elements=1000)) == pytest.approx(6 * 1000 * 700, rel=1e-6)
