"""Formulas that read a price list backwards: from a pattern of prices to the machinery that would produce it."""

from __future__ import annotations


def kv_bytes_from_tier(
    threshold_tokens: float, active_parameters: float, peak_flops: float, memory_bandwidth: float
) -> float:
    r"""Return the KV bytes a token at which reading the cache takes as long as the arithmetic at a context length.

    .. math:: k = \frac{2 N_a BW}{C S}

    Parameters
    ----------
    threshold_tokens : float
        Context from which the list charges more, S [token].
    active_parameters : float
        Parameters at work for a token, N_a [1].
    peak_flops : float
        Dense rate, C [FLOP/s].
    memory_bandwidth : float
        Memory bandwidth, BW [B/s].

    Returns
    -------
    float
        KV bytes a token, k [B/token].

    Notes
    -----
    The mechanism: below the threshold a decode step is limited by arithmetic, so context is free; above it by reading
    the cache, so context is paid. A vendor that places the threshold there has this k.

    Examples
    --------
    200,000 tokens, 100e9 active parameters, H100 in FP8:

    >>> round(kv_bytes_from_tier(200_000, 100e9, 1979e12, 3.35e12))
    1693

    References
    ----------
    .. [1] Erdil, "Inference economics of language models", Epoch AI, arXiv:2506.04645, 2025 (decode roofline).
    """
    return 2.0 * active_parameters * memory_bandwidth / (peak_flops * threshold_tokens)


def context_behind_ratio(threshold_tokens: float, price_ratio: float) -> float:
    """Return the context that a long-context price would be cost-covering for: ``threshold · ratio`` [token].

    Above the threshold a token's cost grows with its context, so a price twice as high fits twice the threshold.

    >>> context_behind_ratio(200_000, 1.5)
    300000.0
    """
    return threshold_tokens * price_ratio


def decode_efficiency_from_ratio(output_over_input: float, prefill_efficiency: float) -> float:
    """Return the share of the peak rate that decode reaches if both prices have the same margin [1].

    A token's arithmetic is the same in prefill and decode, so the price ratio is the ratio of their efficiencies.

    >>> decode_efficiency_from_ratio(5.0, 0.5)
    0.1
    """
    return prefill_efficiency / output_over_input


def batch_from_ratio(
    output_over_input: float,
    prefill_efficiency: float,
    optimal_batch: float,
) -> float:
    r"""Return the decode batch at which the price ratio covers the cost, decode being limited by weight reads.

    .. math:: B = \frac{B_{opt}\,e_p}{r}

    Parameters
    ----------
    output_over_input : float
        Output price over input price, r [1].
    prefill_efficiency : float
        Share of the peak that prefill reaches, e_p [1].
    optimal_batch : float
        Batch at which a decode step's arithmetic takes as long as its weight reads [sequence].

    Examples
    --------
    >>> batch_from_ratio(5.0, 0.5, 2400.0)
    240.0
    """
    return optimal_batch * prefill_efficiency / output_over_input


def kv_bytes_from_cache_read(
    read_over_input: float,
    active_parameters: float,
    peak_flops: float,
    prefill_efficiency: float,
    bytes_per_s: float,
) -> float:
    r"""Return the most KV bytes a token that a cache read's price covers, if loading holds up the GPU.

    .. math:: k \le \rho \frac{2 N_a}{C e_p} b

    Parameters
    ----------
    read_over_input : float
        Price of a cached token over a plain one, ρ [1].
    active_parameters, peak_flops, prefill_efficiency : float
        Of the prefill that the read saves.
    bytes_per_s : float
        Bandwidth between where the cache waits and the GPU, b [B/s].

    Examples
    --------
    A tenth of the input price, 100e9 active parameters, 64 GB/s of PCIe:

    >>> round(kv_bytes_from_cache_read(0.1, 100e9, 1979e12, 0.5, 64e9))
    1293583
    """
    return read_over_input * 2.0 * active_parameters / (peak_flops * prefill_efficiency) * bytes_per_s


def storage_price_from_ttls(write_5m: float, write_1h: float, kv_bytes_per_token: float) -> float:
    r"""Return what a vendor charges for keeping a gigabyte for a second, from two times to live.

    .. math:: s = \frac{p_{1h} - p_{5m}}{10^6 k (3600 - 300)}

    Parameters
    ----------
    write_5m, write_1h : float
        Prices of a cache write [USD/Mtok].
    kv_bytes_per_token : float
        KV bytes a token, k [B/token].

    Returns
    -------
    float
        Price of space [USD/(GB s)].

    Examples
    --------
    3.75 and 6 dollars a million at 50 kB a token:

    >>> f"{storage_price_from_ttls(3.75, 6.0, 50e3):.2e}"
    '1.36e-05'
    """
    per_token = (write_1h - write_5m) / 1e6
    return per_token / (kv_bytes_per_token / 1e9) / (3600.0 - 300.0)


def input_cost_bound(
    active_parameters: float, peak_flops: float, usd_per_gpu_hour: float, efficiency: float = 1.0
) -> float:
    """Return the least a million input tokens can cost: their arithmetic at the given share of the peak rate.

    >>> round(input_cost_bound(100e9, 1979e12, 2.5), 3)
    0.07
    """
    return 1e6 * 2.0 * active_parameters / (peak_flops * efficiency) * usd_per_gpu_hour / 3600.0
