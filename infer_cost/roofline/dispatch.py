"""What operators can't spell (max, ceil, where, ...) for floats, numpy arrays and sympy symbols alike.

A formula is written once and takes all three. Plain floats and ints go the short way and import nothing;
numpy and sympy are consulted only when the caller has brought them, which is to say when they are in
``sys.modules`` already.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A float, a numpy array or a sympy expression; ``Any``, for no static type has the operators of all three."""

_PLAIN = frozenset({float, int, bool})
_SCALAR: dict[str, Callable[..., Any]] = {
    "minimum": min,
    "maximum": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "exp": math.exp,
    "log": math.log,
}
_SYMPY = {"minimum": "Min", "maximum": "Max", "ceil": "ceiling", "floor": "floor", "exp": "exp", "log": "log"}


def is_symbolic(*values: Value) -> bool:
    """Tell whether any of the values is a sympy expression.

    >>> is_symbolic(1.0, 2)
    False
    """
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def is_array(*values: Value) -> bool:
    """Tell whether any of the values is a numpy array or numpy scalar.

    >>> is_array(1.0, 2)
    False
    """
    numpy = sys.modules.get("numpy")
    return numpy is not None and any(isinstance(value, (numpy.ndarray, numpy.generic)) for value in values)


def _general(name: str, *values: Value) -> Value:
    """Call numpy's or sympy's function of this name, whichever the values belong to."""
    if is_symbolic(*values):
        return getattr(sys.modules["sympy"], _SYMPY[name])(*values)
    if is_array(*values):
        return getattr(sys.modules["numpy"], name)(*values)
    return _SCALAR[name](*values)


def maximum(a: Value, b: Value, *more: Value) -> Value:
    """Return the greatest of the values, element by element.

    >>> maximum(1.0, 3.0, 2.0)
    3.0
    """
    if more:
        return maximum(maximum(a, b), *more)
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a if a >= b else b
    return _general("maximum", a, b)


def minimum(a: Value, b: Value, *more: Value) -> Value:
    """Return the least of the values, element by element.

    >>> minimum(1.0, 3.0, 2.0)
    1.0
    """
    if more:
        return minimum(minimum(a, b), *more)
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a if a <= b else b
    return _general("minimum", a, b)


def where(condition: Value, yes: Value, no: Value) -> Value:
    """Return ``yes`` where the condition holds and ``no`` elsewhere; both are computed beforehand.

    >>> where(2 > 1, 10.0, 20.0)
    10.0
    """
    if condition is True or condition is False:
        return yes if condition else no
    if is_symbolic(condition):
        sympy = sys.modules["sympy"]
        return sympy.Piecewise((yes, condition), (no, True))
    if is_array(condition):
        return sys.modules["numpy"].where(condition, yes, no)
    return yes if condition else no


def clip(value: Value, low: Value, high: Value) -> Value:
    """Return the value, no less than ``low`` and no more than ``high``.

    >>> clip(5.0, 0.0, 1.0)
    1.0
    """
    return minimum(maximum(value, low), high)


def ceil(value: Value) -> Value:
    """Return the least whole number that isn't below the value.

    >>> ceil(751.375)
    752
    """
    return math.ceil(value) if type(value) in _PLAIN else _general("ceil", value)


def floor(value: Value) -> Value:
    """Return the greatest whole number that isn't above the value.

    >>> floor(279.6)
    279
    """
    return math.floor(value) if type(value) in _PLAIN else _general("floor", value)


def exp(value: Value) -> Value:
    """Return e to the power of the value.

    >>> exp(0.0)
    1.0
    """
    return math.exp(value) if type(value) in _PLAIN else _general("exp", value)


def log(value: Value) -> Value:
    """Return the natural logarithm.

    >>> log(1.0)
    0.0
    """
    return math.log(value) if type(value) in _PLAIN else _general("log", value)


def divide_or_infinity(numerator: Value, denominator: Value) -> Value:
    """Return the quotient where the denominator is positive and infinity elsewhere: a limit that never comes.

    >>> divide_or_infinity(6.0, 2.0), divide_or_infinity(6.0, -2.0)
    (3.0, inf)
    """
    reachable = denominator > 0
    return where(reachable, numerator / where(reachable, denominator, 1.0), _infinity(denominator))


def _infinity(like: Value) -> Value:
    """Infinity as the kind of number that ``like`` is."""
    return sys.modules["sympy"].oo if is_symbolic(like) else math.inf
