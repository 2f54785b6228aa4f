"""A mixed workload's steps are its answer, class by class."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.serving.mix import RequestClass, estimate_mix
from infer_cost.serving.mix_steps import mix_chains
from tests.serving.support import MACHINE, engine, model

CLASSES = (RequestClass("think", 0.25, 2000, 101, reasoning_tokens=300), RequestClass("short", 0.75, 200, 101))


def mix(machine=MACHINE):
    return estimate_mix(model(), machine, CLASSES, engine=engine(), concurrency=8)


def test_steps_of_each_class():
    answer = mix()
    *chains, _ = mix_chains(answer)
    assert [chain.about for chain in chains] == ["think", "short"]
    for chain, one in zip(chains, answer.classes, strict=True):
        values = [step.value for step in chain.steps]
        assert values == [one.ttft_s, one.tpot_s, one.visible_ttft_s, one.e2e_s, one.cost_usd]
        assert [given.value for given in chain.inputs] == [one.share, one.input_tokens, one.output_tokens]


def test_steps_of_all():
    answer = mix()
    values = {step.name: step.value for step in mix_chains(answer)[-1].steps}
    # Shares add up to 1, so the rate is the users over the mean time, and the cost the mean cost.
    assert values["requests a second"] == pytest.approx(8 / sum(one.share * one.e2e_s for one in answer.classes))
    assert values["output tokens a GPU"] == pytest.approx(values["requests a second"] * (0.25 * 401 + 0.75 * 101))
    assert values["padding"] == pytest.approx(1 - 2200 / 4000)
    assert values["cost of a mean request"] == pytest.approx(sum(one.share * one.cost_usd for one in answer.classes))


def test_without_a_price_there_are_no_costs():
    for chain in mix_chains(mix(replace(MACHINE, prices=()))):
        assert not any("cost" in step.name for step in chain.steps)
