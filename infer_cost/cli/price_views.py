"""What ``infer-cost price`` prints: text for people, one JSON document for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from infer_cost.cli.output import bar, emit_json, table, wrap
from infer_cost.errors import InputError
from infer_cost.pricing.billing import Bill, bill, plain
from infer_cost.pricing.comparison import Comparison, compare
from infer_cost.pricing.rates import Prices, Rates

if TYPE_CHECKING:
    from infer_cost.economics.reveal import Inference
    from infer_cost.pricing.blending import TrafficMix
    from infer_cost.pricing.conversations import CacheTtl, Conversation, ConversationCost
    from infer_cost.pricing.tasks import AgentTask, TaskCost
    from infer_cost.pricing.usage import Usage

Find = Callable[[str], Rates]


@dataclass(frozen=True, slots=True)
class Show:
    """How to print: as JSON, or as text with or without the arithmetic."""

    as_json: bool
    explain: bool


def ttl_of(text: str) -> CacheTtl:
    """Pass a time to live on; the conversation refuses what isn't one."""
    return cast("CacheTtl", text)


def show_bills(names: Sequence[str], find: Find, usage: Usage, at: datetime | None, show: Show) -> None:
    """Print the bill of one call, or the bills of several providers, cheapest first."""
    found = compare(names, find, lambda row: bill(usage, row, at=at), lambda one: one.cost_usd)
    if show.as_json:
        documents = [_bill_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else _side_by_side(found, documents))
        return
    if len(names) == 1:
        _print_bill(found.offers[0], show)
        return
    rows = [[_name(one.rates), money(one.cost_usd), one.rates.layer] for one in found.offers]
    _print_offers(["provider", "cost", "row from"], rows, [one.cost_usd for one in found.offers], found, show)


def show_conversations(names: Sequence[str], find: Find, asked: Conversation, show: Show) -> None:
    """Print a conversation with and without caching at each provider."""
    from infer_cost.pricing.conversations import conversation_cost

    found = compare(names, find, lambda row: conversation_cost(asked, row), lambda one: one.with_cache_usd)
    if show.as_json:
        documents = [_conversation_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else _side_by_side(found, documents))
        return
    print(
        f"{asked.questions} questions of {asked.question_tokens:,} tokens about {asked.prefix_tokens:,}, "
        f"answers of {asked.answer_tokens:,}\n"
    )
    rows = [
        [
            _name(one.rates),
            money(one.with_cache_usd),
            money(one.without_cache_usd),
            f"{one.saving:.0%}",
            _reads(one),
        ]
        for one in found.offers
    ]
    header = ["provider", "with cache", "without", "saved", "pays from"]
    _print_offers(header, rows, [one.with_cache_usd for one in found.offers], found, show)
    if show.explain:
        for one in found.offers:
            print(f"\n{_name(one.rates)}\n  first call   {one.first_call.formula()}")
            if one.later_call:
                print(f"  last call    {one.later_call.formula()}")


def show_tasks(names: Sequence[str], find: Find, task: AgentTask, show: Show) -> None:
    """Print an agent's task against a single call at each provider."""
    from infer_cost.pricing.tasks import task_cost

    found = compare(names, find, lambda row: task_cost(task, row), lambda one: one.task_usd)
    if show.as_json:
        documents = [_task_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else _side_by_side(found, documents))
        return
    first = found.offers[0]
    print(f"{first.calls} calls, {first.task_tokens:,} tokens: {first.token_ratio:.1f} times a single call\n")
    rows = [
        [_name(one.rates), money(one.task_usd), money(one.single_call_usd), f"{one.cost_ratio:.1f}x"]
        for one in found.offers
    ]
    header = ["provider", "task", "single call", "ratio"]
    _print_offers(header, rows, [one.task_usd for one in found.offers], found, show)


