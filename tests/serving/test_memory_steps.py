"""The sums behind a memory plan are the plan's."""

from __future__ import annotations

import infer_cost
from infer_cost.serving.memory_steps import memory_steps
from tests.serving.support import MACHINE, engine, model


def steps(plan):
    return {step.name: step.value for step in memory_steps(plan)}


def test_a_model():
    plan = infer_cost.memory_plan(model(), weights="bf16", kv="bf16", context=1000)
    # 76 million weights and 9,000 of norms; 400 elements a token in each of 4 layers; 2 bytes each.
    assert steps(plan) == {
        "weights": 2 * 76_009_000,
        "KV cache a token": 3200,
        "beyond all windows": 3200,
        "KV cache at 1,000": 3_200_000,
    }


def test_a_machine():
    options = {"engine": engine(), "weights": "bf16", "kv": "bf16", "context": 1000}
    plan = infer_cost.memory_plan(model(), MACHINE, **options)
    found = steps(plan)
    assert found["left for KV a GPU"] == plan.kv_budget_bytes_per_gpu
    assert found["a sequence on its GPUs"] == 63 * 16 * 3200
    assert found["sequences"] == found["left for KV a GPU"] // (63 * 16 * 3200)
    crowded = steps(infer_cost.memory_plan(model(), MACHINE, **options, memory_utilization=0.2))
    assert crowded["left for KV a GPU"] < 0
    assert crowded["sequences"] == 0
