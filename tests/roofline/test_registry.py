"""A formula's description, and its evaluation with answers or reasons."""

from __future__ import annotations

import pytest

from infer_cost.errors import CannotBeMetError, InputError, UnitError, UnknownNameError
from infer_cost.roofline import registry
from infer_cost.roofline.registry import evaluate, example_inputs, explain, formula, formulas, short

H100 = {"peak_flops": "989 TFLOP/s", "memory_bandwidth": "3.35 TB/s"}
DEEPSEEK = {
    "active_parameters": "37B",
    "peak_flops": "1979 TFLOP/s",
    "kv_bytes_per_token": "70272 B",
    "attention_flops": 16_990_208,
}


def test_description() -> None:
    described = formula("t_mem")
    assert described.module == "latency"
    assert described.equation == "T_mem = (W + K) / BW"
    assert described.latex == (r"T_{mem} = \frac{W + K}{BW}",)
    assert [(q.name, q.symbol, q.unit, q.whole) for q in described.parameters] == [
        ("weight_bytes", "W", "B", False),
        ("kv_bytes", "K", "B", False),
        ("memory_bandwidth", "BW", "B/s", False),
    ]
    assert described.parameters[0].meaning == "Bytes of weights read in the step"
    assert (described.result.name, described.result.unit) == ("t_mem", "s")
    assert described.validity.endswith("only the experts hit are read, see experts_hit.")
    assert described.references[0].startswith("Pope et al.")
    assert "21.1" in described.examples


def test_description_with_a_definition_and_whole_numbers() -> None:
    described = formula("erlang_c")
    assert described.equation == "P_W = c·P_B / (c − a·(1 − P_B)) where P_B = (a^c / c!) / (Σ(k=0..c) a^k / k!)"
    assert described.parameters[0].whole
    assert not described.result.whole
    assert formula("kv_blocks").result.whole


def test_all_are_described() -> None:
    assert len({described.name for described in formulas()}) == len(registry.formula_names()) > 120


def test_unknown_formula_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown formula 'ridgepoint'\ndid you mean ridge_point\?"):
        formula("ridgepoint")


def test_symbols_are_found_by_name_and_by_sign() -> None:
    described = formula("speculative_speedup")
    assert described.parameter("α").name == described.parameter("alpha").name == "acceptance"
    assert described.parameter("speculative_speedup") is described.result
    with pytest.raises(UnknownNameError, match="speculative_speedup has acceptance, draft_tokens"):
        described.parameter("beta")


def test_explain_without_numbers() -> None:
    told = explain("ridge_point")
    assert (told.inputs, told.value, told.substituted) == ({}, None, None)


def test_explain_with_numbers() -> None:
    told = explain("ridge_point", H100)
    assert told.value == pytest.approx(295.2, abs=0.1)
    assert told.substituted == "I_ridge = 989e12 / 3.35e12"
    assert told.inputs == {"peak_flops": 989e12, "memory_bandwidth": 3.35e12}


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"peak_flops": 1}, InputError, r"needs memory_bandwidth \[B/s\] too"),
        ({**H100, "BW": 1}, InputError, "memory_bandwidth is given twice"),
        ({**H100, "bandwidth": 1}, UnknownNameError, "unknown symbol 'bandwidth'"),
        ({**H100, "memory_bandwidth": "80 GB"}, UnitError, "is of another kind"),
        ({**H100, "memory_bandwidth": "3.35 Tb/s"}, UnitError, "is in bits, bytes are meant"),
        ({**H100, "memory_bandwidth": float("nan")}, InputError, "isn't a finite number"),
        ({**H100, "memory_bandwidth": -1}, InputError, "is below 0"),
        ({**H100, "memory_bandwidth": 0}, InputError, "has no value with memory_bandwidth = 0"),
    ],
)
def test_bad_input_is_named(values: dict[str, str | float], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        explain("ridge_point", values)


def test_shares_end_at_one_and_servers_are_whole() -> None:
    with pytest.raises(InputError, match=r"acceptance: '1\.5' is above 1"):
        explain("speculative_expected_tokens", {"acceptance": 1.5, "draft_tokens": 2})
    for servers in (2.5, 1e12):
        with pytest.raises(InputError, match=r"servers = .* won't do; allowed: a whole number up to 16,384"):
            explain("erlang_c", {"servers": servers, "offered_load": 1})
    told = explain("erlang_c", {"servers": 2, "offered_load": 1})
    assert told.value == pytest.approx(1 / 3)
    assert [type(value) for value in told.inputs.values()] == [int, float]
    assert explain("erlang_c", {"servers": 16384, "offered_load": 1}).value == pytest.approx(0)


def test_no_answer_says_why() -> None:
    numbers = {**DEEPSEEK, "memory_bandwidth": "4.8 TB/s", "attention_peak_flops": "989 TFLOP/s"}
    with pytest.raises(
        CannotBeMetError, match=r"^no critical context: attention's arithmetic grows faster than its traffic$"
    ) as caught:
        explain("critical_context", numbers)
    assert caught.value.field == "critical_context"
    with pytest.raises(CannotBeMetError, match="work comes in faster than it gets done"):
        evaluate("mm1_wait", {"arrival_rate": 2.0, "service_time": 1.0})
    with pytest.raises(CannotBeMetError, match="no break even tokens: the API costs no more"):
        evaluate("break_even_tokens", {"fixed_cost": 1.0, "api_price": 0.1, "variable_cost": 0.2})


def test_beyond_all_numbers() -> None:
    with pytest.raises(InputError, match="with these numbers"):
        evaluate("mm1k_blocking", {"offered_load": 1e300, "capacity": 1e300})
    with pytest.raises(CannotBeMetError, match="beyond all numbers"):
        evaluate("kv_bytes", {"batch": 1e200, "context": 1e200, "kv_bytes_per_token": 1e200})
    with pytest.raises(InputError, match="no value"):  # a negative base under a fraction of a power
        evaluate("experts_hit", {"experts": 2.0, "experts_per_token": 4.0, "batch": 0.5})


@pytest.mark.parametrize(
    ("attention", "bandwidth", "expected"),
    [("1979 TFLOP/s", "3.35 TB/s", 3018), ("989 TFLOP/s", "3.35 TB/s", 9847), ("1979 TFLOP/s", "4.8 TB/s", 6176)],
)
def test_critical_context_of_deepseek_v3(attention: str, bandwidth: str, expected: int) -> None:
    numbers = {**DEEPSEEK, "memory_bandwidth": bandwidth, "attention_peak_flops": attention}
    assert round(explain("critical_context", numbers).value or 0) == expected


def test_critical_context_with_attention_left_aside() -> None:
    numbers = {**DEEPSEEK, "memory_bandwidth": "3.35 TB/s", "attention_peak_flops": 1, "attention_flops": 0}
    assert int(explain("critical_context", numbers).value or 0) == 1782


def test_example_inputs_allow_arithmetic() -> None:
    assert example_inputs(formula("cost_per_token")) == {
        "price_per_second": 2.5 / 3600,
        "step_time": 22e-3,
        "batch": 64,
    }


def test_a_docstring_without_a_symbol_is_found_out() -> None:
    with pytest.raises(ValueError, match="expected 'meaning, symbol"):
        registry._quantity("x", "a meaning without a symbol", "float")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.05, "0.05"),
        (1234.5, "1234.5"),
        (3.35e12, "3.35e12"),
        (2e-6, "2e-6"),
        (5e8, "500000000"),
        (123456.75, "123457"),
        (1.5e9, "1.5e9"),
        (1e9, "1e9"),
        (0.001, "0.001"),
        (0.0001, "100e-6"),
    ],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text
