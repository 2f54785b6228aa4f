"""What a checkpoint stores, against what an engine holds.

A checkpoint has parts that serving leaves out (prediction modules, towers) and copies; its formats may differ from
those an engine is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.model_specs.architecture import Architecture, Layer, Matrix
from infer_cost.model_specs.weights import (
    WeightFormats,
    matrices,
    weight_bytes,
    weight_formats,
)

FP8_BLOCK = 128
UNSCALED = frozenset(("embedding", "head", "router"))


@dataclass(frozen=True, slots=True)
class CheckpointSize:
    """Bytes of a checkpoint's tensors, file headers apart."""

    language_model_bytes: float
    components_bytes: float
    """Prediction modules, towers, copies and buffers."""

    @property
    def total_bytes(self) -> float:
        """All tensors."""
        return self.language_model_bytes + self.components_bytes


def checkpoint_size(architecture: Architecture) -> CheckpointSize:
    """Return the bytes that a checkpoint stores in its own formats.

    A prediction module's layer is stored as the other layers are; everything else beside the language model in
    16 bits (32 where the config's ``dtype`` says so), router corrections in 32.

    Examples
    --------
    The tensors of DeepSeek-V3's files are 688,574,839,360 bytes:

    >>> from infer_cost.model_specs.catalog import model
    >>> round(checkpoint_size(model("deepseek-v3")).total_bytes / 1e9, 2)
    688.57
    """
    formats = weight_formats(architecture)
    beside = 0.0
    wider = architecture.stored_bits / 16
    for component in architecture.components:
        layer_bytes = 0.0
        rest = component.elements
        if component.layer is not None:
            layer_bytes = component.modules * _layer_matrix_bytes(component.layer, formats)
            rest -= component.modules * sum(matrix.elements for matrix in component.layer.matrices)
        beside += layer_bytes + rest * (4 if component.kind == "buffers" else 2 * wider)
    own = weight_bytes(architecture, formats)
    return CheckpointSize(own if architecture.quantization else own * wider, beside)


def _layer_matrix_bytes(layer: Layer, formats: WeightFormats) -> float:
    return sum(formats.matrix_bytes(matrix) for matrix in layer.matrices)


def block_scale_elements(architecture: Architecture) -> int:
    """Return the scales that an FP8 checkpoint with 128×128 blocks stores beside its weights.

    >>> from infer_cost.model_specs.catalog import model
    >>> block_scale_elements(model("deepseek-v3"))
    41540496
    """
    scales = sum(count * _scales(matrix) for matrix, count in matrices(architecture))
    for component in architecture.components:
        if component.layer is not None:
            scales += component.modules * sum(_scales(matrix) for matrix in component.layer.matrices)
    return scales


def _scales(matrix: Matrix) -> int:
    if matrix.role in UNSCALED:
        return 0
    halves = 2 if matrix.name.endswith("gate_up_proj") else 1
    rows = halves * -(-matrix.outputs // (halves * FP8_BLOCK))
    return rows * -(-matrix.inputs // FP8_BLOCK) * matrix.copies
