"""The numbers in each formula's own example: every formula is exercised with them."""

from __future__ import annotations

import ast
from functools import cache

from infer_cost.roofline.registry import Formula, formula, formula_names

NAMES = formula_names()


@cache
def example(name: str) -> dict[str, float]:
    """Arguments of the first call of the formula in its docstring, by parameter."""
    described = formula(name)
    for line in described.examples.splitlines():
        if not line.startswith(">>>"):
            continue
        for node in ast.walk(ast.parse(line[4:])):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                return _arguments(described, node)
    raise AssertionError(f"{name} has no example that calls it")


def _arguments(described: Formula, call: ast.Call) -> dict[str, float]:
    values = [eval(compile(ast.Expression(argument), "example", "eval")) for argument in call.args]
    return dict(zip((parameter.name for parameter in described.parameters), values, strict=True))
