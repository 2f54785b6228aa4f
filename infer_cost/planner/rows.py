"""Rows of a sweep as text: CSV and JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from infer_cost.planner.digits import constant, floats, integers, joined, names
from infer_cost.planner.evaluate import LIMITS, RESULTS, Block
from infer_cost.planner.grid import LOADS, Grid
from infer_cost.roofline.dispatch import where


def columns_of(grid: Grid) -> tuple[str, ...]:
    """Return the columns of a sweep's table: options that were set, GPUs, loads, results."""
    settings = [name for name in grid.columns if name not in LOADS and name != "gpus"]
    settings.insert(2, "gpus")
    loads = [name for name in LOADS if name in grid.axes or name != "cached_tokens"]
    return (*settings, *loads, *RESULTS, "fits", "limited_by")


def cells(block: Block, column: str) -> Sequence[Any]:
    """Return a column's values as plain Python ones, None where there is no result."""
    if column == "limited_by":
        fits = block.columns["fits"].tolist()
        codes = block.columns["limited_by"].tolist()
        return [LIMITS[code] if fit else None for code, fit in zip(codes, fits, strict=True)]
    if column not in block.columns:
        return [block.constants.get(column)] * block.rows
    if column in LOADS:
        return list(block.columns[column].astype("int64").tolist())
    if column == "running":
        return [None if math.isnan(value) else int(value) for value in block.columns[column].tolist()]
    if column == "fits":
        return list(block.columns[column].tolist())
    return [None if value != value else value for value in block.columns[column].tolist()]


def row_values(block: Block, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield a block's rows as tuples in the order of the columns."""
    return zip(*(cells(block, column) for column in columns), strict=True)


def csv_header(columns: Sequence[str]) -> bytes:
    """Return the first line of a CSV file."""
    return (",".join(columns) + "\n").encode()


def csv_lines(block: Block, columns: Sequence[str]) -> bytes:
    """Return a block as lines of CSV; nothing where there is no result."""
    ends = [b","] * (len(columns) - 1) + [b"\n"]
    return _lines(block, columns, [b""] * len(columns), ends, _csv_cell, b"")


def json_lines(block: Block, columns: Sequence[str]) -> bytes:
    """Return a block as one JSON object a line; null where there is no result."""
    starts = [json.dumps(name).encode() + b": " for name in columns]
    starts[0] = b"{" + starts[0]
    ends = [b", "] * (len(columns) - 1) + [b"}\n"]
    return _lines(block, columns, starts, ends, _json_cell, b"null")


def _lines(
    block: Block,
    columns: Sequence[str],
    starts: Sequence[bytes],
    ends: Sequence[bytes],
    cell: Callable[[Any], bytes],
    missing: bytes,
) -> bytes:
    """Write every column between its start and its end, then all rows at once."""
    if not block.rows:
        return b""
    written = []
    for name, start, end in zip(columns, starts, ends, strict=True):
        values = block.columns.get(name)
        if start:
            written.append(constant(start, block.rows))
        if values is None:
            written.append(constant(cell(block.constants.get(name)), block.rows))
        elif name == "limited_by":
            choices = [*map(cell, LIMITS), missing]
            written.append(names(choices, where(block.columns["fits"], values, len(LIMITS))))
        elif name == "fits":
            written.append(names([cell(False), cell(True)], values.astype("int8")))
        elif name in RESULTS and name != "running":
            written.append(floats(values, missing))
        else:
            written.append(integers(values, missing))
        written.append(constant(end, block.rows))
    return joined(written)


def _csv_cell(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    text = str(value)
    if any(mark in text for mark in ',"\n\r'):
        text = '"' + text.replace('"', '""') + '"'
    return text.encode()


def _json_cell(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