def show_blends(
    names: Sequence[str], find: Callable[..., Rates], mix: TrafficMix, batch_share: str, show: Show
) -> None:
    """Print one price a million tokens of a mix at each provider."""
    from infer_cost.pricing.blending import blend, parse_fraction

    share = parse_fraction(batch_share, "batch_share")
    found = compare(
        names,
        find,
        lambda row: blend(row, mix, find(_name(row), "batch") if share else None, share),
        lambda one: one.usd_per_mtok,
    )
    if show.as_json:
        documents = [
            {
                "provider": one.rates.provider,
                "model": one.rates.model,
                "usd_per_mtok": f"{float(one.usd_per_mtok):.10g}",
                "usd_per_mtok_exact": str(one.usd_per_mtok),
                "list_usd_per_mtok": f"{float(one.list_usd_per_mtok):.10g}",
                "saving": one.saving,
                "rates": _rates_document(one.rates.prices),
                "source": _source_document(one.rates),
            }
            for one in found.offers
        ]
        emit_json(documents[0] if len(names) == 1 else _side_by_side(found, documents))
        return
    rows = [
        [
            _name(one.rates),
            f"${float(one.usd_per_mtok):.4g}",
            f"${float(one.list_usd_per_mtok):.4g}",
            f"{one.saving:.0%}",
        ]
        for one in found.offers
    ]
    header = ["provider", "$/Mtok", "without discounts", "saved"]
    _print_offers(header, rows, [Decimal(float(one.usd_per_mtok)) for one in found.offers], found, show)


def show_rows(rows: Sequence[Rates], show: Show) -> None:
    """Print every row known for a model."""
    if show.as_json:
        emit_json(
            [
                {
                    "provider": row.provider,
                    "model": row.model,
                    "service": row.service,
                    "rates": _rates_document(row.prices),
                    "tiers": [
                        {"above_tokens": tier.above_tokens, "rates": _rates_document(tier.prices)} for tier in row.tiers
                    ],
                    "source": _source_document(row),
                }
                for row in rows
            ]
        )
        return
    print(f"{_name(rows[0])}, dollars per million tokens\n")
    for row in rows:
        print(f"{row.service:9} {row.validity.words()}  [{row.layer}]")
        print(f"  {_amounts(row.prices)}")
        for tier in row.tiers:
            print(f"  above {tier.above_tokens:,} tokens: {_amounts(tier.prices)}")


def show_reveal(row: Rates, hardware: str | None, active_parameters: str | None, show: Show) -> None:
    """Print what a price list gives away."""
    from infer_cost.economics.reveal import assumptions_of, reveal
    from infer_cost.hardware_specs.catalog import hardware as find_hardware

    given = assumptions_of(find_hardware(hardware or "h100-sxm"), _bracket(active_parameters))
    found = reveal(row, given)
    if show.as_json:
        emit_json(
            {
                "provider": row.provider,
                "model": row.model,
                "assumptions": given,
                "inferences": found,
                "source": _source_document(row),
            }
        )
        return
    print(f"What the price list of {_name(row)} suggests, if the model ran on {given.machine}\n")
    for one in found:
        print(f"{one.name}: {_span(one)}")
        print(wrap(one.reading))
        print(wrap(f"= {one.formula}"))
    low, high = given.active_parameters
    print(
        wrap(
            f"Assumed: {low / 1e9:g} to {high / 1e9:g} billion active parameters, total over active "
            f"{given.total_over_active[0]:g} to {given.total_over_active[1]:g}, prefill at "
            f"{given.prefill_efficiency[0]:.0%} to {given.prefill_efficiency[1]:.0%} of the peak.",
            indent="",
        )
    )
    print()
    _print_source(row)


def show_choice(path: str, workload: str | None, show: Show) -> None:
    """Print a ranking of providers and what would change it."""
    from infer_cost.economics.choice import CRITERIA, choose_from_file

    found = choose_from_file(path, workload)
    if show.as_json:
        emit_json(found)
        return
    rows = [
        [one.provider.name, f"{one.total:.2f}", *(f"{one.points[name]:.1f}" for name in CRITERIA)]
        for one in found.ranking
    ]
    weights = ["weight", "", *(f"{found.weights[name]:g}" for name in CRITERIA)]
    short = [name[:7] for name in CRITERIA]
    print(table(["provider", "total", *short], [weights, *rows]))
    for name, reason in found.excluded:
        print(f"{name} is out: {reason}")
    for tip in found.tipping_points[:3]:
        print(f"{tip.new_leader} leads once {tip.criterion} weighs {tip.leader_at:.3g} instead of {tip.weight:g}")


