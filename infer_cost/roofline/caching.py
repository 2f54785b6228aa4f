"""Prefix caching: how often it hits, what a hit saves."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value


def cache_hit_rate(cached_tokens: Value, input_tokens: Value) -> Value:
    r"""Share of the input tokens that came from the prefix cache.

    .. math:: h = \frac{T_{cached}}{T}

    Parameters
    ----------
    cached_tokens : float
        Input tokens found in the cache, T_cached [token]
    input_tokens : float
        All input tokens, T [token]

    Returns
    -------
    float
        Hit rate, h [fraction]

    Notes
    -----
    By tokens, as providers bill; by requests it is another number.

    Examples
    --------
    DeepSeek's service on a day in February 2025, billions of tokens:

    >>> round(cache_hit_rate(342, 608), 3)
    0.562

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", 2025.
    """
    return cached_tokens / input_tokens


def uncached_tokens(input_tokens: Value, hit_rate: Value) -> Value:
    r"""Input tokens left to prefill after a hit.

    .. math:: T_{new} = T (1 - h)

    Parameters
    ----------
    input_tokens : float
        All input tokens, T [token]
    hit_rate : float
        Hit rate, h [fraction]

    Returns
    -------
    float
        Tokens, T_new [token]

    Notes
    -----
    The cached ones are still attended to, and read.

    Examples
    --------
    >>> round(uncached_tokens(12022, 0.998))
    24

    References
    ----------
    .. [1] Zheng et al., "SGLang", arXiv:2312.07104, 2023 (RadixAttention).
    """
    return input_tokens * (1 - hit_rate)


def prefix_hit_rate(requests: Value, replicas: Value) -> Value:
    r"""Share of requests that find their prefix where they land, when placed at random.

    .. math:: h = 1 - \frac{R}{n} (1 - (1 - \frac{1}{R})^{n})

    Parameters
    ----------
    requests : float
        Requests that share a prefix, n [request]
    replicas : float
        Replicas that they are spread over; 1 for cache-aware placement, R [replica]

    Returns
    -------
    float
        Hit rate, h [fraction]

    Notes
    -----
    Nothing evicted between; every replica that a prefix reaches misses once. With one replica 1 - 1/n:
    only the first misses.

    Examples
    --------
    Ten turns of a conversation, kept together and spread over eight replicas:

    >>> round(prefix_hit_rate(10, 1), 3), round(prefix_hit_rate(10, 8), 3)
    (0.9, 0.41)

    References
    ----------
    .. [1] Feller, "An Introduction to Probability Theory", volume 1, 3rd edition, section II.11
       (occupancy).
    """
    return 1 - replicas / requests * (1 - (1 - 1 / replicas) ** requests)


def prefix_speedup(prefill_time: Value, hit_rate: Value, load_time: Value) -> Value:
    r"""How many times faster the first token comes with a prefix hit.

    .. math:: u = \frac{T_{prefill}}{(1 - h) T_{prefill} + T_{load}}

    Parameters
    ----------
    prefill_time : float
        Prefill of the whole prompt, T_prefill [s]
    hit_rate : float
        Share of the prompt that is cached, h [fraction]
    load_time : float
        Time to bring the cached part to the chip, T_load [s]

    Returns
    -------
    float
        Speed-up, u [ratio]

    Notes
    -----
    Prefill taken as linear in the tokens; loading not overlapped. Below 1 when loading takes longer than
    computing.

    Examples
    --------
    >>> round(prefix_speedup(0.6, 0.9, 0.02), 1)
    7.5

    References
    ----------
    .. [1] Qin et al., "Mooncake", arXiv:2407.00079, 2024.
    """
    return prefill_time / ((1 - hit_rate) * prefill_time + load_time)
