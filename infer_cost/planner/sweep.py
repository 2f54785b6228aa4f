"""Run a sweep: chunk by chunk in one process or several, to a file that an interrupted run takes up again."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from infer_cost.errors import InputError
from infer_cost.planner.evaluate import Block, evaluate_chunk
from infer_cost.planner.filters import best, conditions, keep, select
from infer_cost.planner.grid import Chunk, Grid
from infer_cost.planner.outputs import open_output, partial
from infer_cost.planner.rows import columns_of, row_values

Progress = Callable[[int, int], None]
"""Told how many combinations are done, and how many there are."""

_SAVED_EVERY_S = 2.0
"""Seconds between two records of how far a run has got."""
MAX_TOP = 100_000


@dataclass(slots=True)
class Tally:
    """What a sweep has seen so far."""

    done: int = 0
    """Combinations looked at."""
    kept: int = 0
    """Rows that every condition holds for."""
    fitting: int = 0
    invalid: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Combinations that make no sense, by what is wrong with them."""

    def count(self, block: Block, kept: Block) -> None:
        """Add a block."""
        self.done += block.evaluated
        self.kept += kept.rows
        self.fitting += int(block.columns["fits"].sum()) if block.rows else 0
        self.invalid += block.invalid
        if block.invalid:
            self.reasons[block.reason] += block.invalid


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The end of a sweep: what was counted, and the rows when they weren't written to a file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """The best rows where ``top`` was given, otherwise the first ``limit`` ones that were kept."""
    total: int
    kept: int
    fitting: int
    invalid: int
    reasons: dict[str, int]


def sweep(
    grid: Grid,
    *,
    output: Path | None = None,
    where: Sequence[str] = (),
    top: int | None = None,
    by: str = "cost_per_million_output_tokens_usd",
    workers: int = 1,
    limit: int = 1000,
    progress: Progress | None = None,
) -> SweepResult:
    """Evaluate every combination of a grid.

    Parameters
    ----------
    grid : Grid
        See :func:`infer_cost.planner.grid.grid`.
    output : Path, optional
        Where the rows go: ``.csv``, ``.jsonl`` or ``.parquet``. Beside it ``NAME.progress`` says how far the sweep
        has got; the same sweep to the same file goes on from there.
    where : sequence of str
        Conditions that a row must satisfy, see :func:`infer_cost.planner.filters.conditions`.
    top : int, optional
        Keep the best rows only.
    by : str
        The column that decides which rows are best; rates are best when high, all else when low.
    workers : int
        Processes. The rows are the same, and in the same order, for any number.
    limit : int
        Rows to return when there is neither ``output`` nor ``top``.
    progress : callable, optional
        Called after each chunk.

    Returns
    -------
    SweepResult
        Rows that don't fit are there with ``fits`` false; combinations that make no sense are counted by reason.

    Raises
    ------
    InputError
        For conditions or columns that make no sense, or when no combination does.

    Examples
    --------
    >>> from infer_cost.planner.grid import grid
    >>> answer = sweep(grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", "tp": "1,2,3", "concurrency": "1..64"}))
    >>> answer.kept, answer.invalid, list(answer.reasons)
    (128, 64, ["tp 3 doesn't divide the heads and widths of llama-3.1-8b"])
    """
    columns = columns_of(grid)
    wanted = conditions(where, columns)
    _check(columns, top, by, workers)
    best_rows = _Best(top, by, columns) if top else None
    first = _First(limit, columns) if not output and not best_rows else None
    journal = _Journal(output, grid, where, top, by) if output else None
    start, position, tally = journal.resume(best_rows) if journal else (0, None, Tally())
    sink = open_output(output, columns, position) if output and not best_rows else None
    saved = monotonic()
    total = grid.rows
    with _mapper(workers) as evaluate:
        for number, block in enumerate(evaluate(islice(grid.chunks(), start, None)), start):
            kept = keep(block, wanted)
            tally.count(block, kept)
            for receiver in (best_rows, first, sink):
                if receiver is not None and kept.rows:
                    receiver.write(kept)
            if journal and monotonic() - saved >= _SAVED_EVERY_S:
                journal.record(number + 1, sink.position() if sink else 0, tally, best_rows)
                saved = monotonic()
            if progress:
                progress(tally.done, total)
    _require_sense(tally)
    rows = best_rows.rows() if best_rows else first.rows if first else ()
    if output and best_rows:
        sink = open_output(output, columns)
        for row in best_rows.blocks():
            sink.write(row)
    if sink:
        sink.close()
    if journal:
        journal.close()
    return SweepResult(
        columns, tuple(rows), total, tally.kept, tally.fitting, tally.invalid, dict(tally.reasons.most_common())
    )


def _check(columns: Sequence[str], top: int | None, by: str, workers: int) -> None:
    from infer_cost.checks import whole
    from infer_cost.errors import unknown_name
    from infer_cost.planner.grid import option_kinds

    whole("workers", workers, high=1024)
    if top is not None:
        whole("top", top, high=MAX_TOP)
    texts = [name for name, kind in option_kinds().items() if kind == "str"]
    numeric = [name for name in columns if name not in (*texts, "limited_by")]
    if by not in numeric:
        raise unknown_name("column", by, numeric, field="by", hint=f"columns: {', '.join(numeric)}")


