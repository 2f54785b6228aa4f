"""The arithmetic of a request, and the utilization that follows from it."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.serving.deployment import deployment
from infer_cost.serving.operators import Attention, Gemm, GroupedGemm, Load, Recurrence
from infer_cost.serving.program import compile_program
from infer_cost.serving.work import request_flops

MODELS = ["llama-3.1-8b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b"]


def _operators(model, phase, load):
    program = compile_program(deployment(model, "b200-sxm", weights="bf16", kv="bf16"), phase)
    kinds = (Gemm, GroupedGemm, Attention, Recurrence)
    return sum(float(op.flops(load)) * op.launches for op in program.operators if isinstance(op, kinds))


@pytest.mark.parametrize("model", MODELS)
def test_a_request_is_the_sum_of_its_operators(model):
    architecture = infer_cost.model(model)
    read = _operators(model, "prefill", Load(1.0, 3000.0, 500.0, False))
    step = _operators(model, "decode", Load(1.0, 1.0, 3500.0 + 99 / 2, True))
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
