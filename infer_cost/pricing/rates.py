"""What a price list says: amounts by unit, long-context tiers, and the time for which a row holds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Literal

from infer_cost.errors import InputError

LARGEST_PRICE = 1_000_000
"""Dollars per million tokens, or per thousand calls, beyond which a price is a slip of the keyboard."""

SERVICES = ("standard", "batch", "flex", "priority", "fast")
"""Ways to buy the same call. Each has rows of its own: a discount is never a factor on another row."""

TierCount = Literal["input", "plain_input", "input_and_output"]
Layer = Literal["options", "user file", "bundled overlay", "upstream package"]


@dataclass(frozen=True, slots=True)
class Prices:
    """Amounts of one price list row, in dollars per million tokens unless the name says otherwise.

    None means that the list says nothing: such a unit can't be priced, it isn't free.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    reasoning: Decimal | None = None
    """Only where reasoning has a price of its own; otherwise it is output."""
    input_audio: Decimal | None = None
    input_image: Decimal | None = None
    output_audio: Decimal | None = None
    output_image: Decimal | None = None
    web_search_per_thousand: Decimal | None = None
    request_per_thousand: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse amounts that no list can have."""
        for item in fields(self):
            amount = getattr(self, item.name)
            if amount is None:
                continue
            # A price of hundreds of digits would be exact for ever.
            if isinstance(amount, Decimal) and len(amount.as_tuple().digits) > 30:
                raise InputError(f"the price of {item.name} has more than 30 digits", field=item.name, value=amount)
            if not isinstance(amount, Decimal) or not amount.is_finite() or not 0 <= amount <= LARGEST_PRICE:
                raise InputError(
                    f"the price of {item.name} is {amount}",
                    field=item.name,
                    value=amount,
                    allowed=f"a decimal number of dollars from 0 to {LARGEST_PRICE:g}",
                )

    def stated(self) -> dict[str, Decimal]:
        """Return the amounts that the list states, by name."""
        named = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: amount for name, amount in named if amount is not None}


PRICE_NAMES = tuple(item.name for item in fields(Prices))


@dataclass(frozen=True, slots=True)
class Tier:
    """Prices for a request of more than so many tokens; the whole request moves, not the tokens above."""

    above_tokens: int
    prices: Prices


@dataclass(frozen=True, slots=True)
class Validity:
    """When a row holds. Times are UTC; the start counts, the end doesn't.

    >>> peak = Validity(hours_utc=((time(1), time(4)),), weekdays=(0, 1, 2, 3, 4))
    >>> peak.active(datetime(2026, 11, 30, 2, tzinfo=UTC)), peak.active(datetime(2026, 11, 29, 2, tzinfo=UTC))
    (True, False)
    """

    valid_from: datetime | None = None
    valid_until: datetime | None = None
    hours_utc: tuple[tuple[time, time], ...] = ()
    weekdays: tuple[int, ...] = ()
    """Monday is 0; empty means every day."""
    except_dates: tuple[date, ...] = ()

    def active(self, at: datetime) -> bool:
        """Say whether the row holds at a moment (a moment without a zone is UTC)."""
        at = in_utc(at)
        if not self.spans(at):
            return False
        if self.weekdays and at.weekday() not in self.weekdays:
            return False
        if at.date() in self.except_dates:
            return False
        return not self.hours_utc or any(_within(at.time(), *window) for window in self.hours_utc)

    def spans(self, at: datetime) -> bool:
        """Say whether a moment lies between start and end, whatever its hour or weekday."""
        at = in_utc(at)
        started = self.valid_from is None or at >= self.valid_from
        return started and (self.valid_until is None or at < self.valid_until)

    def words(self) -> str:
        """Return the validity as people say it.

        >>> Validity(valid_until=datetime(2026, 8, 17, tzinfo=UTC)).words()
        'until 2026-08-17'
        """
        parts = []
        if self.valid_from:
            parts.append(f"from {_day(self.valid_from)}")
        if self.valid_until:
            parts.append(f"until {_day(self.valid_until)}")
        if self.weekdays:
            parts.append("on " + " ".join(WEEKDAYS[day] for day in self.weekdays))
        if self.hours_utc:
            parts.append(" and ".join(f"{a:%H:%M}-{b:%H:%M} UTC" for a, b in self.hours_utc))
        return ", ".join(parts) or "no dates stated"


WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Rates:
    """One row of a price list: who sells what, how, when, for how much, and where that was read."""

    provider: str
    model: str
    prices: Prices
    service: str = "standard"
    tiers: tuple[Tier, ...] = ()
    tier_counts: TierCount = "input"
    """Tokens that decide the tier: all input (cached and written too), plain input, or input and output."""
    validity: Validity = Validity()
    layer: Layer = "options"
    source: str = ""
    read: str = ""
    confidence: str = "user"
    note: str = ""

    @property
    def row(self) -> str:
        """The row's name: ``provider/model``, the service unless it is the standard one, its validity."""
        service = "" if self.service == "standard" else f" {self.service}"
        return f"{self.provider}/{self.model}{service} ({self.validity.words()})"

    def prices_for(self, counted_tokens: int) -> tuple[Prices, int | None]:
        """Return the prices for a request that counts so many tokens, and the threshold that it crossed.

        A tier starts strictly above its threshold.
        """
        crossed = [tier for tier in self.tiers if counted_tokens > tier.above_tokens]
        if not crossed:
            return self.prices, None
        tier = max(crossed, key=lambda one: one.above_tokens)
        return tier.prices, tier.above_tokens


def in_utc(at: datetime) -> datetime:
    """Return the moment in UTC; a moment without a zone is taken as UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def parse_time(text: str) -> datetime:
    """Read an ISO date or time; a date is its first moment, and a time without a zone is UTC.

    >>> parse_time("2026-11-30").isoformat()
    '2026-11-30T00:00:00+00:00'
    """
    try:
        return in_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        raise InputError(
            f"can't read the time {text[:40]!r}",
            field="at",
            value=text,
            allowed="an ISO date or time such as 2026-11-30 or 2026-11-30T12:00Z",
        ) from None


def _within(moment: time, start: time, end: time) -> bool:
    if end <= start:
        return moment >= start or moment < end
    return start <= moment < end


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == time(0) else f"{moment:%Y-%m-%d %H:%M}"
