from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError
from infer_cost.pricing import Prices, Rates, find_rates
from infer_cost.pricing.conversations import Conversation, break_even_reads, conversation_cost
from infer_cost.pricing.tasks import AgentTask, task_cost

D = Decimal
SONNET = Rates("anthropic", "claude-sonnet-4-5", Prices(D(3), D(15), D("0.3"), D("3.75"), D(6)))
OPENAI = Rates("openai", "gpt-5.5", Prices(D(5), D(30), D("0.5")))


def test_ten_questions_about_a_document_by_hand() -> None:
    cost = conversation_cost(Conversation(12_000, 22, 500, 10), SONNET)
    write, read = D("0.045"), 9 * D("0.0036")
    questions, answers = 220 * D(3) / 10**6, 5000 * D(15) / 10**6
    assert cost.with_cache_usd == write + read + questions + answers
    assert cost.without_cache_usd == 10 * (12_022 * D(3) + 500 * D(15)) / 10**6


def test_a_vendor_without_a_write_fee_charges_the_first_pass_as_input() -> None:
    cost = conversation_cost(Conversation(12_000, 22, 500, 10), OPENAI)
    assert cost.first_call.cost_usd == (12_022 * D(5) + 500 * D(30)) / 10**6
    assert cost.break_even_reads == 0


@given(st.integers(1, 200_000), st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 12), st.booleans())
def test_every_call_sends_the_same_tokens_cached_or_not(
    prefix: int, question: int, answer: int, count: int, grows: bool
) -> None:
    asked = Conversation(prefix, question, answer, count, grows)
    cached, bare = asked.calls(cached=True), asked.calls(cached=False)
    assert [call.input_tokens for call in cached] == [call.input_tokens for call in bare]
    written = sum(call.cache_write_5m_tokens for call in cached)
    # Nothing is written twice while the cache lives.
    assert written == (bare[-1].input_tokens if grows else prefix)


def test_beyond_the_time_to_live_every_call_writes_anew_and_caching_loses() -> None:
    late = conversation_cost(Conversation(12_000, 22, 500, 10, gap_s=300.0), SONNET)
    assert late.with_cache_usd > late.without_cache_usd
    assert late.saving < 0
    hour = conversation_cost(Conversation(12_000, 22, 500, 10, ttl="1h", gap_s=300.0), SONNET)
    assert hour.with_cache_usd < hour.without_cache_usd


def test_break_even_reads() -> None:
    assert break_even_reads(SONNET.prices, "5m") == Fraction(75, 270)
    assert break_even_reads(SONNET.prices, "1h") == Fraction(300, 270)
    assert break_even_reads(Prices(D(3), D(15), D(3), D(4))) is None


@given(st.integers(1, 12))
def test_break_even_is_where_the_two_totals_cross(reads: int) -> None:
    cost = conversation_cost(Conversation(10_000, 0, 0, 1 + reads, ttl="1h"), SONNET)
    assert (cost.with_cache_usd < cost.without_cache_usd) == (reads > Fraction(300, 270))


def test_a_write_that_the_row_does_not_price_is_refused() -> None:
    only_5m = Rates("v", "m", Prices(D(3), D(15), D("0.3"), D("3.75")))
    with pytest.raises(InputError, match="no price for cache_write_1h"):
        conversation_cost(Conversation(1000, 10, 10, 3, ttl="1h"), only_5m)


@pytest.mark.parametrize("wrong", [{"questions": 0}, {"ttl": "2h"}, {"gap_s": -1.0}, {"gap_s": float("nan")}])
def test_a_conversation_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Conversation(**{"prefix_tokens": 1, "question_tokens": 1, "answer_tokens": 1, "questions": 1, **wrong})  # type: ignore[arg-type]


def test_a_task_of_one_step_is_the_single_call() -> None:
    cost = task_cost(AgentTask(3000, 1, 300, 500, cached=False), SONNET)
    assert cost.cost_ratio == 1.0
    assert cost.token_ratio == 1.0


def test_an_agents_task_takes_ten_to_a_hundred_times_the_tokens_and_five_to_25_times_the_cost() -> None:
    cost = task_cost(AgentTask(3000, 20, 300, 500), SONNET)
    assert 10 <= cost.token_ratio <= 100
    assert 5 <= cost.cost_ratio <= 25
    assert cost.task_usd == D("0.21639")


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30))
def test_retries_and_lost_caches_only_add(steps: int, retries: int, reloads: int) -> None:
    plain = task_cost(AgentTask(3000, steps, 300, 500), SONNET)
    hard = AgentTask(3000, steps, 300, 500, min(retries, steps), min(reloads, steps))
    cost = task_cost(hard, SONNET)
    assert cost.calls == steps + min(retries, steps)
    assert cost.task_usd >= plain.task_usd
    bare = task_cost(AgentTask(3000, steps, 300, 500, cached=False), OPENAI)
    assert task_cost(AgentTask(3000, steps, 300, 500), OPENAI).task_usd <= bare.task_usd


def test_five_providers_and_the_document() -> None:
    names = ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5", "google/gemini-2.5-pro", "deepseek/deepseek-flash"]
    for name in names:
        cost = conversation_cost(Conversation(12_000, 22, 500, 10), find_rates(name, at="2026-11-30T12:00"))
        assert 0.5 < cost.saving < 0.8
