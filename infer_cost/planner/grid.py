"""The grid of a sweep: every combination of its axes, cut into chunks that are evaluated as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError, unknown_name
from infer_cost.planner.axes import Kind, axis

LOADS = ("input_tokens", "output_tokens", "cached_tokens", "concurrency")
"""Axes that are evaluated as arrays; every other one makes a deployment of its own."""

CHUNK_ROWS = 32_768
"""Rows of a chunk: its arrays stay in a core's cache."""


@cache
def option_kinds() -> dict[str, Kind]:
    """Return every option of an estimate and what its values are, in the order of the columns.

    >>> option_kinds()["tp"], option_kinds()["hardware"]
    ('int', 'str')
    """
    from inspect import signature

    from infer_cost.serving.scenario import scenario

    kinds: dict[str, Kind] = {"model": "str", "hardware": "str"}
    loads: dict[str, Kind] = {}
    for name, parameter in signature(scenario).parameters.items():
        kind = str(parameter.annotation).partition(" | ")[0]
        if name in LOADS:
            loads[name] = "int"
        elif name != "must_fit" and kind in ("int", "float", "str", "bool") and name not in kinds:
            kinds[name] = kind  # type: ignore[assignment]
    return {**kinds, **loads}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a grid that is evaluated at once: one deployment, and a rectangle of loads. Plain and picklable."""

    number: int
    settings: tuple[tuple[str, Any], ...]
    """The deployment's options by name, the model and the hardware first."""
    overrides: tuple[tuple[str, str], ...]
    """Datasheet values that the user replaces."""
    loads: tuple[Sequence[int], ...]
    """Values of each of :data:`LOADS`; their product, the last varying fastest, is the chunk's rows."""

    @property
    def rows(self) -> int:
        """Rows of the chunk."""
        return math.prod(len(values) for values in self.loads)


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of some axes."""

    axes: Mapping[str, Sequence[Any]]
    """Values by option, those that were set; in the order of :func:`option_kinds`."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Datasheet values that the user replaces on every machine."""

    @property
    def rows(self) -> int:
        """Combinations in all."""
        return math.prod(len(values) for values in self.axes.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """Options that have a column: all that were set."""
        return tuple(self.axes)

    def load_axes(self) -> tuple[Sequence[int], ...]:
        """Return the values of :data:`LOADS`, the estimate's defaults where none were set."""
        defaults = {"input_tokens": 1024, "output_tokens": 256, "cached_tokens": 0, "concurrency": 1}
        return tuple(self.axes.get(name, (defaults[name],)) for name in LOADS)

    def chunks(self, size: int = CHUNK_ROWS) -> Iterator[Chunk]:
        """Cut the grid into chunks of at most ``size`` rows; in order they make up the grid's rows in order."""
        names = [name for name in self.axes if name not in LOADS]
        loads = self.load_axes()
        number = 0
        for values in product(*(self.axes[name] for name in names)):
            settings = tuple(zip(names, values, strict=True))
            for block in _blocks(loads, size):
                yield Chunk(number, settings, self.overrides, block)
                number += 1


def _blocks(axes: tuple[Sequence[int], ...], size: int) -> Iterator[tuple[Sequence[int], ...]]:
    """Cut a product of axes into rectangles that follow each other in the order of the rows.

    The last axes are taken whole as long as they fit; the one before them is cut; those before that one are taken
    value by value.

    >>> [tuple(map(list, block)) for block in _blocks(((1, 2), (5, 6, 7)), 2)]
    [([1], [5, 6]), ([1], [7]), ([2], [5, 6]), ([2], [7])]
    """
    room, cut = size, 0
    for place in range(len(axes) - 1, -1, -1):
        if len(axes[place]) > room:
            cut = place
            break
        room //= len(axes[place])
    step = max(1, min(room, len(axes[cut])))
    pieces = [axes[cut][start : start + step] for start in range(0, len(axes[cut]), step)]
    for leading in product(*axes[:cut]):
        for piece in pieces:
            yield (*((value,) for value in leading), piece, *axes[cut + 1 :])


def grid(options: Mapping[str, Any], overrides: Mapping[str, str] | None = None) -> Grid:
    """Return the grid of all combinations of some options.

    Parameters
    ----------
    options : mapping
        By option of an estimate: one value, a list, or text as :func:`infer_cost.planner.axes.axis` reads it; None
        for an option that isn't set.
    overrides : mapping, optional
        Datasheet values that replace those of every machine, such as ``{"memory_bandwidth": "4 TB/s"}``.

    Raises
    ------
    UnknownNameError
        For an option that an estimate doesn't have, a model, machine, engine or number format that nothing knows.
    InputError
        For an axis that can't be read, a load out of range, or no model or hardware.

    Examples
    --------
    >>> grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", "tp": "1,2", "concurrency": "1..256"}).rows
    512
    """
    kinds = option_kinds()
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in kinds:
            raise unknown_name("option", name, kinds, field=name)
    for name in ("model", "hardware"):
        if name not in given:
            raise InputError(f"{name} is missing", field=name, allowed="one or several names")
    made = Grid(
        {name: axis(name, given[name], kind) for name, kind in kinds.items() if name in given},
        tuple((overrides or {}).items()),
    )
    _check_names(made)
    _check_loads(made)
    return made


def grid_file(path: Path) -> dict[str, Any]:
    """Return the options that a TOML file of axes sets.

    Raises
    ------
    InputError
        When it can't be read as TOML.
    """
    from infer_cost.files import read_toml

    return read_toml(path, field="grid", what='a TOML file: tp = [1, 2], concurrency = "1..256"')


def _check_names(made: Grid) -> None:
    """Refuse names that nothing knows before the sweep starts: a typing error isn't a combination that fails."""
    from infer_cost.hardware_specs.catalog import hardware
    from infer_cost.hardware_specs.formats import number_format
    from infer_cost.model_specs.catalog import model
    from infer_cost.model_specs.weights import weight_formats
    from infer_cost.serving.engines import engine_profile

    checks: dict[str, Any] = {"model": model, "hardware": hardware, "engine": engine_profile, "kv": number_format}
    for name, known in checks.items():
        for value in made.axes.get(name, ()):
            known(value)
    for value in made.axes.get("weights", ()):
        weight_formats(model(made.axes["model"][0]), value)


def _check_loads(made: Grid) -> None:
    from infer_cost.checks import MAX_TOKENS, whole

    limits = {"concurrency": (1, 10_000_000), "cached_tokens": (0, MAX_TOKENS)}
    for name in LOADS:
        low, high = limits.get(name, (1, MAX_TOKENS))
        for value in (min(made.axes.get(name, (low,))), max(made.axes.get(name, (low,)))):
            whole(name, value, low=low, high=high)
