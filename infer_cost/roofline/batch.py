"""How many sequences: to be compute-bound, and to fit."""

from __future__ import annotations

from infer_cost.roofline.constants import MULTIPLY_ADD
from infer_cost.roofline.dispatch import Value, ceil, divide_or_infinity, floor


def optimal_batch(
    peak_flops: Value,
    memory_bandwidth: Value,
    bytes_per_weight: Value,
    total_parameters: Value,
    active_parameters: Value,
) -> Value:
    r"""Batch at which arithmetic on the weights takes as long as reading them, the cache left aside.

    .. math:: B_{opt} = \frac{C}{BW} \cdot \frac{b}{2} \cdot \frac{N_{total}}{N_{active}}

    Parameters
    ----------
    peak_flops : float
        Dense peak rate, C [FLOP/s]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]
    bytes_per_weight : float
        Bytes of a stored weight, scales included, b [B]
    total_parameters : float
        Parameters read in a step, N_total [parameter]
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]

    Returns
    -------
    float
        Batch, B_opt [token]

    Notes
    -----
    Below it a step's time doesn't grow with the batch, above it the cost of a token no longer falls. It takes
    every expert to be hit, which a batch of this size does; with a KV cache see
    :func:`optimal_batch_with_kv`.

    Examples
    --------
    A balance of 300 FLOP for each weight's traffic, one parameter in eight active:

    >>> optimal_batch(600e12, 1e12, 1.0, 8.0, 1.0)
    2400.0

    References
    ----------
    .. [1] Pope, lecture on inference economics (Dwarkesh Podcast, 2026-04-29): "300 times sparsity".
    .. [2] Austin et al., "How to Scale Your Model", Google DeepMind, 2025: the dense case, TPU v5e 243 in
       int8.
    """
    return peak_flops / memory_bandwidth * bytes_per_weight / MULTIPLY_ADD * total_parameters / active_parameters


def optimal_batch_with_kv(
    weight_bytes: Value,
    active_parameters: Value,
    peak_flops: Value,
    memory_bandwidth: Value,
    context: Value,
    kv_bytes_per_token: Value,
    attention_flops: Value,
    attention_peak_flops: Value,
) -> Value:
    r"""Batch at which a decode step's arithmetic takes as long as its traffic, attention included.

    .. math:: B_{opt} = \frac{W / BW}{2 N_{active} / C + S a / C_a - S k / BW}

    Parameters
    ----------
    weight_bytes : float
        Bytes of weights read in a step, W [B]
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]
    peak_flops : float
        Dense peak rate of the weights' format, C [FLOP/s]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]
    context : float
        Cached tokens of each sequence, S [token]
    kv_bytes_per_token : float
        Bytes that a cached token takes, k [B/token]
    attention_flops : float
        Attention arithmetic for each sequence and cached token, a [FLOP/token]
    attention_peak_flops : float
        Dense peak rate of the format that attention runs in, C_a [FLOP/s]

    Returns
    -------
    float
        Batch, B_opt [sequence]

    Notes
    -----
    Infinite if no batch makes decode compute-bound: the cache's traffic outgrows all arithmetic at this
    context. Equals :func:`optimal_batch` at context 0.

    Examples
    --------
    DeepSeek-V3 on H100 in FP8, BF16 cache and attention at the FP8 rate, 1,000 tokens of context:

    >>> round(optimal_batch_with_kv(671e9, 37e9, 1979e12, 3.35e12, 1000, 70272, 16_990_208, 1979e12))
    8012

    References
    ----------
    .. [1] Derived from :func:`t_compute`, :func:`t_attention` and :func:`t_mem`; proven in the tests.
    """
    arithmetic = MULTIPLY_ADD * active_parameters / peak_flops + context * attention_flops / attention_peak_flops
    margin = arithmetic - context * kv_bytes_per_token / memory_bandwidth
    return divide_or_infinity(weight_bytes / memory_bandwidth, margin)


def critical_context(
    active_parameters: Value,
    peak_flops: Value,
    memory_bandwidth: Value,
    kv_bytes_per_token: Value,
    attention_flops: Value,
    attention_peak_flops: Value,
) -> Value:
    r"""Context beyond which no batch makes decode compute-bound.

    .. math:: S^{*} = \frac{2 N_{active} / C}{k / BW - a / C_a}

    Parameters
    ----------
    active_parameters : float
        Parameters that a token is multiplied with, N_active [parameter]
    peak_flops : float
        Dense peak rate of the weights' format, C [FLOP/s]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]
    kv_bytes_per_token : float
        Bytes that a cached token takes, k [B/token]
    attention_flops : float
        Attention arithmetic for each sequence and cached token; 0 leaves it aside, a [FLOP/token]
    attention_peak_flops : float
        Dense peak rate of the format that attention runs in, C_a [FLOP/s]

    Returns
    -------
    float
        Context, S* [token]

    Notes
    -----
    Infinite if no critical context exists: attention's arithmetic grows faster than its traffic (a/C_a >=
    k/BW).

    Examples
    --------
    DeepSeek-V3 on H100 in FP8, BF16 cache, attention left aside and at the FP8 rate:

    >>> round(critical_context(37e9, 1979e12, 3.35e12, 70272, 0.0, 1979e12))
    1783
    >>> round(critical_context(37e9, 1979e12, 3.35e12, 70272, 16_990_208, 1979e12))
    3018

    References
    ----------
    .. [1] Derived from :func:`optimal_batch_with_kv`: where its denominator vanishes; proven in the tests.
    """
    growth = kv_bytes_per_token / memory_bandwidth - attention_flops / attention_peak_flops
    return divide_or_infinity(MULTIPLY_ADD * active_parameters / peak_flops, growth)


