"""Money: what a token costs, and what a bill says."""

from __future__ import annotations

from infer_cost.roofline.constants import SECONDS_PER_HOUR, TOKENS_PER_MILLION
from infer_cost.roofline.dispatch import Value


def cost_per_token(price_per_second: Value, step_time: Value, batch: Value) -> Value:
    r"""Cost of one generated token.

    .. math:: c = \frac{p T_{step}}{B}

    Parameters
    ----------
    price_per_second : float
        Price of all chips that run the step, p [USD/s]
    step_time : float
        Time of one decode step, T_step [s]
    batch : float
        Sequences in the batch, B [sequence]

    Returns
    -------
    float
        Cost of a token, c [USD/token]

    Notes
    -----
    Every step full, prefill and idle time left aside. Past the optimal batch it is flat: it doesn't rise.

    Examples
    --------
    One H100 at $2.50 an hour, 22 ms a step, 64 sequences, in dollars a million tokens:

    >>> round(cost_per_token(2.5 / 3600, 22e-3, 64) * 1e6, 3)
    0.239

    References
    ----------
    .. [1] Erdil, "Inference economics of language models", Epoch AI, arXiv:2506.04645, 2025.
    """
    return price_per_second * step_time / batch


def cost_per_million_tokens(price_per_hour: Value, tokens_per_second: Value) -> Value:
    r"""Cost of a million tokens from an hourly price and a throughput.

    .. math:: c_M = \frac{10^{6} p_h}{3600 X}

    Parameters
    ----------
    price_per_hour : float
        Price of the chips, p_h [USD/h]
    tokens_per_second : float
        Tokens that the same chips make, X [token/s]

    Returns
    -------
    float
        Cost of a million tokens, c_M [USD/Mtok]

    Notes
    -----
    At the throughput given: divide by the utilization for a machine that isn't always busy.

    Examples
    --------
    A GPU at $2.10 an hour and 83.4 tokens/s:

    >>> round(cost_per_million_tokens(2.1, 83.39670356), 3)
    6.995

    References
    ----------
    .. [1] Erdil, "Inference economics of language models", Epoch AI, arXiv:2506.04645, 2025, and its
       notebook.
    """
    return TOKENS_PER_MILLION * price_per_hour / (SECONDS_PER_HOUR * tokens_per_second)
