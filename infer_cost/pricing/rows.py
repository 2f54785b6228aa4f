"""Reads price rows from TOML: the bundled overlay and a user's own file have the same form."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.pricing.rates import WEEKDAYS, Layer, Prices, Rates, Tier, Validity, in_utc


@cache
def overlay_rows() -> tuple[Rates, ...]:
    """Return the rows of the bundled overlay: what the upstream package lacks or can't say."""
    text = (Path(__file__).parent / "data" / "overlay.toml").read_text("utf-8")
    return _rows(tomllib.loads(text, parse_float=Decimal), "bundled overlay")


def user_rows(path: str | Path) -> tuple[Rates, ...]:
    """Return the rows of a user's price file.

    Raises
    ------
    InputError
        If the file can't be read, isn't TOML, or has a key or value that a price row doesn't have.
    """
    from infer_cost.files import read_toml
    from infer_cost.pricing.schema import check_price_file

    document = read_toml(path, field="prices", what="a price file in TOML", parse_float=Decimal)
    check_price_file(document, str(path))
    return _rows(document, "user file")


def _rows(document: Mapping[str, Any], layer: Layer) -> tuple[Rates, ...]:
    return tuple(_row(entry, layer) for entry in document["row"])


def _row(entry: Mapping[str, Any], layer: Layer) -> Rates:
    return Rates(
        provider=entry["provider"],
        model=entry["model"],
        service=entry.get("service", "standard"),
        prices=_prices(entry["prices"]),
        tiers=tuple(Tier(tier["above_tokens"], _prices(tier["prices"])) for tier in entry.get("tiers", ())),
        tier_counts=entry.get("tier_counts", "input"),
        validity=Validity(
            valid_from=_moment(entry.get("valid_from")),
            valid_until=_moment(entry.get("valid_until")),
            hours_utc=_windows(entry.get("hours_utc", ())),
            weekdays=tuple(WEEKDAYS.index(day) for day in entry.get("weekdays", ())),
            except_dates=tuple(entry.get("except_dates", ())),
        ),
        layer=layer,
        source=entry["source"],
        read=str(entry["read"]),
        confidence=entry.get("confidence", "user"),
        note=entry.get("note", ""),
    )


def _prices(amounts: Mapping[str, Any]) -> Prices:
    return Prices(**{name: Decimal(amount) for name, amount in amounts.items()})


def _moment(value: date | datetime | None) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return in_utc(value)
    return datetime.combine(value, time(0), UTC)


def _windows(texts: Sequence[str]) -> tuple[tuple[time, time], ...]:
    pairs = (text.split("-") for text in texts)
    return tuple((time.fromisoformat(start), time.fromisoformat(end)) for start, end in pairs)
