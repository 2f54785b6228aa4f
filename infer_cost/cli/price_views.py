"""What ``infer-cost price`` prints: text for people, one JSON document for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import bar, emit_json, table, wrap
from infer_cost.pricing.billing import Bill, bill, plain
from infer_cost.pricing.comparison import Comparison, compare
from infer_cost.pricing.rates import Prices, Rates

if TYPE_CHECKING:
    from infer_cost.pricing.usage import Usage

Find = Callable[[str], Rates]


@dataclass(frozen=True, slots=True)
class Show:
    """How to print: as JSON, or as text with or without the arithmetic."""

    as_json: bool
    explain: bool


def show_bills(names: Sequence[str], find: Find, usage: Usage, at: datetime | None, show: Show) -> None:
    """Print the bill of one call, or the bills of several providers, cheapest first."""
    found = compare(names, find, lambda row: bill(usage, row, at=at), lambda one: one.cost_usd)
    if show.as_json:
        documents = [bill_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else side_by_side(found, documents))
        return
    if len(names) == 1:
        _print_bill(found.offers[0], show)
        return
    rows = [[name_of(one.rates), money(one.cost_usd), one.rates.layer] for one in found.offers]
    print_offers(["provider", "cost", "row from"], rows, [one.cost_usd for one in found.offers], found, show)


def show_names(names: Sequence[str], show: Show) -> None:
    """Print the names of providers, or of a provider's models, a line each."""
    if show.as_json:
        emit_json(list(names))
    else:
        print("\n".join(names))


def show_rows(rows: Sequence[Rates], show: Show) -> None:
    """Print every row known for a model."""
    if show.as_json:
        emit_json(
            [
                {
                    "provider": row.provider,
                    "model": row.model,
                    "service": row.service,
                    "rates": rates_document(row.prices),
                    "tiers": [
                        {"above_tokens": tier.above_tokens, "rates": rates_document(tier.prices)} for tier in row.tiers
                    ],
                    "source": source_document(row),
                }
                for row in rows
            ]
        )
        return
    print(f"{name_of(rows[0])}, dollars per million tokens\n")
    for row in rows:
        print(f"{row.service:9} {row.validity.words()}  [{row.layer}]")
        print(f"  {_amounts(row.prices)}")
        for tier in row.tiers:
            print(f"  above {tier.above_tokens:,} tokens: {_amounts(tier.prices)}")


def money(amount: Decimal) -> str:
    """Write dollars to read: at least cents, six significant digits at most."""
    if amount >= 1000:
        return f"${amount:,.2f}"
    text = plain(Decimal(f"{amount:.6g}"))
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents.ljust(2, '0')}"


def _print_bill(one: Bill, show: Show) -> None:
    when = f" at {one.at:%Y-%m-%d %H:%M} UTC" if one.at else ""
    service = "" if one.rates.service == "standard" else f", {one.rates.service}"
    print(f"{name_of(one.rates)}{service}{when}\n")
    rows = [
        [
            _unit(line.unit),
            f"{line.quantity:,}",
            f"${plain(line.rate_usd)}/{'M' if line.per == 1_000_000 else 'k'}",
            f"${plain(line.cost_usd)}",
        ]
        for line in one.lines
    ]
    rows.append(["total", "", "", f"${plain(one.cost_usd)}"])
    print(table(["", "count", "price", "cost"], rows))
    if one.tier_above_tokens is not None:
        print(
            wrap(
                f"long-context tier: more than {one.tier_above_tokens:,} tokens move the whole request",
                indent="",
            )
        )
    print()
    print_source(one.rates)
    if show.explain:
        print(f"\n{one.formula()}")
        if one.rates.note:
            print(wrap(one.rates.note, indent=""))


def print_source(row: Rates) -> None:
    """Print a row, its layer and where it was read."""
    print(wrap(f"row: {row.row}, from the {row.layer}", indent=""))
    print(wrap(f"source: {row.source or 'stated by you'}{f', read {row.read}' if row.read else ''}", indent=""))


def print_offers(
    header: list[str], rows: list[list[str]], amounts: list[Decimal], found: Comparison[Any], show: Show
) -> None:
    """Print offers as a table with bars, then who could not be compared."""
    top = max(amounts)
    drawn = [[*row, bar(float(amount / top) if top else 0.0)] for row, amount in zip(rows, amounts, strict=True)]
    print(table([*header, ""], drawn, left=(0, len(header))))
    for refusal in found.refused:
        print(wrap(f"{refusal.name}: {refusal.reason}", indent=""))
    if show.explain:
        print()
        for offer in found.offers:
            print_source(offer.rates)


def side_by_side(found: Comparison[Any], documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return several offers as one document."""
    return {"offers": documents, "refused": [{"name": r.name, "reason": r.reason} for r in found.refused]}


def bill_document(one: Bill) -> dict[str, Any]:
    """Return a bill as a document: dollars as decimal strings."""
    applied, _ = one.rates.prices_for(one.tier_above_tokens + 1 if one.tier_above_tokens is not None else 0)
    return {
        "provider": one.rates.provider,
        "model": one.rates.model,
        "service": one.rates.service,
        "at": one.at.isoformat() if one.at else None,
        "cost_usd": plain(one.cost_usd),
        "formula": one.formula(),
        "lines": [
            {
                "unit": line.unit,
                "quantity": line.quantity,
                "rate_usd": plain(line.rate_usd),
                "per": line.per,
                "cost_usd": plain(line.cost_usd),
            }
            for line in one.lines
        ],
        "usage": one.usage,
        "rates": rates_document(applied),
        "tier_above_tokens": one.tier_above_tokens,
        "source": source_document(one.rates),
    }


def rates_document(prices: Prices) -> dict[str, str]:
    """Return the stated amounts as decimal strings."""
    return {name: plain(amount) for name, amount in prices.stated().items()}


def source_document(row: Rates) -> dict[str, Any]:
    """Return where a row comes from."""
    return {
        "layer": row.layer,
        "row": row.row,
        "source": row.source,
        "read": row.read,
        "confidence": row.confidence,
        "valid_from": row.validity.valid_from.isoformat() if row.validity.valid_from else None,
        "valid_until": row.validity.valid_until.isoformat() if row.validity.valid_until else None,
        "note": row.note,
    }


def name_of(row: Rates) -> str:
    """Return ``provider/model``."""
    return f"{row.provider}/{row.model}"


def _unit(name: str) -> str:
    return name.removesuffix("_per_thousand").replace("_", " ")


def _amounts(prices: Prices) -> str:
    return ", ".join(f"{_unit(name)} {plain(amount)}" for name, amount in prices.stated().items())
