"""What each formula says about itself, read from its docstring; and a formula evaluated with its numbers shown.

The docstring is the only place where equation, symbols, units, range and sources stand, so this can't drift from it;
the tests compare the equation with the code.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from infer_cost import roofline
from infer_cost.errors import CannotBeMetError, InputError, unknown_name
from infer_cost.roofline.notation import parse_equation, pretty_symbol, to_unicode
from infer_cost.units import parse

_SECTION = re.compile(r"^(Parameters|Returns|Notes|Examples|References)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+) : (float|int)\n((?:    .*\n?)+)", re.MULTILINE)
_RESULT = re.compile(r"^(float|int)\n((?:    .*\n?)+)", re.MULTILINE)
_DESCRIPTION = re.compile(r"(?P<meaning>.*), (?P<symbol>[\w*]+) \[(?P<unit>[^\]]+)\]", re.DOTALL)
_MATH = re.compile(r"^\.\. math:: (.*(?:\n {4,}.*)*)", re.MULTILINE)
_REFERENCE = re.compile(r"^\.\. \[\d+\] (.*(?:\n {3}.*)*)", re.MULTILINE)
LARGEST_COUNT = 2**14
"""Of a whole number that a formula counts up to."""
_NEVER = re.compile(r"Infinite if ([^.]*)\.(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A parameter of a formula, or its result."""

    name: str
    symbol: str
    meaning: str
    unit: str
    whole: bool
    """Whether it is a whole number."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula and all that its docstring says."""

    name: str
    module: str
    summary: str
    latex: tuple[str, ...]
    """The equation, then definitions of what stands in it and is no parameter."""
    parameters: tuple[Quantity, ...]
    result: Quantity
    validity: str
    examples: str
    references: tuple[str, ...]
    function: Callable[..., Any]

    @property
    def equation(self) -> str:
        """The equation as Unicode text, with the definitions of what stands in it."""
        return _sentence(self.latex, {})

    def parameter(self, name: str) -> Quantity:
        """Find a parameter, or the result, by name or by symbol; the formula's own name stands for its value."""
        everything = (*self.parameters, self.result)
        for quantity in everything:
            if name == quantity.name:
                return quantity
        matching = [q for q in everything if name in (q.symbol, pretty_symbol(q.symbol))]
        if len(matching) == 1:
            return matching[0]
        known = [quantity.name for quantity in everything]
        raise unknown_name("symbol", name, known, field=self.name, hint=f"{self.name} has {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """A formula, with the numbers put in if there were any."""

    formula: Formula
    inputs: Mapping[str, float]
    value: float | None
    substituted: str | None
    """The right side with numbers for symbols."""


def _write(latex: str, values: dict[str, str]) -> str:
    left, right = parse_equation(latex)
    return f"{to_unicode(left)} = {to_unicode(right, values)}"


def _sentence(equations: tuple[str, ...], values: dict[str, str]) -> str:
    first, *definitions = (_write(latex, values) for latex in equations)
    return f"{first} where {', '.join(definitions)}" if definitions else first


def formula_names() -> list[str]:
    """Return the names of all formulas, in the order of their modules.

    >>> formula_names()[:2]
    ['arithmetic_intensity', 'ridge_point']
    """
    return list(roofline.FORMULA_MODULES)


@cache
def formula(name: str) -> Formula:
    """Return one formula's description.

    Parameters
    ----------
    name : str
        The function's name.

    Returns
    -------
    Formula
        What its docstring says.

    Raises
    ------
    UnknownNameError
        If there is no such formula; with the nearest names.

    Examples
    --------
    >>> formula("ridge_point").equation, formula("ridge_point").result.unit
    ('I_ridge = C / BW', 'FLOP/B')
    """
    if name not in roofline.FORMULA_MODULES:
        raise unknown_name("formula", name, formula_names(), field="name", hint="infer-cost explain lists all")
    function = getattr(roofline, name)
    head, sections = _sections(function)
    entries = _ENTRY.findall(sections["Parameters"])
    kind, text = _RESULT.findall(sections["Returns"])[0]
    return Formula(
        name=name,
        module=roofline.FORMULA_MODULES[name],
        summary=head.split("\n\n")[0].replace("\n", " "),
        latex=tuple(_joined(match) for match in _MATH.findall(head)),
        parameters=tuple(_quantity(entry, text, kind) for entry, kind, text in entries),
        result=_quantity(name, text, kind),
        validity=_plain(sections["Notes"]),
        examples=sections["Examples"].strip(),
        references=tuple(_plain(match) for match in _REFERENCE.findall(sections["References"])),
        function=function,
    )


def formulas() -> list[Formula]:
    """Return the descriptions of all formulas.

    >>> len(formulas()) > 100
    True
    """
    return [formula(name) for name in formula_names()]


def _sections(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    text = inspect.getdoc(function) or ""
    parts = _SECTION.split(text)
    return parts[0].strip(), dict(zip(parts[1::2], parts[2::2], strict=True))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Prose without reStructuredText roles, on one line."""
    return _joined(re.sub(r":func:`(\w+)`", r"\1", text))


def _quantity(name: str, text: str, kind: str) -> Quantity:
    match = _DESCRIPTION.fullmatch(_joined(text))
    if match is None:
        raise ValueError(f"{name}: expected 'meaning, symbol [unit]', found {text!r}")
    return Quantity(name, match["symbol"], match["meaning"], match["unit"], kind == "int")


def example_inputs(described: Formula) -> dict[str, float]:
    """Return the numbers of a formula's own example, by parameter.

    >>> example_inputs(formula("ridge_point"))
    {'peak_flops': 989000000000000.0, 'memory_bandwidth': 3350000000000.0}
    """
    code = "\n".join(line[4:] for line in described.examples.splitlines() if line.startswith(">>>"))
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    call = next(node for node in calls if ast.unparse(node.func) == described.name)
    numbers = [eval(ast.unparse(argument), {"__builtins__": {}}) for argument in call.args]
    return dict(zip((quantity.name for quantity in described.parameters), numbers, strict=True))


def read_inputs(described: Formula, values: Mapping[str, str | float]) -> dict[str, float]:
    """Read what the user gave, names or symbols, with units; nothing is required here.

    Raises
    ------
    InputError
        For an unknown or repeated symbol, a unit of the wrong kind, or a number out of its range.
    """
    inputs: dict[str, float] = {}
    for name, value in values.items():
        quantity = described.parameter(name)
        if quantity.name in inputs:
            raise InputError(f"{quantity.name} is given twice", field=quantity.name, value=value)
        maximum = 1.0 if quantity.unit == "fraction" else None
        number = parse(value, quantity.unit, field=quantity.name, maximum=maximum)
        if quantity.whole and (number != int(number) or number > LARGEST_COUNT):
            allowed = f"a whole number up to {LARGEST_COUNT:,}"
            raise InputError(
                f"{quantity.name} = {number:g} won't do", field=quantity.name, value=value, allowed=allowed
            )
        inputs[quantity.name] = int(number) if quantity.whole else number
    return inputs


def require(described: Formula, inputs: Mapping[str, float], names: list[str]) -> None:
    """Refuse when one of the names has no value."""
    missing = [name for name in names if name not in inputs]
    if missing:
        wanted = ", ".join(f"{name} [{described.parameter(name).unit}]" for name in missing)
        raise InputError(f"{described.name} needs {wanted} too", field=missing[0], allowed="name=value for each")


def evaluate(name: str, inputs: Mapping[str, float]) -> float:
    """Evaluate a formula on plain numbers; the answer is a finite number or an error that says why there is none.

    Raises
    ------
    InputError
        If the numbers allow no answer (a division by zero).
    CannotBeMetError
        If there is none on principle: no critical context, a queue that never settles.

    Examples
    --------
    >>> evaluate("ridge_point", {"peak_flops": 989e12, "memory_bandwidth": 3.35e12})
    295.2238805970149
    """
    described = formula(name)
    require(described, inputs, [quantity.name for quantity in described.parameters])
    arguments = [inputs[quantity.name] for quantity in described.parameters]
    try:
        value = described.function(*arguments)
    except (ArithmeticError, ValueError):
        value = math.nan
    if isinstance(value, complex) or math.isnan(value):
        zero = [quantity.name for quantity in described.parameters if inputs[quantity.name] == 0]
        cause = f"with {' and '.join(zero)} = 0" if zero else "with these numbers"
        raise InputError(f"{name} has no value {cause}", field=zero[0] if zero else None, hint=described.validity)
    if math.isinf(value):
        raise CannotBeMetError(no_answer(described), field=name)
    return float(value)


def no_answer(described: Formula) -> str:
    """Say why a formula's value is infinite, in the words of its docstring."""
    match = _NEVER.search(described.validity)
    condition = match[1] if match else "the value is beyond all numbers"
    reason = re.sub(r" \([^)]*\)$", "", condition.split(": ", 1)[-1])
    return f"no {described.name.replace('_', ' ')}: {reason}"


def explain(name: str, values: Mapping[str, str | float] | None = None) -> Explanation:
    """Describe a formula; with values, put them in and give the result.

    Parameters
    ----------
    name : str
        The formula.
    values : mapping, optional
        Values of all parameters by name or symbol, as numbers or as text with units.

    Returns
    -------
    Explanation
        The description, the numbers and the result.

    Examples
    --------
    >>> told = explain("ridge_point", {"peak_flops": "989 TFLOP/s", "BW": "3.35 TB/s"})
    >>> told.substituted, round(told.value)
    ('I_ridge = 989e12 / 3.35e12', 295)
    """
    described = formula(name)
    if not values:
        return Explanation(described, {}, None, None)
    inputs = read_inputs(described, values)
    value = evaluate(name, inputs)
    numbers = {quantity.symbol: short(inputs[quantity.name]) for quantity in described.parameters}
    return Explanation(described, inputs, value, _sentence(described.latex, numbers))


def short(value: float) -> str:
    """Write a number shortly and exactly enough to be typed again: ``989e12``, ``0.05``, ``12,022`` as ``12022``.

    >>> short(989e12), short(16990208), short(0.05), short(2e-06)
    ('989e12', '16990208', '0.05', '2e-6')
    """
    text = f"{value:.6g}"
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e6:
        return text
    exponent = 3 * math.floor(math.log10(abs(value)) / 3 + 1e-12)
    return f"{value / 10.0**exponent:.6g}e{exponent}"
