"""What a calculator that doesn't look inside says of a KV cache, to show beside the right figure.

The usual shortcut charges every layer the whole context: windows, recurrent layers and shared caches are ignored, and
latent attention is taken for full heads.
"""

from __future__ import annotations

from typing import Any

from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.kv import kv_bytes_per_sequence


def naive_kv_bytes_per_token(architecture: Architecture, bytes_per_element: float = 2.0) -> float:
    """Return the KV bytes a token that the usual shortcut gives.

    .. math:: k = 2 L h d b

    with all layers ``L``, the KV heads ``h`` and width ``d`` of the attention layers; latent attention counts as
    multi-head attention of the hidden size.

    Parameters
    ----------
    architecture : Architecture
        The model.
    bytes_per_element : float
        Bytes of a cached element, b [B].

    Returns
    -------
    float
        Bytes a token [B].

    Examples
    --------
    DeepSeek-V3 caches 70,272 bytes a token; its 128 "KV heads" of 56 would be 25 times as much:

    >>> from infer_cost.model_specs.catalog import model
    >>> naive_kv_bytes_per_token(model("deepseek-v3"))
    1748992.0
    """
    widest = 0
    for group in architecture.groups:
        mixer = group.layer.mixer
        if mixer.kind == "latent_attention":
            widest = max(widest, 2 * architecture.hidden_size)
        elif mixer.kind == "attention":
            widest = max(widest, mixer.kv_heads * (mixer.score_dim + mixer.value_dim))
    return architecture.layers * widest * bytes_per_element


def naive_factor(architecture: Architecture, context: Any, bytes_per_element: float = 2.0) -> Any:
    """Return how many times too much the shortcut says at a context; 1 where it's right.

    >>> from infer_cost.model_specs.catalog import model
    >>> round(naive_factor(model("gemma-3-27b"), 131072), 1)
    6.0
    """
    right = kv_bytes_per_sequence(architecture, context, bytes_per_element)
    if not right:
        return 1.0
    return naive_kv_bytes_per_token(architecture, bytes_per_element) * context / right
