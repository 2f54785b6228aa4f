"""The lowest layer: rows of the genai-prices package, brought into our own types. Nothing else imports it.

The package has one list a model, an optional start date or daily window for each entry, and partial overrides
for batch, flex and so on. It can't say a date and an hour together, nor a weekday; where that gives a wrong
price the bundled overlay has the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

from infer_cost.errors import unknown_name
from infer_cost.pricing.rates import Prices, Rates, Tier, Validity

_PRICE_KEYS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write_5m",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "input_audio",
    "input_image_mtok": "input_image",
    "output_audio_mtok": "output_audio",
    "output_image_mtok": "output_image",
    "web_searches_kcount": "web_search_per_thousand",
    "requests_kcount": "request_per_thousand",
}
_SERVICE_KEYS = {
    "batch": ({"processing": "batch"},),
    "flex": ({"service_tier": "flex"},),
    "priority": ({"service_tier": "priority"},),
    "fast": ({"service_tier": "fast"}, {"speed": "fast"}),
}


@cache
def _providers() -> Mapping[str, Any]:
    from genai_prices.data import providers

    return {provider.id: provider for provider in providers}


def provider_names() -> tuple[str, ...]:
    """Return the providers that the package knows."""
    return tuple(_providers())


def model_names(provider: str) -> tuple[str, ...]:
    """Return the models of one provider that the package knows; none for an unknown provider."""
    known = _providers().get(provider)
    return tuple(model.id for model in known.models) if known else ()


def upstream_rows(provider: str, model: str) -> tuple[Rates, ...]:
    """Return every row that the package has for a model, all services and dates, later rows last.

    Raises
    ------
    UnknownNameError
        If the package doesn't know the provider or the model.
    """
    known = _providers().get(provider)
    if known is None:
        raise unknown_name(
            "provider", provider, _providers(), field="provider", hint="`infer-cost price --rows` lists all"
        )
    # A few of the package's own ids aren't matched by the patterns that it gives for them.
    exact = (candidate for candidate in known.models if candidate.id == model)
    info = next(exact, None) or known.find_model(model, all_providers=list(_providers().values()))
    if info is None:
        raise unknown_name(
            f"model of {provider}",
            model,
            model_names(provider),
            field="model",
            hint=f"`infer-cost price {provider} --rows` lists all",
        )
    # A model that a provider resells from another one's list has no batch or flex rows there.
    own = any(info is candidate for candidate in known.models)
    rows = _standard_rows(known, info)
    return rows + (_variant_rows(known, info, rows) if own else ())


def _standard_rows(provider: Any, info: Any) -> tuple[Rates, ...]:
    entries = info.prices if isinstance(info.prices, list) else [None]
    starts = [entry and _start(entry.constraint) for entry in entries]
    rows = []
    for index, entry in enumerate(entries):
        prices = entry.prices if entry else info.prices
        hours = _hours(entry.constraint) if entry else ()
        until = None if hours else min((s for s in starts[index + 1 :] if s), default=None)
        rows.append(_rates(provider, info, prices, "standard", Validity(starts[index] or None, until, hours)))
    return tuple(rows)


def _variant_rows(provider: Any, info: Any, standard: Iterable[Rates]) -> tuple[Rates, ...]:
    """Return a row a service: its partial prices laid over the standard ones that hold at the same time."""
    rows: list[Rates] = []
    for service, keys in _SERVICE_KEYS.items():
        variants = [variant for variant in info.price_variants or () if dict(variant.when) in keys]
        dated = sorted(variants, key=lambda one: _start(one.constraint) or datetime.min.replace(tzinfo=UTC))
        for index, variant in enumerate(dated):
            start = _start(variant.constraint)
            until = _start(dated[index + 1].constraint) if index + 1 < len(dated) else None
            own = _rates(provider, info, variant.prices, service, Validity(start, until, _hours(variant.constraint)))
            rows.extend(_laid_over(own, base) for base in standard if _meet(own.validity, base.validity))
    return tuple(rows)


def _laid_over(own: Rates, base: Rates) -> Rates:
    thresholds = sorted({tier.above_tokens for tier in (*own.tiers, *base.tiers)})
    return Rates(
        provider=own.provider,
        model=own.model,
        service=own.service,
        prices=_over(own.prices, base.prices),
        tiers=tuple(
            Tier(above, _over(own.prices_for(above + 1)[0], base.prices_for(above + 1)[0])) for above in thresholds
        ),
        validity=Validity(
            max((v for v in (own.validity.valid_from, base.validity.valid_from) if v), default=None),
            min((v for v in (own.validity.valid_until, base.validity.valid_until) if v), default=None),
            own.validity.hours_utc or base.validity.hours_utc,
        ),
        layer=own.layer,
        source=own.source,
        read=own.read,
        confidence=own.confidence,
        note=own.note,
    )


def _over(own: Prices, base: Prices) -> Prices:
    return Prices(**{**base.stated(), **own.stated()})


def _meet(one: Validity, other: Validity) -> bool:
    start = max((v for v in (one.valid_from, other.valid_from) if v), default=None)
    until = min((v for v in (one.valid_until, other.valid_until) if v), default=None)
    return start is None or until is None or start < until


def _rates(provider: Any, info: Any, model_price: Any, service: str, validity: Validity) -> Rates:
    from genai_prices import __version__

    stated = {name: amount for key, name in _PRICE_KEYS.items() if (amount := getattr(model_price, key)) is not None}
    thresholds = sorted({tier.start for amount in stated.values() for tier in getattr(amount, "tiers", ())})
    return Rates(
        provider=provider.id,
        model=info.id,
        service=service,
        prices=Prices(**{name: getattr(amount, "base", amount) for name, amount in stated.items()}),
        tiers=tuple(
            Tier(above, Prices(**{name: _at(amount, above) for name, amount in stated.items()})) for above in thresholds
        ),
        validity=validity,
        layer="upstream package",
        source=next(iter(provider.pricing_urls or ()), provider.name),
        read=f"in genai-prices {__version__}",
        confidence="one-source",
        note=info.price_comments or "",
    )


def _at(amount: Any, above: int) -> Decimal:
    """Return the price of a unit for a request just above a threshold."""
    price: Decimal = getattr(amount, "base", amount)
    for tier in getattr(amount, "tiers", ()):
        if tier.start <= above:
            price = tier.price
    return price


def _start(constraint: Any) -> datetime | None:
    day = getattr(constraint, "start_date", None)
    return datetime.combine(day, time(0), UTC) if day else None


def _hours(constraint: Any) -> tuple[tuple[time, time], ...]:
    start, end = getattr(constraint, "start_time", None), getattr(constraint, "end_time", None)
    if start is None or end is None:
        return ()
    return ((_utc(start), _utc(end)),)


def _utc(moment: time) -> time:
    if moment.tzinfo is None:
        return moment
    return datetime.combine(datetime(2000, 1, 1), moment).astimezone(UTC).time()
