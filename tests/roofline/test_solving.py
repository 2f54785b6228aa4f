"""Every formula turned around for every symbol gives back what went in."""

from __future__ import annotations

import pytest

from infer_cost.errors import CannotBeMetError, InputError, UnitError
from infer_cost.roofline.registry import evaluate, example_inputs, formula, formula_names
from infer_cost.roofline.solving import Solution, solve

H100 = {"peak_flops": "989 TFLOP/s"}


@pytest.mark.parametrize("name", formula_names())
def test_round_trip(name: str) -> None:
    """The solution reproduces the value; it is what went in unless a range of values would do."""
    described = formula(name)
    inputs = example_inputs(described)
    value = evaluate(name, inputs)
    for quantity in described.parameters:
        others = {key: number for key, number in inputs.items() if key != quantity.name}
        found = solve(name, quantity.name, {**others, name: value})
        assert found.unit == quantity.unit
        assert evaluate(name, {**others, quantity.name: _number(found)}) == pytest.approx(value, rel=1e-6)
        unique = not any("any " in condition for condition in found.conditions)
        if unique and found.method != "search":
            assert found.value == pytest.approx(inputs[quantity.name], rel=1e-6)


def _number(found: Solution) -> float:
    return int(found.value) if found.method == "search" else found.value


def test_closed_form() -> None:
    found = solve("ridge_point", "memory_bandwidth", {**H100, "ridge_point": 295})
    assert found.value == pytest.approx(3.3525e12, rel=1e-4)
    assert (found.closed_form, found.method, found.unit) == ("BW = C/I_ridge", "closed form", "B/s")
    assert found.inputs == {"peak_flops": 989e12, "ridge_point": 295}


def test_closed_form_of_a_quadratic() -> None:
    """chunked_prefill_cache_reads is quadratic in the tokens; only the positive root is an answer."""
    found = solve("chunked_prefill_cache_reads", "tokens", {"chunk": 2048, "chunked_prefill_cache_reads": 12288})
    assert found.value == pytest.approx(8192)
    assert found.method == "closed form"
    assert found.closed_form is None  # two roots, no single equation


def test_closed_form_with_a_power_and_a_logarithm() -> None:
    found = solve("experts_hit", "batch", {"experts": 256, "experts_per_token": 8, "experts_hit": 222.4})
    assert found.value == pytest.approx(64, rel=1e-3)
    assert found.method == "closed form"
    time = solve("mm1_time_percentile", "share", {"arrival_rate": 0.8, "service_time": 1, "mm1_time_percentile": 23.03})
    assert time.value == pytest.approx(0.99, rel=1e-4)
    assert time.method == "closed form"


def test_numeric_root() -> None:
    found = solve(
        "speculative_expected_tokens", "acceptance", {"draft_tokens": 3, "speculative_expected_tokens": 2.533}
    )
    assert found.value == pytest.approx(0.7, rel=1e-4)
    assert (found.method, found.closed_form) == ("bisection", None)


def test_whole_numbers_are_searched() -> None:
    wanted = {"offered_load": 10, "service_time": "3min", "target": "20s", "mmc_service_level": "80%"}
    found = solve("mmc_service_level", "servers", wanted)
    assert (found.value, found.method) == (14, "search")
    assert found.conditions[0] == "the least servers with mmc_service_level >= 0.8"
    wait = solve("mmc_wait", "servers", {"offered_load": 10, "service_time": 180, "mmc_wait": 8})
    assert wait.value == 14
    assert wait.conditions[0] == "the least servers with mmc_wait <= 8"
    assert solve("erlang_c", "servers", {"offered_load": 10, "erlang_c": 0.18}).value == 14
    assert solve("erlang_b", "servers", {"offered_load": 0.5, "erlang_b": 0.4}).value == 1


def test_a_flat_stretch_is_said_to_be_one() -> None:
    found = solve("kv_blocks", "tokens", {"block_size": 16, "kv_blocks": 752})
    assert found.conditions[-1] == "any tokens from 12016 to 12032 gives the same value"
    limited = solve("step_time_max", "t_compute", {"t_mem": 0.02, "step_time_max": 0.02})
    assert limited.conditions[-1] == "any t_compute from 0 to 0.02 gives the same value"
    open_ended = solve(
        "attainable_flops", "peak_flops", {"intensity": 1, "memory_bandwidth": 1e12, "attainable_flops": 1e12}
    )
    assert open_ended.conditions[-1] == "any peak_flops from 1e12 up gives the same value"


def test_several_solutions_are_all_named() -> None:
    """A speed-up below the best is had with few draft tokens and again with too many."""
    known = {"acceptance": 0.8, "draft_cost_ratio": 0.1, "speculative_speedup": 2.0}
    found = solve("speculative_speedup", "draft_tokens", known)
    assert found.value == pytest.approx(1.8942, rel=1e-4)
    other = float(found.conditions[-1].split()[2])
    assert found.conditions[-1].endswith("gives the same value")
    assert evaluate("speculative_speedup", {**known, "draft_tokens": other}) == pytest.approx(2.0, rel=1e-4)
    assert other > 10


