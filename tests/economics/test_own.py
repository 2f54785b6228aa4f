from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.economics.against import against_api, fleet_of
from infer_cost.economics.cost_sensitivity import cost_sensitivity
from infer_cost.economics.gpu_hours import gpu_hour
from infer_cost.economics.own import own_cost
from infer_cost.errors import CannotBeMetError, InferCostError, InputError
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.pricing import find_rates
from infer_cost.serving.estimate import estimate

LLAMA = {"weights": "fp8", "input_tokens": 3000, "output_tokens": 500}
H100 = hardware("h100-sxm")


def test_the_cost_is_the_estimates_at_its_price_and_load() -> None:
    cost = own_cost("llama-3.1-70b", H100, gpu_hour(H100, price_per_gpu_hour=2.0), gpus=4, concurrency=16, **LLAMA)
    answer = estimate("llama-3.1-70b", H100, gpus=4, concurrency=16, price_per_gpu_hour=2.0, **LLAMA)
    assert cost.usd_per_mtok_output.expected == answer.cost_per_million_output_tokens_usd
    assert cost.usd_per_request.expected == pytest.approx(8.0 / 3600 / cost.requests_per_s)
    per_request = cost.usd_per_mtok_input.expected * 3000 + cost.usd_per_mtok_output.expected * 500
    assert per_request / 1e6 == pytest.approx(cost.usd_per_request.expected)


def test_a_range_of_costs_runs_from_the_bound_up() -> None:
    cost = own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, **LLAMA)
    for figure in (cost.usd_per_mtok_input, cost.usd_per_mtok_output, cost.usd_per_request):
        assert figure.bound <= figure.low <= figure.expected <= figure.high


def test_idle_time_and_failures_are_paid_for() -> None:
    full = own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, **LLAMA)
    half = own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, utilization=0.5, failure_share=0.2, **LLAMA)
    assert half.usd_per_request.expected == pytest.approx(2 * full.usd_per_request.expected)
    assert half.usd_per_successful_request == pytest.approx(2.5 * full.usd_per_request.expected)


def test_without_gpus_and_concurrency_the_cheapest_is_looked_for_and_said() -> None:
    cost = own_cost("llama-3.1-70b", H100, **LLAMA)
    for gpus in (2, 4, 8):
        for concurrency in (1, 16, 64):
            try:
                other = own_cost("llama-3.1-70b", H100, gpus=gpus, concurrency=concurrency, **LLAMA)
            except CannotBeMetError:
                continue
            assert cost.usd_per_request.expected <= other.usd_per_request.expected * 1.0001
    assert any("set --gpus" in line for line in cost.assumptions)
    assert any("set --concurrency" in line for line in cost.assumptions)


def test_a_slowest_time_per_token_is_kept() -> None:
    cost = own_cost("llama-3.1-70b", H100, gpus=4, max_tpot_s=0.03, **LLAMA)
    assert cost.tpot_s is not None and cost.tpot_s.expected <= 0.03
    with pytest.raises(CannotBeMetError):
        own_cost("llama-3.1-70b", H100, gpus=4, max_tpot_s=0.001, **LLAMA)


def test_two_pools_share_the_cost_by_their_gpus() -> None:
    cost = own_cost(
        "llama-3.1-70b", H100, prefill_gpus=4, decode_gpus=4, prefill_tp=4, decode_tp=4, concurrency=16, **LLAMA
    )
    prompt = cost.usd_per_mtok_input.expected * 3000 / 1e6
    assert prompt / cost.usd_per_request.expected == pytest.approx(0.5)


def test_owning_takes_the_assumptions_unless_told_otherwise() -> None:
    owned = gpu_hour(H100, owned=True)
    assert any("recalled" in line for line in owned.assumptions)
    assert len(gpu_hour(H100, owned=True, ownership={"pue": 1.1}).assumptions) == len(owned.assumptions) - 1
    assert owned.owned is not None and owned.cost is not None
    assert owned.usd == pytest.approx(sum(owned.cost.parts().values()))
    dearer = gpu_hour(H100, owned=True, ownership={"purchase_usd": 60_000.0})
    assert dearer.usd > owned.usd
    with pytest.raises(InputError, match="rented or owned"):
        gpu_hour(H100, owned=True, price_per_gpu_hour=2.0)


def test_a_machine_without_a_price_asks_for_one() -> None:
    bare = replace(H100, prices=())
    with pytest.raises(InputError, match="no GPU-hour price"):
        gpu_hour(bare)


def test_against_an_api_margin_break_even_and_month_agree() -> None:
    cost = own_cost("llama-3.1-70b", H100, gpu_hour(H100, owned=True), gpus=4, concurrency=64, utilization=0.6, **LLAMA)
    rates = find_rates("groq/llama-3.3-70b-versatile", at="2026-11-30")
    fleet = fleet_of(cost, people_usd_per_month=5000.0)
    found = against_api(cost, rates, fleet, requests_per_month=5e6)
    price = float(found.api.cost_usd)
    assert found.margin_if_sold_at_api_price == pytest.approx(1 - cost.usd_per_successful_request / price)
    assert found.month is not None
    assert found.month.api_usd == pytest.approx(5e6 * price)
    assert found.break_even.first_requests is not None
    at = against_api(cost, rates, fleet, requests_per_month=found.break_even.first_requests * 1.0001)
    assert at.month is not None and at.month.saving_usd >= 0
    before = against_api(cost, rates, fleet, requests_per_month=found.break_even.first_requests * 0.99)
    assert before.month is not None and before.month.saving_usd < 0


def test_cached_tokens_are_cheaper_here_and_at_the_api() -> None:
    rates = find_rates("deepseek/deepseek-flash", at="2026-11-30T12:00")
    plain, cached = (
        own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, cached_tokens=tokens, **LLAMA) for tokens in (0, 2500)
    )
    assert cached.usd_per_request.expected < plain.usd_per_request.expected
    bills = [against_api(cost, rates, fleet_of(cost)).api.cost_usd for cost in (plain, cached)]
    assert bills[1] < bills[0]


def test_the_replicas_of_a_fleet_leave_the_planned_headroom() -> None:
    cost = own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, utilization=0.5, failure_share=0.5, **LLAMA)
    assert fleet_of(cost).replica_requests_per_s == pytest.approx(cost.requests_per_s * 0.5 * 0.5)


def test_sensitivity_moves_what_matters() -> None:
    rented = own_cost("llama-3.1-70b", H100, gpus=4, concurrency=16, utilization=0.6, **LLAMA)
    names = [swing.name for swing in cost_sensitivity(rented)]
    assert set(names) == {"throughput", "utilization", "GPU-hour price"}
    owned = own_cost("llama-3.1-70b", H100, gpu_hour(H100, owned=True), gpus=4, concurrency=16, **LLAMA)
    swings = {swing.name: swing for swing in cost_sensitivity(owned)}
    assert swings["purchase price"].at_low < swings["purchase price"].at_high
    assert swings["years of use"].at_low > swings["years of use"].at_high
    assert swings["utilization"].high_input == 1.0


@pytest.mark.parametrize(
    "wrong", [{"utilization": 0.0}, {"utilization": 1.5}, {"failure_share": 1.0}, {"gpus": 3}, {"weights": "fp9"}]
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InferCostError):
        own_cost("llama-3.1-70b", H100, **{**LLAMA, **wrong})  # type: ignore[arg-type]
