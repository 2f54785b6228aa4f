"""Where decode turns compute-bound: optimal batch and critical context of a deployment."""

from __future__ import annotations

import math

from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.rates import peak_rate
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import element_bytes, kv_growth_bytes_per_token
from infer_cost.model_specs.weights import matrices, weight_bytes_by_role
from infer_cost.roofline import critical_context, experts_hit, optimal_batch_with_kv
from infer_cost.serving.deployment import Deployment


def attention_flops_per_token(model: Architecture) -> float:
    """FLOPs of decode attention for each sequence and each token of a long context.

    Windowed layers don't grow with the context, so only the others count; a sparse layer's indexer does.
    """
    total = 0.0
    for group in model.groups:
        mixer = group.layer.mixer
        grows = mixer.window is None and mixer.sparse_topk is None
        pairs = 2.0 * mixer.heads * (mixer.decode_score_dim + mixer.decode_value_dim) if grows else 0.0
        total += group.count * (pairs + 2.0 * mixer.index_heads * mixer.index_dim) / mixer.cache_stride
    return total


def main_format(plan: Deployment) -> str:
    """Number format that most of the multiplied weights are held in."""
    elements: dict[str, float] = {}
    for matrix, layers in matrices(plan.model):
        if matrix.role != "embedding":
            name = plan.weights.matrix_format(matrix)
            elements[name] = elements.get(name, 0.0) + matrix.elements * layers
    return max(elements, key=lambda name: elements[name])


def relation(plan: Deployment) -> dict[str, float]:
    """Return the symbols of ``critical_context`` and ``optimal_batch_with_kv`` for a deployment.

    The weights multiply at the rate of the format that most of them are in; attention runs in 16 bits, whatever the
    cache is stored in.
    """
    chip = plan.machine.accelerator
    return {
        "active_parameters": float(counts(plan.model).active_without_embedding),
        "peak_flops": peak_rate(chip, number_format(main_format(plan)))[0],
        "memory_bandwidth": chip.memory_bandwidth,
        "kv_bytes_per_token": kv_growth_bytes_per_token(plan.model, element_bytes(plan.kv.id)),
        "attention_flops": attention_flops_per_token(plan.model),
        "attention_peak_flops": peak_rate(chip, number_format("bf16"))[0],
    }


def weights_read(plan: Deployment, batch: float) -> float:
    """Bytes of weights that a decode step reads: an untied embedding is looked up, experts only where hit."""
    by_role = dict(weight_bytes_by_role(plan.model, plan.weights))
    if plan.model.head is not None:
        by_role.pop("embedding", None)
    experts = by_role.pop("expert", 0.0)
    read = sum(by_role.values())
    for group in plan.model.groups:
        ffn = group.layer.ffn
        if ffn.kind == "moe":
            moe_layers = sum(g.count for g in plan.model.groups if g.layer.ffn.kind == "moe")
            hit = experts_hit(ffn.experts, ffn.experts_per_token, batch) / ffn.experts
            read += experts * group.count / moe_layers * hit
    return float(read)


def every_weight_read(plan: Deployment) -> float:
    """Bytes of weights that a decode step of a large batch reads: every expert is hit."""
    return weights_read(plan, math.inf)


def limits_of(plan: Deployment, context: float) -> tuple[float | None, float | None]:
    """Return the optimal batch at a context and the critical context; None where there is none.

    The optimal batch is where a decode step's arithmetic takes as long as its traffic; beyond the critical context no
    batch makes decode compute-bound.
    """
    symbols = relation(plan)
    batch = float(optimal_batch_with_kv(every_weight_read(plan), context=context, **symbols))
    critical = float(critical_context(**symbols))
    return batch if math.isfinite(batch) else None, critical if math.isfinite(critical) else None
