"""What ``--explain`` adds: formulas with their numbers, innermost first, and where each number was read.

For readers it follows the answer, in a JSON document it stands under ``explanation``: a list of chains, each with what
it is ``about``, the ``inputs`` that its steps share, and its ``steps``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import OUTPUT, bold, emit_json, plain, seconds, table, wrap
from infer_cost.units import format_quantity

if TYPE_CHECKING:
    from infer_cost.serving.ladder import Ladder
    from infer_cost.serving.passes import OperatorTime
    from infer_cost.steps import Chain, Input, Step

Said = set[tuple[str, float, str]]
"""Inputs that were printed already."""


def emit_explained(value: Any, chains: Iterable[Chain] | None) -> None:
    """Print one document, the explanation in it; a table (CSV, Markdown) has no room for one.

    ``chains`` is None where nobody asked for an explanation.
    """
    from click import get_current_context

    context = get_current_context(silent=True)
    if chains is None or (context is not None and context.meta.get(OUTPUT, "json") != "json"):
        emit_json(value)
    else:
        emit_json({**plain(value), "explanation": plain(list(chains))})


def print_steps(steps: Iterable[Step]) -> None:
    """Print a chain of formulas, each with its inputs and sources once."""
    print(bold("\nHow it was worked out"))
    said: Said = set()
    for step in steps:
        name = f" [{step.formula}]" if step.formula else ""
        print(f"\n{step.name}{name}\n  {step.equation} = {_figure(step.value, step.unit)}")
        _print_inputs(step.inputs, said, indent="    ")


def print_chains(chains: Sequence[Chain], title: str = "How it was worked out") -> None:
    """Print chains one after another: the inputs of each with their sources, then its formulas as a table."""
    print(bold(f"\n{title}"))
    said: Said = set()
    for chain in chains:
        if chain.steps or chain.inputs:
            _print_chain(chain, said)


def _print_chain(chain: Chain, said: Said) -> None:
    print()
    if not chain.steps:
        print(chain.about)
    _print_inputs([*chain.inputs, *(item for step in chain.steps for item in step.inputs)], said)
    if chain.steps:
        rows = [[_name(step), _figure(step.value, step.unit), step.equation] for step in chain.steps]
        print(table([chain.about, "", "formula"], rows, left=(0, 2)))


def _name(step: Step) -> str:
    return f"{step.name} [{step.formula}]" if step.formula else step.name


def _print_inputs(inputs: Iterable[Input], said: Said, indent: str = "  ") -> None:
    for item in inputs:
        key = item.name, item.value, item.source
        if key not in said:
            said.add(key)
            print(wrap(f"{item.name} = {_figure(item.value, item.unit)}: {item.source}", indent=indent))


def _figure(value: float, unit: str) -> str:
    """Write a figure as people do; what a config decides exactly, in full."""
    exact = {"parameter": "parameters", "B/token": "B/token"}
    return f"{value:,.0f} {exact[unit]}" if unit in exact else format_quantity(value, unit)


def ladder_of(model: str, options: dict[str, Any]) -> Ladder:
    """Return the ladder of a scenario, given its options as the library has them."""
    from infer_cost.serving.ladder import ladder
    from infer_cost.serving.scenario import scenario

    rest = dict(options)
    return ladder(scenario(model, rest.pop("hardware"), **rest))


def print_ladder(rungs: Ladder, about: str = "") -> None:
    """Print the ladder from the roofline to the expected times, and what follows from these."""
    before = f"{about}: from" if about else "From"
    print(bold(f"\n{before} the roofline to the expected time"))
    said: Said = set()
    _print_inputs(rungs.inputs, said)
    for title, steps in (("time per output token", rungs.tpot), ("time to first token", rungs.ttft)):
        print()
        rows = [[step.name, _figure(step.value, step.unit), step.equation] for step in steps]
        print(table([title, "adds", "formula"], rows, left=(0, 2)))
    for title, shares in (("decode", rungs.decode_operators), ("prefill", rungs.prefill_operators)):
        print()
        print(table(_operator_header(title), [_operator_row(share) for share in shares], left=(0, 4, 5)))
    print()
    _print_inputs((item for step in rungs.outcome for item in step.inputs), said)
    rows = [[step.name, _figure(step.value, step.unit), step.equation] for step in rungs.outcome]
    print(table(["throughput and cost", "", "formula"], rows, left=(0, 2)))


def _operator_header(title: str) -> list[str]:
    return [f"operators of a {title} pass", "launches", "floors", "busy", "bound by", "constants from", "spread"]


def _operator_row(share: OperatorTime) -> list[str]:
    return [
        share.name,
        f"{share.launches:g}",
        seconds(float(share.floor_s)),
        seconds(float(share.busy_s)),
        "compute" if share.compute_bound else "memory",
        share.level,
        f"{share.spread:.0%}",
    ]
