"""KV cache and recurrent state: bytes a token, bytes a sequence, by layer.

Every function takes a context that is a number or a numpy array. Bytes an element come from the cache's
number format, :func:`element_bytes`.
"""

from __future__ import annotations

from typing import Any, Literal

from infer_cost.errors import InputError
from infer_cost.hardware_specs.formats import number_format
from infer_cost.model_specs.architecture import Architecture, Mixer
from infer_cost.model_specs.pages import attention_block_tokens
from infer_cost.roofline.dispatch import ceil, minimum

KvAllocator = Literal["exact", "paged", "unified"]
ALLOCATORS: tuple[KvAllocator, ...] = ("exact", "paged", "unified")


def element_bytes(kv_format: str) -> float:
    """Bytes of one cached element, scales included.

    >>> element_bytes("fp8"), element_bytes("bf16")
    (1.0, 2.0)
    """
    return number_format(kv_format).bits_per_weight / 8


def rank_share(mixer: Mixer, tp: int) -> float:
    """Share of a layer's cache that one of ``tp`` tensor-parallel ranks holds.

    KV heads are divided until each rank has one, then replicated. Latent attention has one row that every
    rank holds whole.

    >>> rank_share(Mixer("attention", heads=64, kv_heads=8), 16)
    0.125
    """
    if mixer.kind in ("attention", "latent_attention"):
        return -(-mixer.kv_heads // tp) / mixer.kv_heads if mixer.kv_heads else 1.0
    return 1.0 / tp


def token_elements(mixer: Mixer, *, expanded: bool = False) -> float:
    """Elements that one token adds in one layer while everything is cached, indexer keys included.

    ``expanded`` is for engines that store latent attention as full heads.
    """
    cached = float(mixer.cache_elements)
    if expanded and mixer.kind == "latent_attention":
        cached = mixer.heads * (mixer.score_dim + mixer.value_dim)
    return (cached + mixer.index_elements) / mixer.cache_stride + mixer.window_cache_elements


def growth_elements(mixer: Mixer) -> float:
    """Elements that one token adds in one layer once the context is beyond every window."""
    if mixer.window_cache_elements:
        return (mixer.cache_elements + mixer.index_elements) / mixer.cache_stride
    return 0.0 if mixer.window else token_elements(mixer)


def kv_bytes_per_token(architecture: Architecture, bytes_per_element: float = 2.0, *, tp: int = 1) -> float:
    """Bytes that one more token adds while every caching layer still caches.

    .. math:: k = b \\sum_l e_l

    with ``2 · kv_heads · head_dim`` elements for grouped-query attention and ``kv_lora_rank + rope`` for
    latent attention.

    Parameters
    ----------
    architecture : Architecture
        The model.
    bytes_per_element : float
        Bytes of a cached element, b [B].
    tp : int
        Tensor-parallel ranks; the answer is for one of them.

    Returns
    -------
    float
        Bytes a token [B].

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> kv_bytes_per_token(model("llama-3.1-70b")), kv_bytes_per_token(model("deepseek-v3"))
    (327680.0, 70272.0)
    """
    return bytes_per_element * sum(
        group.count * token_elements(group.layer.mixer) * rank_share(group.layer.mixer, tp)
        for group in architecture.groups
    )


def kv_growth_bytes_per_token(architecture: Architecture, bytes_per_element: float = 2.0, *, tp: int = 1) -> float:
    """Bytes that one more token adds beyond all windows, indexer keys included [B].

    >>> from infer_cost.model_specs.catalog import model
    >>> kv_growth_bytes_per_token(model("gpt-oss-120b")), kv_bytes_per_token(model("gpt-oss-120b"))
    (36864.0, 73728.0)
    """
    return bytes_per_element * sum(
        group.count * growth_elements(group.layer.mixer) * rank_share(group.layer.mixer, tp)
        for group in architecture.groups
    )


def kv_window_cap_bytes(architecture: Architecture, bytes_per_element: float = 2.0, *, tp: int = 1) -> float:
    """Bytes that all windows hold when they are full [B]."""
    return bytes_per_element * sum(
        group.count * _window_elements(group.layer.mixer) * rank_share(group.layer.mixer, tp)
        for group in architecture.groups
    )


def _window_elements(mixer: Mixer) -> int:
    per_token = mixer.window_cache_elements or mixer.cache_elements
    return mixer.window * per_token if mixer.window else 0


def kv_bytes_per_sequence(
    architecture: Architecture,
    context: Any,
    bytes_per_element: float = 2.0,
    *,
    tp: int = 1,
    allocator: KvAllocator = "exact",
    block_size: int | None = None,
    in_flight_tokens: int = 0,
    expand_latent: bool = False,
) -> Any:
    """Bytes of one sequence's KV cache.

    Parameters
    ----------
    architecture : Architecture
        The model.
    context : float or array
        Tokens in the sequence.
    bytes_per_element : float
        Bytes of a cached element [B].
    tp : int
        Tensor-parallel ranks; the answer is for one of them.
    allocator : {"exact", "paged", "unified"}
        ``exact`` counts tokens, windows capped; ``paged`` rounds up to blocks, a window needs one block
        more than it fills; ``unified`` is for engines that have pages of one size and no groups of layers:
        every caching layer takes the whole context, at the bytes of the largest layer.
    block_size : int, optional
        Tokens a block, for ``paged`` and ``unified``; 16, and for hybrid models what their recurrent state asks
        for, see :func:`~infer_cost.model_specs.pages.attention_block_tokens`.
    in_flight_tokens : int
        Tokens that a window layer keeps beyond its window while a batch of prompt tokens runs through.
    expand_latent : bool
        Store latent attention as full heads.

    Returns
    -------
    float or array
        Bytes [B].

    Raises
    ------
    InputError
        If the allocator is unknown.

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> kv_bytes_per_sequence(model("gpt-oss-120b"), 131072)
    4836556800.0
    >>> kv_bytes_per_sequence(model("gpt-oss-120b"), 131072, allocator="unified")
    9663676416.0
    """
    if allocator not in ALLOCATORS:
        raise InputError(
            f"unknown KV allocator {allocator!r}",
            field="kv_allocator",
            value=allocator,
            allowed=", ".join(ALLOCATORS),
        )
    if allocator == "exact":
        block_size = None
    elif block_size is None:
        block_size = attention_block_tokens(architecture, bytes_per_element)
    if allocator == "unified":
        return _whole(context, block_size) * _unified_bytes_per_token(
            architecture, bytes_per_element, tp, expand_latent
        )
    total: Any = 0.0
    for group in architecture.groups:
        mixer = group.layer.mixer
        elements = _sequence_elements(mixer, context, block_size, in_flight_tokens, expand_latent)
        total = total + elements * (group.count * bytes_per_element * rank_share(mixer, tp))
    return total


def _whole(context: Any, block_size: int | None) -> Any:
    """Tokens that a context takes in whole blocks."""
    return ceil(context / block_size) * block_size if block_size else context


def _unified_bytes_per_token(architecture: Architecture, bytes_per_element: float, tp: int, expanded: bool) -> float:
    largest = 0.0
    layers = 0
    for group in architecture.groups:
        mixer = group.layer.mixer
        elements = token_elements(mixer, expanded=expanded)
        if elements:
            layers += group.count
            largest = max(largest, elements * rank_share(mixer, tp))
    return layers * largest * bytes_per_element


def _sequence_elements(mixer: Mixer, context: Any, block_size: int | None, in_flight: int, expanded: bool) -> Any:
    whole = _whole(context, block_size)
    if mixer.window is None:
        return whole * token_elements(mixer, expanded=expanded)
    kept = mixer.window + in_flight
    if block_size:
        # A window that starts inside a block needs that block too.
        kept = (-(-kept // block_size) + 1) * block_size
    windowed = minimum(whole, kept)
    if mixer.window_cache_elements:
        return whole * growth_elements(mixer) + windowed * mixer.window_cache_elements
    return windowed * token_elements(mixer)


def state_bytes_per_sequence(
    architecture: Architecture,
    state_bytes: float = 4.0,
    conv_bytes: float = 2.0,
    *,
    conv_columns_dropped: int = 0,
) -> float:
    """Bytes of one sequence's recurrent state; it doesn't grow with the context.

    Parameters
    ----------
    architecture : Architecture
        The model.
    state_bytes : float
        Bytes of a state element; 32 bits by default [B].
    conv_bytes : float
        Bytes of a convolution element [B].
    conv_columns_dropped : int
        Engines keep all columns of the convolution (0) or leave out the newest (1).

    Returns
    -------
    float
        Bytes [B]; 0 for a model without recurrent layers.

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> state_bytes_per_sequence(model("llama-3.1-8b"))
    0.0
    """
    total = 0.0
    for group in architecture.groups:
        mixer = group.layer.mixer
        if mixer.state_elements:
            columns = max(mixer.conv_kernel - conv_columns_dropped, 0)
            kept = columns / mixer.conv_kernel if mixer.conv_kernel else 0.0
            convolution = mixer.conv_state_elements * kept * conv_bytes
            total += group.count * (mixer.state_elements * state_bytes + convolution)
    return total
