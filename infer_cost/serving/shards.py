"""What one rank holds of a matrix or of a layer's cache."""

from __future__ import annotations

from infer_cost.model_specs.architecture import Matrix, Mixer
from infer_cost.serving.deployment import Deployment


def kv_shards(deployment: Deployment, mixer: Mixer) -> int:
    """Ranks that a layer's cache is divided over; latent caches and surplus ranks hold copies."""
    return max(1, min(deployment.parallel.tp, mixer.kv_heads))


def local_shape(matrix: Matrix, mixer: Mixer, tp: int) -> tuple[float, float]:
    """Return inputs and outputs of a matrix on one tensor rank.

    KV heads fewer than ranks are replicated, so their part of ``qkv_proj`` shrinks to one head, no further.
    """
    if matrix.split == "column":
        return matrix.inputs, matrix.outputs / tp
    if matrix.split == "row":
        return matrix.inputs / tp, matrix.outputs
    if matrix.split == "kv":
        kv = min(mixer.kv_heads * (mixer.score_dim + mixer.value_dim), matrix.outputs)
        return matrix.inputs, (matrix.outputs - kv) / tp + kv / min(tp, max(1, mixer.kv_heads))
    return matrix.inputs, matrix.outputs


def local_elements(matrix: Matrix, mixer: Mixer, deployment: Deployment) -> float:
    """Elements of a matrix that one GPU holds, experts cut by expert and tensor parallelism."""
    parallel = deployment.parallel
    if matrix.split == "expert":
        return matrix.elements / (parallel.tp * parallel.dp)
    inputs, outputs = local_shape(matrix, mixer, parallel.tp)
    return inputs * outputs * matrix.copies
