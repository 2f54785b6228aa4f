"""Other ways to pay: a purchase that pays back, a commitment, provisioned throughput."""

from __future__ import annotations

import math

from infer_cost.checks import finite
from infer_cost.economics.constants import SECONDS_PER_MONTH
from infer_cost.errors import InputError


def payback_months(capital_usd: float, api_usd_per_month: float, running_usd_per_month: float) -> float | None:
    """Return the months after which a purchase has paid for itself; None when it never does.

    >>> payback_months(240_000.0, 30_000.0, 10_000.0)
    12.0
    """
    saved = api_usd_per_month - running_usd_per_month
    return capital_usd / saved if saved > 0 else None


def commitment_cost(usage_usd: float, commitment_usd: float, discount: float) -> float:
    """Return what a month costs under a commitment: its price even unused, list price beyond it.

    ``commitment_usd`` is what is committed to pay; it buys usage worth ``commitment / (1 - discount)`` at list price.

    >>> commitment_cost(8000.0, 7000.0, 0.3), commitment_cost(12000.0, 7000.0, 0.3)
    (7000.0, 9000.0)
    """
    finite("discount", discount, high=0.99)
    finite("commitment", commitment_usd)
    covered = commitment_usd / (1.0 - discount)
    return commitment_usd + max(0.0, usage_usd - covered)


def provisioned_cost(
    tokens_per_month: float, unit_tokens_per_minute: float, unit_usd_per_month: float, peak_to_mean: float = 1.0
) -> float:
    """Return a month of provisioned throughput: whole units for the peak minute, paid day and night.

    >>> provisioned_cost(2e9, 50_000.0, 2000.0)
    2000.0
    >>> provisioned_cost(2e9, 50_000.0, 2000.0, peak_to_mean=3.0)
    6000.0
    """
    if finite("unit of throughput", unit_tokens_per_minute) <= 0:
        raise InputError("a unit of throughput carries nothing", field="provisioned", allowed="above 0 tokens/min")
    finite("price of a unit", unit_usd_per_month)
    per_minute = tokens_per_month / (SECONDS_PER_MONTH / 60.0) * peak_to_mean
    return max(1, math.ceil(per_minute / unit_tokens_per_minute)) * unit_usd_per_month
