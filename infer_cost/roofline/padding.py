"""Batches of sequences of unequal length: padded to the longest, or flattened."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value


def padded_tokens(batch: Value, max_tokens: Value) -> Value:
    r"""Tokens computed when every sequence is padded to the longest.

    .. math:: n = B S_{max}

    Parameters
    ----------
    batch : float
        Sequences, B [sequence]
    max_tokens : float
        Tokens of the longest, S_max [token]

    Returns
    -------
    float
        Tokens, n [token]

    Notes
    -----
    A flattened (ragged) batch computes B times the mean instead.

    Examples
    --------
    >>> padded_tokens(32, 4096)
    131072

    References
    ----------
    .. [1] Zhai et al., "ByteTransformer", arXiv:2210.03052, 2022, section III.
    """
    return batch * max_tokens


def padding_waste(mean_tokens: Value, max_tokens: Value) -> Value:
    r"""Share of a padded batch that is padding.

    .. math:: f = 1 - \frac{S_{mean}}{S_{max}}

    Parameters
    ----------
    mean_tokens : float
        Mean tokens of a sequence, S_mean [token]
    max_tokens : float
        Tokens of the longest, S_max [token]

    Returns
    -------
    float
        Share wasted, f [fraction]

    Notes
    -----
    For the parts whose work grows with the tokens: all but attention, which wastes more.

    Examples
    --------
    >>> padding_waste(1024, 4096)
    0.75

    References
    ----------
    .. [1] Zhai et al., "ByteTransformer", arXiv:2210.03052, 2022, section III.
    """
    return 1 - mean_tokens / max_tokens


def flattening_speedup(mean_tokens: Value, max_tokens: Value) -> Value:
    r"""How many times less there is to compute once a batch is flattened instead of padded.

    .. math:: u = \frac{S_{max}}{S_{mean}}

    Parameters
    ----------
    mean_tokens : float
        Mean tokens of a sequence, S_mean [token]
    max_tokens : float
        Tokens of the longest, S_max [token]

    Returns
    -------
    float
        Speed-up, u [ratio]

    Notes
    -----
    For compute-bound work that grows with the tokens.

    Examples
    --------
    >>> flattening_speedup(1024, 4096)
    4.0

    References
    ----------
    .. [1] Yu et al., "Orca", OSDI 2022, section 3.2 (selective batching).
    """
    return max_tokens / mean_tokens
