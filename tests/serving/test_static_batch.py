"""A batch that starts together and ends together."""

from __future__ import annotations

import pytest

from infer_cost.serving.operators import Attention
from infer_cost.serving.static_batch import static_state
from infer_cost.serving.steady import Requests
from tests.serving.support import GQA, compiled, engine, kernel, matrix, plan, program


def toy(**cut):
    """A prefill of 1 µs and 24 ns a token, a step of 1.001 ms and 24 ns a sequence; 1,000 tokens a pass."""
    profile = engine(admission_steps=1.5, host_request_s=1.0)
    return compiled(program(matrix()), program(matrix(), host_step_s=1e-3), plan(profile=profile, **cut))


def prefill(prompts, tokens):
    return prompts * tokens * 24e-9 + 1e-6


def step(batch):
    return 1e-3 + 1e-6 + batch * 24e-9


def test_one_pass_for_all():
    found = static_state(toy(), Requests(250, 101, 0, 4))
    assert found.ttft_s == pytest.approx(prefill(4, 250))
    assert found.tpot_s == pytest.approx(step(4))
    assert found.residence_s == pytest.approx(prefill(4, 250) + 100 * step(4))
    assert (found.running, found.gpus, found.interference_s, found.capacity_wait_s) == (4, 1, 0, 0)


def test_prompts_beyond_the_token_budget_come_in_several_passes():
    # 12 prompts are three passes of four, which end after one, two and three times: two on average.
    found = static_state(toy(), Requests(250, 101, 0, 12))
    assert found.ttft_s == pytest.approx(2 * prefill(4, 250))
    assert found.residence_s == pytest.approx(3 * prefill(4, 250) + 100 * step(12))


def test_passes_are_filled_evenly():
    # Six prompts of which four fit are two passes of three.
    found = static_state(toy(), Requests(250, 101, 0, 6))
    assert found.residence_s == pytest.approx(2 * prefill(3, 250) + 100 * step(6))


def test_one_request_waits_for_nothing():
    found = static_state(toy(), Requests(250, 101, 0, 1))
    assert found.wait_s == 0
    assert found.ttft_s == pytest.approx(prefill(1, 250))


def test_cached_tokens_leave_room_for_more_prompts():
    found = static_state(toy(), Requests(500, 101, 400, 10))
    assert found.ttft_s == pytest.approx(prefill(10, 100))
    assert found.residence_s == pytest.approx(prefill(10, 100) + 100 * step(10))


def test_a_cached_prefix_is_read():
    # 300 found, 100 new, ten at once: pairs of 3,200 FLOPs; 400 tokens of 800 bytes; 8 heads of 200 elements a query.
    core = Attention("attention", 1.0, kernel(), 1e14, GQA, 8.0, 800.0, 0.0, 0.0)
    loop = compiled(program(core), program(matrix()), plan())
    each = (100 * 300 + 100 * 101 / 2) * 3200 / 1e14 + (400 * 800 + 100 * 3200) / 1e12
    found = static_state(loop, Requests(400, 101, 300, 10))
    assert found.ttft_s == pytest.approx(10 * each)
    assert found.prefill.total_s == pytest.approx(each)
    assert static_state(loop, Requests(400, 101, 300, 10), frozenset({"prefix"})).ttft_s == pytest.approx(
        10 * (each - 300 * 800 / 1e12)
    )


def test_data_ranks_take_their_share():
    found = static_state(toy(dp=2), Requests(250, 101, 0, 8))
    # Four prompts and four sequences on each.
    assert found.ttft_s == pytest.approx(prefill(4, 250))
    assert found.residence_s == pytest.approx(prefill(4, 250) + 100 * step(4))
    assert static_state(toy(dp=2), Requests(250, 101, 0, 1)).ttft_s == pytest.approx(prefill(1, 250))


def test_bounds_are_those_of_a_request():
    # 250 tokens of 20 ns; a token of a batch of four: 1 µs of weights.
    found = static_state(toy(), Requests(250, 101, 0, 4))
    assert found.prefill_bound_s == pytest.approx(250 * 20e-9)
    assert found.token_bound_s == pytest.approx(1e-6)
