"""A question put together: pools, prices, what fits, what is written down."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from infer_cost.errors import CannotBeMetError, InputError, UnknownNameError
from infer_cost.serving.deployment import Workload
from infer_cost.serving.scenario import GpuPrice, fits, gpu_price, is_catalog_name, scenario
from tests.serving.support import MACHINE, engine, model

POOLS = {"prefill_gpus": 2, "decode_gpus": 4}


def toy(**options):
    return scenario(model(), MACHINE, **{"engine": engine(), **options})


def test_one_engine():
    found = toy(gpus=2, concurrency=5, input_tokens=100, output_tokens=10, cached_tokens=50)
    assert (found.gpus, found.prefill_pool, found.decode_pool) == (2, None, None)
    assert found.requests == Workload(100, 10, 50, 5)
    assert found.deployment.parallel.tp == 2


def test_pools_hold_as_many_engines_as_their_gpus_allow():
    found = toy(**POOLS, decode_tp=2)
    assert (found.prefill_pool.instances, found.decode_pool.instances) == (2, 2)
    assert (found.prefill_pool.gpus, found.decode_pool.gpus, found.gpus) == (2, 4, 6)
    assert found.engine is found.decode_pool.engine
    both = toy(**POOLS, gpus=6, prefill_tp=2, decode_dp=2, decode_tp=2)
    assert (both.prefill_pool.instances, both.decode_pool.instances) == (1, 1)
    assert both.prefill_pool.engine.deployment.parallel.tp == 2
    assert both.decode_pool.engine.deployment.parallel.dp == 2


@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ({"prefill_gpus": 2}, "decode_gpus", "1 or more"),
        ({"decode_gpus": 2}, "prefill_gpus", "1 or more"),
        ({**POOLS, "gpus": 7}, "gpus", "leave --gpus away, or make it the sum"),
        ({**POOLS, "tp": 2}, "tp", "--prefill-tp and --decode-tp"),
        ({**POOLS, "prefill_tp": 4}, "prefill_gpus", "multiples of 4"),
        ({**POOLS, "decode_gpus": 3, "decode_tp": 2}, "decode_gpus", "multiples of 2"),
        ({"prefill_gpus": 0, "decode_gpus": 4}, "prefill_gpus", "1 to 1,000,000"),
        ({"prefill_gpus": 4, "decode_gpus": 0}, "decode_gpus", "1 to 1,000,000"),
        ({**POOLS, "prefill_tp": 0}, "tp", "1 to 1,000,000"),
        ({**POOLS, "decode_tp": 0}, "tp", "1 to 1,000,000"),
        ({"utilization": 0.0}, "utilization", "more than 0, up to 1 (or 100%)"),
    ],
)
def test_pools_that_cannot_be(options, field, allowed):
    with pytest.raises(InputError) as caught:
        toy(**options)
    assert (caught.value.field, caught.value.allowed) == (field, allowed)


def test_the_sum_of_the_pools_is_said():
    with pytest.raises(InputError, match="prefill_gpus 2 and decode_gpus 4 are 6, not 7"):
        toy(**POOLS, gpus=7)


def test_what_does_not_fit_is_refused_unless_it_is_asked_later():
    with pytest.raises(CannotBeMetError, match="context window"):
        toy(input_tokens=4000, output_tokens=97)
    assert toy(input_tokens=4000, output_tokens=97, must_fit=False).requests.output_tokens == 97
    with pytest.raises(CannotBeMetError, match="doesn't fit"):
        toy(memory_utilization=0.28)
    assert toy(memory_utilization=0.28, must_fit=False).gpus == 1
    # 33.4 MB of cache hold 10,442 tokens; the prefill pool needs the input only.
    long = replace(model(), context_length=None)
    tight = {"engine": engine(), "memory_utilization": 0.32}
    for n_in, n_out in ((10_000, 400), (400, 10_000)):
        assert scenario(long, MACHINE, input_tokens=n_in, output_tokens=n_out, **tight)
    for n_in, n_out in ((10_000, 500), (500, 10_000), (10_450, 1)):
        with pytest.raises(CannotBeMetError, match="doesn't fit"):
            scenario(long, MACHINE, input_tokens=n_in, output_tokens=n_out, **tight)
    pools = {**tight, **POOLS, "decode_tp": 2}
    assert scenario(long, MACHINE, input_tokens=10_000, output_tokens=4000, **pools)
    with pytest.raises(CannotBeMetError, match="doesn't fit"):
        scenario(long, MACHINE, input_tokens=10_450, output_tokens=1, **pools)


def test_a_grid_asks_for_each_length():
    long = replace(model(), context_length=None)
    tight = {"engine": engine(), "memory_utilization": 0.32}
    lengths = numpy.array([100, 10_000, 10_000, 10_450])
    outputs = numpy.array([100, 400, 500, 1])
    question = scenario(long, MACHINE, must_fit=False, **tight)
    assert list(fits(question, Workload(lengths, outputs))) == [True, True, False, False]
    pools = scenario(long, MACHINE, must_fit=False, **tight, **POOLS, decode_tp=2)
    assert list(fits(pools, Workload(lengths, outputs))) == [True, True, True, False]
    window = scenario(model(), MACHINE, engine=engine(), must_fit=False)
    answers = fits(window, Workload(numpy.array([4000, 4000]), numpy.array([96, 97])))
    assert list(answers) == [True, False]


def test_a_gpu_hour():
    assert GpuPrice(3.6, "spot", "").usd_per_second == pytest.approx(0.001)
    assert gpu_price(MACHINE) == GpuPrice(3.6, "spot", "a list")
    assert gpu_price(MACHINE, tier="owned") == GpuPrice(1.8, "owned", "b (old)")
    assert gpu_price(MACHINE, 0.0).usd_per_hour == 0
    assert gpu_price(MACHINE, 5.0, "owned").tier == "yours"
    assert gpu_price(replace(MACHINE, prices=())) is None
    with pytest.raises(UnknownNameError, match="price tier") as caught:
        gpu_price(MACHINE, tier="rented")
    assert caught.value.hint.endswith("known: spot, owned; or --price-per-gpu-hour")
    with pytest.raises(UnknownNameError) as caught:
        gpu_price(replace(MACHINE, prices=()), tier="rented")
    assert caught.value.hint == "known: none; or --price-per-gpu-hour"
    with pytest.raises(InputError):
        gpu_price(MACHINE, -1.0)


def test_only_catalog_names_are_kept():
    assert is_catalog_name("llama-3.1-8b", "h100-sxm")
    assert not is_catalog_name("llama-3.1-8b", "mine.TOML ")
    assert not is_catalog_name("somebody/else", "h100-sxm")


def test_every_default_is_written_down():
    said = "\n".join(toy(utilization=0.25).assumptions)
    assert "weights bf16, KV cache bf16" in said
    assert "$3.6 a GPU-hour, tier spot: a list" in said
    assert "25% of the time" in said
    assert "1,000 W a GPU" in said
    assert "accepted" not in said
    bare = replace(MACHINE, prices=(), power_per_gpu_w=None)
    said = "\n".join(scenario(model(), bare, engine=engine(), speculative="eagle").assumptions)
    assert "no GPU-hour price is known" in said
    assert "W a GPU" not in said
    assert "of draft tokens accepted" in said
    told = scenario(model(), bare, engine=engine(), speculative="eagle", acceptance=0.9).assumptions
    assert "accepted" not in "\n".join(told)
    unnamed, named = (scenario(model(), MACHINE, must_fit=False, **engines) for engines in ({}, {"engine": "vllm"}))
    assert any("no engine named" in line for line in unnamed.assumptions)
    assert not any("no engine named" in line for line in named.assumptions)
