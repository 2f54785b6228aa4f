"""``infer-cost solve``: a formula turned around, solved for another of its symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.cli.explain import assignments, described
from infer_cost.cli.explanation import emit_explained
from infer_cost.cli.output import bold, wrap

if TYPE_CHECKING:
    from infer_cost.roofline.solving import Solution
    from infer_cost.steps import Chain


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The formula, see infer-cost explain.")],
    unknown: Annotated[str, typer.Option("--for", metavar="SYMBOL", help="What to solve for: a name or its sign.")],
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="name=value...", help="All others; the formula's name stands for its value."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what the symbols mean, where it holds, and who published it.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, the value in the unit it names.")
    ] = False,
) -> None:
    """Solve a formula for any of its symbols, in closed form where there is one.

    Example: infer-cost solve ridge_point --for memory_bandwidth peak_flops="989 TFLOP/s" ridge_point=295
    """
    from infer_cost.roofline.solving import solve

    found = solve(name.replace("-", "_"), unknown, assignments(values or []))
    if json:
        emit_explained(
            {
                "name": found.formula.name,
                "for": found.symbol,
                "value": found.value,
                "unit": found.unit,
                "inputs": dict(found.inputs),
                "equation": found.formula.equation,
                "closed_form": found.closed_form,
                "method": found.method,
                "conditions": list(found.conditions),
            },
            [_chain(found)] if explain else None,
        )
        return
    print("\n".join(_lines(found)))
    if explain:
        print("\n" + "\n".join(described(found.formula)))


def _chain(found: Solution) -> Chain:
    from infer_cost.steps import Chain, Input, Step

    formula = found.formula
    units = {quantity.name: quantity.unit for quantity in (*formula.parameters, formula.result)}
    inputs = tuple(Input(name, value, units[name], "you") for name, value in found.inputs.items())
    how = found.closed_form or f"{formula.equation}, by {found.method}"
    step = Step(found.symbol, how, found.value, found.unit, inputs, formula.name)
    return Chain(f"{formula.name}: {'; '.join(formula.references)}", (step,))


def _lines(found: Solution) -> list[str]:
    from infer_cost.roofline.registry import short
    from infer_cost.units import format_quantity

    answer = format_quantity(found.value, found.unit)
    exact = f" ({short(found.value)} {found.unit})" if found.value >= 1e4 else ""
    how = found.closed_form or {"evaluated": "as it stands"}.get(found.method, f"by {found.method}")
    parameters = {q.name: q.unit for q in (*found.formula.parameters, found.formula.result)}
    given = ", ".join(f"{n} = {format_quantity(v, parameters[n], digits=5)}" for n, v in found.inputs.items())
    return [
        f"{found.symbol} = {bold(answer)}{exact}",
        wrap(f"from  {found.formula.equation}"),
        wrap(f"as    {how}"),
        wrap(f"with  {given}"),
        *(wrap(f"note  {condition}") for condition in found.conditions),
    ]
