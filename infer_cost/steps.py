"""Explanations: the formulas behind an answer, each with its numbers and where they were read."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps that lead to a part of an answer, innermost first, after the inputs that several of them share."""

    about: str
    steps: tuple[Step, ...]
    inputs: tuple[Input, ...] = ()
