"""Explanations: the chain of formulas behind an answer, each with its numbers and where they were read."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.hardware_specs.types import Machine, Provenance


@dataclass(frozen=True, slots=True)
class Input:
    """A number that went into a formula."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """A formula with the numbers put into it and its result. ``formula`` is its public name, where it has one."""

    name: str
    equation: str
    value: float
    unit: str
    inputs: tuple[Input, ...] = ()
    formula: str | None = None


def provenance_words(origin: Provenance | None) -> str:
    """Where a value was read, when, and how sure it is, in one line."""
    if origin is None:
        return "no source recorded"
    read = f", read {origin.read}" if origin.read else ""
    return f"{origin.source}{read} ({origin.confidence})"


def datasheet(machine: Machine, field: str, value: float, unit: str) -> Input:
    """Return a value of the accelerator's datasheet with its source."""
    return Input(field, value, unit, provenance_words(machine.accelerator.provenance.get(field)))
