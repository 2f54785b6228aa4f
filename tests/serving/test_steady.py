"""The closed loop of one engine whose passes are round numbers."""

from __future__ import annotations

import pytest

from infer_cost.serving.steady import Requests, SteadyState, mean_wait, prefills_ahead, steady_state
from tests.serving.support import compiled, engine, matrix, plan, program

STEP_HOST = 1e-3


def toy(*, crowding=0.0, share=1.0, request=0.0, **cut):
    """A prefill of 1 µs and 24 ns a token, a step of 1.001 ms and 24 ns a sequence; 1,000 tokens a pass."""
    profile = engine(crowding=crowding, interference_share=share, host_request_s=request)
    decode = program(matrix(), host_step_s=STEP_HOST)
    return compiled(program(matrix()), decode, plan(profile=profile, **cut))


def prefill(prompts, tokens):
    return prompts * tokens * 24e-9 + 1e-6


def step(batch):
    return STEP_HOST + 1e-6 + batch * 24e-9


def test_one_user_meets_nobody():
    found = steady_state(toy(crowding=1.0, request=5e-3), Requests(500, 101, 0, 1))
    assert found.running == 1
    assert (found.interference_s, found.capacity_wait_s, found.kv_transfer_s) == (0, 0, 0)
    assert found.wait_s == 5e-3
    assert found.ttft_s == pytest.approx(5e-3 + prefill(1, 500))
    assert found.tpot_s == pytest.approx(step(1))
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s)
    without = steady_state(toy(request=5e-3), Requests(500, 101, 0, 1), frozenset({"host"}))
    assert without.wait_s == 0


def test_the_others_prefill_once_while_a_request_decodes():
    found = steady_state(toy(share=0.5), Requests(500, 101, 0, 8))
    # Seven prefills in a hundred tokens, half of whose time is lost.
    assert found.interference_s == pytest.approx(7 * prefill(1, 500) * 0.5 / 100)
    assert found.tpot_s == pytest.approx(step(8) + found.interference_s)
    # Half of the step under way, nothing crowds.
    assert found.wait_s == pytest.approx(step(8) / 2)
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s)
    assert found.gpus == 1


def test_a_cached_prefix_is_not_computed():
    found = steady_state(toy(), Requests(500, 101, 400, 8))
    assert found.prefill.total_s == pytest.approx(prefill(1, 100))
    assert found.interference_s == pytest.approx(7 * prefill(1, 100) / 100)


def test_data_ranks_prefill_side_by_side():
    found = steady_state(toy(dp=2), Requests(500, 101, 0, 8))
    assert found.interference_s == pytest.approx(3 * prefill(1, 500) / 100)
    assert found.token.total_s == pytest.approx(step(4))
    assert steady_state(toy(dp=2), Requests(500, 101, 0, 2)).interference_s == 0
    assert found.gpus == 2


def test_alone_leaves_out_what_others_cause():
    question = Requests(500, 101, 0, 100)
    alone = steady_state(toy(crowding=1.0, request=5e-3, max_num_seqs=8), question, alone=True)
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
    # Each of 8 requests lives for one more token: all prefill in every step, four at a time in the budget of 1,000.
    found = steady_state(toy(), Requests(250, 2, 0, 8))
    each = prefill(4, 250) / 4
    assert found.interference_s == pytest.approx(7 * each)
    # A prompt's own pass takes as long as that of all four.
    assert found.ttft_s == pytest.approx(step(8) / 2 + prefill(4, 250))
    # Two at a time where four requests live for two tokens.
    two = steady_state(toy(), Requests(250, 3, 0, 4))
    assert two.interference_s == pytest.approx(3 * prefill(2, 250) / 2 / 2)
    assert two.ttft_s == pytest.approx(step(4) / 2 + prefill(2, 250))


def test_prompts_too_long_to_share_a_pass():
    found = steady_state(toy(), Requests(1000, 2, 0, 8))
    assert found.interference_s == pytest.approx(7 * prefill(1, 1000))
    assert found.ttft_s == pytest.approx(step(8) / 2 + prefill(1, 1000))


def test_a_single_output_token_is_no_division_by_nothing():
    found = steady_state(toy(), Requests(500, 1, 0, 4))
    assert found.residence_s == pytest.approx(found.ttft_s)
    assert found.interference_s == pytest.approx(3 * prefill(2, 500) / 2)


def test_an_arrival_waits_for_half_a_step_and_the_prefills_before_it():
    loop = toy(crowding=0.3)
    # 16 sequences, each 2 ms of prefill in a cycle of 100 · 10.5 ms + 2 ms.
    share = 16 * 2e-3 / (100 * 10.5e-3 + 2e-3)
    found = mean_wait(loop, 16.0, 2e-3, 10e-3, 0.5e-3, 100.0)
    assert found == pytest.approx(5e-3 + prefills_ahead(0.3, 15.0, share) * 2e-3)
    assert mean_wait(loop, 1.0, 2e-3, 10e-3, 0.5e-3, 100.0) == 0
    # On two ranks eight each; four prompts in a pass make four passes of 16, three of them the others'.
    halved = mean_wait(toy(crowding=0.3, dp=2), 16.0, 2e-3, 10e-3, 0.5e-3, 100.0)
    assert halved == pytest.approx(5e-3 + prefills_ahead(0.3, 7.0, share / 2) * 2e-3)
    # All four come in the same pass.
    assert mean_wait(loop, 4.0, 2e-3, 10e-3, 0.5e-3, 100.0, 4.0) == pytest.approx(5e-3)
    packed = mean_wait(loop, 16.0, 2e-3, 10e-3, 0.5e-3, 100.0, 4.0)
    assert packed == pytest.approx(5e-3 + prefills_ahead(0.3, 3.0, share) * 8e-3)


def test_never_more_prefills_ahead_than_there_are_others():
    assert prefills_ahead(100.0, 5.0, 0.5) == 5
    assert prefills_ahead(0.1, 5.0, 7.0) == prefills_ahead(0.1, 5.0, 1.0)
    assert prefills_ahead(0.1, 0.0, 0.5) == 0
    # At two requests and a saturated engine it is the crowding itself.
    assert prefills_ahead(0.25, 1.0, 1.0) == 0.25
    assert prefills_ahead(0.1, 5.0, 0.5) > prefills_ahead(0.1, 5.0, 0.4)
    assert prefills_ahead(0.1, 6.0, 0.5) > prefills_ahead(0.1, 5.0, 0.5)


def test_grids_with_and_without_room():
    numpy = pytest.importorskip("numpy")
    loop = toy(crowding=0.3, max_num_seqs=8)
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
