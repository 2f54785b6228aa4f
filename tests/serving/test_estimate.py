"""The answer of an estimate: what its figures mean to each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.serving.budget import budget
from infer_cost.serving.estimate import (
    estimate_of,
    gpu_seconds_per_request,
    limit_of,
    limit_shares,
    money,
    prefill_share,
    state_of,
)
from infer_cost.serving.limits import limits_of
from infer_cost.serving.passes import PassTime
from infer_cost.serving.scenario import scenario
from infer_cost.serving.work import request_flops
from tests.serving.support import MACHINE, engine, model

LOAD = {"input_tokens": 600, "output_tokens": 101, "concurrency": 8}


def toy(machine=MACHINE, **options):
    return scenario(model(), machine, **{"engine": engine(host_request_s=1e-3), **LOAD, **options})


def test_times_and_rates_of_a_user():
    answer = estimate_of(toy())
    for name in ("bound", "low", "expected", "high"):
        whole = getattr(answer.ttft_s, name) + 100 * getattr(answer.tpot_s, name)
        assert getattr(answer.e2e_s, name) == pytest.approx(whole)
    rate = answer.output_tokens_per_s_per_user
    assert rate.expected == pytest.approx(1 / answer.tpot_s.expected)
    assert rate.bound == pytest.approx(1 / answer.tpot_s.bound)
    assert (rate.low, rate.high) == pytest.approx((1 / answer.tpot_s.high, 1 / answer.tpot_s.low), rel=1e-9)


def test_throughput_is_little_s_law():
    answer = estimate_of(toy(gpus=2))
    # Eight users, each 101 tokens a request, on two GPUs.
    per_gpu = answer.output_tokens_per_s_per_gpu
    assert per_gpu.expected == pytest.approx(8 * 101 / answer.e2e_s.expected / 2)
    assert per_gpu.bound == pytest.approx(8 * 101 / answer.e2e_s.bound / 2)
    assert answer.tokens_per_joule == pytest.approx(per_gpu.expected / 1000)
    assert answer.power_w == 2000


def test_without_a_rated_power_there_is_no_energy():
    answer = estimate_of(toy(replace(MACHINE, power_per_gpu_w=None)))
    assert (answer.power_w, answer.tokens_per_joule) == (None, None)


def test_one_output_token():
    answer = estimate_of(toy(output_tokens=1))
    assert answer.tpot_s is None
    assert answer.e2e_s.expected == answer.ttft_s.expected


def test_a_request_pays_for_its_share_of_the_gpus():
    # $3.6 an hour are a tenth of a cent a second; two GPUs, shared by eight, paid for twice as long as they serve.
    question = toy(gpus=2, utilization=0.5)
    answer = estimate_of(question)
    assert answer.cost_usd == pytest.approx(0.001 * 2 * answer.e2e_s.expected / 8 / 0.5)
    assert gpu_seconds_per_request(question, state_of(question)) == pytest.approx(2 * answer.e2e_s.expected / 8)
    # Input and output tokens together pay for the request.
    both = answer.cost_per_million_input_tokens_usd * 600 + answer.cost_per_million_output_tokens_usd * 101
    assert both / 1e6 == pytest.approx(answer.cost_usd)


def test_prompts_pay_for_the_time_that_the_engine_prefills():
    # A tenth of a cent a GPU-second: one GPU for the whole prefill; two stages overlap, two ranks work side by side.
    for cut, seconds in (({}, 1.0), ({"pp": 2}, 2 / 2), ({"dp": 2}, 2 / 2), ({"pp": 2, "dp": 2}, 4 / 4)):
        question = toy(**cut)
        paid = estimate_of(question).cost_per_million_input_tokens_usd * 600 / 1e6
        assert paid == pytest.approx(0.001 * seconds * state_of(question).prefill.total_s)


@pytest.mark.parametrize(("n_in", "n_out", "users"), [(128, 32, 64), (100, 20, 64), (1, 10, 256), (1024, 3, 128)])
def test_prompts_that_share_a_pass_share_its_price(n_in, n_out, users):
    question = scenario(
        "llama-3.1-8b", "h100-sxm", input_tokens=n_in, output_tokens=n_out, concurrency=users, weights="fp8"
    )
    state = state_of(question)
    # Their passes and the steps of all of them fill the time, so what the passes leave is paid by the answers.
    share = float(prefill_share(question, state))
    assert share == pytest.approx(state.occupancy_s * users / state.residence_s)
    assert 0 < share < 1 - 0.9 * (n_out - 1) * float(state.token.total_s) / float(state.residence_s)
    _, answer, _ = money(question, state)
    assert answer > 0


def test_prompts_pay_for_the_pool_that_prefills():
    answer = estimate_of(toy(prefill_gpus=1, decode_gpus=3))
    share = answer.cost_per_million_input_tokens_usd * 600 / 1e6 / answer.cost_usd
    assert share == pytest.approx(1 / 4)
    assert answer.cost_usd == pytest.approx(0.001 * 4 * answer.e2e_s.expected / 8)


def test_no_share_beyond_the_whole():
    question = toy(output_tokens=1, input_tokens=4000)
    into, out, _ = money(question, state_of(question))
    assert into > 0
    assert out >= 0


def test_without_a_price_there_is_no_cost():
    answer = estimate_of(toy(replace(MACHINE, prices=())))
    assert answer.cost_usd is None
    assert answer.cost_per_million_input_tokens_usd is None


def test_bandwidth_and_arithmetic_used():
    question = toy(gpus=2)
    answer, state = estimate_of(question), state_of(question)
    assert answer.mbu == pytest.approx(state.token.bytes_moved / (1e12 * answer.tpot_s.expected))
    work = request_flops(model(), 600, 0, 101)
    assert answer.mfu == pytest.approx(work * 8 / answer.e2e_s.expected / (1e14 * 2))


def test_limits_are_those_at_the_mean_context():
    answer = estimate_of(toy())
    assert (answer.optimal_batch, answer.critical_context_tokens) == limits_of(toy().deployment, 600 + 50.5)
    short = estimate_of(toy(input_tokens=10, output_tokens=41))
    assert short.optimal_batch == limits_of(toy().deployment, 30.5)[0]
    assert short.optimal_batch is not None


def test_occupancy_of_the_cache():
    # Eight sequences, on average 650.5 tokens in 41 blocks of 16, 3,200 B each.
    room = budget(toy().deployment).kv
    assert estimate_of(toy()).kv_occupancy == pytest.approx(8 * 41 * 16 * 3200 / room)
    assert estimate_of(toy(dp=2)).kv_occupancy == pytest.approx(4 * 41 * 16 * 3200 / room)
    pools = estimate_of(toy(prefill_gpus=1, decode_gpus=2))
    running = state_of(toy(prefill_gpus=1, decode_gpus=2)).running
    assert pools.kv_occupancy == pytest.approx(running / 2 * 41 * 16 * 3200 / room)
    full = estimate_of(
        toy(memory_utilization=0.32, concurrency=64, max_num_seqs=64, input_tokens=4000, output_tokens=90)
    )
    assert full.running < 64
    assert full.kv_occupancy <= 1


PREFILL = PassTime(1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
DECODE = PassTime(0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


def test_what_limits_a_request():
    state = replace(
        state_of(toy()),
        prefill=PREFILL,
        token=DECODE,
        interference_s=6.3,
        wait_s=3.0,
        capacity_wait_s=4.0,
        kv_transfer_s=5.0,
    )
    # Ten steps, each with a tenth of a prefill of 63 s by others: one more prefill in all.
    assert limit_shares(state, 10) == pytest.approx(
        {"compute": 3.0, "memory": 6.0, "network": 48.0 + 24.0 + 5.0, "host": 72.0 + 36.0, "queue": 7.0}
    )
    assert limit_of(state, 10) == "host"
    assert limit_of(replace(state, capacity_wait_s=1e3), 10) == "queue"
    assert sum(limit_shares(state, 10).values()) == pytest.approx(state.ttft_s + 10 * state.tpot_s - 10 * state.draft_s)
    nothing = replace(state, prefill=PassTime(), interference_s=0.0)
    assert limit_shares(nothing, 10)["memory"] == pytest.approx(2.0)


def test_who_runs():
    assert estimate_of(toy(max_num_seqs=3)).running == 3
    assert estimate_of(toy()).running == 8
    assert estimate_of(toy()).fits
