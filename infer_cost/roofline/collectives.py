"""Collective operations between chips, in the alpha-beta model: a latency a message and a time a byte."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, ceil, divide_or_infinity, log

_LOG_2 = log(2.0)
_ROUNDING = 1e-9
"""Keeps a logarithm of a power of two from being rounded up past it."""


def all_gather_time(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a ring all-gather: every rank ends with the parts of all.

    .. math:: T = (n - 1) (\alpha + \frac{S}{n W})

    Parameters
    ----------
    message_bytes : float
        Bytes of the gathered whole, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one hop, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Bandwidth-optimal; on a full-mesh or switched domain a direct exchange has one latency instead of n - 1.

    Examples
    --------
    4,096 x 65,536 BF16 elements over eight H100 at 450 GB/s, latency left aside:

    >>> round(all_gather_time(4096 * 65536 * 2, 8, 450e9, 0.0) * 1e3, 2)
    1.04

    References
    ----------
    .. [1] Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
       19(1), 2005.
    .. [2] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About GPUs".
    """
    return (ranks - 1) * (latency + message_bytes / (ranks * link_bandwidth))


def reduce_scatter_time(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a ring reduce-scatter: every rank ends with its part of the sum.

    .. math:: T = (n - 1) (\alpha + \frac{S}{n W})

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one hop, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    The all-gather run backwards, hence the same time; the additions are left aside.

    Examples
    --------
    >>> round(reduce_scatter_time(2 * 1024 * 16384, 8, 450e9, 0.0) * 1e6)
    65

    References
    ----------
    .. [1] Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
       19(1), 2005.
    """
    return all_gather_time(message_bytes, ranks, link_bandwidth, latency)


def all_reduce_time_ring(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a ring all-reduce: reduce-scatter, then all-gather.

    .. math:: T = 2 (n - 1) (\alpha + \frac{S}{n W})

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one hop, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Best for large messages; its latency grows with the ranks.

    Examples
    --------
    16 KiB (8,192 BF16 elements, one token of a 70B model) over eight H100 with 1 us a hop: all latency:

    >>> round(all_reduce_time_ring(16384, 8, 450e9, 1e-6) * 1e6, 2)
    14.06

    References
    ----------
    .. [1] Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
       69(2), 2009.
    """
    return 2 * (ranks - 1) * (latency + message_bytes / (ranks * link_bandwidth))


def all_reduce_time_tree(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a double-tree all-reduce: up and down two trees that use both directions of every link.

    .. math:: T = 2 \lceil \log_2 n \rceil \alpha + \frac{2 S}{W}

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one hop, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    For messages cut into many pieces that fill the tree; latency grows with the logarithm of the ranks.

    Examples
    --------
    >>> round(all_reduce_time_tree(16384, 8, 450e9, 1e-6) * 1e6, 2)
    6.07

    References
    ----------
    .. [1] Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
       Parallel Computing 35(12), 2009.
    """
    levels = ceil(log(ranks) / _LOG_2 - _ROUNDING)
    return 2 * levels * latency + 2 * message_bytes / link_bandwidth


def all_reduce_time_one_shot(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a one-shot all-reduce: every rank sends all to all others at once and adds by itself.

    .. math:: T = \alpha + \frac{(n - 1) S}{W}

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one message, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Best for small messages in a full-mesh or switched domain, as in decode.

    Examples
    --------
    >>> round(all_reduce_time_one_shot(16384, 8, 450e9, 1e-6) * 1e6, 3)
    1.255

    References
    ----------
    .. [1] NVIDIA, "3x Faster AllReduce with NVSwitch and TensorRT-LLM MultiShot", 2024.
    """
    return latency + (ranks - 1) * message_bytes / link_bandwidth


def all_reduce_time_two_shot(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a two-shot all-reduce: a direct reduce-scatter, then a direct all-gather.

    .. math:: T = 2 \alpha + \frac{2 (n - 1) S}{n W}

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one message, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    The ring's traffic with two latencies; needs a full-mesh or switched domain.

    Examples
    --------
    >>> round(all_reduce_time_two_shot(16384, 8, 450e9, 1e-6) * 1e6, 3)
    2.064

    References
    ----------
    .. [1] NVIDIA, "3x Faster AllReduce with NVSwitch and TensorRT-LLM MultiShot", 2024.
    """
    return 2 * latency + 2 * (ranks - 1) * message_bytes / (ranks * link_bandwidth)


def all_reduce_time_in_network(message_bytes: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of an all-reduce that the switch adds up (NVLink SHARP): once up, once down.

    .. math:: T = 2 \alpha + \frac{S}{W}

    Parameters
    ----------
    message_bytes : float
        Bytes of the vector that each rank contributes, S [B]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one hop between rank and switch, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Up and down overlap; the ranks don't matter. Half of the ring's traffic for many ranks.

    Examples
    --------
    >>> round(all_reduce_time_in_network(16384, 450e9, 1e-6) * 1e6, 3)
    2.036

    References
    ----------
    .. [1] Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016.
    """
    return 2 * latency + message_bytes / link_bandwidth


def all_reduce_crossover_bytes(ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Message size from which a ring all-reduce beats a one-shot one.

    .. math:: S^{*} = \frac{(2 n - 3) \alpha W}{(n - 1) (1 - 2 / n)}

    Parameters
    ----------
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one message, alpha [s]

    Returns
    -------
    float
        Message size, S* [B]

    Notes
    -----
    Infinite if there are two ranks: ring and one-shot then move the same bytes and the one-shot has less
    latency.

    Examples
    --------
    >>> round(all_reduce_crossover_bytes(8, 450e9, 1e-6) / 1e6, 3)
    1.114

    References
    ----------
    .. [1] Derived from :func:`all_reduce_time_ring` and :func:`all_reduce_time_one_shot`; proven in the
       tests.
    """
    return divide_or_infinity((2 * ranks - 3) * latency * link_bandwidth, (ranks - 1) * (1 - 2 / ranks))


def all_to_all_time(message_bytes: Value, ranks: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time of a direct all-to-all: every rank sends a different part to each other rank.

    .. math:: T = \alpha + \frac{(n - 1) S}{n W}

    Parameters
    ----------
    message_bytes : float
        Bytes that each rank holds for all ranks, itself included, S [B]
    ranks : float
        Ranks, n [rank]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]
    latency : float
        Latency of one message, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    All messages are sent at once through a switch without blocking; parts of equal size.

    Examples
    --------
    One rank's 128 tokens, 8 experts each, 7,168 FP8 elements, over eight H100 at 450 GB/s:

    >>> round(all_to_all_time(128 * 8 * 7168, 8, 450e9, 1e-6) * 1e6, 1)
    15.3

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About GPUs".
    """
    return latency + (ranks - 1) * message_bytes / (ranks * link_bandwidth)


def all_reduce_latency_ring(base_latency: Value, ranks: Value, hop_latency: Value) -> Value:
    r"""Latency of a ring all-reduce of next to nothing: a launch and two passes round the ring.

    .. math:: T = t_0 + 2 (n - 1) \alpha

    Parameters
    ----------
    base_latency : float
        Time before the first byte moves, t_0 [s]
    ranks : float
        Ranks, n [rank]
    hop_latency : float
        Latency of one hop, alpha [s]

    Returns
    -------
    float
        Latency, T [s]

    Notes
    -----
    The model by which NCCL chooses its algorithm; base and hop are in its table by protocol.

    Examples
    --------
    LL protocol over NVLink, eight ranks: 3.6 us and 0.47 us a hop:

    >>> round(all_reduce_latency_ring(3.6e-6, 8, 0.47e-6) * 1e6, 2)
    10.18

    References
    ----------
    .. [1] NVIDIA, NCCL source code, src/graph/tuning.cc.
    """
    return base_latency + 2 * (ranks - 1) * hop_latency
