"""What ``infer-cost price`` prints of more than one call: conversations, tasks, blends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from infer_cost.cli.output import emit_json
from infer_cost.cli.price_views import (
    Find,
    Show,
    bill_document,
    money,
    name_of,
    print_offers,
    rates_document,
    side_by_side,
    source_document,
)
from infer_cost.pricing.billing import plain
from infer_cost.pricing.comparison import compare
from infer_cost.pricing.rates import Rates

if TYPE_CHECKING:
    from infer_cost.pricing.blending import TrafficMix
    from infer_cost.pricing.conversations import CacheTtl, Conversation, ConversationCost
    from infer_cost.pricing.tasks import AgentTask, TaskCost


def ttl_of(text: str) -> CacheTtl:
    """Pass a time to live on; the conversation refuses what isn't one."""
    return cast("CacheTtl", text)


def show_conversations(names: Sequence[str], find: Find, asked: Conversation, show: Show) -> None:
    """Print a conversation with and without caching at each provider."""
    from infer_cost.pricing.conversations import conversation_cost

    found = compare(names, find, lambda row: conversation_cost(asked, row), lambda one: one.with_cache_usd)
    if show.as_json:
        documents = [_conversation_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else side_by_side(found, documents))
        return
    print(
        f"{asked.questions} questions of {asked.question_tokens:,} tokens about {asked.prefix_tokens:,}, "
        f"answers of {asked.answer_tokens:,}\n"
    )
    rows = [
        [
            name_of(one.rates),
            money(one.with_cache_usd),
            money(one.without_cache_usd),
            f"{one.saving:.0%}",
            _reads(one),
        ]
        for one in found.offers
    ]
    header = ["provider", "with cache", "without", "saved", "pays from"]
    print_offers(header, rows, [one.with_cache_usd for one in found.offers], found, show)
    if show.explain:
        for one in found.offers:
            print(f"\n{name_of(one.rates)}\n  first call   {one.first_call.formula()}")
            if one.later_call:
                print(f"  last call    {one.later_call.formula()}")


def show_tasks(names: Sequence[str], find: Find, task: AgentTask, show: Show) -> None:
    """Print an agent's task against a single call at each provider."""
    from infer_cost.pricing.tasks import task_cost

    found = compare(names, find, lambda row: task_cost(task, row), lambda one: one.task_usd)
    if show.as_json:
        documents = [_task_document(one) for one in found.offers]
        emit_json(documents[0] if len(names) == 1 else side_by_side(found, documents))
        return
    first = found.offers[0]
    print(f"{first.calls} calls, {first.task_tokens:,} tokens: {first.token_ratio:.1f} times a single call\n")
    rows = [
        [name_of(one.rates), money(one.task_usd), money(one.single_call_usd), f"{one.cost_ratio:.1f}x"]
        for one in found.offers
    ]
    header = ["provider", "task", "single call", "ratio"]
    print_offers(header, rows, [one.task_usd for one in found.offers], found, show)


def show_blends(
    names: Sequence[str], find: Callable[..., Rates], mix: TrafficMix, batch_share: str, show: Show
) -> None:
    """Print one price a million tokens of a mix at each provider."""
    from infer_cost.pricing.blending import blend, parse_fraction

    share = parse_fraction(batch_share, "batch_share")
    found = compare(
        names,
        find,
        lambda row: blend(row, mix, find(name_of(row), "batch") if share else None, share),
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
                "rates": rates_document(one.rates.prices),
                "source": source_document(one.rates),
            }
            for one in found.offers
        ]
        emit_json(documents[0] if len(names) == 1 else side_by_side(found, documents))
        return
    rows = [
        [
            name_of(one.rates),
            f"${float(one.usd_per_mtok):.4g}",
            f"${float(one.list_usd_per_mtok):.4g}",
            f"{one.saving:.0%}",
        ]
        for one in found.offers
    ]
    header = ["provider", "$/Mtok", "without discounts", "saved"]
    print_offers(header, rows, [Decimal(float(one.usd_per_mtok)) for one in found.offers], found, show)


def _conversation_document(one: ConversationCost) -> dict[str, Any]:
    return {
        "provider": one.rates.provider,
        "model": one.rates.model,
        "with_cache_usd": plain(one.with_cache_usd),
        "without_cache_usd": plain(one.without_cache_usd),
        "saving": one.saving,
        "break_even_reads": None if one.break_even_reads is None else float(one.break_even_reads),
        "first_call": bill_document(one.first_call),
        "last_call": bill_document(one.later_call) if one.later_call else None,
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
        "rates": rates_document(one.rates.prices),
        "source": source_document(one.rates),
    }


def _reads(one: ConversationCost) -> str:
    reads = one.break_even_reads
    if reads is None:
        return "never"
    needed = int(reads) + 1
    return "the first read" if needed == 1 else f"{needed} reads"
