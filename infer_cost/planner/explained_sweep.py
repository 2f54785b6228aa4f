"""A sweep explained: how many combinations there are, and how one of its rows is worked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.overrides import with_overrides
from infer_cost.planner.grid import Grid, option_kinds
from infer_cost.planner.sweep import SweepResult
from infer_cost.serving.ladder import Ladder, ladder
from infer_cost.serving.scenario import scenario
from infer_cost.steps import Chain, Input, Step

_SHOWN = 8
"""Values of an axis that are written out."""


@dataclass(frozen=True, slots=True)
class SweepExplanation:
    """How the rows were counted, and the ladder of the first one that has results."""

    rows: Chain
    about: str
    """The options of that row."""
    ladder: Ladder | None
    """None where no row was kept in memory, or none fits."""

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Everything as chains."""
        return (self.rows, *(self.ladder.chains("first row") if self.ladder else ()))


def explain_sweep(grid: Grid, answer: SweepResult) -> SweepExplanation:
    """Return how a sweep's rows come about, and how its first one is worked out.

    Parameters
    ----------
    grid : Grid
        What was asked
    answer : SweepResult
        What came of it; the first row is the best one where the best were asked for

    Returns
    -------
    SweepExplanation
        The ladder ends in the row's results

    Examples
    --------
    >>> from infer_cost.planner.grid import grid
    >>> from infer_cost.planner.sweep import sweep
    >>> asked = grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", "tp": "1,2,3", "concurrency": "1..64"})
    >>> told = explain_sweep(asked, sweep(asked))
    >>> [(step.name, step.value) for step in told.rows.steps][:2], told.about
    ([('combinations', 192), ('that make sense', 128)], 'llama-3.1-8b, hardware h100-sxm, tp 1, concurrency 1')
    """
    rows = Chain("rows", tuple(_counted(answer)), tuple(_axes(grid)))
    first = next((found for found in (_options(answer, row) for row in answer.rows) if found), None)
    if first is None:
        return SweepExplanation(rows, "", None)
    shown = [f"{name} {value}" for name, value in first.items() if name in grid.axes and name != "model"]
    asked = dict(first)
    machine = asked.pop("hardware")
    if grid.overrides:
        machine = with_overrides(hardware(machine), dict(grid.overrides))
    return SweepExplanation(
        rows, ", ".join([first["model"], *shown]), ladder(scenario(asked.pop("model"), machine, **asked))
    )


def _axes(grid: Grid) -> Iterator[Input]:
    for name, values in grid.axes.items():
        yield Input(f"values of {name}", float(len(values)), "ratio", _written(values))


def _written(values: Sequence[Any]) -> str:
    shown = ", ".join(map(str, values[:_SHOWN]))
    return f"your option: {shown}{f', ... {values[-1]}' if len(values) > _SHOWN else ''}"


def _counted(answer: SweepResult) -> Iterator[Step]:
    sense = answer.total - answer.invalid
    yield Step("combinations", "Π values of each option", answer.total, "ratio")
    yield Step("that make sense", "combinations − those left out, by reason above", sense, "ratio")
    yield Step(
        "that fit", "weights, KV cache and context of the longest request within the memory", answer.fitting, "ratio"
    )
    yield Step("kept", "those that satisfy every condition", answer.kept, "ratio")


def _options(answer: SweepResult, row: Sequence[Any]) -> Mapping[str, Any]:
    """Options of an estimate that a row stands for; empty where it doesn't fit and has no results."""
    values = dict(zip(answer.columns, row, strict=True))
    return {name: values[name] for name in option_kinds() if name in values} if values["fits"] else {}
