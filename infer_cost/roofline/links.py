"""Links added up: what a node or a rack carries, and what a collective seems to get."""

from __future__ import annotations

from infer_cost.roofline.constants import BITS_PER_BYTE
from infer_cost.roofline.dispatch import Value, minimum


def aggregate_bandwidth(links: Value, bandwidth: Value) -> Value:
    r"""Bandwidth of links or chips together.

    .. math:: W = n W_1

    Parameters
    ----------
    links : float
        Links or chips, n [link]
    bandwidth : float
        Bandwidth of one, W_1 [B/s]

    Returns
    -------
    float
        Bandwidth, W [B/s]

    Notes
    -----
    One direction; a datasheet figure that adds both directions counts double.

    Examples
    --------
    The NVLink switches of an NVL72: 144 ports of 100 GB/s:

    >>> aggregate_bandwidth(144, 100e9) / 1e12
    14.4

    References
    ----------
    .. [1] NVIDIA, "GB200 NVL72" datasheet, 2024.
    """
    return links * bandwidth


def bit_rate_bandwidth(links: Value, bit_rate: Value) -> Value:
    r"""Bandwidth in bytes of links whose rate is quoted in bits.

    .. math:: W = \frac{n r}{8}

    Parameters
    ----------
    links : float
        Links, n [link]
    bit_rate : float
        Rate of one in one direction, r [bit/s]

    Returns
    -------
    float
        Bandwidth, W [B/s]

    Notes
    -----
    Headers and encoding take a few per cent.

    Examples
    --------
    An NVL72 rack: 72 NICs of 400 Gb/s:

    >>> bit_rate_bandwidth(72, 400e9) / 1e12
    3.6

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About
       GPUs".
    """
    return links * bit_rate / BITS_PER_BYTE


def aggregate_memory(chips: Value, memory_bytes: Value) -> Value:
    r"""Memory of chips together.

    .. math:: M = n M_1

    Parameters
    ----------
    chips : float
        Chips, n [chip]
    memory_bytes : float
        Memory of one, M_1 [B]

    Returns
    -------
    float
        Memory, M [B]

    Notes
    -----
    What each replicates (KV heads, embeddings) counts n times against it.

    Examples
    --------
    GB300 NVL72:

    >>> aggregate_memory(72, 288e9) / 1e12
    20.736

    References
    ----------
    .. [1] NVIDIA, "GB300 NVL72" datasheet, 2025.
    """
    return chips * memory_bytes


def node_bandwidth(switches: Value, ports: Value, port_bandwidth: Value, chips: Value, chip_bandwidth: Value) -> Value:
    r"""Bandwidth inside a node: what the switches carry or the chips send, whichever is less.

    .. math:: W = \min(s q W_{port}, n W_{chip})

    Parameters
    ----------
    switches : float
        Switches, s [switch]
    ports : float
        Ports of a switch, q [port]
    port_bandwidth : float
        Bandwidth of a port in one direction, W_port [B/s]
    chips : float
        Chips, n [chip]
    chip_bandwidth : float
        Bandwidth of a chip in one direction, W_chip [B/s]

    Returns
    -------
    float
        Bandwidth, W [B/s]

    Notes
    -----
    Traffic spread evenly.

    Examples
    --------
    DGX H100:

    >>> node_bandwidth(4, 64, 25e9, 8, 450e9) / 1e12
    3.6

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About
       GPUs".
    """
    return minimum(switches * ports * port_bandwidth, chips * chip_bandwidth)


def all_gather_bandwidth(link_bandwidth: Value, ranks: Value) -> Value:
    r"""Bandwidth that an all-gather seems to have: the whole over the time.

    .. math:: W_{ag} = \frac{W n}{n - 1}

    Parameters
    ----------
    link_bandwidth : float
        Bandwidth of a rank, W [B/s]
    ranks : float
        Ranks, n [rank]

    Returns
    -------
    float
        Bandwidth, W_ag [B/s]

    Notes
    -----
    More than the link, for the own part needn't come.

    Examples
    --------
    A leaf with 32 nodes of 400 GB/s:

    >>> round(all_gather_bandwidth(400e9, 32) / 1e9)
    413

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About
       GPUs".
    """
    return link_bandwidth * ranks / (ranks - 1)


def all_gather_bandwidth_levels(
    node_bandwidth: Value, chips: Value, leaf_bandwidth: Value, nodes: Value, spine_bandwidth: Value, groups: Value
) -> Value:
    r"""Bandwidth that an all-gather over node, leaf and spine seems to have: the least of the levels.

    .. math:: W_{ag} = \min(\frac{W_1 n_1}{n_1 - 1}, \frac{W_2 n_2}{n_2 - 1}, \frac{W_3 n_3}{n_3 - 1})

    Parameters
    ----------
    node_bandwidth : float
        Bandwidth of a chip in its node, W_1 [B/s]
    chips : float
        Chips in a node, n_1 [chip]
    leaf_bandwidth : float
        Bandwidth of a node at its leaf, W_2 [B/s]
    nodes : float
        Nodes under a leaf, n_2 [node]
    spine_bandwidth : float
        Bandwidth of a leaf group at the spine, W_3 [B/s]
    groups : float
        Leaf groups, n_3 [group]

    Returns
    -------
    float
        Bandwidth, W_ag [B/s]

    Notes
    -----
    All levels work at once, each on its share.

    Examples
    --------
    A SuperPOD of 1,024 H100:

    >>> round(all_gather_bandwidth_levels(450e9, 8, 400e9, 32, 12.8e12, 4) / 1e9)
    413

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "How to Think About
       GPUs".
    """
    node = all_gather_bandwidth(node_bandwidth, chips)
    leaf = all_gather_bandwidth(leaf_bandwidth, nodes)
    return minimum(node, leaf, all_gather_bandwidth(spine_bandwidth, groups))


def all_reduce_bus_factor(ranks: Value) -> Value:
    r"""Share of the link bandwidth that a ring all-reduce seems to have: message over time.

    .. math:: f = \frac{n}{2 (n - 1)}

    Parameters
    ----------
    ranks : float
        Ranks, n [rank]

    Returns
    -------
    float
        Factor, f [ratio]

    Notes
    -----
    Algorithm bandwidth over bus bandwidth, as NCCL tests print them.

    Examples
    --------
    >>> round(all_reduce_bus_factor(8), 4)
    0.5714

    References
    ----------
    .. [1] NVIDIA, nccl-tests, PERFORMANCE.md.
    """
    return ranks / (2 * (ranks - 1))


def effective_bandwidth(message_bytes: Value, time: Value) -> Value:
    r"""Bandwidth that a transfer turned out to have.

    .. math:: W = \frac{S}{T}

    Parameters
    ----------
    message_bytes : float
        Bytes, S [B]
    time : float
        Time, T [s]

    Returns
    -------
    float
        Bandwidth, W [B/s]

    Notes
    -----
    Latency included, so it grows with the message.

    Examples
    --------
    DeepEP's FP8 dispatch over eight H800, 77 us:

    >>> round(effective_bandwidth(7569408, 77e-6) / 1e9)
    98

    References
    ----------
    .. [1] DeepSeek-AI, DeepEP, README, 2025.
    """
    return message_bytes / time
