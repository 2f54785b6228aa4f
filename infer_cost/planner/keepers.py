"""What a sweep keeps in memory: the first rows, the best rows, or the fronts, however many there are in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from infer_cost.planner.evaluate import Block
from infer_cost.planner.filters import ascending, best, select
from infer_cost.planner.pareto import front_places
from infer_cost.planner.rows import row_values

if TYPE_CHECKING:
    import numpy as np

Held = tuple[tuple[float, ...], int, Block]
"""What a row is judged by, its order of arrival, and the row as a block of its own."""


class Keeper(Protocol):
    """Rows kept of a sweep; what it holds can be saved and taken up again."""

    def write(self, block: Block) -> None:
        """Look at the rows of a block."""
        ...

    def blocks(self) -> list[Block]:
        """Return the rows kept, each as a block."""
        ...

    def state(self) -> list[Any]:
        """Return what is held as what JSON knows."""
        ...

    def restore(self, state: list[Any]) -> None:
        """Take up what was saved."""
        ...


class First:
    """The first rows."""

    def __init__(self, limit: int, columns: Sequence[str]) -> None:
        self.limit, self.columns = limit, columns
        self.rows: list[tuple[Any, ...]] = []

    def write(self, block: Block) -> None:
        """Keep what there is room for."""
        room = self.limit - len(self.rows)
        if room > 0:
            self.rows.extend(islice(row_values(block, self.columns), room))


class Best:
    """The best rows by a column, best first; of equals the one that came first."""

    def __init__(self, count: int, by: str) -> None:
        self.count, self.by = count, by
        self.held: list[Held] = []
        self.arrived = 0

    def write(self, block: Block) -> None:
        """Keep the rows that are better than those held."""
        rows, keys = best(block, self.count, self.by)
        if len(self.held) == self.count and keys[0] >= self.held[-1][0][0]:
            return
        found = [((float(key),), self.arrived + place, _row(rows, place)) for place, key in enumerate(keys)]
        self.arrived += len(found)
        self.held = sorted([*self.held, *found], key=lambda item: item[:2])[: self.count]

    def blocks(self) -> list[Block]:
        """Return the rows, best first."""
        return [block for _, _, block in self.held]

    def state(self) -> list[Any]:
        """Return what is held as what JSON knows."""
        return _state(self.held)

    def restore(self, state: list[Any]) -> None:
        """Take up what was saved."""
        self.held = _restored(state)
        self.arrived = max((order + 1 for _, order, _ in self.held), default=0)


class Fronts:
    """The rows that no other one of the same series beats in two results."""

    def __init__(self, pair: tuple[str, str], each: str | None) -> None:
        self.pair, self.each = pair, each
        self.series: dict[Any, list[Held]] = {}
        self.arrived = 0

    def write(self, block: Block) -> None:
        """Keep the rows of a block that its series' front doesn't beat, and drop those that they beat."""
        import numpy as np

        keys = [block.columns[name] if ascending(name) else -block.columns[name] for name in self.pair]
        for name, places in self._parts(block):
            chosen = places[front_places(keys[0][places], keys[1][places])]
            found: list[Held] = [
                ((float(keys[0][place]), float(keys[1][place])), self.arrived + number, _row(block, int(place)))
                for number, place in enumerate(chosen)
            ]
            self.arrived += len(found)
            together = [*self.series.get(name, []), *found]
            sides = (np.array([item[0][side] for item in together]) for side in (0, 1))
            self.series[name] = [together[place] for place in front_places(*sides)]

    def _parts(self, block: Block) -> Iterable[tuple[Any, np.ndarray[Any, Any]]]:
        """Return the places of a block's rows by series."""
        import numpy as np

        values = block.columns.get(self.each) if self.each else None
        if values is None:
            yield block.constants.get(self.each) if self.each else None, np.arange(block.rows)
            return
        for value in np.unique(values):
            yield value.item(), np.flatnonzero(values == value)

    def blocks(self) -> list[Block]:
        """Return the rows, series by series in the order in which these came."""
        return [block for held in self.series.values() for _, _, block in held]

    def state(self) -> list[Any]:
        """Return what is held as what JSON knows."""
        return [[name, _state(held)] for name, held in self.series.items()]

    def restore(self, state: list[Any]) -> None:
        """Take up what was saved."""
        self.series = {name: _restored(held) for name, held in state}
        self.arrived = max((order + 1 for held in self.series.values() for _, order, _ in held), default=0)


def _row(block: Block, place: int) -> Block:
    import numpy as np

    return select(block, np.array([place]))


def _state(held: list[Held]) -> list[Any]:
    return [
        [key, order, block.constants, {name: values.tolist() for name, values in block.columns.items()}]
        for key, order, block in held
    ]


def _restored(state: list[Any]) -> list[Held]:
    import numpy as np

    return [
        (tuple(key), order, Block(constants, {name: np.array(values) for name, values in columns.items()}, 1))
        for key, order, constants, columns in state
    ]