def _require_sense(tally: Tally) -> None:
    if tally.done and tally.invalid == tally.done:
        reason, _ = tally.reasons.most_common(1)[0]
        raise InputError(f"none of the {tally.done:,} combinations makes sense: {reason}", field="grid")


@contextmanager
def _mapper(workers: int) -> Iterator[Callable[[Iterator[Chunk]], Iterator[Block]]]:
    """Give a function that evaluates chunks in order, in this process or in several."""
    if workers == 1:
        yield lambda chunks: map(evaluate_chunk, chunks)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fresh interpreter, not a fork: numpy's threads and a fork don't go together.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def ordered(chunks: Iterator[Chunk]) -> Iterator[Block]:
            # No more in flight than keeps everyone busy, so memory doesn't grow with the grid.
            running = deque(pool.submit(evaluate_chunk, chunk) for chunk in islice(chunks, 4 * workers))
            while running:
                yield running.popleft().result()
                running.extend(pool.submit(evaluate_chunk, chunk) for chunk in islice(chunks, 1))

        yield ordered


class _First:
    """The first rows of a sweep."""

    def __init__(self, limit: int, columns: Sequence[str]) -> None:
        self.limit, self.columns = limit, columns
        self.rows: list[tuple[Any, ...]] = []

    def write(self, block: Block) -> None:
        room = self.limit - len(self.rows)
        if room > 0:
            self.rows.extend(islice(row_values(block, self.columns), room))


class _Best:
    """The best rows of a sweep, best first; of equals the one that came first."""

    def __init__(self, count: int, by: str, columns: Sequence[str]) -> None:
        self.count, self.by, self.columns = count, by, columns
        self.held: list[tuple[float, int, Block]] = []
        """Key, order of arrival, and a block of one row."""
        self.arrived = 0

    def write(self, block: Block) -> None:
        import numpy as np

        rows, keys = best(block, self.count, self.by)
        if len(self.held) == self.count and keys[0] >= self.held[-1][0]:
            return
        found = [(float(key), self.arrived + place, select(rows, np.array([place]))) for place, key in enumerate(keys)]
        self.arrived += len(found)
        self.held = sorted([*self.held, *found], key=lambda item: item[:2])[: self.count]

    def blocks(self) -> list[Block]:
        return [block for _, _, block in self.held]

    def rows(self) -> list[tuple[Any, ...]]:
        return [next(row_values(block, self.columns)) for block in self.blocks()]

    def state(self) -> list[Any]:
        return [
            [key, order, block.constants, {name: values.tolist() for name, values in block.columns.items()}]
            for key, order, block in self.held
        ]

    def restore(self, state: list[Any]) -> None:
        import numpy as np

        for key, order, constants, columns in state:
            arrays = {name: np.array(values) for name, values in columns.items()}
            self.held.append((key, order, Block(constants, arrays, 1)))
            self.arrived = max(self.arrived, order + 1)


class _Journal:
    """How far a sweep has got, in a file beside its output."""

    def __init__(self, output: Path, grid: Grid, where: Sequence[str], top: int | None, by: str) -> None:
        self.output = output
        self.path = output.with_name(output.name + ".progress")
        self.identity = _identity(grid, where, top, by)

    def resume(self, best_rows: _Best | None) -> tuple[int, int | None, Tally]:
        """Return the chunk and position to go on from, and the tally so far; from the start without a record."""
        try:
            record = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return 0, None, Tally()
        usable = record.get("identity") == self.identity
        if not usable or (best_rows is None and not self._has(record["position"])):
            return 0, None, Tally()
        if best_rows:
            best_rows.restore(record["best"])
        tally = Tally(**{**record["tally"], "reasons": Counter(record["tally"]["reasons"])})
        return record["chunk"], record["position"], tally

    def _has(self, position: int) -> bool:
        if self.output.suffix.lower() == ".parquet":
            parts = self.output.with_name(self.output.name + ".parts")
            return all((parts / f"{number}.parquet").exists() for number in range(position))
        written = partial(self.output)
        return written.exists() and written.stat().st_size >= position

    def record(self, chunk: int, position: int, tally: Tally, best_rows: _Best | None) -> None:
        """Write the record, whole or not at all."""
        record = {
            "identity": self.identity,
            "chunk": chunk,
            "position": position,
            "tally": {name: getattr(tally, name) for name in Tally.__slots__},
            "best": best_rows.state() if best_rows else [],
        }
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_text(json.dumps(record))
        fresh.replace(self.path)

    def close(self) -> None:
        """Forget the record: the sweep is complete."""
        self.path.unlink(missing_ok=True)


def _identity(grid: Grid, where: Sequence[str], top: int | None, by: str) -> str:
    """Return a fingerprint of a sweep: what it asks, of which release, in which chunks."""
    from hashlib import sha256

    from infer_cost import __version__
    from infer_cost.planner.grid import CHUNK_ROWS

    asked = [__version__, CHUNK_ROWS, {name: repr(values) for name, values in grid.axes.items()}, list(where), top, by]
    asked.append(grid.overrides)
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
