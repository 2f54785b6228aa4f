"""The sums behind a memory plan."""

from __future__ import annotations

from infer_cost.serving.memory import MemoryPlan
from infer_cost.steps import Step


def memory_steps(plan: MemoryPlan) -> tuple[Step, ...]:
    """Return the steps from matrices to bytes and, on a machine, to the sequences that fit."""
    grown = f"KV cache at {plan.context:,}", "Σ layers min(context, window) · elements · bytes"
    steps = [
        Step("weights", "Σ matrices · bits/8 + vectors · 2", plan.weight_bytes, "B"),
        Step("KV cache a token", "Σ layers (elements a token · bytes an element)", plan.kv_bytes_per_token, "B/token"),
        Step("beyond all windows", "the same, layers without a window", plan.kv_growth_bytes_per_token, "B/token"),
        Step(*grown, plan.kv_bytes_per_sequence, "B"),
    ]
    if plan.hardware is not None and plan.kv_budget_bytes_per_gpu is not None:
        each, fit = plan.kv_bytes_per_sequence_per_gpu or 0.0, float(plan.max_concurrent_sequences or 0)
        left = "usable − weights − activations − runtime"
        steps += [
            Step("left for KV a GPU", left, plan.kv_budget_bytes_per_gpu, "B"),
            Step("a sequence on its GPUs", "KV and state of its rank, in blocks", each, "B"),
            Step("sequences", "⌊left / a sequence⌋ · dp", fit, "sequence"),
        ]
    return tuple(steps)
