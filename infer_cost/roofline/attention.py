"""Attention: arithmetic and traffic, in decode over the cache and in prefill."""

from __future__ import annotations

from infer_cost.roofline.constants import MULTIPLY_ADD
from infer_cost.roofline.dispatch import Value, ceil


def attention_flops_gqa(layers: Value, heads: Value, head_dim: Value) -> Value:
    r"""Arithmetic of attention for one query token and one cached token, all layers.

    .. math:: a = 4 L H h

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    heads : float
        Query heads (not KV heads: sharing keys saves bytes, not arithmetic), H [head]
    head_dim : float
        Elements of a head, h [element]

    Returns
    -------
    float
        Arithmetic, a [FLOP/token]

    Notes
    -----
    Scores and weighted values, a multiply-add each; softmax and scaling are left out.

    Examples
    --------
    Llama-3.1-70B (80 layers, 64 heads of 128):

    >>> attention_flops_gqa(80, 64, 128)
    2621440.0

    References
    ----------
    .. [1] Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, 2020, table 1.
    """
    return MULTIPLY_ADD * 2 * layers * heads * head_dim


def attention_flops_mla(layers: Value, heads: Value, kv_lora_rank: Value, rope_dim: Value) -> Value:
    r"""Arithmetic of absorbed latent attention for one query token and one cached token, all layers.

    .. math:: a = 2 L H (2 d_c + d_r)

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    heads : float
        Query heads, H [head]
    kv_lora_rank : float
        Width of the shared latent, d_c [element]
    rope_dim : float
        Width of the key part that carries positions, d_r [element]

    Returns
    -------
    float
        Arithmetic, a [FLOP/token]

    Notes
    -----
    For decode, where the up-projections are absorbed into query and output; prefill expands the latent
    instead.

    Examples
    --------
    DeepSeek-V3 (61 layers, 128 heads, 512 + 64):

    >>> attention_flops_mla(61, 128, 512, 64)
    16990208.0

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434, 2024, section 2.1.
    """
    return MULTIPLY_ADD * layers * heads * (2 * kv_lora_rank + rope_dim)


def attention_flops_full(layers: Value, heads: Value, head_dim: Value, queries: Value, context: Value) -> Value:
    r"""Arithmetic of attention of some query tokens over a whole context, without a mask.

    .. math:: F = 4 L H h T S

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    heads : float
        Query heads, H [head]
    head_dim : float
        Elements of a head, h [element]
    queries : float
        Query tokens, T [token]
    context : float
        Tokens that each query sees, S [token]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    A kernel without causal skipping does this much; see :func:`attention_flops_causal`.

    Examples
    --------
    >>> attention_flops_full(80, 64, 128, 1, 8192) / 1e9
    21.47483648

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Transformer Math".
    """
    return MULTIPLY_ADD * 2 * layers * heads * head_dim * queries * context


def attention_flops_causal(layers: Value, heads: Value, head_dim: Value, tokens: Value, cached_tokens: Value) -> Value:
    r"""Arithmetic of causal attention of new tokens over themselves and what is cached before them.

    .. math:: F = 4 L H h T (S_0 + \frac{T}{2})

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    heads : float
        Query heads, H [head]
    head_dim : float
        Elements of a head, h [element]
    tokens : float
        New tokens, T [token]
    cached_tokens : float
        Tokens before them, S_0 [token]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    The mean new token sees half of the new ones; the half token of the diagonal is left out.

    Examples
    --------
    Llama-3.1-70B, 12,022 tokens: a tenth of the 1.68 PFLOP that the weights take:

    >>> round(attention_flops_causal(80, 64, 128, 12022, 0) / 1e15, 3)
    0.189

    References
    ----------
    .. [1] Dao, "FlashAttention-2", arXiv:2307.08691, 2023, section 4.1 (half of the FLOPs with a causal
       mask).
    """
    return MULTIPLY_ADD * 2 * layers * heads * head_dim * tokens * (cached_tokens + tokens / 2)


def attention_traffic_naive(
    heads: Value, kv_heads: Value, head_dim: Value, queries: Value, context: Value, bytes_per_element: Value
) -> Value:
    r"""Bytes moved by one layer's attention when scores go through memory.

    .. math:: Q = b (2 H T h + 2 H_{kv} S h + 4 H T S)

    Parameters
    ----------
    heads : float
        Query heads, H [head]
    kv_heads : float
        Key-value heads, H_kv [head]
    head_dim : float
        Elements of a head, h [element]
    queries : float
        Query tokens, T [token]
    context : float
        Tokens that each query sees, S [token]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Three kernels: scores are written, read and written by softmax, read again by the product with the values.

    Examples
    --------
    Llama-2-7B, 2,048 tokens in 16 bits:

    >>> round(attention_traffic_naive(32, 32, 128, 2048, 2048, 2) / 1e6)
    1141

    References
    ----------
    .. [1] Dao et al., "FlashAttention", arXiv:2205.14135, 2022, algorithm 0 and theorem 2.
    """
    operands = 2 * heads * queries * head_dim + 2 * kv_heads * context * head_dim
    return bytes_per_element * (operands + 4 * heads * queries * context)


