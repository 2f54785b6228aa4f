"""Plans: they keep their promises, agree with estimates, and behave when traffic and promises change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.errors import CannotBeMetError, InputError, UnknownNameError
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.model_specs.catalog import model
from infer_cost.planner.candidates import Choice, default_machines, find_candidates
from infer_cost.planner.demand import prices_of, rate_of
from infer_cost.planner.explain import binding, estimate_options, first_token_shares, price_flips, token_shares
from infer_cost.planner.flags import batch_limit, engine_flags
from infer_cost.planner.plan import Budgets, Plans, plans
from infer_cost.planner.result import Plan
from infer_cost.planner.simulation import simulate
from infer_cost.planner.traffic import Promise, Traffic, promise, traffic
from infer_cost.serving.estimate import estimate

MACHINES = tuple(hardware(name) for name in ("h100-sxm", "h200-sxm", "b200-sxm"))
CHAT = traffic(20.0, 1000, 250, input_variation=0.6, output_variation=0.6)
LEVEL = (promise("ttft", "p99=500ms"), promise("tpot", "p99=30ms"))


def planned(
    asked: Traffic = CHAT, level: tuple[Promise, ...] = LEVEL, name: str = "llama-3.1-70b", **options: Any
) -> Plans:
    choice = Choice(options.pop("machines", MACHINES), **options.pop("choice", {}))
    return plans(model(name), asked, level, choice, **options)


@pytest.fixture(scope="module")
def chat() -> Plans:
    return planned()


def test_every_plan_keeps_every_promise(chat: Plans) -> None:
    for plan in chat.best:
        assert all(value <= line.limit_s for value, line in zip(plan.percentiles_s, LEVEL, strict=True))
        assert plan.headroom >= 1.0
        assert plan.usd_per_hour == pytest.approx(
            sum(pool.gpus * pool.candidate.price.usd_per_hour for pool in plan.pools)
        )
        assert plan.usd_per_request * CHAT.rate * 3600 == pytest.approx(plan.usd_per_hour)
    costs = [plan.usd_per_hour for plan in chat.best]
    assert costs == sorted(costs)
    assert {pool.candidate.machine.id for plan in chat.best for pool in plan.pools} == {m.id for m in MACHINES}


def test_the_winners_percentiles_hold_in_a_simulation(chat: Plans) -> None:
    best = next(plan for plan in chat.best if plan.layout == "together")
    pool = best.pools[0]
    run = simulate(pool.one.queue, CHAT, pool.rate, requests=20_000)
    for value, line in zip(best.percentiles_s, LEVEL, strict=True):
        assert value == pytest.approx(run.percentile(line.metric, line.percentile / 100), rel=0.2)


def test_the_winners_numbers_are_those_of_estimate(chat: Plans) -> None:
    for plan in chat.best:
        if plan.layout == "together":
            pool = plan.pools[0]
            single = estimate("llama-3.1-70b", pool.candidate.machine.id, **estimate_options(pool, CHAT))
            assert single.tpot_s is not None
            # The plan's answers vary in length; the estimate's are all alike.
            assert pool.point.token_s == pytest.approx(single.tpot_s.expected, rel=0.08)


def test_with_answers_all_alike_the_agreement_is_close() -> None:
    asked = traffic(20.0, 1000, 250)
    pool = planned(asked, layouts=("together",)).best[0].pools[0]
    single = estimate("llama-3.1-70b", pool.candidate.machine.id, **estimate_options(pool, asked))
    assert single.tpot_s is not None
    assert pool.point.token_s == pytest.approx(single.tpot_s.expected, rel=0.03)
    assert pool.candidate.price.usd_per_hour == pytest.approx(
        single.cost_usd / single.e2e_s.expected * single.concurrency * 3600 / single.gpus,
        rel=1e-3,  # type: ignore[operator]
    )


def cost(level: tuple[Promise, ...], rate: float = 20.0, **options: Any) -> float:
    try:
        return planned(replace(CHAT, rate=rate), level, **options).best[0].usd_per_hour
    except CannotBeMetError:
        return float("inf")


@given(st.floats(0.2, 3.0), st.floats(0.01, 0.1), st.sampled_from([50.0, 90.0, 99.0, 99.9]), st.data())
@settings(max_examples=12, deadline=None)
def test_a_looser_service_level_never_costs_more(ttft: float, tpot: float, share: float, data: st.DataObject) -> None:
    slower, later = data.draw(st.floats(1.0, 3.0)), data.draw(st.floats(1.0, 3.0))
    tight = (Promise("ttft", share, ttft), Promise("tpot", share, tpot))
    loose = (Promise("ttft", share, ttft * slower), Promise("tpot", share, tpot * later))
    two = {"machines": MACHINES[:2]}
    assert cost(loose, **two) <= cost(tight, **two)
    assert cost(tight[:1], **two) <= cost(tight, **two)
    assert cost((), **two) <= cost(tight, **two)


@given(st.floats(0.5, 300.0), st.floats(1.0, 3.0))
@settings(max_examples=12, deadline=None)
def test_more_traffic_never_costs_less(rate: float, more: float) -> None:
    two = {"machines": MACHINES[1:]}
    assert cost(LEVEL, rate, **two) <= cost(LEVEL, rate * more, **two)


def test_a_batch_without_promises_fills_its_engines() -> None:
    asked = traffic(50.0, 1000, 250)
    best = planned(asked, ()).best[0]
    # One engine fewer couldn't take the traffic, however full.
    assert (
        (best.pools[0].engines - 1) * best.pools[0].one.greatest
        < 50.0
        <= best.pools[0].engines * best.pools[0].one.greatest
    )
    assert best.pools[0].busy > 0.8 and best.percentiles_s == ()
    assert best.usd_per_hour < planned(asked, LEVEL).best[0].usd_per_hour
    pool = best.pools[0]
    assert binding(pool, asked, (), 0.0).what == "throughput"


def test_pools_apart_on_different_machines() -> None:
    # Between prices at which H200 does nothing and everything, it decodes and leaves the arithmetic to B200.
    mixes = []
    for price in (0.9, 1.1, 1.2, 1.3, 1.4, 1.6):
        answer = planned(
            replace(CHAT, rate=300.0),
            layouts=("apart",),
            machines=MACHINES[1:],
            choice={"prices": (("h200-sxm", price), ("b200-sxm", 2.6))},
        )
        best = answer.best[0]
        assert best.layout == "apart" and [pool.role for pool in best.pools] == ["prefill", "decode"]
        assert best.transfer_s > 0
        mixes.append([pool.candidate.machine.id for pool in best.pools])
    assert ["b200-sxm", "h200-sxm"] in mixes
    assert ["h200-sxm", "b200-sxm"] not in mixes


def test_what_cannot_be_met_names_the_promise_and_by_how_much() -> None:
    with pytest.raises(CannotBeMetError) as error:
        planned(level=(promise("ttft", "p99=500ms"), promise("tpot", "p99=1ms")))
    assert error.value.field == "tpot" and "TPOT p99" in str(error.value) and "times what would do" in str(error.value)
    with pytest.raises(CannotBeMetError) as error:
        planned(level=(promise("ttft", "p99=5ms"),))
    assert error.value.field == "ttft"
    with pytest.raises(CannotBeMetError, match="hold"):
        planned(name="deepseek-v3", choice={"tp": (1,), "dp": (1,)})
    with pytest.raises(CannotBeMetError, match="context window"):
        planned(replace(CHAT, context=1_000_000))


@pytest.mark.parametrize(
    ("budgets", "field"),
    [
        (Budgets(gpus=1), "max_gpus"),
        (Budgets(usd_per_hour=1.0), "max_cost_per_hour"),
        (Budgets(power_w=1e3), "max_power"),
    ],
)
def test_budgets(budgets: Budgets, field: str) -> None:
    with pytest.raises(CannotBeMetError) as error:
        planned(budgets=budgets)
    assert error.value.field == field


def test_a_budget_of_gpus_changes_the_plan(chat: Plans) -> None:
    fewest = min(plan.gpus for plan in chat.best)
    answer = planned(budgets=Budgets(gpus=fewest))
    assert all(plan.gpus <= fewest for plan in answer.best)


def test_spare_engines_are_paid_for(chat: Plans) -> None:
    spared = planned(spare=2)
    assert spared.best[0].usd_per_hour > chat.best[0].usd_per_hour
    assert all(pool.spare == 2 and pool.engines > 2 for plan in spared.best for pool in plan.pools)


def test_a_price_flips_the_choice_as_announced() -> None:
    one = {"layouts": ("together",)}
    flips = price_flips(planned(**one).best)
    assert flips
    machine = flips[0].change.split(" below $")[0]
    price = float(flips[0].change.split("$")[1].split()[0])
    cheaper = planned(choice={"prices": ((machine, price - 0.02),)}, **one)
    dearer = planned(choice={"prices": ((machine, price + 0.05),)}, **one)
    assert cheaper.best[0].pools[0].candidate.machine.id == machine
    assert dearer.best[0].pools[0].candidate.machine.id != machine


def test_the_reasons_add_up(chat: Plans) -> None:
    for plan in chat.best:
        for pool in plan.pools:
            shares = token_shares(pool, CHAT)
            if pool.role != "prefill":
                assert sum(share.seconds for share in shares) == pytest.approx(pool.point.token_s, rel=0.02)
            first = first_token_shares(pool, CHAT, plan.transfer_s)
            assert (not first) == (pool.role == "decode")
            assert binding(pool, CHAT, LEVEL, plan.transfer_s).what in ("TTFT p99", "TPOT p99", "KV cache", "load")


def test_speculation_is_weighed() -> None:
    asked = traffic(2.0, 1000, 500)
    answer = planned(asked, (promise("tpot", "p50=25ms"),), "deepseek-v3", choice={"speculative": ("none", "mtp")})
    labels = [plan.label for plan in answer.best]
    assert any("mtp" in label for label in labels)


def test_bursts_are_simulated_and_cost_more(chat: Plans) -> None:
    one = {"machines": (hardware("h200-sxm"),), "layouts": ("together",), "choice": {"tp": (4,), "weights": ("fp8",)}}
    calm, wild = planned(**one), planned(replace(CHAT, burstiness=6.0), **one)
    assert "simulation" in wild.best[0].methods and set(calm.best[0].methods) == {"formula"}
    assert wild.best[0].usd_per_hour >= calm.best[0].usd_per_hour


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", ["vllm serve meta-llama/", "--tensor-parallel-size", "--max-num-seqs", "--quantization fp8"]),
        ("sglang", ["sglang.launch_server", "--tp-size", "--context-length"]),
        ("trtllm", ["trtllm-serve", "--tp_size", "--max_batch_size"]),
    ],
)
def test_flags(chat: Plans, engine: str, words: list[str]) -> None:
    pool = next(plan for plan in chat.best if "fp8" in plan.label).pools[0]
    line = engine_flags(pool, CHAT, engine)
    assert all(word in line for word in words)
    assert "\n" not in line
    with pytest.raises(UnknownNameError):
        engine_flags(pool, CHAT, "tgi")


def test_the_batch_limit_leaves_room_for_what_is_in_flight(chat: Plans) -> None:
    for plan in chat.best:
        for pool in plan.pools:
            if pool.role != "prefill":
                assert pool.in_flight <= batch_limit(pool) <= pool.one.queue.decodes.capacity  # type: ignore[union-attr]


def test_candidates_say_what_they_lack() -> None:
    found = find_candidates(model("llama-3.1-8b"), Choice((hardware("h100-sxm"), hardware("gaudi3"))))
    assert found.unpriced == ("gaudi3",) and found.candidates
    with pytest.raises(InputError, match="price"):
        find_candidates(model("llama-3.1-8b"), Choice((hardware("gaudi3"),)))
    with pytest.raises(InputError, match="doesn't divide"):
        find_candidates(model("llama-3.1-8b"), Choice((hardware("h100-sxm"),), tp=(3,)))
    assert len(default_machines()) >= 5


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({"requests": "20/s"}, 20.0),
        ({"requests": "20"}, 20.0),
        ({"requests": "86.4M/d"}, 1000.0),
        ({"requests": "36k/h"}, 10.0),
        ({"requests": "2.88M", "within": "8h"}, 100.0),
        ({"requests": None, "output_rate": "864M tokens/day", "output_tokens": 100}, 100.0),
        ({"requests": "10/s", "peak_factor": 3.0, "growth": "50%"}, 45.0),
    ],
)
def test_demand(options: dict[str, Any], rate: float) -> None:
    assert rate_of(**options) == pytest.approx(rate)


@pytest.mark.parametrize(
    "options",
    [
        {"requests": None},
        {"requests": "1/s", "output_rate": "1B/d"},
        {"requests": None, "output_rate": "1B/d", "within": "8h"},
        {"requests": "fast"},
        {"requests": "20/GB"},
        {"requests": "0"},
        {"requests": "1/s", "peak_factor": 0.5},
    ],
)
def test_demand_that_makes_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        rate_of(**options)


def test_prices() -> None:
    assert prices_of(["2.5", "H100=3"]) == (("", 2.5), ("h100-sxm", 3.0))
    with pytest.raises(UnknownNameError):
        prices_of(["nochip=3"])


def test_a_plan_is_kept_in_words(chat: Plans) -> None:
    best: Plan = chat.best[0]
    assert best.pools[0].candidate.machine.id in best.label
