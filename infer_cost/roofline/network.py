"""Networks: transfers, hops through switches, incast."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value


def transfer_time(message_bytes: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time to send a message over a link.

    .. math:: T = \alpha + \frac{S}{W}

    Parameters
    ----------
    message_bytes : float
        Bytes, S [B]
    link_bandwidth : float
        Bandwidth in one direction, W [B/s]
    latency : float
        Time before the first byte arrives, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    The alpha-beta model; no contention.

    Examples
    --------
    >>> round(transfer_time(2 * 1024 * 16384, 450e9, 0.0) * 1e6)
    75

    References
    ----------
    .. [1] Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel
       Computing 20(3), 1994.
    """
    return latency + message_bytes / link_bandwidth


def latency_bound_bytes(latency: Value, ranks: Value, link_bandwidth: Value) -> Value:
    r"""Message size below which a collective's latency outweighs its bandwidth.

    .. math:: S = \alpha n W

    Parameters
    ----------
    latency : float
        Latency of a hop, alpha [s]
    ranks : float
        Ranks that each send their share, n [rank]
    link_bandwidth : float
        Bandwidth of a rank, W [B/s]

    Returns
    -------
    float
        Bytes, S [B]

    Notes
    -----
    At this size both take equally long.

    Examples
    --------
    A TPU ring of eight, 1 us a hop:

    >>> round(latency_bound_bytes(1e-6, 8, 4.5e10))
    360000

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "All About Transformer
       Inference".
    """
    return latency * ranks * link_bandwidth


def fat_tree_hops(tiers: Value) -> Value:
    r"""Switches between two hosts whose closest common switch is at the top of a fat tree.

    .. math:: h = 2 t - 1

    Parameters
    ----------
    tiers : float
        Tiers of switches, t [tier]

    Returns
    -------
    float
        Switches, h [switch]

    Notes
    -----
    The longest way; hosts under one leaf cross one switch. On a rail-optimised network chips of equal
    rank share a leaf.

    Examples
    --------
    >>> fat_tree_hops(3)
    5

    References
    ----------
    .. [1] Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM
       2008.
    """
    return 2 * tiers - 1


def rail_hops(rails: Value, tiers: Value) -> Value:
    r"""Mean switches between two chips of different nodes on a rail-optimised network.

    .. math:: h = \frac{1}{g} + (1 - \frac{1}{g}) (2 t - 1)

    Parameters
    ----------
    rails : float
        Rails: chips of a node, each with its own leaf, g [rail]
    tiers : float
        Tiers of switches, t [tier]

    Returns
    -------
    float
        Switches, h [switch]

    Notes
    -----
    Nodes under the same leaves, peers equally likely: one in g is on the own rail and one switch away.
    Forwarding inside the node first (as NCCL does) makes it one for all.

    Examples
    --------
    >>> rail_hops(8, 2)
    2.75

    References
    ----------
    .. [1] Wang et al., "Rail-only: A Low-Cost High-Performance Network for Training LLMs",
       arXiv:2307.12169, 2023.
    """
    return 1 / rails + (1 - 1 / rails) * fat_tree_hops(tiers)


def fat_tree_hosts(ports: Value, tiers: Value) -> Value:
    r"""Hosts that a fat tree without oversubscription connects.

    .. math:: n = 2 (\frac{k}{2})^{t}

    Parameters
    ----------
    ports : float
        Ports of a switch, k [port]
    tiers : float
        Tiers of switches, t [tier]

    Returns
    -------
    float
        Hosts, n [host]

    Notes
    -----
    Full bisection bandwidth.

    Examples
    --------
    >>> fat_tree_hosts(64, 2), fat_tree_hosts(64, 3)
    (2048.0, 65536.0)

    References
    ----------
    .. [1] Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture", SIGCOMM
       2008.
    """
    return 2 * (ports / 2) ** tiers


def path_latency(
    endpoint_latency: Value, hops: Value, switch_latency: Value, length: Value, signal_speed: Value
) -> Value:
    r"""Latency of a way through a network.

    .. math:: T = t_0 + h t_s + \frac{l}{v}

    Parameters
    ----------
    endpoint_latency : float
        Both adapters and their software, t_0 [s]
    hops : float
        Switches, h [switch]
    switch_latency : float
        Latency of a switch, t_s [s]
    length : float
        Cable on the way, l [m]
    signal_speed : float
        Speed of the signal; 2e8 in fibre and copper, v [m/s]

    Returns
    -------
    float
        Latency, T [s]

    Notes
    -----
    An empty network.

    Examples
    --------
    >>> round(path_latency(1.5e-6, 3, 0.4e-6, 60, 2e8) * 1e6, 2)
    3.0

    References
    ----------
    .. [1] Kurose, Ross, "Computer Networking", 8th edition, section 1.4.
    """
    return endpoint_latency + hops * switch_latency + length / signal_speed


def incast_time(senders: Value, message_bytes: Value, link_bandwidth: Value, latency: Value) -> Value:
    r"""Time for one receiver to take a message from each of many senders at once.

    .. math:: T = \alpha + \frac{n S}{W}

    Parameters
    ----------
    senders : float
        Senders, n [rank]
    message_bytes : float
        Bytes from each, S [B]
    link_bandwidth : float
        Bandwidth of the receiver, W [B/s]
    latency : float
        Latency of one message, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    The receiver's link is the bottleneck and nothing is lost; with losses it is far worse.

    Examples
    --------
    >>> round(incast_time(32, 1e6, 50e9, 5e-6) * 1e6)
    645

    References
    ----------
    .. [1] Phanishayee et al., "Measurement and Analysis of TCP Throughput Collapse in Cluster-based
       Storage Systems", FAST 2008.
    """
    return latency + senders * message_bytes / link_bandwidth


def incast_queue_bytes(senders: Value, message_bytes: Value) -> Value:
    r"""Bytes that pile up in a switch when many senders reach one receiver at once.

    .. math:: Q = (n - 1) S

    Parameters
    ----------
    senders : float
        Senders, n [rank]
    message_bytes : float
        Bytes from each, S [B]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Senders and receiver with links of one speed: while a message leaves, the others arrive. More than the
    buffer means pauses or losses.

    Examples
    --------
    >>> incast_queue_bytes(32, 1e6) / 1e6
    31.0

    References
    ----------
    .. [1] Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 2.3.
    """
    return (senders - 1) * message_bytes
