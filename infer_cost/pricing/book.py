"""The price book: layers of rows, of which the highest that knows a model and service decides.

The order is options, the user's file, the bundled overlay, the upstream package. A layer that has rows for a
model and service but none that holds at the asked moment refuses; it doesn't hand over to the layer below,
whose row is the one that it was there to correct.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from infer_cost.errors import InputError, UnknownNameError, shorten, unknown_name
from infer_cost.pricing.billing import Bill, bill
from infer_cost.pricing.rates import PRICE_NAMES, SERVICES, Prices, Rates, in_utc, parse_time
from infer_cost.pricing.rows import overlay_rows, user_rows
from infer_cost.pricing.usage import Usage

ALIASES = {"bedrock": "aws", "gemini": "google", "vertex": "google", "vertexai": "google", "xai": "x-ai"}
"""Names that people use for providers."""
_LISTS = "`infer-cost price --rows` lists the providers, `infer-cost price PROVIDER --rows` the models of one"


def price(
    provider_model: str,
    usage: Usage,
    *,
    service: str = "standard",
    at: datetime | str | None = None,
    user_file: str | Path | None = None,
    rates: Mapping[str, Decimal] | None = None,
) -> Bill:
    """Return the bill of one call at a provider's list price.

    Parameters
    ----------
    provider_model : str
        ``PROVIDER/MODEL``, split at the first slash: ``groq/openai/gpt-oss-120b`` is a model of groq.
    usage : Usage
        What the call used [tokens, calls].
    service : str
        ``standard``, ``batch``, ``flex``, ``priority`` or ``fast``.
    at : datetime or str, optional
        The moment of the call (UTC unless it says otherwise); now by default.
    user_file : path, optional
        A TOML file with price rows that go before the bundled ones.
    rates : mapping, optional
        Prices by name that replace any list [USD per million tokens].

    Returns
    -------
    Bill
        ``cost_usd`` [USD], its lines, and the row with its layer and source.

    Raises
    ------
    InputError
        If the provider, model or service is unknown, no row holds at that moment, or a unit has no price.

    Examples
    --------
    >>> usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    >>> print(price("deepseek/deepseek-v4-flash", usage, at="2026-06-15T02:00").cost_usd)
    0.42
    """
    moment = _moment(at)
    row = find_rates(provider_model, service=service, at=moment, user_file=user_file, rates=rates)
    return bill(usage, row, at=moment)


def find_rates(
    provider_model: str,
    *,
    service: str = "standard",
    at: datetime | str | None = None,
    user_file: str | Path | None = None,
    rates: Mapping[str, Decimal] | None = None,
) -> Rates:
    """Return the one row that holds for a model, service and moment; parameters as in :func:`price`."""
    provider, model = split_name(provider_model)
    _check_service(service)
    if rates:
        return _from_options(provider, model, service, rates)
    moment = _moment(at)
    # The upstream package is large: it is read only where the layers above it have nothing.
    rows = _own_rows(provider, model, user_file)
    if not any(row.service == service for row in rows):
        rows = list_rows(provider_model, user_file=user_file)
    asked = [row for row in rows if row.service == service]
    if not asked:
        raise _no_row(f"no {service} price of {rows[0].provider}/{rows[0].model} is known", rows, "service", service)
    active = [row for row in asked if row.validity.active(moment)]
    if not active:
        when = f"{moment:%Y-%m-%d %H:%M} UTC"
        raise _no_row(f"no {service} price of {provider_model} holds at {when}", rows, "at", moment.isoformat())
    return max(enumerate(active), key=lambda item: (_specific(item[1]), item[0]))[1]


def list_rows(provider_model: str, *, user_file: str | Path | None = None) -> tuple[Rates, ...]:
    """Return every row that counts for a model, highest layer first, past and announced ones included.

    A service that a layer knows is that layer's; its rows in the layers below are left out.

    Raises
    ------
    UnknownNameError
        If no layer knows the provider or model.
    """
    provider, model = split_name(provider_model)
    own = _own_rows(provider, model, user_file)
    from infer_cost.pricing.upstream import upstream_rows

    try:
        below = upstream_rows(provider, model)
    except UnknownNameError:
        if own:
            return own
        mine = _models_of(provider, user_file)
        if not mine:
            raise
        raise unknown_name(f"model of {provider}", model, mine, field="model", hint=_LISTS) from None
    return _deciding((*own, *below))


def known_names(provider: str | None = None, *, user_file: str | Path | None = None) -> tuple[str, ...]:
    """Return the providers that any layer knows, or the models of one.

    Raises
    ------
    UnknownNameError
        If no layer knows the provider.

    Examples
    --------
    >>> "anthropic" in known_names(), "claude-sonnet-4-5" in known_names("anthropic")
    (True, True)
    """
    from infer_cost.pricing.upstream import provider_names

    if provider is None:
        own = {row.provider for row in _layers_of_rows(user_file)}
        return tuple(sorted(own | set(provider_names())))
    asked = provider.strip().lower()
    models = _models_of(ALIASES.get(asked, asked), user_file)
    if not models:
        raise unknown_name("provider", provider, known_names(user_file=user_file), field="provider", hint=_LISTS)
    return tuple(sorted(set(models)))


def split_name(provider_model: str) -> tuple[str, str]:
    """Split ``PROVIDER/MODEL`` at the first slash, in lower case; a provider's other names become its own.

    >>> split_name("groq/openai/gpt-oss-120b")
    ('groq', 'openai/gpt-oss-120b')
    """
    provider, _, model = provider_model.strip().lower().partition("/")
    if not provider or not model:
        raise InputError(
            f"{shorten(provider_model)!r} doesn't name a provider and a model",
            field="provider",
            value=provider_model,
            allowed="PROVIDER/MODEL, such as anthropic/claude-sonnet-4-5",
            hint=_LISTS,
        )
    return ALIASES.get(provider, provider), model


def _own_rows(provider: str, model: str, user_file: str | Path | None) -> tuple[Rates, ...]:
    rows = _layers_of_rows(user_file)
    return _deciding(tuple(row for row in rows if (row.provider, row.model) == (provider, model)))


def _layers_of_rows(user_file: str | Path | None) -> tuple[Rates, ...]:
    """Rows of the layers above the package, highest first."""
    return (*(user_rows(user_file) if user_file else ()), *overlay_rows())


def _deciding(rows: tuple[Rates, ...]) -> tuple[Rates, ...]:
    """Keep, of each service, the rows of the highest layer that has any; higher layers come first."""
    layer = {row.service: row.layer for row in reversed(rows)}
    return tuple(row for row in rows if row.layer == layer[row.service])


def _models_of(provider: str, user_file: str | Path | None) -> list[str]:
    from infer_cost.pricing.upstream import model_names

    own = (row.model for row in _layers_of_rows(user_file) if row.provider == provider)
    return [*own, *model_names(provider)]


def _specific(row: Rates) -> bool:
    """A row for certain hours goes before one for all of them."""
    return bool(row.validity.hours_utc)


def _from_options(provider: str, model: str, service: str, rates: Mapping[str, Decimal]) -> Rates:
    unknown = sorted(set(rates) - set(PRICE_NAMES))
    if unknown:
        raise unknown_name("rate", unknown[0], PRICE_NAMES, field="rate", hint=f"known: {', '.join(PRICE_NAMES)}")
    return Rates(
        provider,
        model,
        Prices(**rates),
        service=service,
        source="stated on the command line or by the caller",
    )


def _check_service(service: str) -> None:
    if service not in SERVICES:
        raise unknown_name("service", service, SERVICES, field="service", hint=f"known: {', '.join(SERVICES)}")


def _no_row(message: str, rows: tuple[Rates, ...], field: str, value: str) -> InputError:
    known = [f"{row.service} {row.validity.words()}" for row in rows]
    return InputError(message, field=field, value=value, allowed="; ".join(dict.fromkeys(known)))


def _moment(at: datetime | str | None) -> datetime:
    if at is None:
        return datetime.now(UTC)
    return parse_time(at) if isinstance(at, str) else in_utc(at)
