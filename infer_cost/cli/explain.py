"""``infer-cost explain``: a formula, its symbols, its range and its sources; with numbers, the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.cli.output import bold, emit_json, table, wrap
from infer_cost.errors import InputError

if TYPE_CHECKING:
    from infer_cost.roofline.registry import Explanation, Formula


def command(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The formula; all are listed without one.")] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="name=value...", help='Numbers with units: peak_flops="989 TFLOP/s". All or none.'),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write the equation in LaTeX.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show a formula with its symbols, units, range and sources; with numbers, work it out.

    Example: infer-cost explain ridge_point peak_flops="989 TFLOP/s" memory_bandwidth="3.35 TB/s"
    """
    from infer_cost.roofline.registry import explain, formulas

    if name is None:
        _list(formulas(), as_json=json)
        return
    told = explain(name.replace("-", "_"), assignments(values or []))
    if json:
        emit_json(document(told))
    else:
        print("\n".join(lines(told, latex=latex)))


def assignments(words: Sequence[str]) -> dict[str, str]:
    """Read ``name=value`` words.

    >>> assignments(["peak_flops=989 TFLOP/s"])
    {'peak_flops': '989 TFLOP/s'}
    """
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        name = name.strip()
        if not sign or not name:
            raise InputError(f"{word!r} isn't name=value", field="values", value=word, allowed='name="number unit"')
        if name in pairs:
            raise InputError(f"{name} is given twice", field=name, value=word)
        pairs[name] = value.strip()
    return pairs


def document(told: Explanation) -> dict[str, object]:
    """Everything about a formula as JSON has it."""
    formula = told.formula
    return {
        "name": formula.name,
        "summary": formula.summary,
        "equation": formula.equation,
        "latex": list(formula.latex),
        "value": told.value,
        "unit": formula.result.unit,
        "inputs": dict(told.inputs),
        "substituted": told.substituted,
        "symbols": [
            {"name": q.name, "symbol": q.symbol, "unit": q.unit, "meaning": q.meaning}
            for q in (formula.result, *formula.parameters)
        ],
        "validity": formula.validity,
        "references": list(formula.references),
    }


def lines(told: Explanation, *, latex: bool = False) -> list[str]:
    """Lay an explanation out for a terminal."""
    formula = told.formula
    worked = ["", *_worked_out(told)] if told.value is not None and told.substituted is not None else []
    text = described(formula, worked, latex=latex)
    return text if told.inputs else [*text, wrap(f"Try: {_trial(formula)}", indent="")]


def described(formula: Formula, worked: Sequence[str] = (), *, latex: bool = False) -> list[str]:
    """Lay a formula out for a terminal: equation, symbols, what was ``worked`` out, range and sources."""
    from infer_cost.roofline.notation import pretty_symbol

    text = [bold(formula.name), wrap(formula.summary), ""]
    text += [f"  {line}" for line in formula.latex] if latex else [wrap(formula.equation)]
    rows = [
        [f"  {pretty_symbol(q.symbol)}", q.name, f"[{q.unit}]", q.meaning]
        for q in (formula.result, *formula.parameters)
    ]
    text += ["", *table(["  symbol", "name", "unit", "meaning"], rows, left=(0, 1, 2, 3)).splitlines(), *worked]
    text += ["", wrap(f"Range: {formula.validity}", indent="")]
    return [*text, "Sources:", *(wrap(reference) for reference in formula.references)]


def _trial(formula: Formula) -> str:
    """Write the command that works the formula's own example out."""
    from infer_cost.roofline.registry import example_inputs, short

    numbers = " ".join(f"{name}={short(value)}" for name, value in example_inputs(formula).items())
    return f"infer-cost explain {formula.name} {numbers}"


def _worked_out(told: Explanation) -> list[str]:
    from infer_cost.units import format_quantity

    result = told.formula.result
    assert told.value is not None
    assert told.substituted is not None
    return [wrap(told.substituted), f"  {result.name} = {bold(format_quantity(told.value, result.unit))}"]


def _list(formulas: Sequence[Formula], *, as_json: bool) -> None:
    if as_json:
        emit_json([{"name": f.name, "equation": f.equation, "summary": f.summary} for f in formulas])
        return
    module = ""
    longest = max(len(formula.name) for formula in formulas)
    for formula in formulas:
        if formula.module != module:
            module = formula.module
            print(("" if module == formulas[0].module else "\n") + bold(module.replace("_", " ")))
        print(f"  {formula.name:<{longest}}  {formula.equation.split(' where ')[0]}")
