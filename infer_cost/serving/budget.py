"""One GPU's memory: what weights, activations and the runtime take, what is left for the KV cache, who fits in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from infer_cost.model_specs.kv import KvAllocator, element_bytes, kv_bytes_per_sequence, state_bytes_per_sequence
from infer_cost.roofline.dispatch import floor, maximum, minimum
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.shards import local_elements


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of one GPU: what may be used, what weights, activations and the runtime take, what is left for KV."""

    usable: float
    weights: float
    activations: float
    runtime: float

    @property
    def kv(self) -> float:
        """Left for KV cache and state; negative when the weights alone are too large."""
        return self.usable - self.weights - self.activations - self.runtime


def gpu_weight_bytes(plan: Deployment) -> float:
    """Bytes of weights on the fullest GPU: its shard of the layers of one pipeline stage, and one end of the model.

    The first stage holds the embedding and the last one the head; vectors are replicated over tensor ranks.
    """
    model, formats, parallel = plan.model, plan.weights, plan.parallel
    layers = 0.0
    for group in model.groups:
        inner = sum(
            local_elements(matrix, group.layer.mixer, plan) * formats.matrix_bits(matrix) / 8
            for matrix in group.layer.matrices
        )
        vectors = group.layer.vectors + group.layer.expert_vectors / (parallel.tp * parallel.dp)
        layers += group.count * (inner + formats.vector_bytes(vectors))
    stage = layers / model.layers * math.ceil(model.layers / parallel.pp)
    embedding = formats.matrix_bytes(model.embedding)
    head = formats.matrix_bytes(model.head) if model.head is not None else 0.0
    ends = embedding + head if parallel.pp == 1 else max(embedding, head)
    own = ends / parallel.tp + formats.vector_bytes(model.vectors + model.lookup_vectors)
    return stage + own + plan.adapter_bytes / (parallel.tp * parallel.pp)


def budget(plan: Deployment) -> Budget:
    """Divide one GPU's memory.

    Activations are those of a full token budget: the residual stream and the widest intermediate of a layer in 16
    bits, and the logits of every running sequence in 32.
    """
    model, parallel = plan.model, plan.parallel
    widest = max(
        (
            max(group.layer.ffn.width, group.layer.ffn.shared_width) / parallel.tp
            + group.layer.ffn.experts_per_token * group.layer.ffn.expert_width / parallel.tp
            for group in model.groups
        ),
        default=0.0,
    )
    tokens = min(plan.max_batched_tokens, plan.context_limit or plan.max_batched_tokens)
    stream = tokens * (4 * model.hidden_size + 3 * widest) * 2
    logits = min(plan.max_num_seqs, tokens) * model.vocab_size / parallel.tp * 4
    return Budget(
        usable=plan.machine.accelerator.usable_memory_bytes * plan.memory_utilization,
        weights=gpu_weight_bytes(plan),
        activations=stream + logits,
        runtime=plan.engine.runtime_reserve_bytes,
    )


def sequence_bytes_per_gpu(plan: Deployment, context: Any, allocator: KvAllocator = "paged") -> Any:
    """Bytes that one sequence holds on the GPUs of its rank, cache and state; ``context`` may be an array."""
    cache = kv_bytes_per_sequence(
        plan.model, context, element_bytes(plan.kv.id), tp=plan.parallel.tp, allocator=allocator
    )
    state = state_bytes_per_sequence(plan.model) / plan.parallel.tp
    return (cache + state) / plan.parallel.pp


def sequences_that_run(plan: Deployment, context: Any) -> Any:
    """Sequences that can run at once in the whole deployment, by KV capacity and the engine's own limit."""
    held = maximum(sequence_bytes_per_gpu(plan, context), 1.0)
    by_memory = floor(maximum(budget(plan).kv, 0.0) / held) * plan.parallel.dp
    return minimum(by_memory, plan.max_num_seqs * plan.parallel.dp)


def missing_bytes(plan: Deployment, context: Any) -> Any:
    """Bytes that the weights and one sequence lack on each GPU, 0 when they fit; ``context`` may be an array."""
    return maximum(0.0, sequence_bytes_per_gpu(plan, context * 1.0) - budget(plan).kv)
