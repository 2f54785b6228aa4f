"""The market for tokens: how many, growing how fast, what share of compute they take, what agents multiply.

The functions are arithmetic on what they are given. Where the market has a published figure, it stands in
``data/market.toml`` with its source and is the default; :func:`market_figure` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from infer_cost.checks import finite
from infer_cost.checks import utilization as check_utilization
from infer_cost.economics.constants import HOURS_PER_YEAR, SECONDS_PER_MONTH
from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.infrastructure import Figure
from infer_cost.hardware_specs.types import Provenance

MONTHS_PER_YEAR = 12.0
_LARGEST_LOG = 700.0
"""Above its exponential no float can be written."""
TRAINING_FLOPS_FACTOR = 3.0
"""Training takes 6 FLOP a parameter and token, inference 2 (Kaplan et al., arXiv:2001.08361)."""


@cache
def market_figures() -> Mapping[str, Figure]:
    """Return every figure of the market by id, with its range and source.

    >>> market_figures()["capex-2026"].provenance.confidence
    'two-sources'
    """
    import tomllib
    from pathlib import Path

    rows = tomllib.loads((Path(__file__).parent / "data" / "market.toml").read_text(encoding="utf-8"))
    return {
        key: Figure(
            id=key,
            name=row["name"],
            value=row.get("value"),
            unit=row["unit"],
            low=row.get("low"),
            high=row.get("high"),
            provenance=Provenance(row["source"], str(row["read"]), row["confidence"], row.get("note", "")),
        )
        for key, row in rows.items()
    }


def market_figure(name: str) -> Figure:
    """Return one figure of the market.

    Raises
    ------
    UnknownNameError
        There is no such figure.

    Examples
    --------
    >>> market_figure("google-tokens-2026").value
    3200000000000000.0
    """
    rows = market_figures()
    if name not in rows:
        raise unknown_name("market figure", name, rows, field="figure")
    return rows[name]


def growth_factor(before: float, after: float) -> float:
    """Return how many times larger a quantity became: ``after / before``.

    Google's tokens a month from May 2025 to May 2026:

    >>> round(growth_factor(480e12, 3.2e15), 2)
    6.67
    """
    return finite("after", after) / finite("before", before, low=1e-300)


def yearly_growth(before: float, after: float, months: float) -> float:
    r"""Return the growth in a year that a growth over some months amounts to.

    .. math:: g = \left(\frac{x_1}{x_0}\right)^{12/m}

    Parameters
    ----------
    before, after : float
        The quantity at the start and the end, x_0 and x_1 [any].
    months : float
        Time between the two, m [month].

    Returns
    -------
    float
        Factor a year, g [ratio/year]; 1 is no growth.

    Notes
    -----
    Compounds: a tripling within a quarter is a factor of 81 a year, not of 12.

    Examples
    --------
    >>> yearly_growth(200e6, 600e6, 3)
    81.0
    """
    factor, periods = growth_factor(before, after), MONTHS_PER_YEAR / finite("months", months, low=1e-9)
    if factor > 1.0 and periods * math.log(factor) > _LARGEST_LOG:
        raise InputError("the growth in a year is beyond any number", field="months", value=months)
    return float(factor**periods)


def start_of_growth(after: float, growth: float) -> float:
    """Return the quantity that growth by a share led from: ``after / (1 + growth)``.

    Capital expenditure of 725 billion dollars, 77 % more than the year before:

    >>> round(start_of_growth(725e9, 0.77) / 1e9, 1)
    409.6
    """
    return finite("after", after) / (1.0 + finite("growth", growth, low=-1.0 + 1e-12))


def tokens_a_year(tokens_per_month: float) -> float:
    """Return the tokens in a year of months like this one.

    >>> tokens_a_year(3.2e15)
    3.84e+16
    """
    return MONTHS_PER_YEAR * finite("tokens a month", tokens_per_month)


def gpus_for_tokens(tokens_per_month: float, tokens_per_s_per_gpu: float, utilization: float = 1.0) -> float:
    r"""Return the GPUs that make a month's tokens.

    .. math:: n = \frac{T}{X u t_{month}}

    Parameters
    ----------
    tokens_per_month : float
        Tokens, T [token/month].
    tokens_per_s_per_gpu : float
        What one GPU makes at work, X [token/s].
    utilization : float
        Share of the month that it works, u [1].

    Returns
    -------
    float
        GPUs, n, not rounded [GPU].

    Notes
    -----
    Of one kind of token: cached input, input and output differ by orders of magnitude in what a GPU makes of them.

    Examples
    --------
    Google's tokens of May 2026 at 2,000 tokens a second and GPU, always busy:

    >>> round(gpus_for_tokens(3.2e15, 2000.0))
    608828
    """
    check_utilization(utilization)
    rate = finite("tokens a second", tokens_per_s_per_gpu, low=1e-12)
    return finite("tokens a month", tokens_per_month) / (rate * utilization * SECONDS_PER_MONTH)


def inference_share(year: float) -> float:
    """Return inference's share of AI compute in a year, between the published points [fraction].

    Raises
    ------
    InputError
        Outside 2023 to 2026: nothing published is extrapolated.

    Examples
    --------
    >>> inference_share(2026), round(inference_share(2024), 3)
    (0.6667, 0.417)
    """
    known = [(y, market_figure(f"inference-share-{y}").value or 0.0) for y in (2023, 2025, 2026)]
    if not known[0][0] <= year <= known[-1][0]:
        raise InputError(f"no share is published for {year:g}", field="year", value=year, allowed="2023 to 2026")
    (x0, y0), (x1, y1) = known[:2] if year <= known[1][0] else known[1:]
    return y0 + (y1 - y0) * (year - x0) / (x1 - x0)


def lifetime_inference_share(training_tokens: float, served_tokens: float) -> float:
    r"""Return inference's share of all compute that a model takes in its life.

    .. math:: s = \frac{T}{3 D + T}

    Parameters
    ----------
    training_tokens : float
        Tokens that it was trained on, D [token].
    served_tokens : float
        Tokens that it reads and writes in service, T [token].

    Returns
    -------
    float
        Share, s [fraction].

    Notes
    -----
    6 FLOP a parameter and token in training, 2 in service; attention, failed runs and experiments left out, and a
    cached prefix counts as not served.

    Examples
    --------
    Trained on 15 trillion tokens, an 80 % share takes 180 trillion served:

    >>> lifetime_inference_share(15e12, 180e12)
    0.8
    """
    trained = TRAINING_FLOPS_FACTOR * finite("training tokens", training_tokens, low=1.0)
    served = finite("served tokens", served_tokens)
    return served / (trained + served)


def served_tokens_for_share(training_tokens: float, share: float) -> float:
    """Return the tokens a model serves before inference has this share of its compute: :func:`lifetime_inference_share`
    turned around.

    >>> round(served_tokens_for_share(15e12, 0.9) / 1e12)
    405
    """
    finite("share", share, high=1.0 - 1e-9)
    return TRAINING_FLOPS_FACTOR * finite("training tokens", training_tokens, low=1.0) * share / (1.0 - share)


def facilities_spend(capex_usd: float | None = None, facilities_share: float | None = None) -> float:
    """Return the part of a capital expenditure that isn't chips: power, cooling, buildings [USD].

    Both default to the published figures ``capex-2026`` and ``facilities-share``.

    >>> facilities_spend() / 1e9
    435.0
    """
    capex = market_figure("capex-2026").value if capex_usd is None else capex_usd
    share = market_figure("facilities-share").value if facilities_share is None else facilities_share
    return finite("capex", capex or 0.0) * finite("facilities share", share or 0.0, high=1.0)


def agent_tokens(steps: int, context_tokens: float, output_tokens: float, tool_tokens: float = 0.0) -> float:
    r"""Return the tokens of an agent's task whose every step resends all that came before.

    .. math:: T = n (P + O) + \frac{n (n - 1)}{2} (O + R)

    Parameters
    ----------
    steps : int
        Calls, n [1].
    context_tokens : float
        Instructions and task, in every call, P [token].
    output_tokens : float
        Output of a step, O [token].
    tool_tokens : float
        What a tool's answer adds, R [token].

    Returns
    -------
    float
        Input and output of all calls [token].

    Notes
    -----
    Grows with the square of the steps. What they cost at a price list, caches included, is
    :func:`infer_cost.pricing.tasks.task_cost`.

    Examples
    --------
    >>> agent_tokens(20, 3000, 300, 500)
    218000.0
    """
    grown = finite("output tokens", output_tokens) + finite("tool tokens", tool_tokens)
    n = finite("steps", steps, low=1.0)
    return n * (finite("context tokens", context_tokens) + output_tokens) + n * (n - 1.0) / 2.0 * grown


def agent_multiplier(steps: int, context_tokens: float, output_tokens: float, tool_tokens: float = 0.0) -> float:
    """Return the tokens of an agent's task against those of a single call; parameters as in :func:`agent_tokens`.

    Six steps over 3,000 tokens already make nearly ten times:

    >>> round(agent_multiplier(6, 3000, 300, 500), 1)
    9.6
    """
    task = agent_tokens(steps, context_tokens, output_tokens, tool_tokens)
    return task / finite("tokens of a call", context_tokens + output_tokens, low=1e-9)


def downtime_hours(availability: float, hours: float) -> float:
    """Return the hours in a period that a promised availability allows to be down.

    99.95 % of a month of 730 hours, in minutes:

    >>> round(downtime_hours(0.9995, 730) * 60, 1)
    21.9
    """
    return (1.0 - finite("availability", availability, high=1.0)) * finite("hours", hours)


def implied_electricity_price(usd_per_year: float, power_w: float) -> float:
    """Return the price of electricity that a yearly bill of a machine always on amounts to [USD/kWh].

    5,000 dollars a year for a GPU of 1.4 kW:

    >>> round(implied_electricity_price(5000, 1400), 2)
    0.41
    """
    return finite("dollars a year", usd_per_year) / (finite("power", power_w, low=1e-9) / 1e3 * HOURS_PER_YEAR)
