"""Laws that the serving model keeps for any valid input."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import infer_cost
from infer_cost.errors import CannotBeMetError, InferCostError
from infer_cost.serving.scenario import scenario
from infer_cost.serving.steady import Requests, steady_state

MODELS = ["llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3", "qwen3-32b"]
MACHINES = ["a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "gb200-nvl72", "mi300x", "mi355x"]
FORMATS = ["bf16", "fp8", "nvfp4", "int4-g128"]

inputs = st.fixed_dictionaries(
    {
        "gpus": st.sampled_from([1, 2, 4, 8]),
        "weights": st.sampled_from(FORMATS),
        "kv": st.sampled_from(["bf16", "fp8"]),
        "input_tokens": st.integers(1, 20_000),
        "output_tokens": st.integers(1, 4_000),
        "concurrency": st.integers(1, 300),
        "engine": st.sampled_from(["generic", "vllm", "sglang", "trtllm"]),
    }
)


def _estimate(model, machine, options):
    try:
        return infer_cost.estimate(model, machine, **options)
    except CannotBeMetError:
        assume(False)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), inputs)
def test_ranges_are_ordered(model, machine, options):
    answer = _estimate(model, machine, options)
    for figure in (answer.ttft_s, answer.tpot_s, answer.e2e_s):
        if figure is not None:
            assert 0 < figure.bound <= figure.low <= figure.expected <= figure.high
    rate = answer.output_tokens_per_s_per_gpu
    assert 0 < rate.low <= rate.expected <= rate.high <= rate.bound


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), inputs, st.integers(0, 100))
def test_stages_add_up(model, machine, options, cached_percent):
    cached = min(options["input_tokens"] - 1, options["input_tokens"] * cached_percent // 100)
    try:
        trip = infer_cost.journey(model, machine, cached_tokens=cached, route=False, **options)
    except CannotBeMetError:
        assume(False)
    assert [stage.number for stage in trip.stages] == list(range(1, 16))
    assert sum(stage.ttft_s for stage in trip.stages) == trip.ttft_s.expected
    assert sum(stage.e2e_s for stage in trip.stages) == trip.e2e_s.expected
    assert sum(stage.cost_usd for stage in trip.stages) == trip.cost_usd.expected
    steps = options["output_tokens"] - 1
    tail = trip.e2e_s.expected - trip.ttft_s.expected - steps * (trip.tpot_s.expected if trip.tpot_s else 0.0)
    assert 0 <= tail < 0.02 + 1e-9 * trip.e2e_s.expected
    for figure in (trip.ttft_s, trip.tpot_s, trip.e2e_s, trip.cost_usd):
        if figure is not None:
            assert figure.bound <= figure.low <= figure.expected <= figure.high


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), inputs)
def test_no_interference_alone(model, machine, options):
    try:
        question = scenario(model, machine, **{**options, "concurrency": 1})
    except CannotBeMetError:
        assume(False)
    requests = Requests(options["input_tokens"], options["output_tokens"], 0, 1)
    state = steady_state(question.engine, requests)
    assert state.interference_s == 0
    assert state.capacity_wait_s == 0
    assert state.tpot_s == state.token.total_s


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), inputs, st.floats(1.0, 4.0))
def test_more_bandwidth_never_slows_a_step(model, machine, options, factor):
    slow = infer_cost.hardware(machine)
    chip = replace(slow.accelerator, memory_bandwidth=slow.accelerator.memory_bandwidth * factor)
    fast = replace(slow, accelerator=chip)
    before = _estimate(model, slow, options)
    after = _estimate(model, fast, options)
    if before.tpot_s is not None:
        assert after.tpot_s.expected <= before.tpot_s.expected * (1 + 1e-12)
        assert after.tpot_s.bound <= before.tpot_s.bound * (1 + 1e-12)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(MODELS), st.integers(1, 131_072))
def test_more_bits_never_shrink_memory(model, context):
    context = min(context, infer_cost.model(model).context_length)
    sizes = [
        infer_cost.memory_plan(model, weights=weights, kv=kv, context=context)
        for weights, kv in (("nvfp4", "fp8"), ("fp8", "fp8"), ("bf16", "bf16"), ("fp32", "fp32"))
    ]
    assert [plan.weight_bytes for plan in sizes] == sorted(plan.weight_bytes for plan in sizes)
    assert [plan.kv_bytes_per_sequence for plan in sizes] == sorted(plan.kv_bytes_per_sequence for plan in sizes)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(MACHINES), inputs)
def test_a_batch_shares_the_cost(model, machine, options):
    """A token takes no less time at a higher concurrency, and a request costs no more."""
    one = _estimate(model, machine, {**options, "concurrency": 1})
    many = _estimate(model, machine, {**options, "concurrency": 16})
    if one.tpot_s is not None:
        assert many.tpot_s.expected >= one.tpot_s.expected
    assert many.cost_usd <= one.cost_usd * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(MODELS), inputs, st.lists(st.integers(1, 256), min_size=2, max_size=6))
def test_arrays_equal_single_queries(model, options, concurrencies):
    numpy = pytest.importorskip("numpy")
    try:
        question = scenario(model, "h200-sxm", **{**options, "gpus": 8})
    except InferCostError:
        assume(False)
    n_in, n_out = options["input_tokens"], options["output_tokens"]
    together = steady_state(question.engine, Requests(n_in, n_out, 0, numpy.array(concurrencies, dtype=float)))
    for position, concurrency in enumerate(concurrencies):
        single = steady_state(question.engine, Requests(n_in, n_out, 0, float(concurrency)))
        assert together.tpot_s[position] == pytest.approx(single.tpot_s, rel=1e-12)
        assert numpy.broadcast_to(together.ttft_s, len(concurrencies))[position] == pytest.approx(
            single.ttft_s, rel=1e-12
        )
