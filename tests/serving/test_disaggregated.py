"""Two pools whose passes are round numbers: what flows, what waits, what crosses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from infer_cost.serving.disaggregated import disaggregated_state, kv_transfer_time, share_a_domain
from infer_cost.serving.operators import Attention
from infer_cost.serving.scenario import Pool
from infer_cost.serving.steady import Requests
from tests.serving.support import GQA, MACHINE, compiled, engine, kernel, matrix, plan, program

FAR = replace(MACHINE, scale_up_domain=1)


def pool(instances=1, *, profile=None, prefill_launches=1.0, machine=MACHINE, **cut):
    """Engines with a prefill of 1 µs and 24 ns a token, and a step of 1.001 ms and 24 ns a sequence."""
    decode = program(matrix(), host_step_s=1e-3)
    deployment = plan(profile=profile or engine(), machine=machine, **cut)
    return Pool(compiled(program(matrix(launches=prefill_launches)), decode, deployment), instances)


def prefill(prompts, tokens):
    return prompts * tokens * 24e-9 + 1e-6


def step(batch):
    return 1e-3 + 1e-6 + batch * 24e-9


def test_pools_in_one_domain():
    # Eight GPUs in a domain.
    assert share_a_domain(pool(2), pool(3, tp=2))
    assert not share_a_domain(pool(2), pool(7))
    assert share_a_domain(pool(2), pool(6))
    other = replace(MACHINE, id="other")
    assert not share_a_domain(pool(1), pool(1, machine=other))


def per_token(front, back):
    """Seconds that each further token of the prompt takes to move: latency aside."""
    return (kv_transfer_time(front, back, 30_000.0) - kv_transfer_time(front, back, 10_000.0)) / 20_000


def test_the_cache_goes_over_the_links_of_the_narrower_engine():
    # 3,200 B a token over the 10¹¹ B/s of the domain or the 10¹⁰ of the NICs, of which links reach a good part.
    inside = per_token(pool(), pool())
    assert 3200 / 1e11 <= inside < 3 * 3200 / 1e11
    across = per_token(pool(machine=FAR), pool(machine=FAR))
    assert 3200 / 1e10 <= across < 3 * 3200 / 1e10
    assert per_token(pool(tp=2), pool(tp=2)) == pytest.approx(inside / 2, rel=1e-6)
    assert per_token(pool(tp=2), pool()) == pytest.approx(inside, rel=1e-6)
    assert per_token(pool(), pool(tp=4)) == pytest.approx(inside, rel=1e-6)
    assert per_token(pool(kv="fp8"), pool(kv="fp8")) == pytest.approx(inside / 2, rel=1e-6)


def test_the_slower_of_two_machines_links_decides():
    slow = replace(FAR, id="slow", scale_out_bandwidth=2e9)
    both = per_token(pool(machine=FAR), pool(machine=slow))
    assert both == pytest.approx(5 * per_token(pool(machine=FAR), pool(machine=FAR)), rel=1e-6)
    unknown = replace(FAR, id="unknown", scale_out_bandwidth=None)
    assert per_token(pool(machine=FAR), pool(machine=unknown)) == pytest.approx(
        per_token(pool(machine=FAR), pool(machine=FAR)), rel=1e-6
    )
    # No NICs anywhere: through the host, at 5 · 10¹⁰ B/s.
    hosts = per_token(pool(machine=unknown), pool(machine=unknown))
    assert hosts == pytest.approx(per_token(pool(machine=FAR), pool(machine=FAR)) / 5, rel=1e-6)


def test_one_request_passes_through_both():
    front, back = pool(2), pool(3, profile=engine(host_request_s=5e-3))
    found = disaggregated_state(front, back, Requests(500, 101, 0, 1))
    moved = kv_transfer_time(front, back, 500.0)
    assert found.wait_s == pytest.approx(5e-3)
    assert found.kv_transfer_s == pytest.approx(moved)
    assert found.ttft_s == pytest.approx(5e-3 + prefill(1, 500) + moved)
    assert found.tpot_s == pytest.approx(step(1))
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * step(1))
    assert (found.running, found.gpus, found.interference_s, found.capacity_wait_s) == (1, 5, 0, 0)


def test_a_hand_over_takes_its_time():
    question = Requests(500, 101, 0, 1)
    plain, slow = (disaggregated_state(pool(), pool(profile=engine(handover_s=s)), question) for s in (0.0, 0.1))
    assert slow.ttft_s == pytest.approx(plain.ttft_s + 0.1)
    assert slow.tpot_s == plain.tpot_s
    assert slow.residence_s == pytest.approx(plain.residence_s + 0.1)


def test_what_is_left_out():
    front, back = pool(2), pool(3, profile=engine(host_request_s=5e-3))
    question = Requests(500, 101, 0, 1)
    assert disaggregated_state(front, back, question, frozenset({"host"})).wait_s == 0
    assert disaggregated_state(front, back, question, frozenset({"scale_up"})).kv_transfer_s == 0
    assert disaggregated_state(front, back, question, frozenset({"scale_out"})).kv_transfer_s > 0
    far = pool(2, machine=FAR), pool(3, machine=FAR)
    assert disaggregated_state(*far, question, frozenset({"scale_up"})).kv_transfer_s > 0
    assert disaggregated_state(*far, question, frozenset({"scale_out"})).kv_transfer_s == 0


def test_decodes_are_spread_over_the_pool_and_meet_no_prefills():
    found = disaggregated_state(pool(4), pool(2), Requests(500, 1001, 0, 16))
    # Nearly all of 16 requests decode, eight in each of two engines.
    assert found.running == pytest.approx(16, rel=0.01)
    assert found.tpot_s == pytest.approx(step(found.running / 2), rel=1e-6)
    assert found.interference_s == 0


def test_little_s_law_in_the_decode_pool():
    # Prefill takes as long as decode: 1 µs and 24 ns a token, ten thousand times.
    front, back = pool(8, prefill_launches=2000.0), pool(2)
    found = disaggregated_state(front, back, Requests(500, 27, 0, 16))
    rate = 16 / found.residence_s
    assert found.running == pytest.approx(rate * 26 * found.tpot_s, rel=1e-3)
    assert 4 < found.running < 12


def test_a_small_prefill_pool_makes_requests_wait():
    # Prompts fill a pass, 13 ms each with 500 launches; two engines finish 154 a second, however many decode.
    front, back = pool(2, prefill_launches=500.0), pool(4)
    each = 500 * prefill(1, 1000)
    found = disaggregated_state(front, back, Requests(1000, 2, 0, 64))
    assert 64 / found.residence_s == pytest.approx(2 / each, rel=1e-3)
    assert found.residence_s == pytest.approx(found.ttft_s + found.tpot_s, rel=1e-9)
    assert found.wait_s > 28 * each
    assert disaggregated_state(front, back, Requests(1000, 2, 0, 64), alone=True).wait_s == 0


def test_waiting_prompts_share_passes():
    # Four prompts of 250 tokens in a pass of 1,000: the weights are read once for all, four times as often a second.
    front, back = pool(2, prefill_launches=500.0), pool(4)
    found = disaggregated_state(front, back, Requests(250, 2, 0, 64))
    assert 64 / found.residence_s == pytest.approx(4 * 2 / (500 * prefill(4, 250)), rel=1e-3)


def test_data_ranks_of_a_prefill_engine_work_side_by_side():
    one, two = pool(2, prefill_launches=500.0), pool(1, dp=2, prefill_launches=500.0)
    rates = [64 / disaggregated_state(front, pool(4), Requests(1000, 2, 0, 64)).residence_s for front in (one, two)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-6)


def test_a_small_decode_pool_makes_requests_wait():
    # Two engines of at most four sequences each: 8 decode, the others wait.
    found = disaggregated_state(pool(4), pool(2, max_num_seqs=4), Requests(500, 101, 0, 64))
    assert found.running == pytest.approx(8, rel=1e-3)
    assert found.tpot_s == pytest.approx(step(4), rel=1e-6)
    assert 64 / found.residence_s == pytest.approx(8 / (100 * step(4)), rel=1e-3)
    assert found.residence_s == pytest.approx(found.ttft_s + 100 * found.tpot_s, rel=1e-6)


def test_a_busy_prefill_pool_is_a_queue():
    # Prefills of 20 launches, one prompt of 1,000 tokens in a pass; eight users of 51 tokens.
    front, each = pool(2, prefill_launches=20.0), 20 * prefill(1, 1000)
    found = disaggregated_state(front, pool(4), Requests(1000, 51, 0, 8))
    busy = 8 / found.residence_s * each / 2
    assert 0 < busy < 0.5
    # As in front of any server of equal services: half the share that is busy over the share that isn't.
    assert found.wait_s == pytest.approx(busy / (2 * (1 - busy)) * each, rel=1e-3)
    assert disaggregated_state(front, pool(4), Requests(1000, 51, 0, 4)).wait_s < found.wait_s


def queue(found, users, each, engines):
    """Wait of a steady queue at the rate that was found, ``each`` second of an engine a prompt."""
    busy = users / found.residence_s * each / engines
    return busy / (2 * (1 - busy)) * each


def test_a_first_guess_of_the_wait_that_is_too_long_is_taken_back():
    # Eight users, one engine of 2.5 ms a prompt and a decode of 50 ms: were nobody waiting, 8 / 53 a second and 37 %
    # of the engine; waiting makes it a bit less, so the queue that follows from no wait is too long.
    front, each = pool(1, prefill_launches=100.0), 100 * prefill(1, 1000)
    found = disaggregated_state(front, pool(4), Requests(1000, 51, 0, 8))
    unhindered = found.residence_s - found.wait_s
    busy = 8 / unhindered * each
    first = busy / (2 * (1 - busy)) * each
    assert found.wait_s < 0.99 * first
    assert found.wait_s == pytest.approx(queue(found, 8, each, 1), rel=1e-3)


@pytest.mark.parametrize("users", [4, 8, 16, 24, 32])
@pytest.mark.parametrize("n_out", [2, 11, 51, 301])
def test_waiting_and_flowing_agree_however_busy_the_pool_is(users, n_out):
    front, each = pool(1, prefill_launches=500.0), 500 * prefill(1, 1000)
    found = disaggregated_state(front, pool(4), Requests(1000, n_out, 0, users))
    rate = users / found.residence_s
    assert found.running == pytest.approx(max(rate * (n_out - 1) * found.tpot_s, 1.0), rel=1e-3)
    assert rate * each <= 1.0001
    # Never more than all others are ahead, and no queue behind a server that is nearly always busy.
    limited = min(queue(found, users, each, 1), (users - 1) * each)
    at_capacity = users * each - (found.residence_s - found.wait_s)
    if rate * each < 0.97:
        assert found.wait_s == pytest.approx(max(limited, at_capacity), rel=0.01)
    else:
        assert at_capacity * 0.999 <= found.wait_s <= users * each


def test_more_users_never_shorten_the_wait_for_a_pool():
    front = pool(1, prefill_launches=500.0)
    waits = [disaggregated_state(front, pool(4), Requests(1000, 51, 0, n)).wait_s for n in (1, 2, 4, 8, 16, 24, 32, 64)]
    assert all(a <= b * (1 + 1e-4) + 1e-12 for a, b in pairwise(waits))
    assert waits[0] == 0


def test_at_most_all_others_are_ahead():
    # Two users and one engine that is busy most of the time: never more than one prefill ahead.
    front, each = pool(1, prefill_launches=2000.0), 2000 * prefill(1, 1000)
    found = disaggregated_state(front, pool(4), Requests(1000, 11, 0, 2))
    assert 0 < found.wait_s <= each * 1.001
    assert disaggregated_state(front, pool(4), Requests(1000, 11, 0, 1)).wait_s == pytest.approx(0.0, abs=1e-9)


def test_a_pass_holds_no_more_prompts_than_there_are():
    # Four requests on two ranks: two prompts on each, though four would fit; 6.5 ms for all four.
    front = pool(1, dp=2, prefill_launches=500.0)
    found = disaggregated_state(front, pool(4), Requests(250, 2, 0, 4))
    each = 500 * prefill(2, 250) / 4
    busy = 4 / found.residence_s * each
    assert 0.5 < busy < 1
    assert found.wait_s == pytest.approx(busy / (2 * (1 - busy)) * each, rel=1e-3)


def test_a_cached_prefix_is_read_by_a_full_pass_too():
    core = Attention("attention", 500.0, kernel(), 1e14, GQA, 8.0, 800.0, 0.0, 0.0)
    loop = compiled(program(core), program(matrix()), plan())
    found = disaggregated_state(Pool(loop, 2), pool(4), Requests(1500, 2, 500, 64))
    # 1,000 queries see 500 cached tokens and those before them, 3,200 FLOPs each; 1,500 tokens of 800 bytes are read.
    pairs = 1000 * 500 + 1000 * 1001 / 2
    each = 500 * (pairs * 3200 / 1e14 + (1500 * 800 + 1000 * 3200) / 1e12)
    assert 64 / found.residence_s == pytest.approx(2 / each, rel=1e-3)


def test_room_is_for_the_input_and_a_share_of_the_output():
    # 33.4 MB of cache in each of two engines; 1,600 tokens of 3,200 B are 5.12 MB.
    tight = pool(2, memory_utilization=0.32, profile=engine(output_reserve=0.5))
    found = disaggregated_state(pool(4), tight, Requests(600, 2000, 0, 64))
    assert found.running == pytest.approx(12, rel=1e-3)


def test_bounds_of_both_phases():
    found = disaggregated_state(pool(2), pool(2), Requests(500, 101, 0, 4))
    assert found.prefill_bound_s == pytest.approx(500 * 20e-9)
    assert found.token_bound_s == pytest.approx(1e-6)
    assert disaggregated_state(pool(2), pool(2), Requests(500, 101, 0, 4), bounds=False).token_bound_s == 0
