"""Decode under two roofs, of a model and a machine counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.errors import InputError
from infer_cost.serving.roofline_report import roofline_report
from tests.serving.support import MACHINE, engine, model

# 56 million weights of the layers, 10 of the head, 9,000 of norms.
ACTIVE = 66e6 + 9000
TOY = {"engine": engine(), "weights": "bf16", "kv": "bf16"}


def toy(**options):
    return roofline_report(model(), MACHINE, **{**TOY, **options})


def test_a_step_by_hand():
    found = toy(gpus=2, batch=10, context=100)
    assert found.ridge_point == 100
    assert found.weight_bytes_read == pytest.approx(2 * ACTIVE)
    assert found.kv_bytes_read == 10 * 100 * 3200
    # Two GPUs; 12,800 FLOPs of attention for each cached token of each sequence.
    assert found.t_compute_s == pytest.approx((10 * 2 * ACTIVE + 10 * 100 * 12_800) / 2e14, rel=1e-6)
    assert found.t_mem_s == pytest.approx((2 * ACTIVE + 3.2e6) / 2e12)
    assert found.step_bound_s == found.t_mem_s
    assert found.step_sum_s == pytest.approx(found.t_compute_s + found.t_mem_s)
    assert found.limited_by == "memory"
    assert found.tokens_per_s_bound == pytest.approx(10 / found.t_mem_s)
    assert found.arithmetic_intensity == pytest.approx(
        (10 * 2 * ACTIVE + 10 * 100 * 12_800) / (2 * ACTIVE + 3.2e6), rel=1e-6
    )
    assert (found.precision, found.peak_flops, found.memory_bandwidth) == ("bf16", 1e14, 1e12)


def test_a_large_batch_is_limited_by_compute():
    found = toy(batch=1000, context=0)
    assert found.limited_by == "compute"
    assert found.step_bound_s == found.t_compute_s
    # Without a cache the ridge point is the batch: 100 FLOPs a byte, 2 bytes a weight, 2 FLOPs a weight.
    assert found.optimal_batch_without_kv == pytest.approx(100, rel=1e-3)
    assert found.optimal_batch == pytest.approx(100, rel=1e-3)


def test_limits_and_the_steps_that_lead_to_them():
    found = toy(context=50)
    named = {step.name: step for step in found.steps}
    assert named["optimal batch"].value == found.optimal_batch
    assert named["critical context"].value == found.critical_context_tokens
    assert named["ridge point"].value == 100
    # Numbers of the model say what they were counted from.
    counted = [each.source for each in named["T_compute"].inputs if each.name == "active_parameters"]
    assert counted == ["counted from config.json"]
    sourced = roofline_report(replace(model(), source="a card"), MACHINE, **TOY)
    assert "counted from a card" in {each.source for step in sourced.steps for each in step.inputs}
    # No batch helps beyond the critical context.
    beyond = toy(context=int(found.critical_context_tokens) + 100)
    assert beyond.optimal_batch is None
    assert "optimal batch" not in {step.name for step in beyond.steps}


def test_counts_out_of_range():
    for wrong in ({"batch": 0}, {"batch": 10_000_001}, {"context": -1}):
        with pytest.raises(InputError):
            toy(**wrong)
    assert toy(batch=10_000_000, context=0).batch == 10_000_000