def sequences_that_fit(memory_bytes: Value, weight_bytes: Value, context: Value, kv_bytes_per_token: Value) -> Value:
    r"""Sequences whose KV cache fits beside the weights.

    .. math:: B_{fit} = \lfloor \frac{M - W}{S k} \rfloor

    Parameters
    ----------
    memory_bytes : float
        Memory that may be used, M [B]
    weight_bytes : float
        Bytes of weights held in it, W [B]
    context : float
        Tokens of each sequence, S [token]
    kv_bytes_per_token : float
        Bytes that a cached token takes in this memory, k [B/token]

    Returns
    -------
    int
        Sequences, B_fit [sequence]

    Notes
    -----
    Whole sequences of equal length; negative when the weights themselves don't fit. Take the share of one
    chip for all four, or the sum over the chips.

    Examples
    --------
    80 % of 288 GB, 5 GB of weights a chip, an eighth of the cache of 262,144 tokens at 24,576 B:

    >>> sequences_that_fit(230.4e9, 5e9, 262144, 3072)
    279

    References
    ----------
    .. [1] Kwon et al., "Efficient Memory Management for LLM Serving with PagedAttention", arXiv:2309.06180,
       2023.
    """
    return floor((memory_bytes - weight_bytes) / (context * kv_bytes_per_token))


def context_that_fits(free_bytes: Value, batch: Value, kv_bytes_per_token: Value) -> Value:
    r"""Context that each sequence of a batch can have in the memory left for the cache.

    .. math:: S_{fit} = \frac{M_{free}}{B k}

    Parameters
    ----------
    free_bytes : float
        Memory left for the cache, M_free [B]
    batch : float
        Sequences in the batch, B [sequence]
    kv_bytes_per_token : float
        Bytes that a cached token takes in this memory, k [B/token]

    Returns
    -------
    float
        Context, S_fit [token]

    Notes
    -----
    Equal lengths, no fragmentation.

    Examples
    --------
    PaLM 540B with one KV head of 256 on every chip, 30 % of 32 GiB for the cache, batch 512:

    >>> round(context_that_fits(0.3 * 32 * 2**30, 512, 2 * 256 * 118 * 2))
    167

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022, table 1 (165
       tokens).
    """
    return free_bytes / (batch * kv_bytes_per_token)


def chips_to_hold(weight_bytes: Value, kv_bytes: Value, chip_memory: Value) -> Value:
    r"""Fewest chips whose memory holds the weights and the cache.

    .. math:: n = \lceil \frac{W + K}{M_{chip}} \rceil

    Parameters
    ----------
    weight_bytes : float
        Bytes of all weights, W [B]
    kv_bytes : float
        Bytes of cache of all sequences, K [B]
    chip_memory : float
        Memory of one chip that may be used, M_chip [B]

    Returns
    -------
    int
        Chips, n [chip]

    Notes
    -----
    Capacity only: parallelism usually wants a power of two, and activations take memory too.

    Examples
    --------
    >>> chips_to_hold(70e9, 1.3e12, 16e9)
    86

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Serving LLaMA 3-70B on
       TPUs".
    """
    return ceil((weight_bytes + kv_bytes) / chip_memory)


def tensor_parallel_limit(ffn_width: Value, batch: Value, bandwidth_ratio: Value) -> Value:
    r"""Ways of tensor parallelism beyond which the link, not the memory, bounds a decode step.

    .. math:: Y = \frac{F}{B \beta}

    Parameters
    ----------
    ffn_width : float
        Width of the feed-forward layer, F [element]
    batch : float
        Tokens in the step, B [token]
    bandwidth_ratio : float
        Memory bandwidth over link bandwidth of a chip, beta [ratio]

    Returns
    -------
    float
        Ways, Y [chip]

    Notes
    -----
    Bandwidths only; at small batches the latency of the collective decides earlier.

    Examples
    --------
    >>> tensor_parallel_limit(16384, 32, 8)
    64.0

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return ffn_width / (batch * bandwidth_ratio)
