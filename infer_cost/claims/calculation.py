"""Evaluates a claim's calculation: a call of public functions of the library, written as one expression.

``optimal_batch(peak_flops=chip("h100-sxm", "bf16"), ...)`` may call the formulas of :mod:`infer_cost.roofline`, the
functions of :mod:`infer_cost.economics.market` and those named here, on numbers, texts and each other's results. It
is read as a tree, not run as code: whatever isn't such a call is refused.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from infer_cost.errors import InputError, shorten, unknown_name

_MODULES = {
    "infer_cost.claims.lookups": (
        "ratio product total chip rack infrastructure market model_quantity kv_per_token format_bits list_price "
        "blend agent_cost"
    ),
    "infer_cost.economics.market": (
        "growth_factor yearly_growth start_of_growth tokens_a_year gpus_for_tokens inference_share "
        "served_tokens_for_share facilities_spend agent_multiplier downtime_hours implied_electricity_price"
    ),
    "infer_cost.economics.clusters": "optics_share_of_cluster spend_growth elasticity capital_per_million_tokens",
    "infer_cost.economics.ownership": "capital_charge",
}
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


@dataclass(frozen=True, slots=True)
class Calculation:
    """A result with the function that gave it and what was put into it."""

    value: float
    formula: str
    """Dotted public name of the outermost function."""
    inputs: Mapping[str, Any]
    text: str


def evaluate(text: str) -> Calculation:
    """Evaluate a calculation.

    Raises
    ------
    InputError
        The text isn't a call of known functions on numbers, texts and such calls.

    Examples
    --------
    >>> done = evaluate("ridge_point(chip('h100-sxm', 'bf16'), chip('h100-sxm', 'memory_bandwidth'))")
    >>> round(done.value), done.formula
    (295, 'infer_cost.roofline.ridge_point')
    >>> done.inputs
    {'peak_flops': 989400000000000.0, 'memory_bandwidth': 3350000000000.0}
    """
    try:
        root = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _refused(text, str(error.msg)) from None
    if not isinstance(root, ast.Call):
        raise _refused(text, "it isn't a call")
    function, positional, named = _call(root, text)
    return Calculation(
        value=float(function(*positional, **named)),
        formula=f"{_home(function.__name__)}.{function.__name__}",
        inputs=_named_inputs(function, positional, named),
        text=text,
    )


def _value(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand, text))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, text), _value(node.right, text))
    if isinstance(node, ast.Call):
        function, positional, named = _call(node, text)
        return function(*positional, **named)
    raise _refused(text, f"it contains {type(node).__name__}")


def _call(node: ast.Call, text: str) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    if not isinstance(node.func, ast.Name):
        raise _refused(text, "it calls something without a plain name")
    positional = [_value(argument, text) for argument in node.args]
    named = {argument.arg or "": _value(argument.value, text) for argument in node.keywords}
    return _function(node.func.id), positional, named


def _named_inputs(function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Name every input as the function does; those of a function of any number of parts by their place."""
    bound = inspect.signature(function).bind(*positional, **named).arguments
    inputs: dict[str, Any] = {}
    for name, value in bound.items():
        if isinstance(value, tuple):
            inputs |= {f"{name}_{place}": part for place, part in enumerate(value, 1)}
        else:
            inputs[name] = value
    return inputs


@cache
def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(_home(name)), name)
    return function


@cache
def _homes() -> dict[str, str]:
    from infer_cost.roofline import FORMULA_MODULES

    formulas = dict.fromkeys(FORMULA_MODULES, "infer_cost.roofline")
    return formulas | {name: module for module, names in _MODULES.items() for name in names.split()}


def _home(name: str) -> str:
    if name not in _homes():
        raise unknown_name("function", name, _homes(), field="calculation")
    return _homes()[name]


def _refused(text: str, reason: str) -> InputError:
    return InputError(
        f"cannot calculate {shorten(text)!r}: {reason}",
        field="calculation",
        value=text,
        allowed="calls of the library's functions on numbers and names",
    )
