"""How wide a range is, and what makes it so."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.efficiency import kernel_model
from infer_cost.model_specs.architecture import LayerGroup, Mixer
from infer_cost.serving import ranges
from infer_cost.serving.ranges import rate_range, spreads, time_range, traits
from infer_cost.serving.scenario import scenario
from tests.serving.support import CHIP, DENSE_LAYER, MACHINE, MOE_LAYER, engine, model

POOLS = {"prefill_gpus": 2, "decode_gpus": 4}


def toy(architecture=None, machine=MACHINE, **options):
    settings = {"engine": engine(), "input_tokens": 100, "output_tokens": 10, "must_fit": False}
    return scenario(architecture or model(), machine, **{**settings, **options})


def on(architecture, **fields):
    return replace(MACHINE, accelerator=replace(CHIP, architecture=architecture), **fields)


def test_a_bound_stops_a_range():
    found = time_range(1.9, 2.0, 0.25)
    assert (found.bound, found.low, found.high) == (1.9, 1.9, 2.5)
    # A bound that a sum of roundings puts above is taken down.
    assert time_range(2.1, 2.0, 0.25).bound == 2.0
    rate = rate_range(2.1, 2.0, 0.25)
    assert (rate.bound, rate.low, rate.high) == (2.1, 1.6, 2.1)
    assert rate_range(1.9, 2.0, 0.25).bound == 2.0


def test_what_widens():
    plain = traits(toy())
    assert plain["all"] == 1
    assert plain["small and dense"] == 1
    assert plain["unseen model"] == 1
    for name in ("experts", "latent attention", "two pools", "speculative in one pool", "rack", "static", "queueing"):
        assert plain[name] == 0, name
    latent = model(LayerGroup(replace(MOE_LAYER, mixer=Mixer("latent_attention", 8, 1)), 4))
    assert traits(toy(model(LayerGroup(MOE_LAYER, 4))))["experts"] == 1
    assert [traits(toy(latent))[name] for name in ("latent attention", "experts", "small and dense")] == [1, 0, 0]
    assert traits(toy(), static=True)["static"] == 1
    assert traits(toy(**POOLS))["two pools"] == 1
    drafted = {"speculative": "eagle"}
    assert traits(toy(**drafted))["speculative in one pool"] == 1
    assert traits(toy(**drafted, **POOLS))["speculative in one pool"] == 0
    assert [traits(toy(machine=on("x", scale_up_domain=n)))["rack"] for n in (8, 9)] == [0, 1]


def test_a_model_of_15_billion_weights_is_not_small():
    def layers(count):
        return model(LayerGroup(DENSE_LAYER, count))

    # 14 million weights a layer, 20 million at the ends.
    assert traits(toy(layers(1060)))["small and dense"] == 1
    assert traits(toy(layers(1080)))["small and dense"] == 0


def test_formats_and_generations():
    assert [traits(toy(weights=weights))["4-bit weights"] for weights in ("nvfp4", "fp8", "bf16")] == [1, 0, 0]
    # Five bits and a half are no four.
    assert traits(toy(weights="q5_0"))["4-bit weights"] == 0
    hopper, other = traits(toy(machine=on("Hopper"))), traits(toy(machine=on("CDNA 3")))
    assert (hopper["hopper"], hopper["cdna"]) == (1, 0)
    assert (other["hopper"], other["cdna"]) == (0, 1)


def test_the_batch_of_an_engine():
    assert traits(toy(concurrency=1))["batch"] == 0
    assert traits(toy(concurrency=1000))["batch"] == pytest.approx(3)
    # Four engines decode.
    assert traits(toy(concurrency=4000, **POOLS))["batch"] == pytest.approx(3)
    assert traits(toy(concurrency=2, **POOLS))["batch"] == 0


def test_more_requests_than_run_at_once_queue():
    assert [traits(toy(concurrency=n, max_num_seqs=16))["queueing"] for n in (16, 17)] == [0, 1]
    assert traits(toy(concurrency=64, max_num_seqs=16, **POOLS))["queueing"] == 0
    assert traits(toy(concurrency=65, max_num_seqs=16, **POOLS))["queueing"] == 1
    # 33.4 MB hold 10,442 tokens: five of 2,000 in and 160 out, half of which is set aside.
    tight = {"memory_utilization": 0.32, "input_tokens": 2000, "output_tokens": 160, "max_num_seqs": 64}
    assert [traits(toy(concurrency=n, **tight))["queueing"] for n in (5, 6)] == [0, 1]
    whole = {**tight, "engine": engine(output_reserve=1.0)}
    assert [traits(toy(concurrency=n, **whole))["queueing"] for n in (4, 5)] == [0, 1]


def test_engines():
    def found(name):
        return traits(toy(engine=name))

    assert [found("sglang")[name] for name in ("sglang", "trtllm", "unseen engine")] == [1, 0, 0]
    assert [found("trtllm")[name] for name in ("sglang", "trtllm", "unseen engine")] == [0, 1, 0]
    assert [found("vllm")[name] for name in ("sglang", "trtllm", "unseen engine")] == [0, 0, 0]
    assert found("generic")["unseen engine"] == 1
    assert found("llama.cpp")["unseen engine"] == 1


def test_an_unseen_generation_is_as_far_as_its_kernels():
    assert traits(toy(machine=on("Hopper")))["unseen generation"] == 0
    # Kernels of this chip were timed, of its sister, of its vendor's; nothing was served on any of them.
    for name, level, distance in (("l40s", "chip", 1), ("l4", "architecture", 1), ("t4", "vendor", 1.25)):
        machine = hardware(name)
        assert kernel_model(machine.accelerator, "gemm", "bf16").level == level
        assert traits(toy(machine=machine))["unseen generation"] == distance
    # No kernel of this vendor was ever timed.
    assert traits(toy(machine=on("none")))["unseen generation"] == 1.5
    with_vendor = replace(on("none"), accelerator=replace(CHIP, architecture="none", vendor="NVIDIA"))
    assert 1 <= traits(toy(machine=with_vendor))["unseen generation"] <= 1.5


def test_widths_multiply(monkeypatch):
    """A trait's part is added to the logarithm of the width, and the width is that of the logarithm of the ratio."""
    parts = {
        "ttft_s": {"all": math.log(0.2), "static": math.log(2.0), "batch": math.log(3.0)},
        "tpot_s": {"all": math.log(0.1)},
        "output_tokens_per_s_per_gpu": {"all": math.log(0.3), "static": math.log(0.5)},
    }
    monkeypatch.setattr(ranges, "_parts", lambda: parts)
    found = spreads(toy(concurrency=100), static=True)
    # Off by a factor e^w at most: w = 0.2 · 2 · 3² for the first.
    assert found.ttft == pytest.approx(math.exp(3.6) - 1)
    assert found.tpot == pytest.approx(math.exp(0.1) - 1)
    assert found.throughput == pytest.approx(math.exp(0.15) - 1)
