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
from infer_cost.planner.filters import conditions, keep
from infer_cost.planner.grid import Chunk, Grid
from infer_cost.planner.keepers import Best, First, Fronts, Keeper
from infer_cost.planner.outputs import known_ending, open_output, partial
from infer_cost.planner.rows import columns_of, row_values

Progress = Callable[[int, int], None]
"""Told how many combinations are done, and how many there are."""

_SAVED_EVERY_S = 2.0
"""Seconds between two records of how far a run has got."""
MAX_TOP = 100_000
MOST_REASONS = 100
OTHER_REASONS = "other reasons"


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
    """Combinations that make no sense, by what is wrong with them; a reason that names a value counts once a value."""

    def count(self, block: Block, kept: Block) -> None:
        """Add a block."""
        self.done += block.evaluated
        self.kept += kept.rows
        self.fitting += int(block.columns["fits"].sum()) if block.rows else 0
        self.invalid += block.invalid
        if block.invalid:
            known = block.reason in self.reasons or len(self.reasons) < MOST_REASONS
            self.reasons[block.reason if known else OTHER_REASONS] += block.invalid


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The end of a sweep: what was counted, and the rows when they weren't written to a file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """The best rows or the fronts where these were asked for, otherwise the first ``limit`` ones that were kept."""
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
    front: tuple[str, str] | None = None,
    each: str | None = "hardware",
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
    front : pair of str, optional
        Keep only the rows that no other one beats in these two results, see :mod:`infer_cost.planner.pareto`.
    each : str, optional
        The option that has a front for each of its values; None for one front.
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
    _check(columns, top, by, front, each, workers)
    if output:
        known_ending(output)
    keeper: Keeper | None = Best(top, by) if top else Fronts(front, each) if front else None
    first = First(limit, columns) if not output and not keeper else None
    journal = _Journal(output, grid, [*where, top, by, front, each]) if output else None
    start, position, tally = journal.resume(keeper) if journal else (0, None, Tally())
    sink = open_output(output, columns, position) if output and not keeper else None
    saved = monotonic()
    total = grid.rows
    with _mapper(workers) as evaluate:
        for number, block in enumerate(evaluate(islice(grid.chunks(), start, None)), start):
            kept = keep(block, wanted)
            tally.count(block, kept)
            for receiver in (keeper, first, sink):
                if receiver is not None and kept.rows:
                    receiver.write(kept)
            if journal and monotonic() - saved >= _SAVED_EVERY_S:
                journal.record(number + 1, sink.position() if sink else 0, tally, keeper)
                saved = monotonic()
            if progress:
                progress(tally.done, total)
    _require_sense(tally)
    blocks = keeper.blocks() if keeper else []
    rows = [next(row_values(block, columns)) for block in blocks] if not first else first.rows
    if output and keeper:
        sink = open_output(output, columns)
        for block in blocks:
            sink.write(block)
    if sink:
        sink.close()
    if journal:
        journal.close()
    return SweepResult(
        columns, tuple(rows), total, tally.kept, tally.fitting, tally.invalid, dict(tally.reasons.most_common())
    )


def _check(
    columns: Sequence[str],
    top: int | None,
    by: str,
    front: tuple[str, str] | None,
    each: str | None,
    workers: int,
) -> None:
    from infer_cost.checks import whole
    from infer_cost.errors import unknown_name
    from infer_cost.planner.grid import option_kinds

    whole("workers", workers, high=1024)
    if top is not None:
        whole("top", top, high=MAX_TOP)
        if front is not None:
            raise InputError("top and front exclude each other", field="front", allowed="one of them")
    if front is not None and each is not None and each not in columns:
        raise unknown_name("column", each, columns, field="each", hint=f"columns: {', '.join(columns)}")
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


class _Journal:
    """How far a sweep has got, in a file beside its output."""

    def __init__(self, output: Path, grid: Grid, asked: Sequence[Any]) -> None:
        self.output = output
        self.path = output.with_name(output.name + ".progress")
        self.identity = _identity(grid, asked)

    def resume(self, keeper: Keeper | None) -> tuple[int, int | None, Tally]:
        """Return the chunk and position to go on from, and the tally so far; from the start without a record."""
        try:
            record = json.loads(self.path.read_text())
        except (OSError, ValueError, RecursionError):
            return 0, None, Tally()
        usable = record.get("identity") == self.identity
        if not usable or (keeper is None and not self._has(record["position"])):
            return 0, None, Tally()
        if keeper:
            keeper.restore(record["kept"])
        tally = Tally(**{**record["tally"], "reasons": Counter(record["tally"]["reasons"])})
        return record["chunk"], record["position"], tally

    def _has(self, position: int) -> bool:
        if self.output.suffix.lower() == ".parquet":
            parts = self.output.with_name(self.output.name + ".parts")
            return all((parts / f"{number}.parquet").exists() for number in range(position))
        written = partial(self.output)
        return written.exists() and written.stat().st_size >= position

    def record(self, chunk: int, position: int, tally: Tally, keeper: Keeper | None) -> None:
        """Write the record, whole or not at all."""
        record = {
            "identity": self.identity,
            "chunk": chunk,
            "position": position,
            "tally": {name: getattr(tally, name) for name in Tally.__slots__},
            "kept": keeper.state() if keeper else [],
        }
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_text(json.dumps(record))
        fresh.replace(self.path)

    def close(self) -> None:
        """Forget the record: the sweep is complete."""
        self.path.unlink(missing_ok=True)


def _identity(grid: Grid, asked: Sequence[Any]) -> str:
    """Return a fingerprint of a sweep: what it asks, of which release, in which chunks."""
    from hashlib import sha256

    from infer_cost import __version__
    from infer_cost.planner.grid import CHUNK_ROWS

    axes = {name: repr(values) for name, values in grid.axes.items()}
    whole = [__version__, CHUNK_ROWS, axes, grid.overrides, list(asked)]
    return sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
