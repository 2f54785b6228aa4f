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
    .. [1] Erdil, "Inference economics of language models", arXiv:2506.04645, 2025.
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
    .. [1] Erdil, "Inference economics of language models", arXiv:2506.04645, 2025, and its notebook.
    """
    return TOKENS_PER_MILLION * price_per_hour / (SECONDS_PER_HOUR * tokens_per_second)


def api_bill(
    input_tokens: Value,
    cached_tokens: Value,
    output_tokens: Value,
    input_price: Value,
    cached_price: Value,
    output_price: Value,
) -> Value:
    r"""Bill for tokens at prices a million, cached input cheaper.

    .. math:: c = \frac{(T - T_{cached}) p_{in} + T_{cached} p_{cached} + O p_{out}}{10^{6}}

    Parameters
    ----------
    input_tokens : float
        All input tokens, cached ones included, T [token]
    cached_tokens : float
        Of these, read from the cache, T_cached [token]
    output_tokens : float
        Output tokens, O [token]
    input_price : float
        Price of a million input tokens, p_in [USD/Mtok]
    cached_price : float
        Price of a million cached input tokens, p_cached [USD/Mtok]
    output_price : float
        Price of a million output tokens, p_out [USD/Mtok]

    Returns
    -------
    float
        Bill, c [USD]

    Notes
    -----
    Cache writes, tiers by length and batch discounts are what the pricing package is for.

    Examples
    --------
    DeepSeek's service on a day in February 2025, all tokens at R1 prices:

    >>> round(api_bill(608e9, 342e9, 168e9, 0.55, 0.14, 2.19))
    562100

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", 2025 (theoretical income $562,027).
    """
    fresh = (input_tokens - cached_tokens) * input_price
    return (fresh + cached_tokens * cached_price + output_tokens * output_price) / TOKENS_PER_MILLION


def blended_price(input_output_ratio: Value, input_price: Value, output_price: Value) -> Value:
    r"""Price of a million tokens of a mix of input and output.

    .. math:: p = \frac{r p_{in} + p_{out}}{r + 1}

    Parameters
    ----------
    input_output_ratio : float
        Input tokens for each output token, r [ratio]
    input_price : float
        Price of a million input tokens, p_in [USD/Mtok]
    output_price : float
        Price of a million output tokens, p_out [USD/Mtok]

    Returns
    -------
    float
        Blended price, p [USD/Mtok]

    Notes
    -----
    Comparison sites take a ratio of 3; real traffic is often above 10, mostly cached.

    Examples
    --------
    >>> blended_price(3, 0.55, 2.19)
    0.96

    References
    ----------
    .. [1] Artificial Analysis, methodology, 2025.
    """
    return (input_output_ratio * input_price + output_price) / (input_output_ratio + 1)


def all_in_cost_per_million(cost: Value, tokens: Value) -> Value:
    r"""Cost of a million tokens when they carry the whole cost.

    .. math:: c_M = \frac{10^{6} c}{T}

    Parameters
    ----------
    cost : float
        Whole cost, c [USD]
    tokens : float
        Tokens that carry it, T [token]

    Returns
    -------
    float
        Cost of a million tokens, c_M [USD/Mtok]

    Notes
    -----
    Output tokens as carriers make input look free.

    Examples
    --------
    >>> round(all_in_cost_per_million(87072, 168e9), 4)
    0.5183

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", 2025.
    """
    return TOKENS_PER_MILLION * cost / tokens
