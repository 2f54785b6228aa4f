"""Machines rented or owned: what they cost used or not, and when they pay."""

from __future__ import annotations

from infer_cost.roofline.constants import SECONDS_PER_YEAR, TOKENS_PER_MILLION
from infer_cost.roofline.dispatch import Value, divide_or_infinity


def rental_cost(machines: Value, chips: Value, price_per_hour: Value, hours: Value) -> Value:
    r"""Cost of renting machines for some hours.

    .. math:: c = m g p_h t_h

    Parameters
    ----------
    machines : float
        Machines, m [machine]
    chips : float
        Chips in each, g [chip]
    price_per_hour : float
        Price of a chip for an hour, p_h [USD/h]
    hours : float
        Hours, t_h [h]

    Returns
    -------
    float
        Cost, c [USD]

    Notes
    -----
    Used or not.

    Examples
    --------
    DeepSeek's service on a day in February 2025, priced at $2 an hour:

    >>> rental_cost(226.75, 8, 2, 24)
    87072.0

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", 2025.
    """
    return machines * chips * price_per_hour * hours


def ownership_cost_per_token(annual_cost: Value, tokens_per_second: Value) -> Value:
    r"""Cost of a token on a machine with a cost a year, always busy.

    .. math:: c = \frac{c_y}{31.536 \cdot 10^{6} X}

    Parameters
    ----------
    annual_cost : float
        Cost a year: depreciation, power, space, people, c_y [USD/year]
    tokens_per_second : float
        Tokens made a second, X [token/s]

    Returns
    -------
    float
        Cost of a token, c [USD/token]

    Notes
    -----
    A year of 365 days; divide by the utilization.

    Examples
    --------
    A GB300 share of $15,000 a year at 1,667 tokens/s, in dollars a million:

    >>> round(ownership_cost_per_token(15000, 1666.667) * 1e6, 3)
    0.285

    References
    ----------
    .. [1] Barroso, Hoelzle, Ranganathan, "The Datacenter as a Computer", 3rd edition, 2018, chapter 6.
    """
    return annual_cost / (SECONDS_PER_YEAR * tokens_per_second)


def annuity(capital: Value, interest: Value, years: Value) -> Value:
    r"""Yearly payment that writes off a purchase with interest.

    .. math:: A = \frac{V i}{1 - (1 + i)^{-n}}

    Parameters
    ----------
    capital : float
        Purchase, V [USD]
    interest : float
        Interest a year, above zero, i [ratio]
    years : float
        Yearly payments, n [payment]

    Returns
    -------
    float
        Payment a year, A [USD]

    Notes
    -----
    Equal payments at the end of each year; without interest it is V/n.

    Examples
    --------
    >>> round(annuity(40000, 0.08, 4))
    12077

    References
    ----------
    .. [1] Barroso, Hoelzle, Ranganathan, "The Datacenter as a Computer", 3rd edition, 2018, chapter 6.
    """
    return capital * interest / (1 - (1 + interest) ** -years)


def cost_at_utilization(cost_when_full: Value, utilization: Value) -> Value:
    r"""Cost of a token on a machine that is only partly used.

    .. math:: c_u = \frac{c}{u}

    Parameters
    ----------
    cost_when_full : float
        Cost of a token when always busy, c [USD/token]
    utilization : float
        Share of the capacity that is sold or used, u [fraction]

    Returns
    -------
    float
        Cost of a token, c_u [USD/token]

    Notes
    -----
    Costs that run whether or not there is work: rent, depreciation.

    Examples
    --------
    >>> round(cost_at_utilization(0.4e-6, 0.5) * 1e6, 2)
    0.8

    References
    ----------
    .. [1] Erdil, "Inference economics of language models", arXiv:2506.04645, 2025.
    """
    return cost_when_full / utilization


def gross_margin(cost: Value, price: Value) -> Value:
    r"""Share of a price that is left after its cost.

    .. math:: m = 1 - \frac{c}{p}

    Parameters
    ----------
    cost : float
        Cost, c [USD]
    price : float
        Price, p [USD]

    Returns
    -------
    float
        Margin, m [ratio]

    Notes
    -----
    Negative when sold below cost.

    Examples
    --------
    >>> round(gross_margin(87072, 562027), 3)
    0.845

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", 2025 (profit over cost 545 %).
    """
    return 1 - cost / price


def break_even_tokens(fixed_cost: Value, api_price: Value, variable_cost: Value) -> Value:
    r"""Tokens from which own machines cost less than an API.

    .. math:: T^{*} = \frac{10^{6} c_f}{p - c_v}

    Parameters
    ----------
    fixed_cost : float
        Cost of the machines in the period, c_f [USD]
    api_price : float
        Price of a million tokens of the API, p [USD/Mtok]
    variable_cost : float
        Own further cost of a million tokens, c_v [USD/Mtok]

    Returns
    -------
    float
        Tokens, T* [token]

    Notes
    -----
    The machines must be able to make that many in the period. Infinite if the API costs no more than the
    own variable cost.

    Examples
    --------
    >>> round(break_even_tokens(14400, 0.96, 0.06) / 1e9, 3)
    16.0

    References
    ----------
    .. [1] Barroso, Hoelzle, Ranganathan, "The Datacenter as a Computer", 3rd edition, 2018, chapter 6.
    """
    return divide_or_infinity(TOKENS_PER_MILLION * fixed_cost, api_price - variable_cost)


def peak_flops_per_price(peak_flops: Value, price_per_hour: Value) -> Value:
    r"""Peak rate that a dollar an hour rents.

    .. math:: r = \frac{C}{p_h}

    Parameters
    ----------
    peak_flops : float
        Dense peak rate of a chip, C [FLOP/s]
    price_per_hour : float
        Price of the chip, p_h [USD/h]

    Returns
    -------
    float
        Rate for a dollar an hour, r [FLOP*h/(s*USD)]

    Notes
    -----
    Peak rates: the cheaper peak is not always the cheaper token.

    Examples
    --------
    TPU v5p at $4.20:

    >>> f"{peak_flops_per_price(4.59e14, 4.2):.3g}"
    '1.09e+14'

    References
    ----------
    .. [1] Austin et al., "How to Scale Your Model", Google DeepMind, 2025, chapter "Serving LLaMA 3-70B
       on TPUs".
    """
    return peak_flops / price_per_hour
