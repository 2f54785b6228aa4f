"""Where decode turns compute-bound, of a model counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.model_specs.architecture import LayerGroup, Mixer
from infer_cost.serving.limits import (
    attention_flops_per_token,
    every_weight_read,
    limits_of,
    main_format,
    relation,
    weights_read,
)
from tests.serving.support import DENSE_LAYER, GQA, MACHINE, MOE_LAYER, model, plan


def layers(mixer, count=4):
    return model(LayerGroup(replace(DENSE_LAYER, mixer=mixer), count))


def test_attention_grows_with_the_context():
    # Two FLOPs for each of 8 heads and 100 + 100 dimensions, in four layers.
    assert attention_flops_per_token(model()) == 4 * 2 * 8 * 200
    latent = Mixer("latent_attention", 8, 1, 192, 128, 576, 512)
    assert attention_flops_per_token(layers(latent)) == 4 * 2 * 8 * 1088
    assert attention_flops_per_token(layers(replace(GQA, window=100))) == 0
    assert attention_flops_per_token(layers(replace(GQA, cache_stride=4))) == 2 * 8 * 200
    # What is chosen stays as much, but every key is scored.
    sparse = replace(GQA, sparse_topk=100, index_heads=3, index_dim=10)
    assert attention_flops_per_token(layers(sparse)) == 4 * 2 * 3 * 10
    both = model(LayerGroup(DENSE_LAYER, 1), LayerGroup(replace(DENSE_LAYER, mixer=replace(GQA, window=9)), 3))
    assert attention_flops_per_token(both) == 2 * 8 * 200


def test_the_main_format_is_that_of_most_multiplied_weights():
    assert main_format(plan()) == "bf16"
    assert main_format(plan(weights="fp8")) == "fp8"
    # One layer of 14 million weights against a head of 10; the embedding doesn't count.
    assert main_format(plan(model(LayerGroup(DENSE_LAYER, 1)), weights="fp8")) == "fp8"
    attention = model(LayerGroup(replace(DENSE_LAYER, matrices=DENSE_LAYER.matrices[:2]), 1))
    assert main_format(plan(attention, weights="fp8")) == "bf16"
    assert main_format(plan(replace_layers(attention, 6), weights="fp8")) == "fp8"


def replace_layers(architecture, count):
    return replace(architecture, groups=(replace(architecture.groups[0], count=count),))


def test_the_symbols():
    found = relation(plan(weights="fp8"))
    assert found["peak_flops"] == 2e14
    assert found["attention_peak_flops"] == 1e14
    assert found["memory_bandwidth"] == 1e12
    assert found["kv_bytes_per_token"] == 4 * 400 * 2
    assert found["attention_flops"] == 4 * 2 * 8 * 200
    # 56 million of the layers and 10 of the head, and the norms.
    assert found["active_parameters"] == pytest.approx(66e6, rel=1e-3)


def test_weights_of_a_dense_step_do_not_depend_on_the_batch():
    # An embedding of its own is looked up, not read; a tied one is the head.
    assert weights_read(plan(), 1.0) == pytest.approx(2 * (56e6 + 10e6 + 9000))
    assert weights_read(plan(model(tied=True)), 1.0) == pytest.approx(2 * (56e6 + 10e6 + 9000))
    assert every_weight_read(plan()) == weights_read(plan(), 1.0)


def test_experts_are_read_where_hit():
    mixture = plan(model(LayerGroup(MOE_LAYER, 3), LayerGroup(DENSE_LAYER, 1)))
    shared = 2 * (3 * 2_008_000 + 14e6 + 10e6 + 3 * 2800 + 2000 + 1000)
    experts = 2 * 3 * 12e6
    # One token hits 2 of 8, two tokens 8 · (1 − (3/4)²) = 3.5 on average.
    assert weights_read(mixture, 1.0) == pytest.approx(shared + experts * 2 / 8)
    assert weights_read(mixture, 2.0) == pytest.approx(shared + experts * 3.5 / 8)
    assert every_weight_read(mixture) == pytest.approx(shared + experts)


def test_two_sizes_of_mixtures_share_the_experts_by_layers():
    wide = replace(MOE_LAYER, ffn=replace(MOE_LAYER.ffn, experts_per_token=4))
    mixture = plan(model(LayerGroup(MOE_LAYER, 3), LayerGroup(wide, 1)))
    one, every = weights_read(mixture, 1.0), every_weight_read(mixture)
    assert every - one == pytest.approx(2 * 12e6 * (3 * 6 / 8 + 1 * 4 / 8))


def test_optimal_batch_and_critical_context_meet_the_two_times():
    deployment = plan()
    n, k, a, w = 66e6 + 9000, 3200.0, 12_800.0, 2 * (66e6 + 9000)
    batch, critical = limits_of(deployment, 50.0)
    # B · (2N + S·a) / C = (W + B·S·k) / BW at S = 50.
    assert batch * (2 * n + 50 * a) / 1e14 == pytest.approx((w + batch * 50 * k) / 1e12, rel=1e-3)
    # Beyond S the cache of a sequence takes longer to read than its arithmetic.
    assert (2 * n + critical * a) / 1e14 == pytest.approx(critical * k / 1e12, rel=1e-3)
    assert limits_of(deployment, critical * 1.01)[0] is None
    # A machine of slow arithmetic is never bound by the cache.
    chip = replace(MACHINE.accelerator, peak_flops={"bf16": 1e12})
    assert limits_of(plan(machine=replace(MACHINE, accelerator=chip)), 50.0)[1] is None
