"""Prefill: arithmetic and time of a prompt, whole or in chunks."""

from __future__ import annotations

from infer_cost.roofline.attention import attention_flops_causal
from infer_cost.roofline.constants import MULTIPLY_ADD, SECONDS_PER_HOUR
from infer_cost.roofline.dispatch import Value, ceil


def dense_flops(active_parameters: Value, tokens: Value) -> Value:
    r"""Arithmetic of tokens on the weights alone.

    .. math:: F = 2 N_{active} T

    Parameters
    ----------
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]
    tokens : float
        Tokens, T [token]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    Attention over the context comes on top, see :func:`prefill_flops`.

    Examples
    --------
    >>> dense_flops(70e9, 12022) / 1e15
    1.68308

    References
    ----------
    .. [1] Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, 2020, section 2.1.
    """
    return MULTIPLY_ADD * active_parameters * tokens


def prefill_flops(
    active_parameters: Value, tokens: Value, cached_tokens: Value, layers: Value, heads: Value, head_dim: Value
) -> Value:
    r"""Arithmetic of a prefill: weights and causal attention, after a cached prefix if any.

    .. math:: F = 2 N_{active} T + 4 L H h T (S_0 + \frac{T}{2})

    Parameters
    ----------
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]
    tokens : float
        New tokens, T [token]
    cached_tokens : float
        Tokens before them that are in the cache, S_0 [token]
    layers : float
        Layers, L [layer]
    heads : float
        Query heads, H [head]
    head_dim : float
        Elements of a head, h [element]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    The output head is counted for every token although only the last needs it; softmax and norms are left
    out.

    Examples
    --------
    Llama-3.1-70B, 12,022 tokens:

    >>> round(prefill_flops(70e9, 12022, 0, 80, 64, 128) / 1e15, 3)
    1.873

    References
    ----------
    .. [1] Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361, 2020, section 2.1.
    .. [2] Dao, "FlashAttention-2", arXiv:2307.08691, 2023, section 4.1.
    """
    attention = attention_flops_causal(layers, heads, head_dim, tokens, cached_tokens)
    return dense_flops(active_parameters, tokens) + attention


def prefill_time(flops: Value, chips: Value, peak_flops: Value, utilization: Value) -> Value:
    r"""Time of a prefill that compute bounds.

    .. math:: T = \frac{F}{n C u}

    Parameters
    ----------
    flops : float
        Arithmetic, F [FLOP]
    chips : float
        Chips, n [chip]
    peak_flops : float
        Dense peak rate of one chip, C [FLOP/s]
    utilization : float
        Share of the peak reached (model FLOPs utilization), u [fraction]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    For prompts long enough to be compute-bound: more tokens than the optimal batch. Below, reading the
    weights bounds it.

    Examples
    --------
    Llama-2-70B, 8,192 tokens, 16 TPU v5e at 40 %:

    >>> round(prefill_time(2 * 70e9 * 8192, 16, 1.97e14, 0.4), 2)
    0.91

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Serving LLaMA 3-70B
       on TPUs".
    """
    return flops / (chips * peak_flops * utilization)


def prefill_chunks(tokens: Value, chunk: Value) -> Value:
    r"""Steps that a chunked prefill takes.

    .. math:: n = \lceil \frac{T}{c} \rceil

    Parameters
    ----------
    tokens : float
        Tokens of the prompt, T [token]
    chunk : float
        Tokens of a chunk, c [token]

    Returns
    -------
    int
        Chunks, n [step]

    Notes
    -----
    Decodes that share the steps take room in the chunk.

    Examples
    --------
    >>> prefill_chunks(12022, 2048)
    6

    References
    ----------
    .. [1] Agrawal et al., "Sarathi-Serve", arXiv:2403.02310, 2024.
    """
    return ceil(tokens / chunk)


def chunked_prefill_cache_reads(tokens: Value, chunk: Value) -> Value:
    r"""Cached tokens that a chunked prefill reads again, all chunks together.

    .. math:: n = \frac{T}{2} (\frac{T}{c} - 1)

    Parameters
    ----------
    tokens : float
        Tokens of the prompt, T [token]
    chunk : float
        Tokens of a chunk, c [token]

    Returns
    -------
    float
        Tokens read, n [token]

    Notes
    -----
    Chunk i reads the (i - 1) c tokens before it; exact for whole chunks. A prefill in one piece reads
    none.

    Examples
    --------
    >>> chunked_prefill_cache_reads(8192, 2048)
    12288.0

    References
    ----------
    .. [1] Agrawal et al., "Sarathi-Serve", arXiv:2403.02310, 2024, section 4.3.
    """
    return tokens / 2 * (tokens / chunk - 1)


def activation_bytes(tokens: Value, width: Value, bytes_per_element: Value) -> Value:
    r"""Bytes of activations of some tokens.

    .. math:: Q = T D b

    Parameters
    ----------
    tokens : float
        Tokens, T [token]
    width : float
        Width of the activation, D [element]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    One tensor; a layer holds several at a time.

    Examples
    --------
    >>> activation_bytes(8192, 5120, 2) / 1e6
    83.88608

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return tokens * width * bytes_per_element


def training_tokens_chinchilla(parameters: Value) -> Value:
    r"""Training tokens that spend a training budget best.

    .. math:: T = 20 N

    Parameters
    ----------
    parameters : float
        Parameters, N [parameter]

    Returns
    -------
    float
        Tokens, T [token]

    Notes
    -----
    A rule of thumb for dense models; models meant to be served are trained on many times more.

    Examples
    --------
    >>> training_tokens_chinchilla(100e9)
    2000000000000.0

    References
    ----------
    .. [1] Hoffmann et al., "Training Compute-Optimal Large Language Models", arXiv:2203.15556, 2022.
    """
    return 20 * parameters


def available_flops(chip_hours: Value, peak_flops: Value) -> Value:
    r"""Arithmetic that chips could do in some hours at their peak.

    .. math:: F = 3600 t_h C

    Parameters
    ----------
    chip_hours : float
        Chip-hours, t_h [h]
    peak_flops : float
        Dense peak rate of one chip, C [FLOP/s]

    Returns
    -------
    float
        Arithmetic, F [FLOP]

    Notes
    -----
    An upper bound; real utilization is a third to a half.

    Examples
    --------
    DeepSeek-V3's 2.79 million H800-hours at the FP8 rate:

    >>> f"{available_flops(2.79e6, 1.513e15):.3g}"
    '1.52e+25'

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Transformer Math".
    """
    return SECONDS_PER_HOUR * chip_hours * peak_flops