def _bracket(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition("..")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise InputError(
            f"can't read {text[:40]!r}", field="active_parameters", value=text, allowed="LOW..HIGH, such as 20e9..200e9"
        ) from None


def _span(one: Inference) -> str:
    if one.unit == "1":
        return f"{one.low:.1%} to {one.high:.1%}"
    texts = [f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" for value in (one.low, one.high)]
    return f"{texts[0]} to {texts[1]} {one.unit}"


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
    print(f"{_name(one.rates)}{service}{when}\n")
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
    _print_source(one.rates)
    if show.explain:
        print(f"\n{one.formula()}")
        if one.rates.note:
            print(wrap(one.rates.note, indent=""))


def _print_source(row: Rates) -> None:
    print(wrap(f"row: {row.row}, from the {row.layer}", indent=""))
    print(wrap(f"source: {row.source or 'stated by you'}{f', read {row.read}' if row.read else ''}", indent=""))


def _print_offers(
    header: list[str], rows: list[list[str]], amounts: list[Decimal], found: Comparison[Any], show: Show
) -> None:
    top = max(amounts)
    drawn = [[*row, bar(float(amount / top) if top else 0.0)] for row, amount in zip(rows, amounts, strict=True)]
    print(table([*header, ""], drawn, left=(0, len(header))))
    for refusal in found.refused:
        print(wrap(f"{refusal.name}: {refusal.reason}", indent=""))
    if show.explain:
        print()
        for offer in found.offers:
            _print_source(offer.rates)


def _side_by_side(found: Comparison[Any], documents: list[dict[str, Any]]) -> dict[str, Any]:
    return {"offers": documents, "refused": [{"name": r.name, "reason": r.reason} for r in found.refused]}


def _bill_document(one: Bill) -> dict[str, Any]:
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
        "rates": _rates_document(applied),
        "tier_above_tokens": one.tier_above_tokens,
        "source": _source_document(one.rates),
    }


def _conversation_document(one: ConversationCost) -> dict[str, Any]:
    return {
        "provider": one.rates.provider,
        "model": one.rates.model,
        "with_cache_usd": plain(one.with_cache_usd),
        "without_cache_usd": plain(one.without_cache_usd),
        "saving": one.saving,
        "break_even_reads": None if one.break_even_reads is None else float(one.break_even_reads),
        "first_call": _bill_document(one.first_call),
        "last_call": _bill_document(one.later_call) if one.later_call else None,
    }


def _task_document(one: TaskCost) -> dict[str, Any]:
    return {
        "provider": one.rates.provider,
        "model": one.rates.model,
        "task_usd": plain(one.task_usd),
        "single_call_usd": plain(one.single_call_usd),
        "cost_ratio": one.cost_ratio,
        "token_ratio": one.token_ratio,
        "calls": one.calls,
        "task_tokens": one.task_tokens,
        "rates": _rates_document(one.rates.prices),
        "source": _source_document(one.rates),
    }


def _rates_document(prices: Prices) -> dict[str, str]:
    return {name: plain(amount) for name, amount in prices.stated().items()}


def _source_document(row: Rates) -> dict[str, Any]:
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


def _name(row: Rates) -> str:
    return f"{row.provider}/{row.model}"


def _unit(name: str) -> str:
    return name.removesuffix("_per_thousand").replace("_", " ")


def _amounts(prices: Prices) -> str:
    return ", ".join(f"{_unit(name)} {plain(amount)}" for name, amount in prices.stated().items())


def _reads(one: ConversationCost) -> str:
    reads = one.break_even_reads
    if reads is None:
        return "never"
    needed = int(reads) + 1
    return "the first read" if needed == 1 else f"{needed} reads"
