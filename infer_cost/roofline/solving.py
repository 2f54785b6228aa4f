"""A formula turned around: solved for any of its symbols.

In closed form where sympy finds one, by bisection otherwise; a whole number by search. Whatever comes out is put back
into the formula, and only what reproduces the value is an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from infer_cost.errors import CannotBeMetError, InferCostError
from infer_cost.roofline.notation import pretty_symbol
from infer_cost.roofline.registry import (
    LARGEST_COUNT,
    Formula,
    evaluate,
    formula,
    no_answer,
    read_inputs,
    require,
    short,
)

_TOLERANCE = 1e-6
_HIGHEST_DEGREE = 2
_LONGEST_FORM = 200
_MOST_OPERATIONS = 100
"""Beyond these bounds algebra takes longer, and says less, than bisection."""
_LOWEST, _HIGHEST = 1e-18, 1e30
"""Between these a numeric solution is looked for."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The value of the symbol that was asked for."""

    formula: Formula
    symbol: str
    """Name of the parameter (or of the formula) solved for."""
    value: float
    unit: str
    inputs: Mapping[str, float]
    closed_form: str | None
    """The solution as an equation, where there is one."""
    method: str
    """``evaluated``, ``closed form``, ``bisection`` or ``search``."""
    conditions: tuple[str, ...]


def solve(name: str, unknown: str, values: Mapping[str, str | float]) -> Solution:
    """Solve a formula for one of its symbols.

    Parameters
    ----------
    name : str
        The formula; its name also stands for its value.
    unknown : str
        The symbol to solve for, by its name or its sign in the equation.
    values : mapping
        Values of all others, as numbers in the stated unit or as text with units.

    Returns
    -------
    Solution
        The value, its unit, how it was found and the conditions that it holds under.

    Raises
    ------
    InputError
        For an unknown, missing or repeated symbol, or a value of the wrong kind.
    CannotBeMetError
        If no value of the symbol gives what is asked.

    Examples
    --------
    >>> found = solve("ridge_point", "memory_bandwidth", {"peak_flops": "989 TFLOP/s", "ridge_point": 295})
    >>> found.closed_form, f"{found.value:.4g}"
    ('BW = C/I_ridge', '3.353e+12')
    """
    described = formula(name)
    wanted = described.parameter(unknown)
    inputs = read_inputs(described, values)
    if wanted.name in inputs:
        inputs.pop(wanted.name)
    if wanted is described.result:
        return Solution(
            described, name, evaluate(name, inputs), wanted.unit, inputs, None, "evaluated", (described.validity,)
        )
    require(described, inputs, [q.name for q in (*described.parameters, described.result) if q is not wanted])
    target = inputs[name]
    known = {key: value for key, value in inputs.items() if key != name}

    def at(trial: float) -> float:
        """The formula's value with the unknown at ``trial``; NaN where it has none."""
        try:
            return evaluate(name, {**known, wanted.name: trial})
        except InferCostError:
            return math.nan

    if wanted.whole:
        return _search(described, wanted.name, target, inputs, at)
    roots, closed = _closed_form(described, wanted.name, inputs)
    upper = 1.0 if wanted.unit == "fraction" else math.inf
    fitting = sorted({root for root in roots if 0 <= root <= upper and _close(at(root), target)})
    method = "closed form"
    if not fitting:
        closed, method = None, "bisection"
        fitting = _distinct(_bisection(at, target, upper), at, target)
    if not fitting:
        raise CannotBeMetError(_impossible(described, wanted.name, target, map(at, _grid(upper))), field=wanted.name)
    conditions = [described.validity]
    if method == "bisection":
        conditions += _flat(wanted.name, at, fitting[0], upper)
    if len(fitting) > 1:
        others = ", ".join(short(root) for root in fitting[1:])
        conditions.append(f"{wanted.name} = {others} gives the same value")
    return Solution(described, wanted.name, fitting[0], wanted.unit, inputs, closed, method, tuple(conditions))


def _close(value: float, target: float) -> bool:
    return math.isclose(value, target, rel_tol=_TOLERANCE, abs_tol=1e-300)


def _closed_form(described: Formula, unknown: str, inputs: Mapping[str, float]) -> tuple[list[float], str | None]:
    """Solve with symbols, then put the numbers in; nothing for what sympy shouldn't be asked."""
    import sympy

    if any(quantity.whole for quantity in described.parameters):
        return [], None  # sums over servers: bisection is quicker than their polynomials
    symbols = {q.name: sympy.Symbol(q.symbol, positive=True) for q in described.parameters}
    value = sympy.Symbol(described.result.symbol, real=True)
    expression = described.function(*symbols.values())
    expression = sympy.nsimplify(_main_branch(expression), rational=True)
    solutions = _solve_symbolically(expression - value, symbols[unknown])
    numbers = {symbols[key]: number for key, number in inputs.items() if key in symbols}
    numbers[value] = inputs[described.name]
    roots = []
    for solution in solutions:
        root = complex(solution.subs(numbers).evalf())
        if math.isfinite(root.real) and abs(root.imag) <= 1e-9 * abs(root.real):
            roots.append(root.real)
    text = None
    if len(solutions) == 1 and len(str(solutions[0])) <= _LONGEST_FORM:
        written = str(solutions[0]).replace("**", "^").replace("*", "·")
        text = f"{pretty_symbol(symbols[unknown].name)} = {written}"
    return roots, text


def _main_branch(expression: Any) -> Any:
    """Take the first case of every piecewise part; the result is checked against the formula itself."""
    import sympy

    return expression.replace(lambda part: isinstance(part, sympy.Piecewise), lambda part: part.args[0][0])


