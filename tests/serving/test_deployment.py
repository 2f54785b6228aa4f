"""How a model can be cut, what a deployment is by default, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.model_specs.architecture import Ffn, LayerGroup, Mixer, Quantization
from infer_cost.serving.deployment import (
    Parallelism,
    check_context,
    deployment,
    legal_tp,
    parallelism,
    with_parallelism,
    workload,
)
from tests.serving.support import DENSE_LAYER, GQA, MACHINE, MOE_LAYER, engine, model, plan

MIXTURE = model(LayerGroup(MOE_LAYER, 4))
RACK = replace(MACHINE, max_gpus=6)


def group(mixer=GQA, ffn=DENSE_LAYER.ffn):
    return LayerGroup(replace(DENSE_LAYER, mixer=mixer, ffn=ffn), 1)


def refused(**options):
    with pytest.raises(InputError) as caught:
        parallelism(options.pop("model", model()), options.pop("machine", MACHINE), **options)
    return caught.value


def test_ranks_divide_heads_and_widths():
    # 8 heads and a width of 4,000; the experts' shared width of 300 goes by 4 only.
    assert legal_tp(model()) == [1, 2, 4, 8]
    assert legal_tp(MIXTURE) == [1, 2, 4]
    assert legal_tp(model(), 4) == [1, 2, 4]
    assert legal_tp(model(), 3) == [1, 2]
    # Every group counts: twelve heads and eight go by four.
    assert legal_tp(model(group(), group(replace(GQA, heads=12, kv_heads=4)))) == [1, 2, 4]


def test_kv_heads_are_divided_or_copied():
    # Of 6 ranks, 4 KV heads go to neither 3 nor 6: no number divides the other.
    six = replace(GQA, heads=12, kv_heads=4)
    assert legal_tp(model(group(six, Ffn("dense", width=1200)))) == [1, 2, 4, 12]
    assert legal_tp(model(group(replace(six, kv_heads=0), Ffn("dense", width=1200)))) == [1, 2, 3, 4, 6, 12]
    assert legal_tp(model(group(replace(six, kv_heads=1), Ffn("dense", width=1200)))) == [1, 2, 3, 4, 6, 12]


def test_what_has_neither_heads_nor_widths_is_not_cut():
    assert legal_tp(model(group(Mixer("none"), Ffn("none")))) == [1]


def test_missing_sizes_follow_from_the_others():
    assert parallelism(model(), MACHINE) == Parallelism(1, 1, 1, 1)
    assert parallelism(model(), MACHINE, gpus=8) == Parallelism(tp=8)
    assert parallelism(model(), MACHINE, gpus=8, pp=2, dp=2) == Parallelism(tp=2, pp=2, dp=2)
    assert parallelism(model(), MACHINE, tp=4, pp=2) == Parallelism(tp=4, pp=2)
    assert Parallelism(2, 3, 5, 1).gpus == 30


def test_sizes_that_do_not_multiply():
    assert refused(gpus=6, pp=4).allowed == "multiples of 4"
    assert refused(gpus=2, pp=4).field == "gpus"
    assert "are 4 GPUs, not 8" in str(refused(gpus=8, tp=2, pp=2))
    assert refused(tp=3).allowed == "1, 2, 4, 8"
    assert refused(gpus=8, machine=RACK).allowed == "1 to 6"
    assert parallelism(model(), replace(MACHINE, max_gpus=8), gpus=8).gpus == 8


def test_stages_are_at_most_the_layers():
    assert parallelism(model(), MACHINE, pp=4).pp == 4
    assert refused(pp=5).allowed == "1 to 4"


def test_expert_ranks_divide_the_others():
    assert refused(model=MIXTURE, tp=4, ep=3).allowed == "1, 2, 4"
    assert "must divide tp x dp = 4" in str(refused(model=MIXTURE, tp=4, ep=3))
    assert parallelism(MIXTURE, MACHINE, tp=4, dp=2, ep=8).ep == 8
    # Eight experts go to at most eight ranks.
    assert refused(model=MIXTURE, tp=4, dp=4, ep=16).allowed == "1, 2, 4, 8"
    one = replace(MOE_LAYER, ffn=replace(MOE_LAYER.ffn, experts=1))
    assert refused(model=model(LayerGroup(one, 4)), tp=2, ep=2).allowed == "1"


def test_a_dense_model_has_no_expert_ranks():
    found = refused(tp=2, ep=2)
    assert "has no experts" in str(found)
    assert found.allowed == "1"


def test_a_cut_is_checked_when_it_changes():
    assert with_parallelism(plan(), Parallelism(tp=2)).gpus == 2
    with pytest.raises(InputError):
        with_parallelism(plan(), Parallelism(tp=3))


def test_a_workload():
    found = workload(100, 10, 99, 5)
    assert (found.new_tokens, found.concurrency) == (1, 5)
    with pytest.raises(InputError) as caught:
        workload(100, 10, 100)
    assert caught.value.allowed.startswith("0 to 99 ")
    for wrong in ((0, 10), (100, 0), (100, 10, -1), (100, 10, 0, 0)):
        with pytest.raises(InputError):
            workload(*wrong)


def test_a_request_may_fill_the_window_and_no_more():
    # The toy's window has 4,096 tokens.
    check_context(plan(), workload(4000, 96))
    with pytest.raises(CannotBeMetError, match="1 beyond the context window of toy"):
        check_context(plan(), workload(4000, 97))
    with pytest.raises(CannotBeMetError, match="50 beyond --max-model-len"):
        check_context(plan(max_model_len=100), workload(100, 50))
    with pytest.raises(CannotBeMetError, match="beyond the context window"):
        check_context(plan(max_model_len=9000), workload(4000, 97))
    unlimited = plan(replace(model(), context_length=None))
    assert unlimited.context_limit is None
    check_context(unlimited, workload(4_000_000, 97))
    assert plan(max_model_len=100).context_limit == 100


def toy(**options):
    return deployment(model(), MACHINE, **{"engine": engine(), **options})


def test_defaults_are_the_engine_s():
    found = toy()
    assert (found.max_batched_tokens, found.max_num_seqs, found.memory_utilization) == (1000, 64, 0.9)
    own = toy(max_batched_tokens=10, max_num_seqs=3, memory_utilization=0.5, gpus=2)
    assert (own.max_batched_tokens, own.max_num_seqs, own.memory_utilization, own.gpus) == (10, 3, 0.5, 2)


@pytest.mark.parametrize("field", ["max_batched_tokens", "max_num_seqs", "memory_utilization", "max_model_len"])
def test_a_zero_is_refused_not_replaced_by_the_default(field):
    for wrong in (0, -1):
        with pytest.raises(InputError) as caught:
            toy(**{field: wrong})
        assert caught.value.field == field
    with pytest.raises(InputError):
        toy(memory_utilization=1.5)
    with pytest.raises(InputError):
        toy(kv="")


def test_the_cache_s_format():
    follows = engine(kv_follows_weights=True)
    assert toy().kv.id == "bf16"
    assert toy(weights="fp8").kv.id == "bf16"
    assert toy(weights="fp8", engine=follows).kv.id == "fp8"
    assert toy(weights="bf16", engine=follows).kv.id == "bf16"
    assert toy(weights="fp8", kv="bf16", engine=follows).kv.id == "bf16"
    stored = replace(model(), quantization=Quantization({"attention": "fp8"}, kv_format="fp8"))
    assert deployment(stored, MACHINE, engine=engine()).kv.id == "fp8"
