"""The shape of a price file, as pydantic sees it. Imported for a user's file and by tests, never at start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from infer_cost.errors import InputError, shorten
from infer_cost.pricing.rates import PRICE_NAMES

Amount = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Window = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
PriceName = Literal[
    "input",
    "output",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "reasoning",
    "input_audio",
    "input_image",
    "output_audio",
    "output_image",
    "web_search_per_thousand",
    "request_per_thousand",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TierModel(_Strict):
    """A long-context tier."""

    above_tokens: Annotated[int, Field(gt=0)]
    prices: Annotated[dict[PriceName, Amount], Field(min_length=1)]


class RowModel(_Strict):
    """One ``[[row]]`` of a price file."""

    provider: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]
    service: Literal["standard", "batch", "flex", "priority", "fast"] = "standard"
    prices: Annotated[dict[PriceName, Amount], Field(min_length=1)]
    tiers: list[TierModel] = []
    tier_counts: Literal["input", "plain_input", "input_and_output"] = "input"
    valid_from: datetime | date | None = None
    valid_until: datetime | date | None = None
    hours_utc: list[Window] = []
    weekdays: list[Weekday] = []
    except_dates: list[date] = []
    source: Annotated[str, Field(min_length=1)]
    read: date
    confidence: Literal["two-sources", "one-source", "recalled", "derived", "user"] = "user"
    note: str = ""

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> RowModel:
        if self.valid_from and self.valid_until and str(self.valid_from) >= str(self.valid_until):
            raise ValueError("valid_until must be later than valid_from")
        return self


class PriceFile(_Strict):
    """A whole price file."""

    row: Annotated[list[RowModel], Field(min_length=1)]


def check_price_file(document: Mapping[str, object], name: str) -> None:
    """Raise an :class:`InputError` that names the first wrong key of a price file."""
    try:
        PriceFile.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{shorten(name)}: {place or 'file'}: {first['msg']}",
            field=place,
            allowed=f"prices of {', '.join(PRICE_NAMES)}" if "prices" in place else None,
        ) from None
