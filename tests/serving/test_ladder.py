"""The ladder from the bound to the expected figure: its rungs add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.model_specs.architecture import LayerGroup
from infer_cost.serving.estimate import estimate_of, state_of
from infer_cost.serving.ladder import ladder
from infer_cost.serving.ranges import spreads
from infer_cost.serving.scenario import scenario
from infer_cost.serving.static_batch import static_state
from infer_cost.serving.steady import Requests
from tests.serving.support import MACHINE, MOE_LAYER, engine, model

BUSY = engine(
    host_request_s=1e-3,
    host_step_s=1e-4,
    host_sequence_s=1e-6,
    floor_share=0.5,
    admission_steps=1.5,
    eager_layer_s=1e-4,
)
CASES = {
    "one": {},
    "many": {"concurrency": 32, "gpus": 4},
    "queueing": {"concurrency": 32, "max_num_seqs": 4},
    "stages": {"gpus": 4, "pp": 2, "concurrency": 8},
    "drafting": {"speculative": "eagle", "concurrency": 8},
    "chunks": {"input_tokens": 3900, "cached_tokens": 1000},
    "experts": {"architecture": model(LayerGroup(MOE_LAYER, 4)), "concurrency": 8, "dp": 2},
    "pools": {"prefill_gpus": 1, "decode_gpus": 3, "concurrency": 12, "input_tokens": 2900, "cached_tokens": 1000},
}


def toy(architecture=None, **options):
    settings = {"engine": BUSY, "input_tokens": 600, "output_tokens": 101}
    return scenario(architecture or model(), MACHINE, **{**settings, **options})


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_rungs_add_up(options):
    question = toy(**options)
    answer, found = estimate_of(question), ladder(question)
    for steps, figure, width in (
        (found.tpot, answer.tpot_s, spreads(question).tpot),
        (found.ttft, answer.ttft_s, spreads(question).ttft),
    ):
        *rungs, total, spread = steps
        assert rungs[0].value == pytest.approx(figure.bound)
        assert total.value == figure.expected
        assert sum(rung.value for rung in rungs) == pytest.approx(figure.expected, rel=1e-9)
        assert all(rung.value >= -1e-12 for rung in rungs)
        assert spread.value == pytest.approx(1 + width)


def test_rungs_are_there_when_they_count():
    def names(**options):
        found = ladder(toy(**options))
        return {step.name for step in (*found.tpot, *found.ttft)}

    rare = {"drafting", "waiting for KV room", "KV transfer"}
    assert not names() & rare
    assert names(**CASES["drafting"]) & rare == {"drafting"}
    assert names(**CASES["queueing"]) & rare == {"waiting for KV room"}
    assert names(**CASES["pools"]) & rare == {"KV transfer"}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_operators_are_those_of_the_pass(options):
    question = toy(**options)
    found, state = ladder(question), state_of(question)

    def seconds(operators):
        return sum(float(op.floor_s + op.busy_s) for op in operators)

    # A pipeline's stages work on several chunks, a verify pass wins several tokens: the operators are of one pass.
    if "speculative" not in options:
        one = state.token.compute_s + state.token.memory_s + state.token.floor_s
        assert seconds(found.decode_operators) == pytest.approx(one, rel=1e-3)
    if "pp" not in options:
        chunk = (state.prefill.compute_s + state.prefill.memory_s + state.prefill.floor_s) / state.chunks
        assert seconds(found.prefill_operators) == pytest.approx(chunk, rel=1e-6)


def test_inputs_name_what_was_read():
    def names(**options):
        return {each.name: each.value for each in ladder(toy(**options)).inputs}

    one = names()
    assert one["peak_flops.bf16"] == 1e14
    assert one["memory_bandwidth"] == 1e12
    assert "scale_up_bandwidth" not in one
    assert names(gpus=2)["scale_up_bandwidth"] == 1e11
    bare = scenario(model(), replace(MACHINE, scale_up_bandwidth=None), engine=BUSY, gpus=2)
    assert "scale_up_bandwidth" not in {each.name for each in ladder(bare).inputs}


def test_a_batch_that_starts_together():
    question = toy(concurrency=8)
    found, state = ladder(question, static=True), static_state(question.engine, Requests(600, 101, 0, 8))
    assert found.ttft[-2].value == pytest.approx(state.ttft_s)
    assert found.tpot[-2].value == pytest.approx(state.tpot_s)
    assert found.ttft[-1].value == pytest.approx(1 + spreads(question, static=True).ttft)


def test_chains_hold_every_step():
    found = ladder(toy())
    chains = found.chains()
    assert [len(chain.steps) for chain in chains] == [
        len(found.decode_operators),
        len(found.tpot),
        len(found.prefill_operators),
        len(found.ttft),
        len(found.outcome),
    ]
    # An operator's step is its floor and its run.
    for chain, operators in ((chains[0], found.decode_operators), (chains[2], found.prefill_operators)):
        seconds = [float(op.floor_s) + float(op.busy_s) for op in operators]
        assert [step.value for step in chain.steps] == pytest.approx(seconds)
        assert [step.inputs[0].value for step in chain.steps] == [op.launches for op in operators]
    assert all(chain.about.startswith("first row: ") for chain in found.chains("first row"))
    assert not any(chain.about.startswith(":") for chain in chains)
