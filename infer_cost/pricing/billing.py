"""A bill: each kind of token times its price, in exact decimal arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal, localcontext

from infer_cost.errors import InputError
from infer_cost.pricing.rates import Prices, Rates
from infer_cost.pricing.usage import Usage

# Enough digits for the largest count times any price: nothing is rounded.
_EXACT = Context(prec=120)
_MILLION, _THOUSAND = 1_000_000, 1_000
_NOT_CHARGED = ("request_per_thousand",)
"""A list that has no such price doesn't charge for it; every other gap means that it can't be priced."""


@dataclass(frozen=True, slots=True)
class BillLine:
    """One kind of unit on a bill: ``cost_usd = quantity * rate_usd / per``."""

    unit: str
    quantity: int
    rate_usd: Decimal
    per: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class Bill:
    """What a call costs, by unit, and the row that says so."""

    cost_usd: Decimal
    lines: tuple[BillLine, ...]
    usage: Usage
    rates: Rates
    tier_above_tokens: int | None = None
    """The threshold of the long-context tier that applied."""
    at: datetime | None = None

    def formula(self) -> str:
        """Return the arithmetic with its numbers.

        >>> prices = Prices(input=Decimal(3), cache_read=Decimal("0.3"), output=Decimal(15))
        >>> usage = Usage(input_tokens=12022, cached_tokens=12000, output_tokens=500)
        >>> bill(usage, Rates("anthropic", "claude-sonnet-4-5", prices)).formula()
        '(22*3 + 12000*0.3 + 500*15)/1e6 = 0.011166'
        """
        terms = []
        for per, name in ((_MILLION, "1e6"), (_THOUSAND, "1e3")):
            products = [f"{line.quantity}*{plain(line.rate_usd)}" for line in self.lines if line.per == per]
            if products:
                terms.append(f"({' + '.join(products)})/{name}")
        return f"{' + '.join(terms) or '0'} = {plain(self.cost_usd)}"


def bill(usage: Usage, rates: Rates, *, at: datetime | None = None) -> Bill:
    """Return the exact bill of a call under one row of a price list.

    .. math:: cost = \\sum_u n_u \\cdot p_u / per_u

    Parameters
    ----------
    usage : Usage
        What the call used [tokens, calls].
    rates : Rates
        The row that applies [USD per million tokens, or per thousand searches or requests].
    at : datetime, optional
        The moment of the call, carried into the answer.

    Returns
    -------
    Bill
        ``cost_usd`` [USD] and its lines.

    Raises
    ------
    InputError
        If the call used a unit that the row has no price for.

    Notes
    -----
    Crossing a tier moves the whole request. Reasoning is output unless the row prices it apart.
    Nothing is rounded.

    Examples
    --------
    A follow-up question on a 12,000-token document that the cache holds, at 3 and 15 dollars a million:

    >>> prices = Prices(input=Decimal(3), cache_read=Decimal("0.3"), output=Decimal(15))
    >>> usage = Usage(input_tokens=12022, cached_tokens=12000, output_tokens=500)
    >>> print(bill(usage, Rates("anthropic", "claude-sonnet-4-5", prices)).cost_usd)
    0.011166

    References
    ----------
    .. [1] Anthropic, Prompt caching, pricing table (read 2026-11-30).
    """
    prices, threshold = rates.prices_for(counted_tokens(usage, rates))
    with localcontext(_EXACT):
        lines = tuple(
            BillLine(unit, quantity, rate, per, trimmed(quantity * rate / per))
            for unit, quantity, per in _quantities(usage, prices)
            if quantity and (rate := _rate(unit, prices, rates)) is not None
        )
        total = trimmed(sum((line.cost_usd for line in lines), Decimal(0)))
    return Bill(total, lines, usage, rates, threshold, at)


def counted_tokens(usage: Usage, rates: Rates) -> int:
    """Return the tokens that decide the long-context tier of a row [tokens]."""
    if rates.tier_counts == "plain_input":
        return usage.plain_input_tokens
    if rates.tier_counts == "input_and_output":
        return usage.input_tokens + usage.output_tokens
    return usage.input_tokens


def _quantities(usage: Usage, prices: Prices) -> list[tuple[str, int, int]]:
    """Split a usage into units that don't overlap: (price name, count, count that the price is for)."""
    apart = usage.reasoning_tokens if prices.reasoning is not None else 0
    return [
        ("input", usage.plain_input_tokens, _MILLION),
        ("cache_read", usage.cached_tokens, _MILLION),
        ("cache_write_5m", usage.cache_write_5m_tokens, _MILLION),
        ("cache_write_1h", usage.cache_write_1h_tokens, _MILLION),
        ("input_audio", usage.input_audio_tokens, _MILLION),
        ("input_image", usage.input_image_tokens, _MILLION),
        ("output", usage.visible_output_tokens + usage.reasoning_tokens - apart, _MILLION),
        ("reasoning", apart, _MILLION),
        ("output_audio", usage.output_audio_tokens, _MILLION),
        ("output_image", usage.output_image_tokens, _MILLION),
        ("web_search_per_thousand", usage.web_searches, _THOUSAND),
        ("request_per_thousand", usage.requests, _THOUSAND),
    ]


def _rate(unit: str, prices: Prices, rates: Rates) -> Decimal | None:
    rate: Decimal | None = getattr(prices, unit)
    if rate is None and unit not in _NOT_CHARGED:
        raise InputError(
            f"{rates.row} has no price for {unit}",
            field=unit,
            allowed=", ".join(prices.stated()) or "nothing is priced there",
            hint=f"that row is from the {rates.layer}; state all your rates with --rate {unit}=... and so on",
        )
    return rate


def trimmed(amount: Decimal) -> Decimal:
    """Return the same amount without trailing zeros or an exponent.

    >>> trimmed(Decimal("1E+2")), trimmed(Decimal("0.0900"))
    (Decimal('100'), Decimal('0.09'))
    """
    return Decimal(plain(amount))


def plain(amount: Decimal) -> str:
    """Return an amount as digits, without trailing zeros or an exponent."""
    text = format(amount, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def total_cost(bills: Iterable[Bill]) -> Decimal:
    """Return the exact sum of several bills [USD]."""
    with localcontext(_EXACT):
        return trimmed(sum((one.cost_usd for one in bills), Decimal(0)))
