"""Equations read once, written as text and as sympy."""

from __future__ import annotations

import pytest
import sympy

from infer_cost.roofline.notation import parse_equation, pretty_symbol, to_sympy, to_unicode


def text(latex: str, **values: str) -> str:
    return to_unicode(parse_equation(f"y = {latex}")[1], values)


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\frac{a + b}{c}", "(a + b) / c"),
        (r"a (b + c)", "a·(b + c)"),
        (r"a - (b - c)", "a − (b − c)"),
        (r"a - (b + c) - d", "a − (b + c) − d"),
        (r"(a + b) + c", "a + b + c"),
        (r"\frac{a}{b c}", "a / (b·c)"),
        (r"\frac{a}{\frac{b}{c}}", "a / (b / c)"),
        (r"\frac{\frac{a}{b}}{c}", "(a / b) / c"),
        (r"\frac{a}{b} \cdot c", "(a / b)·c"),
        (r"a / b", "a / b"),
        (r"x^{2}", "x²"),
        (r"x^2", "x²"),
        (r"a + (b + c)", "a + b + c"),
        (r"a - b c", "a − b·c"),
        (r"\frac{a b}{c}", "a·b / c"),
        (r"a b c", "a·b·c"),
        (r"x^{-4}", "x^(−4)"),
        (r"x^{n + 1}", "x^(n + 1)"),
        (r"x^{n}", "x^n"),
        (r"(a + b)^{2}", "(a + b)²"),
        (r"(2 a)^{p}", "(2·a)^p"),
        (r"10^{6} c", "10⁶·c"),
        (r"\alpha_w", "α_w"),
        (r"N_{active}", "N_active"),
        (r"t_0 + 1.5", "t_0 + 1.5"),
        (r"\max(a, b + c)", "max(a, b + c)"),
        (r"\min(a, b)", "min(a, b)"),
        (r"\ln E", "ln(E)"),
        (r"\ln(1 - q)", "ln(1 − q)"),
        (r"\exp(x)", "exp(x)"),
        (r"\log_2 n", "log₂(n)"),
        (r"\sqrt{2 x}", "√(2·x)"),
        (r"\lceil \frac{a}{b} \rceil", "⌈a / b⌉"),
        (r"\lfloor a \rfloor c", "⌊a⌋·c"),
        (r"c!", "c!"),
        (r"(a + b)!", "(a + b)!"),
        (r"-a b", "−a·b"),
        (r"\frac{1}{\sum_{k=0}^{c} a^{k} / k!}", "1 / (Σ(k=0..c) a^k / k!)"),
        (r"P \, U", "P·U"),
    ],
)
def test_text(latex: str, expected: str) -> None:
    assert text(latex) == expected


def test_left_side_may_carry_a_star() -> None:
    assert parse_equation(r"S^{*} = a")[0] == ("symbol", "S*")


def test_numbers_take_the_place_of_symbols() -> None:
    assert text(r"\frac{a}{b_{x}}", a="3", b_x="4") == "3 / 4"


@pytest.mark.parametrize(
    ("latex", "value"),
    [
        (r"\frac{a - b}{2}", 1.5),
        (r"-a + b \cdot b", -1),
        (
            r"a^{b} !",
            120 * 6 * 7 * 8 * 9 * 10 * 11 * 12 * 13 * 14 * 15 * 16 * 17 * 18 * 19 * 20 * 21 * 22 * 23 * 24 * 25,
        ),
        (r"\sqrt{a - 1}", 2),
        (r"\max(a, b) - \min(a, b)", 3),
        (r"\log_2 8 + \ln(1) + \exp(0)", 4),
        (r"\lceil \frac{a}{b} \rceil + \lfloor \frac{a}{b} \rfloor", 5),
        (r"\sum_{k=1}^{a} k b", 30),
        (r"e^{0} + 0.5", 1.5),
        (r"a / b / 5", 0.5),
        (r"a - b - 1", 2),
    ],
)
def test_sympy(latex: str, value: float) -> None:
    symbols = {"a": sympy.Integer(5), "b": sympy.Integer(2)}
    assert to_sympy(parse_equation(f"y = {latex}")[1], symbols) == pytest.approx(value)


def test_a_series_with_an_open_end_stays_a_series() -> None:
    n = sympy.Symbol("n", integer=True, positive=True)
    series = to_sympy(parse_equation(r"y = \sum_{k=1}^{n} k")[1], {"n": n})
    assert series.subs(n, 4).doit() == 10


def test_e_is_a_symbol_where_the_formula_has_one() -> None:
    assert to_sympy(("symbol", "e"), {"e": sympy.Integer(7)}) == 7
    assert to_sympy(("symbol", "e"), {}) == sympy.E


@pytest.mark.parametrize("latex", ["y = a b)", r"y = \frac{a}{b", "y", "y = +", r"y = \lceil a \rfloor"])
def test_what_cannot_be_read_is_an_error(latex: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_equation(latex)


def test_what_is_left_over_is_named() -> None:
    with pytest.raises(ValueError, match=r"beyond '\)'"):
        parse_equation("y = a b)")


def test_greek() -> None:
    assert pretty_symbol("alpha_w") == "α_w"
    assert pretty_symbol("N_active") == "N_active"
