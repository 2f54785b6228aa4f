"""The steps from times to rates and money give what the estimate says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.serving.estimate import estimate_of, state_of
from infer_cost.serving.outcome import outcome
from infer_cost.serving.scenario import scenario
from tests.serving.support import MACHINE, engine, model


def toy(machine=MACHINE, **options):
    settings = {"engine": engine(), "input_tokens": 600, "output_tokens": 101, "concurrency": 8, "utilization": 0.5}
    return scenario(model(), machine, **{**settings, **options})


def steps(question, state=None):
    return {step.name: step for step in outcome(question, state or state_of(question))}


@pytest.mark.parametrize("options", [{"gpus": 2}, {"prefill_gpus": 1, "decode_gpus": 3}], ids=["one pool", "two pools"])
def test_steps_end_in_the_answer(options):
    question = toy(**options)
    found, answer = steps(question), estimate_of(question)
    assert found["output tokens a user"].value == pytest.approx(answer.output_tokens_per_s_per_user.expected)
    assert found["output tokens a GPU"].value == pytest.approx(answer.output_tokens_per_s_per_gpu.expected)
    assert found["cost of a request"].value == pytest.approx(answer.cost_usd)
    assert found["a million input tokens"].value == pytest.approx(answer.cost_per_million_input_tokens_usd)
    assert found["a million output tokens"].value == pytest.approx(answer.cost_per_million_output_tokens_usd)
    # Each step follows from those before it: 3.6 dollars an hour, half of them paid in vain.
    seconds, share = found["GPU-seconds a request"].value, found["prefill's share of it"].value
    assert found["cost of a request"].value == pytest.approx(3.6 / 3600 * seconds / 0.5)
    assert found["a million input tokens"].value == pytest.approx(answer.cost_usd * share / 600 * 1e6)
    assert found["prefill's share of it"].equation.startswith("prefill GPUs") == ("prefill_gpus" in options)
    assert [each.value for each in found["cost of a request"].inputs] == [3.6, 0.5]


def test_what_a_request_lasts():
    question = toy(gpus=2)
    found, answer = steps(question), estimate_of(question)
    assert found["end to end"].value == pytest.approx(answer.e2e_s.expected)
    assert [each.value for each in found["end to end"].inputs] == [600, 101, 8, 2]
    assert "residence T" not in found
    # In the engine for longer than its own tokens take.
    state = state_of(question)
    longer = steps(question, replace(state, residence_s=2 * state.residence_s))
    assert "end to end" in found["GPU-seconds a request"].equation
    assert "end to end" not in longer["GPU-seconds a request"].equation
    assert longer["residence T"].value == pytest.approx(2 * answer.e2e_s.expected)
    assert longer["GPU-seconds a request"].value == pytest.approx(2 * found["GPU-seconds a request"].value)


def test_without_a_price_the_steps_end_with_the_rate():
    assert list(steps(toy(replace(MACHINE, prices=()))))[-1] == "output tokens a GPU"
