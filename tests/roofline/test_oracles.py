"""Worked examples from the literature, reproduced by public functions called with the examples' numbers."""

from __future__ import annotations

import ast
import csv
from pathlib import Path

import pytest

from infer_cost import roofline
from infer_cost.roofline.solving import solve

DATA = Path(__file__).parents[1] / "data"
ROWS = {row["id"]: row for row in csv.DictReader((DATA / "formulas.csv").open(encoding="utf-8"))}
CALLS = {row["id"]: row for row in csv.DictReader((DATA / "formula_calls.csv").open(encoding="utf-8"))}
COVERED = [key for key, row in CALLS.items() if row["call"]]
SI = {"ms": 1e-3, "us": 1e-6, "GB/s": 1e9}
"""Rows in units other than SI; a price a million tokens is one here too."""


def evaluate(node: ast.expr) -> float:
    """Work out a call whose arguments are numbers or further calls; no other arithmetic is let through."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    assert isinstance(node, ast.Call), f"not a call or a number: {ast.unparse(node)}"
    assert isinstance(node.func, ast.Name)
    if node.func.id == "solve":
        name, unknown = (ast.literal_eval(argument) for argument in node.args)
        return solve(name, unknown, {word.arg or "": ast.literal_eval(word.value) for word in node.keywords}).value
    function = getattr(roofline, node.func.id)
    return float(function(*(evaluate(argument) for argument in node.args)))


@pytest.mark.parametrize("key", COVERED)
def test_worked_example(key: str) -> None:
    row = ROWS[key]
    expected = float(row["expected"]) * SI.get(row["unit"], 1.0)
    # A published figure is rounded; where the row states no tolerance it is exact.
    tolerance = max(float(row["rel_tolerance"]), 1e-9)
    found = evaluate(ast.parse(CALLS[key]["call"], mode="eval").body)
    assert found == pytest.approx(expected, rel=tolerance)


def test_every_row_is_reproduced_or_set_apart_with_a_reason() -> None:
    assert set(ROWS) == set(CALLS)
    for key, row in CALLS.items():
        assert bool(row["call"]) != bool(row["apart"]), key
    assert len(COVERED) >= 125