def _solve_symbolically(equation: Any, unknown: Any) -> list[Any]:
    """Solve by undoing one operation after another where the unknown stands once, as a polynomial otherwise."""
    import sympy

    stepped = equation.atoms(sympy.Max, sympy.Min, sympy.ceiling, sympy.floor)
    if any(part.has(unknown) for part in stepped):
        return []
    if sum(part == unknown for part in sympy.preorder_traversal(equation)) == 1:
        return _isolated(equation, unknown)
    if sympy.count_ops(equation) > _MOST_OPERATIONS:
        return []
    numerator = sympy.fraction(sympy.together(equation))[0].expand()
    if not numerator.is_polynomial(unknown):
        return []
    polynomial = sympy.Poly(numerator, unknown)
    if not 1 <= polynomial.degree() <= _HIGHEST_DEGREE:
        return []
    return [sympy.factor(root) if polynomial.degree() == 1 else root for root in sympy.roots(polynomial)]


def _isolated(equation: Any, unknown: Any) -> list[Any]:
    """Undo the operations around the one place where the unknown stands, from the outside in."""
    import sympy

    side, rest = equation, sympy.Integer(0)
    while side != unknown:
        inner = next(part for part in side.args if part.has(unknown))
        if side.is_Add:
            rest = rest - (side - inner)
        elif side.is_Mul:
            rest = rest / (side / inner)
        elif isinstance(side, sympy.exp):
            rest = sympy.log(rest)
        elif isinstance(side, sympy.log):
            rest = sympy.exp(rest)
        elif side.is_Pow and inner == side.base:
            rest = rest ** (1 / side.exp)
        elif side.is_Pow:
            rest = sympy.log(rest) / sympy.log(side.base)
        else:
            return []
        side = inner
    return [sympy.factor(rest) if sympy.count_ops(rest) <= _MOST_OPERATIONS else rest]


def _grid(upper: float) -> list[float]:
    """Trial values: even for a share, by powers for all else."""
    if upper == 1.0:
        return [step / 256 for step in range(257)]
    return [0.0, *(10.0 ** (step / 8) for step in range(-18 * 8, 30 * 8 + 1))]


def _bisection(at: Callable[[float], float], target: float, upper: float) -> Iterator[float]:
    """Bracket on the grid and halve until the floats run out; yields what reproduces the target."""
    grid = _grid(upper)
    for low, high in pairwise(grid):
        below, above = at(low) - target, at(high) - target
        if _close(at(low), target):
            yield low
        if below * above >= 0 or math.isnan(below * above):
            continue
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            if (at(middle) - target) * below > 0:
                low = middle
            else:
                high = middle
        if _close(at(high), target):
            yield high


def _distinct(roots: Iterable[float], at: Callable[[float], float], target: float) -> list[float]:
    """Leave one of the roots that lie on one flat stretch."""
    kept: list[float] = []
    last = math.nan
    for root in roots:
        if not kept or not _close(at((last + root) / 2), target):
            kept.append(root)
        last = root
    return kept


def _flat(unknown: str, at: Callable[[float], float], root: float, upper: float) -> list[str]:
    """Say so where a whole range of values gives exactly the same: a rounded or limited formula."""
    low = _edge(at, root, 1 / 2)
    high = min(_edge(at, root or _grid(upper)[1], 2.0), upper)
    if high <= low * (1 + 1e-9):
        return []
    beyond = "up" if high > _HIGHEST else f"to {short(high)}"
    return [f"any {unknown} from {short(low)} {beyond} gives the same value"]


def _edge(at: Callable[[float], float], root: float, factor: float) -> float:
    """Go out from a solution until the value changes, then halve in on the place."""
    value = at(root)
    inside, outside = root, root * factor
    while at(outside) == value:
        inside, outside = outside, outside * factor
        if outside < _LOWEST:
            return 0.0
        if outside > _HIGHEST:
            return math.inf
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if at(middle) == value else (inside, middle)
    return inside


def _search(
    described: Formula, unknown: str, target: float, inputs: Mapping[str, float], at: Callable[[float], float]
) -> Solution:
    """Find the least whole number at which the value reaches or passes the target."""
    falling = _falls(at)

    def reached(count: int) -> bool:
        value = at(count)
        return not math.isnan(value) and (value <= target if falling else value >= target)

    high = next((count for count in _doubling() if reached(count)), None)
    if high is None:
        raise CannotBeMetError(_impossible(described, unknown, target, map(at, _doubling())), field=unknown)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    condition = f"the least {unknown} with {described.name} {'<=' if falling else '>='} {short(target)}"
    unit = described.parameter(unknown).unit
    conditions = (condition, described.validity)
    return Solution(described, unknown, float(high), unit, inputs, None, "search", conditions)


def _falls(at: Callable[[float], float]) -> bool:
    """Whether the value falls as the whole number grows, seen where it first changes."""
    values = (value for value in map(at, _doubling()) if not math.isnan(value))
    first = next(values, math.nan)
    return next((value < first for value in values if value != first), False)


def _doubling() -> Iterator[int]:
    count = 1
    while count <= LARGEST_COUNT:
        yield count
        count *= 2


def _impossible(described: Formula, unknown: str, target: float, tried: Iterable[float]) -> str:
    """Say that there is no such value, and between which values the formula lies."""
    reachable = [value for value in tried if not math.isnan(value)]
    if not reachable:
        return no_answer(described)
    span = f"{described.name} lies between {short(min(reachable))} and {short(max(reachable))}"
    return f"no {unknown} gives {described.name} = {short(target)}: with these numbers {span}"
