"""Speculative decoding as a setting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.model_specs.architecture import Component, LayerGroup
from infer_cost.serving.drafts import speculation
from tests.serving.support import MOE_LAYER, model

PREDICTS = replace(model(), components=(Component("vision", 5), Component("mtp", 10)))


def test_nothing_is_drafted_unless_asked():
    assert speculation(model(), "none") is None
    for idle in ({"draft_tokens": 3}, {"acceptance": 0.5}, {"draft_tokens": 0}):
        with pytest.raises(InputError):
            speculation(model(), "none", **idle)
    with pytest.raises(UnknownNameError):
        speculation(model(), "medusa")


def test_a_draft_costs_a_layer_and_the_head():
    found = speculation(model(), "eagle", 4, 0.5)
    assert (found.method, found.draft_tokens, found.acceptance) == ("eagle", 4, 0.5)
    # Of 4 layers of 14 million weights and their norms, and a head of 10 million.
    assert found.draft_cost_ratio == pytest.approx((14e6 + 10e6) / (56e6 + 10e6), rel=1e-3)
    tied = speculation(model(tied=True), "eagle")
    assert tied.draft_cost_ratio == pytest.approx(24 / 66, rel=1e-3)


def test_a_draft_layer_of_experts_runs_those_of_a_token():
    # Attention of 2 million and two of eight experts of 1.5 million.
    found = speculation(model(LayerGroup(MOE_LAYER, 4)), "eagle")
    assert found.draft_cost_ratio == pytest.approx((5e6 + 10e6) / (20e6 + 10e6), rel=5e-3)


def test_a_draft_model_costs_what_was_measured():
    assert 0.02 <= speculation(model(), "draft").draft_cost_ratio <= 0.1


def test_multi_token_prediction_needs_its_module():
    assert speculation(PREDICTS, "mtp").draft_tokens == 1
    with pytest.raises(InputError, match="no MTP module"):
        speculation(model(), "mtp")
    with pytest.raises(InputError, match="no MTP module"):
        speculation(replace(model(), components=(Component("vision", 5),)), "mtp")


@pytest.mark.parametrize("method", ["mtp", "eagle", "draft"])
def test_defaults_and_limits(method):
    typical = speculation(PREDICTS, method)
    assert 1 <= typical.draft_tokens <= 8
    assert 0.5 < typical.acceptance < 1
    # Zero is an answer too.
    assert speculation(PREDICTS, method, acceptance=0.0).acceptance == 0
    assert speculation(PREDICTS, method, draft_tokens=64, acceptance=1.0).draft_tokens == 64
    for wrong in ({"draft_tokens": 65}, {"draft_tokens": 0}, {"acceptance": 1.01}, {"acceptance": -0.1}):
        with pytest.raises(InputError):
            speculation(PREDICTS, method, **wrong)
