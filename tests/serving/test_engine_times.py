"""Prefill and decode of engines whose passes are round numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.serving.deployment import Speculation
from infer_cost.serving.engine_times import (
    decode_load,
    decode_step,
    packed_prefill_time,
    prefill_time,
    prompts_in_a_pass,
    token_time,
)
from infer_cost.serving.operators import Attention, GroupedGemm, Load
from infer_cost.serving.passes import pass_bound, pass_time
from tests.serving.support import GQA, compiled, kernel, matrix, plan, program


def toy(**cut):
    """One matrix in both phases; 1,000 tokens a pass."""
    return compiled(program(matrix()), program(matrix(), host_step_s=1e-3), plan(**cut))


def prefill_pass(sequences, query):
    """20 ns of arithmetic and 4 ns of traffic a token, 1 µs of weights."""
    return sequences * query * 24e-9 + 1e-6


def test_a_batch_is_divided_over_ranks_and_stages():
    assert decode_load(toy(dp=2, pp=4), 64.0, 500.0) == Load(8.0, 1.0, 500.0, True, 2)
    assert decode_load(toy(dp=2, pp=4), 4.0, 500.0).sequences == 1
    assert decode_load(toy(), 3.0, 500.0, 5.0).query == 5


def test_a_decode_step():
    assert decode_step(toy(), 400.0, 10.0).total_s == pytest.approx(1e-3 + 400 * 24e-9 + 1e-6)
    assert decode_step(toy(), 400.0, 10.0, frozenset({"host"})).total_s == pytest.approx(400 * 24e-9 + 1e-6)


def test_a_short_prompt_takes_one_pass():
    found = prefill_time(toy(), 500.0, 0.0)
    assert found.chunks == 1
    assert found.passes.total_s == pytest.approx(prefill_pass(1, 500))
    assert found.occupancy_s == found.passes.total_s
    assert found.bound_s == pytest.approx(500 * 20e-9)
    assert prefill_time(toy(), 500.0, 0.0, bounds=False).bound_s == 0


def test_a_long_prompt_takes_chunks_of_the_token_budget():
    # 2,500 tokens are three passes of 833; weights are read three times.
    found = prefill_time(toy(), 2500.0, 0.0)
    assert found.chunks == 3
    assert found.passes.total_s == pytest.approx(2500 * 24e-9 + 3e-6)
    assert prefill_time(toy(), 1000.0, 0.0).chunks == 1
    # No engine must read them more than once.
    assert found.bound_s == pytest.approx(2500 * 20e-9)


def test_attention_over_chunks_is_attention_over_the_prompt():
    core = Attention("attention", 1.0, kernel(), 1e14, GQA, 8.0, 800.0, 0.0, 0.0)
    engine = compiled(program(core), program(core))
    # Pairs of a query with what it sees, in chunks or at once: 2,400 · 600 + 2,400 · 2,401 / 2, 3,200 FLOPs each.
    pairs = 2400 * 600 + 2400 * 2401 / 2
    assert prefill_time(engine, 2400.0, 600.0).passes.flops == pytest.approx(pairs * 3200)
    packed = packed_prefill_time(engine, 2400.0, 600.0, 1.0)
    assert packed == pytest.approx(prefill_time(engine, 2400.0, 600.0).passes.total_s)


def test_a_pipeline_works_on_several_chunks_at_once():
    # Four chunks through two stages: five steps of half a pass instead of eight. The engine is busy for four.
    found = prefill_time(toy(pp=2), 4000.0, 0.0)
    whole = 4 * prefill_pass(1, 1000)
    assert found.chunks == 4
    assert found.passes.total_s == pytest.approx(whole * 5 / 8)
    assert found.occupancy_s == pytest.approx(whole / 2)
    assert found.bound_s == pytest.approx(4000 * 20e-9 / 2)
    # One chunk has nothing to overlap with.
    assert prefill_time(toy(pp=2), 500.0, 0.0).passes.total_s == pytest.approx(prefill_pass(1, 500))


def test_prompts_that_share_a_pass():
    assert prompts_in_a_pass(toy(), 250.0) == 4
    assert prompts_in_a_pass(toy(), 4000.0) == 1
    assert packed_prefill_time(toy(), 250.0, 0.0, 4.0) == pytest.approx(prefill_pass(4, 250))
    assert packed_prefill_time(toy(pp=2), 250.0, 0.0, 4.0) == pytest.approx(prefill_pass(4, 250) / 2)
    # Two long prompts, three chunks each.
    assert packed_prefill_time(toy(), 2400.0, 0.0, 2.0) == pytest.approx(2 * 2400 * 24e-9 + 3e-6)


def test_the_head_sees_the_last_token_of_each_prompt():
    head = compiled(program(matrix(last_only=True)), program(matrix()))
    found = prefill_time(head, 500.0, 0.0)
    assert found.passes.flops == 2e6
    # A microsecond of weights against 20 ns of arithmetic.
    assert found.bound_s == pytest.approx(1e-6)
    assert packed_prefill_time(head, 250.0, 0.0, 4.0) == pytest.approx(prefill_pass(4, 1))


def test_a_prefix_can_be_left_out():
    core = Attention("attention", 1.0, kernel(), 1e14, GQA, 8.0, 800.0, 0.0, 0.0)
    engine = compiled(program(core), program(core))

    def moved(*without):
        return prefill_time(engine, 600.0, 300.0, frozenset(without)).passes.bytes_moved

    # 900 tokens of 800 bytes, 300 of them found; 8 heads of 200 elements of 2 bytes for each new token.
    assert moved() == pytest.approx(900 * 800 + 600 * 8 * 200 * 2)
    assert moved() - moved("prefix") == pytest.approx(300 * 800)
    assert moved() - moved("cache") == pytest.approx(600 * 800)
    packed = packed_prefill_time(engine, 600.0, 300.0, 2.0)
    without = packed_prefill_time(engine, 600.0, 300.0, 2.0, frozenset({"prefix"}))
    assert packed - without == pytest.approx(2 * 300 * 800 / 1e12)


def test_ranks_that_prefill_together_meet_in_the_experts():
    # 8 experts, 2 a token, all on one rank; arithmetic only.
    experts = GroupedGemm("experts", 1.0, kernel(), 1e14, 8, 2, 1e6, 0.0, 0.0, 0.0, 1)
    engine = compiled(program(experts), program(experts))
    assert prefill_time(engine, 500.0, 0.0).passes.flops == 2e6 * 500 * 2
    assert prefill_time(engine, 500.0, 0.0).bound_s == pytest.approx(500 * 2 * 2e6 / 1e14)
    assert packed_prefill_time(engine, 500.0, 0.0, 2.0, ranks=3) == pytest.approx(3 * 2 * 500 * 2 * 2e6 / 1e14)
    assert packed_prefill_time(engine, 500.0, 0.0, 2.0) == pytest.approx(2 * 500 * 2 * 2e6 / 1e14)


def drafting():
    engine = toy()
    return replace(engine, deployment=replace(engine.deployment, speculation=Speculation("draft", 3, 0.5, 0.1)))


def test_speculation_divides_a_verify_pass_by_the_tokens_won():
    # Three guesses at 50 %: 1 + 1/2 + 1/4 + 1/8 tokens a pass. Each draft step is a tenth of a plain one.
    engine = drafting()
    won = 1.875
    found = token_time(engine, 100.0, 10.0)
    verify = pass_time(engine.decode, Load(100.0, 4.0, 10.0, True)).total_s
    plain = pass_time(engine.decode, Load(100.0, 1.0, 10.0, True)).total_s
    assert found.step.total_s == pytest.approx(verify / won)
    assert found.draft_s == pytest.approx(3 * 0.1 * plain / won)
    assert found.total_s == pytest.approx((verify + 0.3 * plain) / won)
    # At best every guess is right.
    assert found.bound_s == pytest.approx(pass_bound(engine.decode, Load(100.0, 4.0, 10.0, True)) / 4)
    assert token_time(engine, 100.0, 10.0, bounds=False).bound_s == 0


def test_without_speculation_a_token_is_a_step():
    found = token_time(toy(), 100.0, 10.0)
    assert found.total_s == decode_step(toy(), 100.0, 10.0).total_s
    assert found.draft_s == 0
    # 100 tokens: 2 µs of arithmetic against 1 of weights.
    assert found.bound_s == pytest.approx(2e-6)
    assert token_time(toy(), 100.0, 10.0, bounds=False).bound_s == 0
