"""The closed loop of one engine whose passes are round numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.serving.operators import GroupedGemm
from infer_cost.serving.steady import (
    Requests,
    SteadyState,
    admission_wait,
    meeting,
    passes_ahead,
    prefills_ahead,
    steady_state,
)
from tests.serving.support import compiled, engine, kernel, matrix, plan, program

STEP_HOST = 1e-3


def toy(*, admission=0.0, request=0.0, **cut):
    """A prefill of 1 µs and 24 ns a token, a step of 1.001 ms and 24 ns a sequence; 1,000 tokens a pass."""
    profile = engine(admission_steps=admission, host_request_s=request)
    decode = program(matrix(), host_step_s=STEP_HOST)
    return compiled(program(matrix()), decode, plan(profile=profile, **cut))


def prefill(prompts, tokens):
    return prompts * tokens * 24e-9 + 1e-6


def step(batch):
    return STEP_HOST + 1e-6 + batch * 24e-9


def test_one_user_meets_nobody():
    found = steady_state(toy(admission=1.5, request=5e-3), Requests(500, 101, 0, 1))
    assert found.running == 1
    assert (found.interference_s, found.capacity_wait_s, found.kv_transfer_s) == (0, 0, 0)
    assert found.wait_s == 5e-3
    assert found.ttft_s == pytest.approx(5e-3 + prefill(1, 500))
    assert found.tpot_s == pytest.approx(step(1))
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s)
    without = steady_state(toy(request=5e-3), Requests(500, 101, 0, 1), frozenset({"host"}))
    assert without.wait_s == 0


def test_the_others_prefill_once_while_a_request_waits_or_decodes():
    found = steady_state(toy(admission=1.5), Requests(500, 101, 0, 8))
    # Eight requests end in a hundred steps, 0.08 in one: those ahead of an arrival are 4.2 times as many.
    ahead = meeting(8.0) * 0.08
    assert found.ahead == pytest.approx(ahead)
    assert found.occupancy_s == pytest.approx(prefill(1, 500))
    assert found.ahead_s == pytest.approx(ahead * prefill(1, 500))
    # The step under way and the next one, then the prefills ahead.
    assert found.wait_s == pytest.approx(1.5 * step(8) + ahead * prefill(1, 500))
    assert found.ttft_s == pytest.approx(found.wait_s + prefill(1, 500))
    # Of seven others' prefills the rest falls into the hundred tokens.
    assert found.interference_s == pytest.approx((7 - ahead) * prefill(1, 500) / 100)
    assert found.tpot_s == pytest.approx(step(8) + found.interference_s)
    # Eight prefills in all while a request is there, whenever they come.
    assert found.residence_s == pytest.approx(8 * prefill(1, 500) + 101.5 * step(8))
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s)
    assert found.gpus == 1


def test_a_cached_prefix_is_not_computed():
    found = steady_state(toy(), Requests(500, 101, 400, 8))
    assert found.prefill.total_s == pytest.approx(prefill(1, 100))
    assert found.residence_s == pytest.approx(8 * prefill(1, 100) + 100 * step(8))


def test_data_ranks_prefill_side_by_side():
    found = steady_state(toy(dp=2), Requests(500, 101, 0, 8))
    ahead = meeting(4.0) * 0.04
    assert found.interference_s == pytest.approx((3 - ahead) * prefill(1, 500) / 100)
    assert found.wait_s == pytest.approx(ahead * prefill(1, 500))
    assert found.token.total_s == pytest.approx(step(4))
    assert steady_state(toy(dp=2), Requests(500, 101, 0, 2)).interference_s == 0
    assert found.gpus == 2


def test_data_ranks_meet_in_the_experts():
    # Arithmetic alone: two of eight experts of 10⁶ weights a token, 40 ns; all of them on each rank.
    experts = GroupedGemm("experts", 1.0, kernel(), 1e14, 8, 2, 1e6, 0.0, 0.0, 0.0, 1)
    loop = compiled(program(experts), program(matrix(), host_step_s=STEP_HOST), plan(dp=2))
    one = 500 * 40e-9
    found = steady_state(loop, Requests(500, 101, 0, 8))
    ahead = meeting(4.0) * 0.04
    # A pass has a prompt of each rank: twice as long as one alone, for the request's own too.
    assert found.prefill.total_s == pytest.approx(one)
    assert found.occupancy_s == pytest.approx(2 * one)
    assert found.ttft_s == pytest.approx((ahead + 1) * 2 * one)
    assert found.interference_s == pytest.approx((3 - ahead) * 2 * one / 100)
    # Where no rank has more than one request, it has its prefill to itself.
    assert steady_state(loop, Requests(500, 101, 0, 2)).ttft_s == pytest.approx(one)
    assert steady_state(loop, Requests(500, 101, 0, 8), alone=True).ttft_s == pytest.approx(one)


def test_alone_leaves_out_what_others_cause():
    question = Requests(500, 101, 0, 100)
    alone = steady_state(toy(admission=1.5, request=5e-3, max_num_seqs=8), question, alone=True)
    assert (alone.interference_s, alone.capacity_wait_s, alone.wait_s) == (0, 0, 5e-3)
    assert alone.residence_s == pytest.approx(alone.ttft_s + 100 * alone.tpot_s)
    # The batch is still there.
    assert alone.tpot_s == pytest.approx(step(8))


def test_who_finds_no_room_waits():
    found = steady_state(toy(max_num_seqs=8), Requests(500, 101, 0, 24))
    assert found.running == 8
    # Of 24 users 8 run and 16 wait, twice as long as a request runs.
    served = found.wait_s + prefill(1, 500) + 100 * found.tpot_s
    assert found.capacity_wait_s == pytest.approx(2 * served)
    assert found.residence_s == pytest.approx(3 * served)
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s)


def test_room_is_for_the_input_and_a_share_of_the_output():
    # 613.4 MB of cache at 3,200 B a token: 600 tokens are 38 blocks of 16, 1.9456 MB; 1,600 tokens 5.12 MB.
    def runs(reserve, n_out):
        profile = engine(output_reserve=reserve)
        loop = compiled(program(matrix()), program(matrix()), plan(profile=profile))
        return steady_state(loop, Requests(600, n_out, 0, 64)).running

    assert runs(0.0, 2000) == 64
    tight = plan(profile=engine(output_reserve=0.5), memory_utilization=0.32)
    found = steady_state(compiled(program(matrix()), program(matrix()), tight), Requests(600, 2000, 0, 64))
    # 33.4 MB left, 5.12 MB each.
    assert found.running == 6


def test_prompts_that_come_in_one_step_share_a_pass():
    # 40 requests of 20 steps: two arrive in a step, and their pass takes both; √2 · 4.2 are ahead.
    found = steady_state(toy(), Requests(250, 21, 0, 40))
    ahead = meeting(40.0) * 2**0.5
    assert found.ahead == pytest.approx(ahead)
    assert found.occupancy_s == pytest.approx(prefill(2, 250) / 2)
    # A pass has room for four: those ahead fill one and a half.
    waited = ahead * 250 * 24e-9 + ahead / 4 * 1e-6
    assert found.ahead_s == pytest.approx(waited)
    # A prompt's own pass takes as long as that of both.
    assert found.ttft_s == pytest.approx(waited + prefill(2, 250))
    alone = steady_state(toy(), Requests(250, 21, 0, 40), alone=True)
    assert alone.ttft_s == pytest.approx(prefill(1, 250))


def test_those_ahead_share_passes_too():
    # 60 requests in 100 steps: 0.6 arrive in one and 2.52 are ahead, of which a pass of 1,000 tokens holds ten.
    found = steady_state(toy(), Requests(100, 101, 0, 60))
    assert found.ahead == pytest.approx(meeting(60.0) * 0.6)
    assert found.ahead_s == pytest.approx(prefill(meeting(60.0) * 0.6, 100))
    # A third of a pass where a third of a request is ahead.
    few = steady_state(toy(), Requests(100, 101, 0, 8))
    assert few.ahead_s == pytest.approx(meeting(8.0) * 0.08 * prefill(1, 100))


def test_two_groups_take_turns_where_half_fill_a_pass():
    # Each of 8 requests lives for one more token, four prompts fit the budget of 1,000.
    found = steady_state(toy(), Requests(250, 2, 0, 8))
    assert found.ahead <= 4
    # From arrival to end both groups' passes and a step, whatever is waited for before or between the two tokens.
    assert found.residence_s == pytest.approx(2 * prefill(4, 250) + step(8), rel=1e-2)


def test_all_but_those_that_decode_wait_where_more_arrive_than_a_pass_takes():
    # A pass has room for four prompts of 250; in ten steps 40 requests get in and the other 60 wait, less those of
    # one's own pass.
    found = steady_state(toy(max_num_seqs=100), Requests(250, 11, 0, 100))
    assert found.ahead == pytest.approx(56)
    assert found.occupancy_s == pytest.approx(prefill(4, 250) / 4)
    assert found.wait_s == pytest.approx(56 * prefill(4, 250) / 4 + prefill(4, 250) - prefill(1, 250))
    # One at a time, 64 requests of 32 steps: a step takes one in, so 32 decode and 31 are ahead.
    single = steady_state(toy(), Requests(1000, 33, 0, 64))
    assert single.ahead == pytest.approx(31)
    assert single.wait_s == pytest.approx(31 * prefill(1, 1000))
    # Every step of the other 32 has a prefill in it.
    assert single.interference_s == pytest.approx(prefill(1, 1000))
    assert single.residence_s == pytest.approx(64 * prefill(1, 1000) + 32 * step(64))


def test_prompts_in_chunks_arrive_slower_still():
    # A prompt of 2,000 tokens takes two passes: in 20 steps ten get in, 21 of 32 are ahead.
    found = steady_state(toy(), Requests(2000, 21, 0, 32))
    assert found.ahead == pytest.approx(21)
    assert found.wait_s == pytest.approx(21 * (2000 * 24e-9 + 2e-6))
    assert found.interference_s == pytest.approx(10 * (2000 * 24e-9 + 2e-6) / 20)


def test_a_single_output_token_is_no_division_by_nothing():
    # Four users who want one token each: two prompts in a pass, so one other pass is ahead; no step is waited for.
    found = steady_state(toy(admission=1.5), Requests(500, 1, 0, 4))
    assert found.residence_s == pytest.approx(found.ttft_s)
    assert found.ttft_s == pytest.approx(2 * prefill(2, 500))


def test_the_scheduler_takes_an_arrival_in_after_some_steps():
    assert admission_wait(toy(admission=1.5), 2.0, 10e-3) == pytest.approx(15e-3)
    assert admission_wait(toy(), 2.0, 10e-3) == 0
    # With no one else there no step is under way.
    assert admission_wait(toy(admission=1.5), 1.0, 10e-3) == 0


def test_prefills_ahead_of_an_arrival():
    # Few arrive in a step: in proportion; many: they share passes, so with the root.
    assert prefills_ahead(10.0, 100.0) == pytest.approx(meeting(10.0) * 0.1)
    assert prefills_ahead(100.0, 100.0, 8.0) == pytest.approx(meeting(100.0))
    assert prefills_ahead(400.0, 100.0, 8.0) == pytest.approx(meeting(400.0) * 2)
    # Where a pass takes one, one a step meets the others; those that share one's own pass aren't ahead.
    assert prefills_ahead(3.0, 2.0) == pytest.approx(meeting(3.0))
    assert prefills_ahead(400.0, 2.0, 399.0) == pytest.approx(meeting(400.0) * 200**0.5)
    # All arrive in the same step and share a pass.
    assert prefills_ahead(8.0, 1.0, 8.0) == 0
    # Room for two a step in ten steps: 20 of 50 decode.
    assert prefills_ahead(50.0, 10.0, 2.0) == 28


def test_passes_that_those_ahead_fill():
    assert passes_ahead(0.0, 4.0) == 0
    assert passes_ahead(0.3, 4.0) == pytest.approx(0.3)
    assert passes_ahead(2.0, 4.0) == 1
    assert passes_ahead(10.0, 4.0) == pytest.approx(2.5)


SEQUENCES, STEPS, ROOM = st.floats(1.0, 2000.0), st.floats(1.0, 5000.0), st.floats(0.05, 500.0)


@given(SEQUENCES, STEPS, ROOM, st.floats(1.0, 4.0))
def test_laws_of_the_prefills_ahead(sequences, steps, room, factor):
    ahead = prefills_ahead(sequences, steps, room)
    assert 0 <= ahead <= sequences - 1
    # Those that can't decode are all there, and those that share its pass are none of them.
    assert ahead >= min(sequences - max(room, 1.0) * (1 + steps), sequences - max(room, 1.0)) - 1e-9
    assert ahead <= sequences - min(max(sequences / steps, 1.0), max(room, 1.0)) + 1e-9
    # More users make more of them, longer answers fewer.
    assert prefills_ahead(sequences * factor, steps, room) >= ahead * (1 - 1e-12)
    if sequences <= steps:
        assert prefills_ahead(sequences, steps * factor, room) <= ahead * (1 + 1e-12)
    assert prefills_ahead(1.0, steps, room) == 0


LENGTHS = st.integers(1, 3000), st.integers(1, 1000)


@given(*LENGTHS, st.integers(1, 300), st.sampled_from([1, 2, 4]))
def test_what_was_waited_for_is_not_lost_again(n_in, n_out, users, dp):
    found = steady_state(toy(dp=dp, request=5e-3), Requests(n_in, n_out, 0, users))
    steps, others = max(n_out - 1, 1), max(found.running / dp, 1.0) - 1
    assert 0 <= found.ahead <= others
    assert found.interference_s >= 0
    beside = min(max(found.running / dp / steps, 1), max(1000 / n_in, 1)) - 1
    before_and_after = (found.ahead + beside) * found.occupancy_s + found.interference_s * steps
    assert before_and_after == pytest.approx(others * found.occupancy_s, rel=1e-9, abs=1e-15)
    if found.running <= dp:
        assert (found.ahead, found.interference_s) == (0, 0)
        assert found.wait_s == 5e-3


@given(*LENGTHS, st.integers(1, 200), st.integers(1, 200), st.sampled_from([1, 2]))
def test_more_users_never_shorten_the_time_to_the_first_token(n_in, n_out, users, more, dp):
    loop = toy(admission=1.5, dp=dp, max_num_seqs=400)
    few, many = (steady_state(loop, Requests(n_in, n_out, 0, n)) for n in (users, users + more))
    assert many.ttft_s >= few.ttft_s * (1 - 1e-9)


def test_grids_with_and_without_room():
    numpy = pytest.importorskip("numpy")
    loop = toy(admission=1.5, max_num_seqs=8)
    lengths = numpy.array([[100.0], [900.0]])
    for users in ([1.0, 4.0], [16.0, 32.0], [4.0, 16.0]):
        grid = steady_state(loop, Requests(lengths, 50.0, 0.0, numpy.array([users])))
        for row, length in enumerate((100.0, 900.0)):
            for column, flight in enumerate(users):
                one = steady_state(loop, Requests(length, 50.0, 0.0, flight))
                for name in ("ttft_s", "tpot_s", "residence_s", "running", "token_bound_s"):
                    whole = numpy.broadcast_to(getattr(grid, name), (2, 2))
                    assert whole[row, column] == pytest.approx(getattr(one, name), rel=1e-12), name


def test_lengths_of_requests():
    one = Requests(500.0, 101.0, 400.0, 8.0)
    assert (one.new_tokens, one.mean_context, one.decode_steps) == (100, 550.5, 100)


def test_times_are_sums():
    from infer_cost.serving.passes import PassTime

    state = SteadyState(
        running=1.0,
        prefill=PassTime(compute_s=1.0),
        prefill_bound_s=0.5,
        chunks=1.0,
        token=PassTime(memory_s=10.0),
        draft_s=20.0,
        token_bound_s=0.5,
        interference_s=40.0,
        wait_s=2.0,
        capacity_wait_s=4.0,
        kv_transfer_s=8.0,
        residence_s=100.0,
        gpus=1,
    )
    assert state.ttft_s == 15
    assert state.tpot_s == 70
