"""Blocks of the KV cache: how many tokens a block holds, how many blocks a sequence takes.

Engines that share one pool between attention and recurrent layers make an attention block at least as large as a
layer's recurrent state, which may be hundreds of tokens.
"""

from __future__ import annotations

from typing import Any

from infer_cost.model_specs.architecture import Architecture
from infer_cost.roofline.dispatch import ceil


def attention_block_tokens(
    architecture: Architecture,
    kv_bytes: float = 2.0,
    *,
    state_bytes: float = 4.0,
    conv_bytes: float = 2.0,
    align: int = 16,
) -> int:
    """Return the tokens of an attention block in a pool shared with recurrent layers.

    .. math:: T = a \\lceil s / (a k_l) \\rceil

    with the state ``s`` of one recurrent layer and the bytes ``k_l`` a token of one attention layer.

    Parameters
    ----------
    architecture : Architecture
        The model.
    kv_bytes : float
        Bytes of a cached element [B].
    state_bytes : float
        Bytes of a state element [B].
    conv_bytes : float
        Bytes of a convolution element [B]; engines keep one column less than the kernel has.
    align : int
        Tokens that a block is a multiple of.

    Returns
    -------
    int
        Tokens; ``align`` for a model that isn't hybrid.

    Examples
    --------
    vLLM logs 672 tokens for Nemotron-Nano-9B-v2 with its state in 16 bits:

    >>> from infer_cost.model_specs.catalog import model
    >>> attention_block_tokens(model("nemotron-nano-9b-v2"), state_bytes=2)
    672

    References
    ----------
    .. [1] vllm-project/vllm#24280
    """
    state = 0.0
    token = 0.0
    for group in architecture.groups:
        mixer = group.layer.mixer
        if mixer.state_elements:
            columns = (mixer.conv_kernel - 1) / mixer.conv_kernel if mixer.conv_kernel else 0.0
            convolution = mixer.conv_state_elements * columns * conv_bytes
            state = max(state, mixer.state_elements * state_bytes + convolution)
        elif mixer.cache_elements:
            token = max(token, mixer.cache_elements * kv_bytes)
    if not state or not token:
        return align
    return int(align * -(-state // (align * token)))


def blocks(context: Any, block_size: int) -> Any:
    """Return the blocks that a context fills, the last one perhaps in part.

    >>> blocks(1000, 16)
    63
    """
    return ceil(context / block_size)


def concurrency(pool_blocks: int, block_size: int, context: int) -> float:
    """Return how many sequences of a context a pool holds: tokens in the pool over tokens of one.

    >>> round(concurrency(1381, 16, 2048), 2)
    10.79

    References
    ----------
    .. [1] vllm-project/vllm#12569, the engine's own log
    """
    return pool_blocks * block_size / context
