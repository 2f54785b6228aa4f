"""What tensor and expert parallelism send for the tokens of a step."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value


def tensor_parallel_bytes(layers: Value, hidden: Value, bytes_per_element: Value) -> Value:
    r"""Bytes that a token's all-reduces carry under tensor parallelism.

    .. math:: Q = 2 L D b

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    hidden : float
        Hidden size, D [element]
    bytes_per_element : float
        Bytes of an element, b [B]

    Returns
    -------
    float
        Bytes, Q [B/token]

    Notes
    -----
    Two all-reduces a layer, after attention and after the feed-forward part.

    Examples
    --------
    Llama-3.1-70B:

    >>> tensor_parallel_bytes(80, 8192, 2)
    2621440

    References
    ----------
    .. [1] Shoeybi et al., "Megatron-LM", arXiv:1909.08053, 2019.
    """
    return 2 * layers * hidden * bytes_per_element


def tensor_parallel_latency(layers: Value, collectives_per_layer: Value, latency: Value) -> Value:
    r"""Latency that collectives add to a step, however few the bytes.

    .. math:: T = L r \alpha

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    collectives_per_layer : float
        Collectives (or messages one after another) a layer, r [ratio]
    latency : float
        Latency of one, alpha [s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Nothing overlapped, as in decode.

    Examples
    --------
    64 layers, 4 messages of 8 us each:

    >>> round(tensor_parallel_latency(64, 4, 8e-6) * 1e3, 2)
    2.05

    References
    ----------
    .. [1] Chen (kipply), "Transformer Inference Arithmetic", 2022, section "latency calculations".
    """
    return layers * collectives_per_layer * latency


def expert_dispatch_bytes(
    tokens: Value,
    experts_per_token: Value,
    hidden: Value,
    bytes_per_element: Value,
    scale_bytes: Value,
    block_size: Value,
) -> Value:
    r"""Bytes that a rank sends to experts, or gets back from them, in one layer.

    .. math:: Q = B k_e (D b + \frac{D s}{g})

    Parameters
    ----------
    tokens : float
        Tokens of the rank, B [token]
    experts_per_token : float
        Experts that each token uses, k_e [expert]
    hidden : float
        Hidden size, D [element]
    bytes_per_element : float
        Bytes of an element, b [B]
    scale_bytes : float
        Bytes of a scale; 0 without, s [B]
    block_size : float
        Elements that share a scale, g [element]

    Returns
    -------
    float
        Bytes, Q [B]

    Notes
    -----
    Every expert on another rank; a rank that holds several of a token's experts can be sent the token
    once.

    Examples
    --------
    DeepEP: 128 tokens, 8 experts, 7,168 FP8 elements with a 4-byte scale for every 128:

    >>> expert_dispatch_bytes(128, 8, 7168, 1, 4, 128)
    7569408.0

    References
    ----------
    .. [1] DeepSeek-AI, DeepEP, README, 2025.
    """
    return tokens * experts_per_token * (hidden * bytes_per_element + hidden * scale_bytes / block_size)


def expert_exchange_time(
    layers: Value,
    tokens: Value,
    experts_per_token: Value,
    hidden: Value,
    dispatch_bytes: Value,
    combine_bytes: Value,
    link_bandwidth: Value,
) -> Value:
    r"""Time that a decode step spends on sending tokens to experts and back.

    .. math:: T = \frac{2 L B k_e D (b_d + b_c)}{W}

    Parameters
    ----------
    layers : float
        Layers, L [layer]
    tokens : float
        Tokens of a rank and micro-batch, B [token]
    experts_per_token : float
        Experts that each token uses, shared one included if remote, k_e [expert]
    hidden : float
        Hidden size, D [element]
    dispatch_bytes : float
        Bytes of an element on the way there, b_d [B]
    combine_bytes : float
        Bytes of an element on the way back, b_c [B]
    link_bandwidth : float
        Bandwidth of a rank in one direction, W [B/s]

    Returns
    -------
    float
        Time, T [s]

    Notes
    -----
    Two micro-batches take turns (hence the 2) and compute hides behind the exchange: the bound of the
    interconnect.

    Examples
    --------
    DeepSeek-V3 over 900 GB/s (NVL72): 0.82 ms, at most 1,220 tokens/s a request:

    >>> round(expert_exchange_time(61, 32, 9, 7000, 1, 2, 900e9) * 1e3, 2)
    0.82

    References
    ----------
    .. [1] DeepSeek-AI, "Insights into DeepSeek-V3", arXiv:2505.09343, 2025, section 2.3.2.
    """
    return 2 * layers * tokens * experts_per_token * hidden * (dispatch_bytes + combine_bytes) / link_bandwidth


def communication_share(communication_time: Value, step_time: Value) -> Value:
    r"""Share of a step that communication takes when nothing overlaps.

    .. math:: f = \frac{T_{comm}}{T_{step} + T_{comm}}

    Parameters
    ----------
    communication_time : float
        Time of the communication, T_comm [s]
    step_time : float
        Time of the step without it, T_step [s]

    Returns
    -------
    float
        Share, f [fraction]

    Notes
    -----
    An upper estimate: overlapped communication takes less.

    Examples
    --------
    >>> communication_share(2e-3, 6e-3)
    0.25

    References
    ----------
    .. [1] Pope et al., "Efficiently Scaling Transformer Inference", arXiv:2211.05102, 2022.
    """
    return communication_time / (step_time + communication_time)
