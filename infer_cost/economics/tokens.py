"""Dollars and watts a token, and what failures, margins and mark-ups do to a price."""

from __future__ import annotations

from infer_cost.checks import finite
from infer_cost.checks import utilization as check_utilization
from infer_cost.errors import InputError
from infer_cost.roofline.cost import cost_per_million_tokens
from infer_cost.roofline.ownership import cost_at_utilization, gross_margin


def cost_per_million_from_gpu_seconds(
    usd_per_gpu_hour: float, gpu_seconds_per_token: float, utilization: float = 1.0
) -> float:
    r"""Return the cost of a million tokens from the GPU-seconds that one takes.

    .. math:: c_M = \frac{10^6 p_h s}{3600 u}

    Parameters
    ----------
    usd_per_gpu_hour : float
        Price of a GPU-hour, p_h [USD/h].
    gpu_seconds_per_token : float
        GPU-seconds that a token takes, s, prefill seconds for input and decode seconds for output [s].
    utilization : float
        Share of the paid hours that serve, u [1].

    Returns
    -------
    float
        Dollars a million tokens [USD/Mtok].

    Notes
    -----
    With prefill and decode in pools of their own each pool has its own price, seconds and utilization: call it twice.

    Examples
    --------
    A GPU at $2.50 an hour that decodes 2,500 tokens a second, busy 60 % of the time:

    >>> round(cost_per_million_from_gpu_seconds(2.5, 1 / 2500, 0.6), 3)
    0.463
    """
    check_utilization(utilization)
    full = cost_per_million_tokens(usd_per_gpu_hour, 1.0 / gpu_seconds_per_token)
    return float(cost_at_utilization(full, utilization))


def tokens_per_second_per_megawatt(tokens_per_s: float, power_w: float, pue: float = 1.0) -> float:
    """Return the tokens a second that a megawatt of the building gives [token/(s MW)].

    >>> round(tokens_per_second_per_megawatt(2000.0, 1275.0, 1.25))
    1254902
    """
    return tokens_per_s / (power_w * pue) * 1e6


def cost_per_success(cost_usd: float, failure_share: float, cost_of_failure: float = 1.0) -> float:
    r"""Return what a successful request costs when failed ones are sent again until one succeeds.

    .. math:: c_s = c \left(1 + \kappa \frac{f}{1 - f}\right)

    Parameters
    ----------
    cost_usd : float
        Cost of one complete request, c [USD].
    failure_share : float
        Share of attempts that fail, f [1].
    cost_of_failure : float
        What a failed attempt costs over a complete one, κ [1]: 0 when it's refused at the door, 1 when its answer
        is thrown away.

    Returns
    -------
    float
        Cost of a success [USD].

    Examples
    --------
    One attempt in twenty fails after its work is done:

    >>> round(cost_per_success(0.01, 0.05), 6)
    0.010526
    """
    finite("failure share", failure_share, high=0.999)
    finite("cost of a failure", cost_of_failure)
    return cost_usd * (1.0 + cost_of_failure * failure_share / (1.0 - failure_share))


def margin(price_usd: float, cost_usd: float) -> float:
    """Return the gross margin of a seller: ``1 - cost / price``, negative when it sells below cost.

    >>> margin(10.0, 4.0)
    0.6
    """
    if price_usd <= 0:
        raise InputError("a margin needs a price above zero", field="price", value=price_usd, allowed="above 0 USD")
    return float(gross_margin(cost_usd, price_usd))


def resale_price(upstream_cost_usd: float, markup: float) -> float:
    """Return what a reseller charges on a cost that already contains its own supplier's.

    A router that reports ``cost`` and ``upstream_inference_cost`` names the same dollars twice: adding them inflates
    the bill.

    >>> resale_price(24.0, 1.5)
    36.0
    """
    return finite("cost", upstream_cost_usd) * finite("markup", markup)
