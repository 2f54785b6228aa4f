"""One function for floats, arrays and symbols; floats import nothing."""

from __future__ import annotations

import math
import subprocess
import sys
import timeit

import numpy as np
import pytest
import sympy

from infer_cost.roofline import dispatch as d

X = sympy.Symbol("x", positive=True)


def test_floats_stay_floats() -> None:
    assert d.maximum(1, 2.5, 2) == 2.5
    assert d.minimum(3.0, 2.5, 4) == 2.5
    assert d.maximum(2.0, 1.0) == 2.0
    assert d.minimum(1.0, 2.0) == 1.0
    assert d.where(False, 1, 2) == 2
    assert d.clip(-1.0, 0.0, 1.0) == 0.0
    assert d.clip(0.5, 0.0, 1.0) == 0.5
    assert type(d.ceil(1.2)) is int
    assert d.ceil(1.2) == 2
    assert d.floor(1.8) == 1
    assert d.exp(1.0) == math.e
    assert d.log(math.e) == 1.0


def test_arrays_go_element_by_element() -> None:
    a = np.array([1.0, 5.0])
    np.testing.assert_array_equal(d.maximum(a, 2.0, 3.0), [3.0, 5.0])
    np.testing.assert_array_equal(d.minimum(2.0, a), [1.0, 2.0])
    np.testing.assert_array_equal(d.where(a > 2, a, 0.0), [0.0, 5.0])
    np.testing.assert_array_equal(d.ceil(a / 2), [1.0, 3.0])
    np.testing.assert_array_equal(d.floor(a / 2), [0.0, 2.0])
    np.testing.assert_allclose(d.log(d.exp(a)), a)
    np.testing.assert_array_equal(d.clip(a, 2.0, 3.0), [2.0, 3.0])
    assert d.maximum(np.float64(2.0), 1.0) == 2.0
    assert d.where(np.bool_(True), 1.0, 2.0) == 1.0


def test_symbols_become_expressions() -> None:
    assert d.maximum(X, 2) == sympy.Max(X, 2)
    assert d.minimum(2, X, 3) == sympy.Min(2, X)
    assert d.ceil(X) == sympy.ceiling(X)
    assert d.floor(X) == sympy.floor(X)
    assert d.exp(X) == sympy.exp(X)
    assert d.log(X) == sympy.log(X)
    assert d.where(X > 1, X, 0).subs(X, 3) == 3
    assert d.where(X > 1, X, 0).subs(X, sympy.Rational(1, 2)) == 0
    assert d.where(X == 1, 5, X) == X


def test_other_numbers_go_the_plain_way() -> None:
    from fractions import Fraction

    assert d.maximum(Fraction(1, 2), 0) == Fraction(1, 2)
    assert d.ceil(Fraction(3, 2)) == 2
    assert d.where(Fraction(1, 2), 1, 2) == 1


def test_kinds() -> None:
    assert d.is_symbolic(1.0, X)
    assert not d.is_symbolic(1.0, np.array([1.0]))
    assert d.is_array(np.float64(1.0))
    assert d.is_array(1.0, np.array([1.0]))
    assert not d.is_array(1.0, X)


def test_a_quotient_is_infinite_where_the_denominator_is_not_positive() -> None:
    assert d.divide_or_infinity(6.0, 2.0) == 3.0
    assert d.divide_or_infinity(6.0, 0.0) == math.inf
    assert d.divide_or_infinity(6.0, -1.0) == math.inf
    np.testing.assert_array_equal(d.divide_or_infinity(6.0, np.array([2.0, 0.0, -3.0])), [3.0, math.inf, math.inf])
    symbolic = d.divide_or_infinity(6, X - 1)
    assert symbolic.subs(X, 3) == 3
    assert symbolic.subs(X, sympy.Rational(1, 2)) == sympy.oo


def test_floats_import_neither_numpy_nor_sympy() -> None:
    code = (
        "import sys; from infer_cost.roofline import step_time_max, critical_context, erlang_c, experts_hit;"
        "step_time_max(1.0, 2.0); critical_context(1.0, 1.0, 1.0, 2.0, 1.0, 1.0); erlang_c(3, 1.0);"
        "experts_hit(8, 2, 4);"
        "print(sorted({'numpy', 'sympy', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_importing_one_formula_does_not_import_all() -> None:
    code = (
        "import sys; from infer_cost.roofline import t_mem;"
        "print(sorted(name for name in sys.modules if name.startswith('infer_cost.roofline.')))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == (
        "['infer_cost.roofline.constants', 'infer_cost.roofline.dispatch', 'infer_cost.roofline.latency']"
    )


@pytest.mark.parametrize("call", ["maximum(1.0, 2.0)", "minimum(1.0, 2.0)", "where(True, 1.0, 2.0)", "ceil(1.5)"])
def test_floats_are_quick(call: str) -> None:
    best = min(timeit.repeat(f"d.{call}", globals={"d": d}, number=10_000, repeat=5)) / 10_000
    assert best < 3e-6  # about 0.2 us; the margin is for busy machines