def attention_score_bytes(
    heads: Value, head_dim: Value, queries: Value, context: Value, bytes_per_element: Value
) -> Value:
    r"""Bytes moved by the kernel that computes attention scores and writes them to memory.

    .. math:: Q = b H (T h + S h + T S)

    Parameters
    ----------
    heads : float
        Heads, H [head]
    head_dim : float
        Elements of a head, h [element]
    queries : float
        Query tokens, T [token]
    context : float
        Tokens that each query sees, S [token]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    The first of the three kernels of :func:`attention_traffic_naive`, with as many KV heads as query heads.

    Examples
    --------
    Llama-2-7B, 2,048 tokens in 16 bits:

    >>> round(attention_score_bytes(32, 128, 2048, 2048, 2) / 1e6)
    302

    References
    ----------
    .. [1] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363, 2024.
    """
    return bytes_per_element * heads * (queries * head_dim + context * head_dim + queries * context)


def attention_traffic_flash(
    heads: Value,
    kv_heads: Value,
    head_dim: Value,
    queries: Value,
    context: Value,
    query_block: Value,
    bytes_per_element: Value,
) -> Value:
    r"""Bytes moved by one layer's attention when scores stay on the chip.

    .. math:: Q = b (2 H T h + 2 H_{kv} S h \lceil \frac{T}{q} \rceil)

    Parameters
    ----------
    heads : float
        Query heads, H [head]
    kv_heads : float
        Key-value heads, H_kv [head]
    head_dim : float
        Elements of a head, h [element]
    queries : float
        Query tokens, T [token]
    context : float
        Tokens that each query sees, S [token]
    query_block : float
        Query tokens that stay on the chip while keys and values stream past, q [token]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Every block of queries streams all keys and values once; queries of a group share the pass.

    Examples
    --------
    Llama-2-7B, 2,048 tokens in 16 bits, blocks of 128 queries: 570 MB less a half of the naive 1,141 MB:

    >>> round(attention_traffic_flash(32, 32, 128, 2048, 2048, 128, 2) / 1e6)
    570

    References
    ----------
    .. [1] Dao, "FlashAttention-2", arXiv:2307.08691, 2023, section 3.1.
    """
    passes = ceil(queries / query_block)
    return bytes_per_element * (2 * heads * queries * head_dim + 2 * kv_heads * context * head_dim * passes)


def flash_traffic_ratio(on_chip_elements: Value, head_dim: Value) -> Value:
    r"""Order of the saving of FlashAttention: naive over tiled traffic for long sequences.

    .. math:: r = \frac{M}{h^{2}}

    Parameters
    ----------
    on_chip_elements : float
        Elements that fit on the chip, M [element]
    head_dim : float
        Elements of a head, h [element]

    Returns
    -------
    float
        Ratio, r [ratio]

    Notes
    -----
    An order of magnitude, for sequences much longer than ``head_dim`` and M between h and T h.

    Examples
    --------
    100 KB of 16-bit elements, heads of 64:

    >>> flash_traffic_ratio(51200, 64)
    12.5

    References
    ----------
    .. [1] Dao et al., "FlashAttention", arXiv:2205.14135, 2022, theorem 2.
    """
    return on_chip_elements / head_dim**2


def attention_intensity(queries: Value, context: Value, bytes_per_element: Value) -> Value:
    r"""Arithmetic intensity of multi-head attention, scores kept on the chip.

    .. math:: I = \frac{2 S T}{b (S + T)}

    Parameters
    ----------
    queries : float
        Query tokens, T [token]
    context : float
        Tokens that each query sees, S [token]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Intensity, I [FLOP/B]

    Notes
    -----
    Times H/H_kv (approximately) with grouped queries in decode. In 16 bits prefill has T/2, decode about 1.

    Examples
    --------
    >>> attention_intensity(8192, 8192, 2), round(attention_intensity(1, 8192, 2), 3)
    (4096.0, 1.0)

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return MULTIPLY_ADD * context * queries / (bytes_per_element * (context + queries))
