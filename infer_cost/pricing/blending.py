"""One price for a mix of traffic: input to output, cache hits and writes, a share bought as batch."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from infer_cost.errors import InputError
from infer_cost.pricing.rates import Prices, Rates


@dataclass(frozen=True, slots=True)
class TrafficMix:
    """What a million tokens are made of.

    Parameters
    ----------
    input_parts, output_parts : Fraction
        Input to output, such as 3 and 1.
    cache_hit, cache_write : Fraction
        Shares of the input read from a cache and written to one.

    Raises
    ------
    InputError
        If a share lies outside 0 to 1, hit and write together exceed 1, or both parts are 0.
    """

    input_parts: Fraction = Fraction(3)
    output_parts: Fraction = Fraction(1)
    cache_hit: Fraction = Fraction(0)
    cache_write: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse shares and parts that make no mix."""
        if min(self.input_parts, self.output_parts) < 0 or self.input_parts + self.output_parts == 0:
            raise InputError("the parts of the mix must be positive", field="blend", allowed="a ratio such as 3:1")
        check_share("cache hit", self.cache_hit)
        check_share("cache write", self.cache_write)
        check_share("cache hit + cache write", self.cache_hit + self.cache_write)

    @property
    def plain_input(self) -> Fraction:
        """Share of the input that no cache had and none took."""
        return 1 - self.cache_hit - self.cache_write


def blended_price(prices: Prices, mix: TrafficMix, *, write: str = "cache_write_5m") -> Fraction:
    """Return the price of a million tokens of a mix, exactly.

    .. math:: p = \\frac{i (h\\,p_r + w\\,p_w + (1 - h - w)\\,p_i) + o\\,p_o}{i + o}

    Parameters
    ----------
    prices : Prices
        The row's amounts [USD per million tokens].
    mix : TrafficMix
        Input to output ``i:o``, hit rate ``h``, share written ``w``.
    write : str
        Which kind of cache write: ``cache_write_5m`` or ``cache_write_1h``.

    Returns
    -------
    Fraction
        Price of a million tokens of the mix [USD].

    Raises
    ------
    InputError
        If the mix uses a kind of token that the row doesn't price.

    Examples
    --------
    Three to one at 3 and 15 dollars, 80 % of the input read from the cache and 10 % written:

    >>> prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
    >>> float(blended_price(prices, TrafficMix(cache_hit=Fraction(4, 5), cache_write=Fraction(1, 10))))
    4.43625
    """
    i, o = mix.input_parts, mix.output_parts
    terms = (
        ("input", i * mix.plain_input),
        ("cache_read", i * mix.cache_hit),
        (write, i * mix.cache_write),
        ("output", o),
    )
    return sum((weight * _amount(prices, name) for name, weight in terms if weight), Fraction(0)) / (i + o)


def weighted_price(one: Fraction, other: Fraction, share_of_other: Fraction) -> Fraction:
    """Return the price of traffic of which a share is bought otherwise (batch, peak hours, a longer tier).

    >>> weighted_price(Fraction(6), Fraction(3), Fraction(1, 4))
    Fraction(21, 4)
    """
    check_share("share", share_of_other)
    return one * (1 - share_of_other) + other * share_of_other


def parse_ratio(text: str, field: str = "blend") -> tuple[Fraction, Fraction]:
    """Read a ratio such as input to output.

    >>> parse_ratio("3:1")
    (Fraction(3, 1), Fraction(1, 1))
    """
    left, _, right = text.partition(":")
    return parse_fraction(left, field), parse_fraction(right, field)


def parse_fraction(text: str, field: str) -> Fraction:
    """Read a share written as a decimal, a percentage or a fraction.

    >>> parse_fraction("80%", "hit-rate"), parse_fraction("7/24", "batch-share")
    (Fraction(4, 5), Fraction(7, 24))
    """
    clean = text.strip()
    try:
        if len(clean) > 40:
            raise ValueError
        value = Fraction(clean.removesuffix("%")) / (100 if clean.endswith("%") else 1)
        if value and not 1e-12 < abs(value) < 1e12:
            raise ValueError
        return value
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"can't read {field} {text[:40]!r}",
            field=field,
            value=text,
            allowed="a number such as 0.8, 80% or 4/5, a ratio such as 3:1",
        ) from None


def check_share(name: str, share: Fraction) -> None:
    """Raise an :class:`InputError` unless a share lies between 0 and 1."""
    if not 0 <= share <= 1:
        raise InputError(f"{name} is {float(share):g}", field=name, value=float(share), allowed="0 to 1")


def _amount(prices: Prices, name: str) -> Fraction:
    amount: Decimal | None = getattr(prices, name)
    if amount is None:
        raise InputError(f"the row has no price for {name}", field=name, allowed=", ".join(prices.stated()))
    return Fraction(amount)


@dataclass(frozen=True, slots=True)
class Blend:
    """The blended price of one row, and what the same mix costs without caching and batch."""

    rates: Rates
    usd_per_mtok: Fraction
    list_usd_per_mtok: Fraction

    @property
    def saving(self) -> float:
        """Share of the list price that caching and batch save."""
        return float(1 - self.usd_per_mtok / self.list_usd_per_mtok) if self.list_usd_per_mtok else 0.0


def blend(rates: Rates, mix: TrafficMix, other: Rates | None = None, share_of_other: Fraction = Fraction(0)) -> Blend:
    """Return the blended price of a row, of which a share may be bought under another (batch, peak).

    >>> row = Rates("anthropic", "claude-sonnet-4-5", Prices(Decimal(3), Decimal(15), Decimal("0.3")))
    >>> blended = blend(row, TrafficMix(cache_hit=Fraction(4, 5)))
    >>> float(blended.usd_per_mtok), round(blended.saving, 2)
    (4.38, 0.27)
    """
    own = blended_price(rates.prices, mix)
    bought = weighted_price(own, blended_price(other.prices, mix), share_of_other) if other else own
    bare = TrafficMix(mix.input_parts, mix.output_parts)
    return Blend(rates, bought, blended_price(rates.prices, bare))
