"""Kernel and collective constants: fallback order, physical ranges, and the fit that made them."""

import csv
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import UnknownNameError
from infer_cost.hardware_specs.efficiency import (
    FAMILIES,
    CollectiveModel,
    KernelModel,
    collective_model,
    collective_time,
    kernel_model,
    kernel_time,
)
from infer_cost.hardware_specs.efficiency.collectives import OPS
from infer_cost.hardware_specs.types import Accelerator

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "infer_cost" / "hardware_specs" / "efficiency" / "kernels.csv"

H200 = Accelerator(
    "h200-sxm", "H200", "NVIDIA", "Hopper", 141e9, 141e9, 4.8e12, {"bf16": 989e12, "fp8": 1979e12}, 450e9, 8
)
MINE = replace(H200, id="mine", vendor="me", architecture="none")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("precision", ["bf16", "fp8", "fp8-block", "nvfp4", "mxfp4", "int4-g128", "int8", "q4_k_m"])
@pytest.mark.parametrize("engine", ["trtllm", "vllm", "sglang", "generic", "llama.cpp"])
@pytest.mark.parametrize("chip", [H200, MINE, replace(MINE, peak_flops={"fp32": 1e12})])
def test_every_question_has_an_answer_that_the_chip_can_compute(family, precision, engine, chip):
    model = kernel_model(chip, family, precision, engine)
    assert model.rate in chip.peak_flops or model.rate == "bf16"
    assert 0 < model.floor_s < 2e-4 and 0 < model.compute_efficiency < 1.5 and 0.1 < model.memory_efficiency < 1.35


def test_fallback_goes_outwards_and_widens():
    cousin = replace(H200, id="h800-sxm")
    relative = replace(H200, id="v100", architecture="Volta")
    models = [kernel_model(chip, "gemm", "bf16", "trtllm") for chip in (H200, cousin, relative, MINE)]
    assert [m.level for m in models] == ["chip", "architecture", "vendor", "generic"]
    spreads = [m.spread for m in models]
    assert spreads == sorted(spreads) and spreads[0] < spreads[-1]


def test_an_unknown_engine_takes_the_generic_kernels():
    assert kernel_model(H200, "gemm", "bf16", "mine") == kernel_model(H200, "gemm", "bf16")


def test_fp8_weights_without_fp8_units_use_16_bit_arithmetic():
    a100 = replace(H200, id="a100-sxm-80gb", architecture="Ampere", peak_flops={"bf16": 312e12, "int8": 624e12})
    assert kernel_model(a100, "gemm", "fp8", "vllm").rate == "bf16"


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="operator family"):
        kernel_model(H200, "gem", "bf16")
    with pytest.raises(UnknownNameError, match="collective"):
        collective_model(H200, "allreduce")


@given(st.floats(1e-9, 1), st.floats(1e-9, 1), st.floats(1, 8))
def test_time_lies_between_overlap_and_sum(compute, memory, sharpness):
    model = KernelModel(1e-6, 0.8, 0.9, sharpness, "chip", 0.1, "bf16")
    time = kernel_time(compute, memory, model) - 1e-6
    assert max(compute / 0.8, memory / 0.9) * (1 - 1e-6) - 1e-12 <= time
    assert time <= (compute / 0.8 + memory / 0.9) * (1 + 1e-6) + 1e-12


def test_arrays_give_what_floats_give():
    model = kernel_model(H200, "gemm", "bf16")
    times = kernel_time(np.array([1e-6, 2e-3]), np.array([3e-5, 1e-5]), model)
    assert times.tolist() == [kernel_time(1e-6, 3e-5, model), kernel_time(2e-3, 1e-5, model)]
    reduce = collective_model(H200, "all_reduce", 8, "trtllm")
    both = collective_time(np.array([1e4, 1e8]), 8, 450e9, reduce)
    assert both.tolist() == [collective_time(1e4, 8, 450e9, reduce), collective_time(1e8, 8, 450e9, reduce)]


@pytest.mark.parametrize("op", [op for op in OPS if op != "send"])
@pytest.mark.parametrize("engine", ["trtllm", "vllm", "sglang", "generic"])
def test_collectives_take_longer_with_more_ranks_and_nothing_alone(op, engine):
    model = collective_model(H200, op, 8, engine)
    times = [collective_time(1e6, ranks, 450e9, model) for ranks in (1, 2, 4, 8)]
    assert times[0] == 0.0 and times == sorted(times)
    across = collective_model(H200, op, 16, engine, across_nodes=True)
    assert collective_time(1e6, 16, 50e9, across) > times[-1]


def test_a_send_takes_its_bytes_over_the_link():
    model = collective_model(H200, "send", 2)
    assert collective_time(1e9, 2, 450e9, model) > 1e9 / 450e9
    assert collective_time(2e9, 2, 450e9, model) == pytest.approx(2 * collective_time(1e9, 2, 450e9, model), rel=0.01)


def test_a_large_all_reduce_approaches_the_links_bandwidth():
    model = CollectiveModel("all_reduce", 2e-6, 0.0, 0.7, "chip", 0.1)
    assert collective_time(1e9, 8, 450e9, model) == pytest.approx(2 * 7 / 8 * 1e9 / (0.7 * 450e9), rel=1e-3)


def test_published_timings_are_met():
    """TensorRT-LLM on H200: 1 token by an 8192 × 8192 matrix in 16 bits; an all-reduce of 16 KiB by eight."""
    model = kernel_model(H200, "gemm", "bf16", "trtllm")
    assert kernel_time(2 * 8192**2 / 989e12, 2 * 8192**2 / 4.8e12, model) == pytest.approx(38.5e-6, rel=0.1)
    reduce = collective_model(H200, "all_reduce", 8, "trtllm")
    assert collective_time(16384, 8, 450e9, reduce) == pytest.approx(3.49e-6, rel=0.2)


def test_efficiencies_are_physical():
    with KERNELS.open() as file:
        for row in csv.DictReader(file):
            assert 0.01 < float(row["compute_efficiency"]) <= 1.3, row
            assert 0.05 < float(row["memory_efficiency"]) <= 1.3, row
            assert 1 <= float(row["sharpness"]) <= 8, row
            assert 0 < float(row["spread"]) < 2, row


def test_a_refit_gives_the_stored_constants():
    tool = runpy.run_path(str(ROOT / "tools" / "fit_kernels.py"))
    points = [value for key, value in tool["gemm_points"]() if key[:4] == ("h200-sxm", "trtllm", "gemm", "bf16")]
    refit = tool["fit"](*np.array(points).T)
    stored = kernel_model(H200, "gemm", "bf16", "trtllm")
    assert refit.floor_s == pytest.approx(stored.floor_s, rel=0.02)
    assert refit.compute == pytest.approx(stored.compute_efficiency, rel=0.02)
    assert refit.memory == pytest.approx(stored.memory_efficiency, rel=0.02)
