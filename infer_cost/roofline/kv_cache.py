"""The KV cache: bytes a token, a sequence, a rank."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, maximum, minimum


def kv_bytes_per_token_gqa(layers: Value, kv_heads: Value, head_dim: Value, bytes_per_element: Value) -> Value:
    r"""Bytes that one more token adds to the cache of multi-head, grouped-query or multi-query attention.

    .. math:: k = 2 L H_{kv} h b

    Parameters
    ----------
    layers : float
        Layers that cache, L [layer]
    kv_heads : float
        Key-value heads: all heads for multi-head, 1 for multi-query attention, H_kv [head]
    head_dim : float
        Elements of a head, h [element]
    bytes_per_element : float
        Bytes of a cached element, b [B]

    Returns
    -------
    float
        Bytes a token, k [B/token]

    Notes
    -----
    Key and value of equal width; layers without a cache (linear attention, Mamba) or with a window are
    counted apart.

    Examples
    --------
    Llama-3.1-70B (80 layers, 8 KV heads of 128) in BF16:

    >>> kv_bytes_per_token_gqa(80, 8, 128, 2)
    327680

    References
    ----------
    .. [1] Ainslie et al., "GQA", arXiv:2305.13245, 2023.
    .. [2] DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, 2025, table 1 (Qwen2.5-72B 327,680 B).
    """
    return 2 * layers * kv_heads * head_dim * bytes_per_element


def kv_bytes_per_token_mla(layers: Value, kv_lora_rank: Value, rope_dim: Value, bytes_per_element: Value) -> Value:
    r"""Bytes that one more token adds to the cache of multi-head latent attention.

    .. math:: k = L (d_c + d_r) b

    Parameters
    ----------
    layers : float
        Layers that cache, L [layer]
    kv_lora_rank : float
        Width of the shared latent, d_c [element]
    rope_dim : float
        Width of the key part that carries positions, d_r [element]
    bytes_per_element : float
        Bytes of a cached element, b [B]

    Returns
    -------
    float
        Bytes a token, k [B/token]

    Notes
    -----
    One latent serves all heads, so tensor parallelism doesn't divide it: every rank holds the whole.

    Examples
    --------
    DeepSeek-V3 (61 layers, 512 + 64) in BF16:

    >>> kv_bytes_per_token_mla(61, 512, 64, 2)
    70272

    References
    ----------
    .. [1] DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, 2025, table 1.
    """
    return layers * (kv_lora_rank + rope_dim) * bytes_per_element


def kv_bytes(batch: Value, context: Value, kv_bytes_per_token: Value) -> Value:
    r"""Bytes of cache of a batch.

    .. math:: K = B S k

    Parameters
    ----------
    batch : float
        Sequences, B [sequence]
    context : float
        Cached tokens of each, S [token]
    kv_bytes_per_token : float
        Bytes that a cached token takes, k [B/token]

    Returns
    -------
    float
        Bytes, K [B]

    Notes
    -----
    Without block waste, see :func:`kv_waste_paged`; with windows see :func:`kv_bytes_windowed`.

    Examples
    --------
    A prompt of 12,022 tokens on Llama-3.1-70B in BF16:

    >>> round(kv_bytes(1, 12022, 327680) / 1e9, 3)
    3.939

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    """
    return batch * context * kv_bytes_per_token


def kv_bytes_windowed(
    context: Value, window: Value, full_bytes_per_token: Value, windowed_bytes_per_token: Value
) -> Value:
    r"""Bytes of cache of one sequence in a model where some layers keep a window only.

    .. math:: K = S k_{full} + \min(S, w) k_{window}

    Parameters
    ----------
    context : float
        Tokens of the sequence, S [token]
    window : float
        Tokens that a windowed layer keeps, w [token]
    full_bytes_per_token : float
        Bytes a token in the layers that keep all, k_full [B/token]
    windowed_bytes_per_token : float
        Bytes a token in the layers with a window, k_window [B/token]

    Returns
    -------
    float
        Bytes, K [B]

    Notes
    -----
    Holds where the engine frees what left the window; one that doesn't holds ``S`` tokens in every layer.

    Examples
    --------
    gpt-oss-120b: 18 full and 18 windowed layers (128 tokens), 8 KV heads of 64 in BF16, 100,000 tokens:

    >>> round(kv_bytes_windowed(100_000, 128, 36864, 36864) / 1e9, 3)
    3.691

    References
    ----------
    .. [1] Jiang et al., "Mistral 7B", arXiv:2310.06825, 2023, section 2.
    """
    return context * full_bytes_per_token + minimum(context, window) * windowed_bytes_per_token


def kv_bytes_per_rank(kv_bytes: Value, kv_heads: Value, ranks: Value) -> Value:
    r"""Bytes of cache that each rank of tensor parallelism holds.

    .. math:: K_{rank} = \frac{K \max(1, n / H_{kv})}{n}

    Parameters
    ----------
    kv_bytes : float
        Bytes of the cache, held once, K [B]
    kv_heads : float
        Key-value heads; 1 for latent attention, H_kv [head]
    ranks : float
        Ranks of tensor parallelism, n [rank]

    Returns
    -------
    float
        Bytes of one rank, K_rank [B]

    Notes
    -----
    A head isn't split: beyond ``H_kv`` ranks the cache is replicated and more ranks save nothing.

    Examples
    --------
    8 KV heads over 4 and over 16 ranks:

    >>> kv_bytes_per_rank(80e9, 8, 4) / 1e9, kv_bytes_per_rank(80e9, 8, 16) / 1e9
    (20.0, 10.0)

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022, section 3.3.
    """
    return kv_bytes * maximum(1.0, ranks / kv_heads) / ranks


def kv_tokens_that_fit(memory_bytes: Value, weight_bytes: Value, kv_bytes_per_token: Value) -> Value:
    r"""Tokens of cache that fit beside the weights.

    .. math:: n = \frac{M - W}{k}

    Parameters
    ----------
    memory_bytes : float
        Memory that may be used, M [B]
    weight_bytes : float
        Bytes of weights, W [B]
    kv_bytes_per_token : float
        Bytes that a cached token takes, k [B/token]

    Returns
    -------
    float
        Tokens, n [token]

    Notes
    -----
    Negative when the weights don't fit.

    Examples
    --------
    A 52B model on four A100-40GB:

    >>> kv_tokens_that_fit(160e9, 104e9, 2e6)
    28000.0

    References
    ----------
    .. [1] Chen (kipply), "Transformer Inference Arithmetic", 2022, section "capacity".
    """
    return (memory_bytes - weight_bytes) / kv_bytes_per_token
