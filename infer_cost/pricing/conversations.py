"""Questions about the same text, with and without a prompt cache, and when writing to the cache pays."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from infer_cost.checks import finite, whole
from infer_cost.errors import InputError
from infer_cost.pricing.billing import Bill, bill, total_cost
from infer_cost.pricing.rates import Prices, Rates
from infer_cost.pricing.usage import Usage

CacheTtl = Literal["5m", "1h"]
TTL_SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Conversation:
    """Several calls over one prefix: a document asked many questions, or a chat that grows.

    Parameters
    ----------
    prefix_tokens : int
        The text that every call repeats [tokens].
    question_tokens, answer_tokens : int
        New input and output of each call [tokens].
    questions : int
        Number of calls.
    grows : bool
        Whether each call also carries all earlier questions and answers.
    ttl : str
        How long the cache keeps: ``5m`` or ``1h``. A read keeps it alive again.
    gap_s : float
        Time between calls [s]; beyond the time to live every call writes anew.
    """

    prefix_tokens: int
    question_tokens: int
    answer_tokens: int
    questions: int
    grows: bool = False
    ttl: CacheTtl = "5m"
    gap_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a conversation that can't be."""
        for name in ("prefix_tokens", "question_tokens", "answer_tokens"):
            whole(name, getattr(self, name), low=0)
        whole("questions", self.questions, high=10_000)
        finite("gap", self.gap_s, unit="s")
        if self.ttl not in TTL_SECONDS:
            raise InputError(f"ttl is {self.ttl!r}", field="ttl", value=self.ttl, allowed="5m or 1h")

    def calls(self, *, cached: bool, charged_writes: bool = True) -> tuple[Usage, ...]:
        """Return the usage of each call.

        ``charged_writes`` says whether the vendor prices the writing; where it doesn't, that is plain input.
        """
        return tuple(self._call(index, cached, charged_writes) for index in range(self.questions))

    def _call(self, index: int, cached: bool, charged_writes: bool) -> Usage:
        history = index * (self.question_tokens + self.answer_tokens) if self.grows else 0
        total = self.prefix_tokens + history + self.question_tokens
        if not cached:
            return Usage(input_tokens=total, output_tokens=self.answer_tokens)
        kept = total if self.grows else self.prefix_tokens
        read = self._kept_before(index) if index and self.gap_s < TTL_SECONDS[self.ttl] else 0
        written = kept - read if charged_writes else 0
        return Usage(
            input_tokens=total,
            cached_tokens=read,
            cache_write_5m_tokens=written if self.ttl == "5m" else 0,
            cache_write_1h_tokens=written if self.ttl == "1h" else 0,
            output_tokens=self.answer_tokens,
        )

    def _kept_before(self, index: int) -> int:
        """Tokens that the call before left in the cache: its input, not its answer."""
        if not self.grows:
            return self.prefix_tokens
        earlier = (index - 1) * (self.question_tokens + self.answer_tokens)
        return self.prefix_tokens + earlier + self.question_tokens


@dataclass(frozen=True, slots=True)
class ConversationCost:
    """A conversation with and without caching under one row of a price list."""

    rates: Rates
    with_cache_usd: Decimal
    without_cache_usd: Decimal
    first_call: Bill
    later_call: Bill | None
    """The last call of the cached conversation."""
    break_even_reads: Fraction | None
    """Reads from which on writing to the cache pays; None where reads aren't cheaper."""

    @property
    def saving(self) -> float:
        """Share of the uncached cost that caching saves; negative where it costs more."""
        if not self.without_cache_usd:
            return 0.0
        return float(1 - self.with_cache_usd / self.without_cache_usd)


def conversation_cost(conversation: Conversation, rates: Rates) -> ConversationCost:
    """Return what a conversation costs with and without a prompt cache.

    Parameters
    ----------
    conversation : Conversation
        The calls.
    rates : Rates
        One row of a price list [USD per million tokens].

    Returns
    -------
    ConversationCost
        Both totals [USD], exact, and the reads at which caching breaks even.

    Raises
    ------
    InputError
        If the row has no price for reading from a cache.

    Notes
    -----
    Where a row has no price for a cache write of any kind, the vendor caches on its own and the first pass is
    plain input. Where it has one of the other time to live only, the asked one is refused.

    Examples
    --------
    A 12,000-token document asked ten questions of 22 tokens at 3, 0.30 (read), 3.75 (write) and 15 dollars:

    >>> prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"))
    >>> cost = conversation_cost(Conversation(12000, 22, 500, 10), Rates("anthropic", "sonnet", prices))
    >>> print(cost.without_cache_usd, cost.with_cache_usd)
    0.43566 0.15306
    """
    charged = any((rates.prices.cache_write_5m, rates.prices.cache_write_1h))
    cached = [bill(usage, rates) for usage in conversation.calls(cached=True, charged_writes=charged)]
    bare = [bill(usage, rates) for usage in conversation.calls(cached=False)]
    return ConversationCost(
        rates=rates,
        with_cache_usd=total_cost(cached),
        without_cache_usd=total_cost(bare),
        first_call=cached[0],
        later_call=cached[-1] if len(cached) > 1 else None,
        break_even_reads=break_even_reads(rates.prices, conversation.ttl if charged else None),
    )


def break_even_reads(prices: Prices, ttl: CacheTtl | None = "5m") -> Fraction | None:
    """Return how many reads pay for one write, exactly; None where a read isn't cheaper than input.

    .. math:: n = (p_w - p_i) / (p_i - p_r)

    Parameters
    ----------
    prices : Prices
        The row [USD per million tokens].
    ttl : str or None
        Which write; None where writing costs no more than plain input.

    Examples
    --------
    A 5-minute write at 1.25 times the input price pays with the first read, an hour's at twice the price with
    the second:

    >>> prices = Prices(Decimal(3), Decimal(15), Decimal("0.3"), Decimal("3.75"), Decimal(6))
    >>> float(break_even_reads(prices)), float(break_even_reads(prices, "1h"))
    (0.2777777777777778, 1.1111111111111112)
    """
    plain, read = prices.input, prices.cache_read
    write = getattr(prices, f"cache_write_{ttl}") if ttl else plain
    if plain is None or read is None or write is None or read >= plain:
        return None
    return max(Fraction(0), Fraction(write - plain) / Fraction(plain - read))
