"""The roofs over a kernel: arithmetic, memory, and what lies between."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, maximum, minimum


def arithmetic_intensity(flops: Value, bytes_moved: Value) -> Value:
    r"""Arithmetic done for each byte moved.

    .. math:: I = \frac{F}{Q}

    Parameters
    ----------
    flops : float
        Arithmetic of the kernel, F [FLOP]
    bytes_moved : float
        Bytes that cross the memory interface, Q [B]

    Returns
    -------
    float
        Arithmetic intensity, I [FLOP/B]

    Notes
    -----
    Valid for any kernel; compare with :func:`ridge_point`. Bytes served by a cache don't count.

    Examples
    --------
    The query projection of Llama-2-7B over 2,048 tokens in 16 bits:

    >>> round(arithmetic_intensity(2 * 2048 * 4096**2, 2 * 4096**2 + 2 * 2 * 2048 * 4096))
    1024

    References
    ----------
    .. [1] Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4),
       2009.
    .. [2] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363, 2024.
    """
    return flops / bytes_moved


def ridge_point(peak_flops: Value, memory_bandwidth: Value) -> Value:
    r"""Arithmetic intensity at which compute and memory take equally long.

    .. math:: I_{ridge} = \frac{C}{BW}

    Parameters
    ----------
    peak_flops : float
        Dense peak rate of the number format in use, C [FLOP/s]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]

    Returns
    -------
    float
        Ridge point, I_ridge [FLOP/B]

    Notes
    -----
    Valid for dense rates; a rate quoted with 2:4 sparsity gives a ridge twice too high.

    Examples
    --------
    H100 SXM in BF16:

    >>> round(ridge_point(989e12, 3.35e12))
    295

    References
    ----------
    .. [1] Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4),
       2009.
    """
    return peak_flops / memory_bandwidth


def attainable_flops(intensity: Value, peak_flops: Value, memory_bandwidth: Value) -> Value:
    r"""Highest rate that a kernel of this intensity can reach: the roofline itself.

    .. math:: C_{attainable} = \min(C, I \cdot BW)

    Parameters
    ----------
    intensity : float
        Arithmetic intensity of the kernel, I [FLOP/B]
    peak_flops : float
        Dense peak rate, C [FLOP/s]
    memory_bandwidth : float
        Memory bandwidth, BW [B/s]

    Returns
    -------
    float
        Attainable rate, C_attainable [FLOP/s]

    Notes
    -----
    An upper bound: kernels reach it only with perfect overlap of arithmetic and traffic.

    Examples
    --------
    Softmax on an A6000 moves four bytes for five operations and gets 960 GFLOP/s of 155 TFLOP/s:

    >>> attainable_flops(1.25, 155e12, 768e9)
    960000000000.0

    References
    ----------
    .. [1] Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4),
       2009.
    .. [2] Yuan et al., "LLM Inference Unveiled: Survey and Roofline Model Insights", arXiv:2402.16363, 2024.
    """
    return minimum(peak_flops, intensity * memory_bandwidth)


def hierarchical_time(
    flops: Value,
    peak_flops: Value,
    memory_bytes: Value,
    memory_bandwidth: Value,
    cache_bytes: Value,
    cache_bandwidth: Value,
    link_bytes: Value,
    link_bandwidth: Value,
) -> Value:
    r"""Least time of a kernel under four roofs: arithmetic, memory, on-chip cache, link.

    .. math:: T = \max(\frac{F}{C}, \frac{Q_{mem}}{BW_{mem}},
        \frac{Q_{cache}}{BW_{cache}}, \frac{Q_{link}}{BW_{link}})

    Parameters
    ----------
    flops : float
        Arithmetic, F [FLOP]
    peak_flops : float
        Dense peak rate, C [FLOP/s]
    memory_bytes : float
        Bytes to and from memory (HBM), Q_mem [B]
    memory_bandwidth : float
        Memory bandwidth, BW_mem [B/s]
    cache_bytes : float
        Bytes to and from the on-chip cache (L2, SRAM), Q_cache [B]
    cache_bandwidth : float
        Cache bandwidth, BW_cache [B/s]
    link_bytes : float
        Bytes sent to other chips, Q_link [B]
    link_bandwidth : float
        Link bandwidth in one direction, BW_link [B/s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    A lower bound: every resource works all the time and all overlap.

    Examples
    --------
    A TPU v5e streaming 16 GB of weights while 2 GB pass its 45 GB/s link is bound by the link:

    >>> round(hierarchical_time(1e12, 1.97e14, 16e9, 8.2e11, 16e9, 1.8e13, 2e9, 4.5e10), 4)
    0.0444

    References
    ----------
    .. [1] Ilic, Pratas, Sousa, "Cache-aware Roofline model", IEEE Computer Architecture Letters 13(1), 2014.
    .. [2] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Rooflines".
    """
    return maximum(
        flops / peak_flops,
        memory_bytes / memory_bandwidth,
        cache_bytes / cache_bandwidth,
        link_bytes / link_bandwidth,
    )


def vector_peak_flops(cores: Value, clock: Value, flops_per_cycle: Value) -> Value:
    r"""Peak rate of a chip's scalar or vector units.

    .. math:: C_{vector} = n f_{clock} w

    Parameters
    ----------
    cores : float
        Cores (lanes) on the chip, n [core]
    clock : float
        Clock rate, f_clock [Hz]
    flops_per_cycle : float
        Arithmetic of one core in one cycle; 2 with fused multiply-add, w [FLOP]

    Returns
    -------
    float
        Peak rate, C_vector [FLOP/s]

    Notes
    -----
    At the clock given; chips lower their clock under load.

    Examples
    --------
    H100 with 16,896 cores at 1.59 GHz, one operation a cycle:

    >>> f"{vector_peak_flops(16896, 1.59e9, 1.0):.3g}"
    '2.69e+13'

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About GPUs".
    """
    return cores * clock * flops_per_cycle
