"""Percentiles of open-loop traffic: formulas and the product's simulation against an independent one."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.planner.curves import Decodes, Prefills, decodes, prefills
from infer_cost.planner.distributions import (
    Distribution,
    gamma_cumulative,
    on_grid,
    service_on_grid,
    wait_bursty,
    wait_poisson,
)
from infer_cost.planner.simulation import simulate
from infer_cost.planner.tails import Engine, memory_full, operating_point, queue, token_times, ttft
from infer_cost.planner.traffic import Lengths, Promise, Traffic, promise, traffic
from infer_cost.serving.scenario import scenario

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dense, all alike": (
        {"model": "llama-3.1-70b", "hardware": "h100-sxm", "tp": 8, "weights": "fp8"},
        {"input_tokens": 1000, "output_tokens": 200},
    ),
    "dense, varied lengths": (
        {"model": "llama-3.1-70b", "hardware": "h100-sxm", "tp": 8, "weights": "fp8"},
        {"input_tokens": 1000, "output_tokens": 200, "input_variation": 0.8, "output_variation": 0.8},
    ),
    "small model, short answers": (
        {"model": "llama-3.1-8b", "hardware": "h100-sxm"},
        {"input_tokens": 2000, "output_tokens": 60, "input_variation": 0.5, "output_variation": 0.5},
    ),
    "experts and latent attention": (
        {"model": "deepseek-v3", "hardware": "h200-sxm", "tp": 8, "ep": 8, "weights": "fp8"},
        {"input_tokens": 2000, "output_tokens": 300, "input_variation": 0.5, "output_variation": 0.5},
    ),
}
TOLERANCES = {0.5: 0.10, 0.95: 0.10, 0.99: 0.20}


def engine_of(deployment: dict[str, Any], load: dict[str, Any], interference: float = 1.0) -> tuple[Engine, Traffic]:
    question = scenario(**deployment, must_fit=False)
    asked = traffic(1.0, **load)
    return queue(prefills(question.engine, asked), decodes(question.engine, asked), interference), asked


def lengths_sampler(lengths: Lengths) -> Any:
    if not lengths.variation:
        return lambda dice: lengths.mean
    sigma = math.sqrt(math.log(1.0 + lengths.variation**2))
    return lambda dice: lengths.mean * math.exp(dice.gauss(-sigma * sigma / 2.0, sigma))


def reference(simpy_simulation: Any, engine: Engine, asked: Traffic, rate: float, requests: int, seed: int) -> Any:
    assert engine.prefills and engine.decodes
    steps, occupancy = engine.decodes, engine.prefills
    points = asked.inputs.points
    tokens = lengths_sampler(asked.outputs)
    shape = 1.0 / asked.burstiness
    table = [float(steps.token(max(n, 1))) for n in range(int(steps.capacity) + 1)]
    return simpy_simulation(
        rate=rate,
        token_s=lambda batch: table[batch],
        prefill_s=lambda size: float(np.interp(size, points, occupancy.occupancy_s)),
        host_s=occupancy.host_s,
        prompt=lengths_sampler(asked.inputs),
        tokens=lambda dice: max(1, round(tokens(dice))),
        gap=lambda dice: dice.gammavariate(shape, 1.0 / shape),
        capacity=int(steps.capacity),
        requests=requests,
        seed=seed,
    )


@pytest.mark.parametrize("utilization", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("case", CASES)
def test_percentiles_against_an_independent_simulation(simpy_simulation: Any, case: str, utilization: float) -> None:
    engine, asked = engine_of(*CASES[case])
    rate = utilization * engine.greatest
    measured = reference(simpy_simulation, engine, asked, rate, 6000, seed=7)
    point = operating_point(engine, rate)
    first, tokens = ttft(engine, point), token_times(engine, point, asked.outputs)
    for share, tolerance in TOLERANCES.items():
        assert first.percentile(share) == pytest.approx(measured.percentile("ttft", share), rel=tolerance)
        assert tokens.percentile(share) == pytest.approx(measured.percentile("tpot", share), rel=tolerance)


@pytest.mark.parametrize("burstiness", [1.0, 4.0])
def test_the_simulation_against_the_independent_one(simpy_simulation: Any, burstiness: float) -> None:
    engine, asked = engine_of(*CASES["small model, short answers"])
    asked = replace(asked, burstiness=burstiness)
    rate = 0.6 * engine.greatest
    measured = [reference(simpy_simulation, engine, asked, rate, 8000, seed=seed) for seed in (1, 2)]
    own = simulate(engine, asked, rate, requests=30_000)
    # Bursts scatter so much that eight thousand requests say little more than the order.
    loose = 1.0 if burstiness == 1.0 else 2.0
    for share, tolerance in {0.5: 0.08 * loose, 0.95: 0.15 * loose}.items():
        for metric in ("ttft", "tpot"):
            wanted = sum(run.percentile(metric, share) for run in measured) / len(measured)
            assert own.percentile(metric, share) == pytest.approx(wanted, rel=tolerance)


def test_a_full_cache_makes_requests_wait_or_turns_them_away() -> None:
    engine, asked = engine_of(*CASES["dense, all alike"])
    assert engine.decodes
    small = replace(engine.decodes, capacity=12.0)
    tight = queue(engine.prefills, small, engine.interference)
    rate = 0.9 * tight.greatest
    assert memory_full(tight, operating_point(tight, rate)) > 0.05
    waits = simulate(tight, asked, rate, requests=5000)
    turns = simulate(tight, asked, rate, requests=5000, when_full="reject")
    assert waits.rejected == 0 < turns.rejected
    assert turns.percentile("ttft", 0.95) < waits.percentile("ttft", 0.95)


def test_the_simulation_repeats_itself() -> None:
    engine, asked = engine_of(*CASES["dense, varied lengths"])
    assert simulate(engine, asked, 3.0, requests=2000) == simulate(engine, asked, 3.0, requests=2000)


@given(st.floats(0.05, 0.9), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_the_mean_wait_is_pollaczek_and_khinchines(busy: float, variation: float) -> None:
    lengths = Lengths(1.0, variation)
    values, weights = lengths.points, lengths.weights
    mean, second = float(values @ weights), float(values**2 @ weights)
    step = (60.0 * second / mean / (1.0 - busy) + values[-1]) / 8192
    service = on_grid(values, weights, step, 8192)
    wait = Distribution(step, wait_poisson(service, busy))
    assert wait.mean == pytest.approx(busy * second / mean / (2.0 * (1.0 - busy)), rel=0.03)


def test_bursty_arrivals_of_burstiness_one_are_random_ones() -> None:
    service = on_grid(np.array([1.0]), np.ones(1), 0.02, 1024)
    random_ones, gamma = wait_poisson(service, 0.6), wait_bursty(service, 0.02, 0.6, 1.0)
    for share in (0.5, 0.9, 0.99):
        assert Distribution(0.02, gamma).percentile(share) == pytest.approx(
            Distribution(0.02, random_ones).percentile(share), abs=0.06
        )
    assert Distribution(0.02, wait_bursty(service, 0.02, 0.6, 4.0)).mean > 2 * Distribution(0.02, gamma).mean


def test_the_gamma_distribution_function() -> None:
    # Exponential, and the Erlang distribution of two stages, in closed form.
    x = np.array([0.1, 1.0, 3.0, 20.0])
    assert gamma_cumulative(1.0, x) == pytest.approx(1.0 - np.exp(-x), rel=1e-9)
    assert gamma_cumulative(2.0, x) == pytest.approx(1.0 - (1.0 + x) * np.exp(-x), rel=1e-9)


@given(st.floats(1.0, 1e5), st.floats(0.05, 2.0))
@settings(deadline=None)
def test_lengths_keep_their_mean_and_spread(mean: float, variation: float) -> None:
    lengths = Lengths(mean, variation)
    assert float(lengths.points @ lengths.weights) == pytest.approx(mean, rel=0.02)
    drawn = lengths_sampler(lengths)
    assert drawn(random.Random(1)) > 0
    service = service_on_grid(lengths.points, lengths.cumulative, lengths.points[-1] / 4000, 4096)
    assert service.sum() == pytest.approx(1.0)


@given(st.floats(0.02, 0.84), st.floats(0.02, 0.84))
@settings(max_examples=15, deadline=None)
def test_more_load_is_never_faster(one: float, two: float) -> None:
    engine, asked = engine_of(*CASES["dense, varied lengths"])
    low, high = sorted((one, two))
    points = [operating_point(engine, share * engine.greatest) for share in (low, high)]
    assert points[0].token_s <= points[1].token_s * (1 + 1e-9)
    for share in (0.5, 0.99):
        tokens = [token_times(engine, point, asked.outputs).percentile(share) for point in points]
        firsts = [ttft(engine, point).percentile(share) for point in points]
        assert tokens[0] <= tokens[1] * 1.001
        assert firsts[0] <= firsts[1] * 1.01


def test_prefill_alone_and_decode_alone() -> None:
    engine, _ = engine_of(*CASES["dense, all alike"])
    front, back = queue(engine.prefills, None, 0.0), queue(None, engine.decodes, 0.0)
    assert min(front.greatest, back.greatest) > engine.greatest
    point = operating_point(back, 0.5 * engine.greatest)
    assert point.pause_s == 0.0 < operating_point(engine, 0.5 * engine.greatest).pause_s
    assert ttft(front, operating_point(front, 0.5 * engine.greatest), extra_s=0.1).percentile(0.5) > 0.1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("p99=500ms", Promise("ttft", 99.0, 0.5)),
        ("P99.99 < 2 s", Promise("ttft", 99.99, 2.0)),
        ("0.3", Promise("ttft", 99.0, 0.3)),
        ("p50<=20ms", Promise("ttft", 50.0, 0.02)),
    ],
)
def test_promises(text: str, wanted: Promise) -> None:
    assert promise("ttft", text) == wanted


@pytest.mark.parametrize("text", ["p99", "", "p100=1s", "p0=1s", "fast=1s", "p99=3 GB", "p99=-1s", "p99=inf"])
def test_promises_that_make_no_sense(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        promise("ttft", text)
    assert getattr(error.value, "field", None) == "ttft"


def test_curves_are_what_the_serving_model_says() -> None:
    question = scenario("llama-3.1-8b", "h100-sxm")
    asked = traffic(1.0, 512, 64, reuse=0.5)
    first, second = prefills(question.engine, asked), decodes(question.engine, asked)
    assert isinstance(first, Prefills) and isinstance(second, Decodes)
    from infer_cost.serving.engine_times import prefill_time, token_time

    assert first.mean_latency_s == pytest.approx(prefill_time(question.engine, 256.0, 256.0).passes.total_s)
    assert second.token(1) == pytest.approx(token_time(question.engine, 1.0, 544.0).total_s)
