"""Tiers of memory: how fast they drain, what keeping a cache costs against computing it again."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value


def drain_time(capacity: Value, memory_bandwidth: Value) -> Value:
    r"""Time to read a whole memory once.

    .. math:: T = \frac{M}{BW}

    Parameters
    ----------
    capacity : float
        Capacity, M [B]
    memory_bandwidth : float
        Bandwidth, BW [B/s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    The longest useful decode step: a step that takes longer reads something twice.

    Examples
    --------
    H200:

    >>> drain_time(141e9, 4.8e12)
    0.029375

    References
    ----------
    .. [1] Pope, lecture on inference economics (Dwarkesh Podcast, 2026-04-29).
    """
    return capacity / memory_bandwidth


def kv_load_time(kv_bytes: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time to bring a cache from another tier or another machine.

    .. math:: T = \alpha + \frac{K}{W}

    Parameters
    ----------
    kv_bytes : float
        Bytes of cache, K [B]
    link_bandwidth : float
        Bandwidth of the tier or link, W [B/s]
    latency : float
        Time before the first byte comes, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    One large transfer; many small blocks reach less than the full bandwidth.

    Examples
    --------
    Llama-3.1-70B, 12,022 tokens in BF16 over PCIe 5 at 55 GB/s:

    >>> round(kv_load_time(3.939e9, 55e9, 10e-6) * 1e3, 1)
    71.6

    References
    ----------
    .. [1] Qin et al., "Mooncake", arXiv:2407.00079, 2024.
    """
    return latency + kv_bytes / link_bandwidth


def keep_cost(kv_bytes: Value, price_per_byte_second: Value, time: Value) -> Value:
    r"""Cost of keeping a cache for some time.

    .. math:: c = K p_B t

    Parameters
    ----------
    kv_bytes : float
        Bytes of cache, K [B]
    price_per_byte_second : float
        Price of the memory, p_B [USD/(B*s)]
    time : float
        Time kept, t [s]

    Returns
    -------
    float
        Cost, c [USD]

    Notes
    -----
    The memory priced by what it costs to own, or by what else it could hold.

    Examples
    --------
    4 GB of DRAM at $5 a gigabyte, written off over four years, for an hour:

    >>> round(keep_cost(4e9, 5 / 1e9 / (4 * 31.536e6), 3600) * 1e3, 3)
    0.571

    References
    ----------
    .. [1] Gray, Putzolu, "The 5 minute rule for trading memory for disc accesses", SIGMOD 1987.
    """
    return kv_bytes * price_per_byte_second * time


def recompute_cost(price_per_second: Value, prefill_time: Value) -> Value:
    r"""Cost of computing a cache again.

    .. math:: c = p T_{prefill}

    Parameters
    ----------
    price_per_second : float
        Price of the chips, p [USD/s]
    prefill_time : float
        Time that they need, T_prefill [s]

    Returns
    -------
    float
        Cost, c [USD]

    Notes
    -----
    The chips fully charged during the prefill.

    Examples
    --------
    Eight H100 at $2.50 an hour for 0.3 s:

    >>> round(recompute_cost(8 * 2.5 / 3600, 0.3) * 1e3, 3)
    1.667

    References
    ----------
    .. [1] Gray, Putzolu, "The 5 minute rule for trading memory for disc accesses", SIGMOD 1987.
    """
    return price_per_second * prefill_time


def keep_limit_time(
    price_per_second: Value, prefill_time: Value, kv_bytes: Value, price_per_byte_second: Value
) -> Value:
    r"""Time for which keeping a cache is cheaper than computing it again.

    .. math:: t^{*} = \frac{p T_{prefill}}{K p_B}

    Parameters
    ----------
    price_per_second : float
        Price of the chips, p [USD/s]
    prefill_time : float
        Time that they need to compute it again, T_prefill [s]
    kv_bytes : float
        Bytes of cache, K [B]
    price_per_byte_second : float
        Price of the memory, p_B [USD/(B*s)]

    Returns
    -------
    float
        Time, t* [s]

    Notes
    -----
    Reloading is free in it; it takes link time instead. The five-minute rule of databases, for KV caches.

    Examples
    --------
    4 GB in DRAM against 0.3 s of eight H100, in hours:

    >>> round(keep_limit_time(8 * 2.5 / 3600, 0.3, 4e9, 5 / 1e9 / (4 * 31.536e6)) / 3600, 1)
    2.9

    References
    ----------
    .. [1] Gray, Putzolu, "The 5 minute rule for trading memory for disc accesses", SIGMOD 1987.
    """
    return recompute_cost(price_per_second, prefill_time) / (kv_bytes * price_per_byte_second)