def test_ends_of_the_range_are_answers() -> None:
    assert solve("t_mem", "kv_bytes", {"weight_bytes": 1e9, "memory_bandwidth": 1e9, "t_mem": 1}).value == 0
    full = {"cost_when_full": 1e-6, "cost_at_utilization": 1e-6}
    assert solve("cost_at_utilization", "utilization", full).value == 1
    least = solve("step_time_max", "t_compute", {"t_mem": 0.02, "step_time_max": 0.02})
    assert least.value == 0


def test_roots_far_out_and_of_falling_values() -> None:
    far = {"intensity": 1e-16, "peak_flops": 1e15, "attainable_flops": 1e12}
    assert solve("attainable_flops", "memory_bandwidth", far).value == pytest.approx(1e28)
    near = {"memory_bandwidth": 3e28, "peak_flops": 1e15, "attainable_flops": 1e12}
    assert solve("attainable_flops", "intensity", near).value == pytest.approx(1e-16 / 3)
    falling = solve("mm1k_blocking", "capacity", {"offered_load": 0.8, "mm1k_blocking": 0.0234929})
    assert falling.value == pytest.approx(10, rel=1e-5)
    assert falling.method == "bisection"


def test_sums_over_servers_are_not_left_to_algebra() -> None:
    found = solve("erlang_c", "offered_load", {"servers": 14, "erlang_c": 0.1741})
    assert (found.method, found.closed_form) == ("bisection", None)
    assert found.value == pytest.approx(10, rel=1e-3)


def test_a_count_that_reaches_the_value_exactly_is_the_answer() -> None:
    for servers in (1, 2, 3, 5, 8, 13):
        value = evaluate("erlang_b", {"servers": servers, "offered_load": 1})
        assert solve("erlang_b", "servers", {"offered_load": 1, "erlang_b": value}).value == servers
        level = {"offered_load": 0.9, "service_time": 180, "target": 20}
        share = evaluate("mmc_service_level", {"servers": servers, **level})
        assert solve("mmc_service_level", "servers", {**level, "mmc_service_level": share}).value == servers


def test_closed_form_is_simplified_and_roots_come_out_right() -> None:
    evicted = solve("kv_tokens_evicted", "output_tokens", {"batch": 32, "input_tokens": 8192, "kv_tokens_evicted": 96})
    assert (evicted.value, evicted.closed_form) == (pytest.approx(4096), "G = B·P/(-B + n)")
    width = solve("flash_traffic_ratio", "head_dim", {"on_chip_elements": 51200, "flash_traffic_ratio": 12.5})
    assert (width.value, width.closed_form) == (pytest.approx(64), "h = sqrt(M)/sqrt(r)")
    hops = solve("rail_hops", "tiers", {"rails": 8, "rail_hops": 2.75})
    assert hops.value == pytest.approx(2)
    assert hops.closed_form is not None


def test_solving_for_the_value_evaluates() -> None:
    found = solve("ridge_point", "ridge_point", {**H100, "memory_bandwidth": "3.35 TB/s"})
    assert (round(found.value), found.method, found.closed_form) == (295, "evaluated", None)
    assert solve("ridge_point", "I_ridge", {**H100, "BW": 3.35e12}).value == found.value


def test_the_unknown_may_be_given_and_is_ignored() -> None:
    found = solve("ridge_point", "BW", {**H100, "ridge_point": 295, "BW": 1})
    assert found.value == pytest.approx(3.3525e12, rel=1e-4)


def test_no_critical_context_on_h200_with_bf16_attention() -> None:
    numbers = {"active_parameters": "37B", "peak_flops": "1979 TFLOP/s", "memory_bandwidth": "4.8 TB/s"}
    numbers |= {"kv_bytes_per_token": "70272 B", "attention_flops": "16990208", "attention_peak_flops": "989 TFLOP/s"}
    with pytest.raises(CannotBeMetError, match="attention's arithmetic grows faster than its traffic"):
        solve("critical_context", "critical_context", numbers)


def test_what_cannot_be_reached() -> None:
    with pytest.raises(CannotBeMetError, match=r"no acceptance gives .* lies between 1 and 4"):
        solve("speculative_expected_tokens", "acceptance", {"draft_tokens": 3, "speculative_expected_tokens": 9})
    with pytest.raises(CannotBeMetError, match="no servers gives"):
        solve("erlang_b", "servers", {"offered_load": 0, "erlang_b": 0.5})
    with pytest.raises(CannotBeMetError, match="no weight_bytes gives"):
        solve("t_mem", "weight_bytes", {"kv_bytes": 8e9, "memory_bandwidth": 1e9, "t_mem": 1})
    numbers = {"peak_flops": 1979e12, "memory_bandwidth": 4.8e12, "kv_bytes_per_token": 70272, "critical_context": 9}
    with pytest.raises(CannotBeMetError, match=r"^no critical context: attention's arithmetic grows faster"):
        solve(
            "critical_context",
            "active_parameters",
            {**numbers, "attention_flops": 16_990_208, "attention_peak_flops": 989e12},
        )


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"ridge_point needs ridge_point \[FLOP/B\] too"):
        solve("ridge_point", "memory_bandwidth", H100)
    with pytest.raises(InputError, match=r"ridge_point needs peak_flops \[FLOP/s\], ridge_point"):
        solve("ridge_point", "memory_bandwidth", {})
    with pytest.raises(UnitError, match="in bits, bytes are meant"):
        solve("t_mem", "memory_bandwidth", {"weight_bytes": "80 Gb", "kv_bytes": 0, "t_mem": 1})
