"""What holds for every formula: documentation, equation, units, and floats, arrays and symbols that agree."""

from __future__ import annotations

import inspect
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import sympy

from infer_cost import roofline
from infer_cost.roofline import constants
from infer_cost.roofline.notation import parse_equation, to_sympy
from infer_cost.roofline.registry import Formula, example_inputs, formula, formula_names
from infer_cost.units import unit

NAMES = formula_names()
BASE_SCALES = {"B": 3.0, "bit": 5.0, "s": 7.0, "FLOP": 11.0, "USD": 13.0, "J": 17.0, "m": 19.0, "token": 1.0}
CONSTANT_UNITS = {"MULTIPLY_ADD": "FLOP", "BITS_PER_BYTE": "bit/B"}
UNSCALED = {"SECONDS_PER_HOUR", "SECONDS_PER_YEAR", "JOULES_PER_KILOWATT_HOUR", "TOKENS_PER_MILLION"}


def scale(text: str) -> float:
    """How a number grows when every base unit is made smaller by its factor."""
    return math.prod(BASE_SCALES[base] ** exponent for base, exponent in unit(text).dimension.items())


def near(described: Formula, step: int) -> dict[str, float]:
    """The example's numbers, moved a little: the same case, not the same digits."""
    moved = {}
    for quantity, value in zip(described.parameters, example_inputs(described).values(), strict=True):
        if quantity.whole:
            moved[quantity.name] = value + step
        elif quantity.unit == "fraction":
            moved[quantity.name] = value * (1 - 0.01 * step)
        else:
            moved[quantity.name] = value * (1 + 0.03 * step)
    return moved


@pytest.mark.parametrize("name", NAMES)
def test_documentation_matches_the_function(name: str) -> None:
    described = formula(name)
    assert [q.name for q in described.parameters] == list(inspect.signature(described.function).parameters)
    symbols = [q.symbol for q in (described.result, *described.parameters)]
    assert len(set(symbols)) == len(symbols), "two quantities share a symbol"
    assert described.summary.endswith(".")
    assert described.validity
    assert described.references
    assert all(q.meaning and unit(q.unit) for q in (*described.parameters, described.result))
    assert set(example_inputs(described)) == {q.name for q in described.parameters}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [0, 1, 2])
def test_equation_is_what_the_code_computes(name: str, step: int) -> None:
    described = formula(name)
    inputs = near(described, step)
    symbols: dict[str, Any] = {
        q.symbol: sympy.Float(inputs[q.name]) if not q.whole else sympy.Integer(inputs[q.name])
        for q in described.parameters
    }
    for latex in reversed(described.latex):
        left, right = parse_equation(latex)
        value = to_sympy(right, symbols)
        if latex != described.latex[0]:
            symbols[left[1]] = value
    assert left == ("symbol", described.result.symbol)
    assert float(value.evalf()) == pytest.approx(described.function(**inputs), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_units_are_consistent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in other units, the inputs give the same result in other units."""
    described = formula(name)
    inputs = example_inputs(described)
    before = described.function(**inputs)
    for module in {*roofline.FORMULA_MODULES.values(), "constants"}:
        room = import_module(f"infer_cost.roofline.{module}")
        for constant, text in CONSTANT_UNITS.items():
            if hasattr(room, constant):
                monkeypatch.setattr(room, constant, getattr(room, constant) * scale(text))
    scaled = {q.name: inputs[q.name] * scale(q.unit) for q in described.parameters if not q.whole}
    after = described.function(**{**inputs, **scaled})
    assert after == pytest.approx(before * scale(described.result.unit), rel=1e-9)


def test_every_constant_has_a_unit_in_the_check() -> None:
    names = {name for name in vars(constants) if name.isupper()}
    assert names == {*CONSTANT_UNITS, *UNSCALED}


@pytest.mark.parametrize("name", NAMES)
def test_array_agrees_with_floats(name: str) -> None:
    described = formula(name)
    cases = [near(described, step) for step in range(4)]
    arrays = {key: np.array([case[key] for case in cases]) for key in cases[0]}
    expected = [described.function(**case) for case in cases]
    np.testing.assert_allclose(described.function(**arrays), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_array_among_floats(name: str) -> None:
    """A sweep varies one thing; the shape is that of what varies, or a plain number where it has no say."""
    described = formula(name)
    inputs = example_inputs(described)
    for varied in inputs:
        values = [near(described, step)[varied] for step in range(3)]
        expected = [described.function(**{**inputs, varied: value}) for value in values]
        found = described.function(**{**inputs, varied: np.array(values)})
        np.testing.assert_allclose(np.broadcast_to(found, (3,)), expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_symbols_agree_with_floats(name: str) -> None:
    described = formula(name)
    symbols = {q.name: sympy.Symbol(q.name, positive=True, integer=q.whole or None) for q in described.parameters}
    expression = described.function(**symbols)
    for step in range(2):
        inputs = near(described, step)
        value = expression.subs({symbols[key]: sympy.Float(number, 30) for key, number in inputs.items()})
        assert float(value.evalf(20)) == pytest.approx(described.function(**inputs), rel=1e-9)


def test_names_load_lazily_and_only_formulas_are_listed() -> None:
    assert roofline.ridge_point is formula("ridge_point").function
    assert {"ridge_point", "t_mem", "erlang_c"} <= set(dir(roofline))
    with pytest.raises(AttributeError, match="no_such_formula"):
        _ = roofline.no_such_formula
    for name, module in roofline.FORMULA_MODULES.items():
        assert hasattr(import_module(f"infer_cost.roofline.{module}"), name)


def test_every_public_function_of_a_formula_module_is_a_formula() -> None:
    for module in set(roofline.FORMULA_MODULES.values()):
        room = import_module(f"infer_cost.roofline.{module}")
        public = {
            name
            for name, value in vars(room).items()
            if inspect.isfunction(value) and value.__module__ == room.__name__ and not name.startswith("_")
        }
        assert public == {name for name, home in roofline.FORMULA_MODULES.items() if home == module}
