"""Printing that commands share: JSON documents, plain tables, numbers a person reads."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

WIDTH_LIMIT = 100
NARROWEST = 40
ROOM_FOR_TEXT = 24

FORMATS = ("json", "csv", "markdown")
OUTPUT = "infer_cost.output"
"""Where a command's context keeps the format that ``--output`` asked for."""


def plain(value: Any) -> Any:
    """Turn results (dataclasses, tuples, numpy scalars) into what JSON knows; NaN and infinity become null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def emit_json(value: Any) -> None:
    """Print a result as one JSON document, or as the ``--output`` that the user asked for."""
    from click import get_current_context

    context = get_current_context(silent=True)
    wanted = context.meta.get(OUTPUT, "json") if context else "json"
    if wanted == "json":
        print_json(value)
    else:
        from infer_cost.cli.tables import written

        print(written(plain(value), wanted), end="")


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    readable = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(plain(value), indent=2, ensure_ascii=not readable))


def width() -> int:
    """Columns to print in: the terminal's (or ``COLUMNS``), at least 40 and at most 100."""
    return max(NARROWEST, min(WIDTH_LIMIT, _columns() or WIDTH_LIMIT))


def _columns() -> int | None:
    """Columns of the terminal, or ``COLUMNS``; None where the output goes to a file or a pipe."""
    import shutil

    return shutil.get_terminal_size((0, 0)).columns or None


def colour() -> bool:
    """Whether escape codes are wanted: on a terminal, unless ``NO_COLOR`` is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Bold on a terminal, plain elsewhere."""
    return f"\x1b[1m{text}\x1b[0m" if colour() else text


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """Lay out rows in columns separated by two spaces; columns in ``left`` are left-aligned, the others right.

    Where the terminal is too narrow for all columns, those that don't fit follow below, the first text of each row
    repeated; a file or a pipe gets them side by side.

    >>> print(table(["chip", "GB"], [["h100-sxm", "80"], ["b200-sxm", "180"]]))
    chip       GB
    h100-sxm   80
    b200-sxm  180
    """
    cells = [list(header), *[list(row) for row in rows]]
    if (columns := _columns()) is None:
        return _laid_out(cells, left)
    limit = max(NARROWEST, columns)
    whole = _last_wrapped(cells, left, limit)
    if _across(_widths(whole)) <= limit:
        return _laid_out(whole, left)
    name = min(left, default=0)
    cells = [[_cut(cell, limit * 2 // 5) if place == name else cell for place, cell in enumerate(row)] for row in cells]
    parts = []
    for block in _blocks(_widths(cells), name, limit, left):
        texts = [place for place, column in enumerate(block) if column in left]
        part = _last_wrapped([[row[column] for column in block] for row in cells], texts, limit)
        parts.append(_laid_out(part, texts))
    return "\n\n".join(parts)


def _laid_out(cells: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    widths = _widths(cells)
    return "\n".join(
        "  ".join(_padded(cell, widths[place], place in left) for place, cell in enumerate(row)).rstrip()
        for row in cells
    )


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


def _across(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _last_wrapped(cells: list[list[str]], left: Sequence[int], limit: int) -> list[list[str]]:
    """Let a text in the last column go on below itself, if that is needed and enough room is left for it."""
    import textwrap

    widths = _widths(cells)
    last = len(widths) - 1
    room = limit - _across(widths[:last]) - 2
    if last not in left or not ROOM_FOR_TEXT <= room < widths[last]:
        return cells
    wrapped = []
    for row in cells:
        first, *more = textwrap.wrap(row[last], room) or [""]
        wrapped += [[*row[:last], first], *([""] * last + [line] for line in more)]
    return wrapped


def _cut(cell: str, limit: int) -> str:
    return cell if len(cell) <= limit else cell[: limit - 1] + "…"


def _padded(cell: str, columns: int, left: bool) -> str:
    return cell.ljust(columns) if left else cell.rjust(columns)


def _blocks(widths: Sequence[int], name: int, limit: int, left: Sequence[int]) -> list[list[int]]:
    """Share the columns out among as many tables as the terminal needs, each beginning with the row's name."""
    last = len(widths) - 1
    needed = [min(w, ROOM_FOR_TEXT) if place == last and last in left else w for place, w in enumerate(widths)]
    blocks = [list(range(name + 1))]
    for column in range(name + 1, len(widths)):
        if _across([needed[place] for place in (*blocks[-1], column)]) > limit and len(blocks[-1]) > name + 1:
            blocks.append(list(range(name + 1)))
        blocks[-1].append(column)
    return blocks


def facts(rows: Sequence[tuple[str, str]], *, column: int = 34) -> str:
    """Lay out names and values, one a line, the values from ``column`` on; a narrow terminal brings them closer.

    >>> print(facts([("weights", "141.1 GB"), ("fits", "no")], column=10))
    weights   141.1 GB
    fits      no
    """
    longest = max((len(name) for name, _ in rows), default=0)
    room = max((len(value) for _, value in rows), default=0)
    start = max(longest + 2, min(column, width() - room))
    return "\n".join(_fact(name, value, start) for name, value in rows)


def _fact(name: str, value: str, start: int) -> str:
    line = f"{name:<{start}}{value}".rstrip()
    return line if len(line) <= width() else f"{name}\n{wrap(value, indent='    ')}"


def wrap(text: str, *, indent: str = "  ") -> str:
    """Wrap a sentence to the width, continuation lines indented."""
    import textwrap

    return textwrap.fill(text, width(), initial_indent=indent, subsequent_indent=indent + "  ")


def seconds(value: float | None) -> str:
    """Write a duration as people do: ``12.3 µs``, ``8.25 ms``, ``3.41 s``.

    >>> seconds(0.00825), seconds(3.4109), seconds(0), seconds(None)
    ('8.25 ms', '3.41 s', '0', '-')
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (math.inf, 1.0, "s")):
        if abs(value) < limit:
            return f"{three_digits(value * factor)} {unit}"
    return f"{value} s"


def dollars(value: float | None) -> str:
    """Write an amount of dollars with three significant digits.

    >>> dollars(0.0123456), dollars(12.5), dollars(0)
    ('$0.0123', '$12.5', '$0')
    """
    if value is None:
        return "-"
    if value == 0:
        return "$0"
    if abs(value) < 1e-3:
        return f"${value:.2e}"
    return f"${three_digits(value)}"


def gigabytes(value: float | None) -> str:
    """Write bytes in decimal GB, and in MB where a tenth of a GB would be too coarse.

    >>> gigabytes(141.1e9), gigabytes(48.2e6)
    ('141.1 GB', '48.2 MB')
    """
    if value is None:
        return "-"
    return f"{value / 1e9:,.1f} GB" if abs(value) >= 1e8 or value == 0 else f"{value / 1e6:,.1f} MB"


def count(value: float | None) -> str:
    """Write a whole number with thousands separators."""
    return "-" if value is None else f"{value:,.0f}"


def three_digits(value: float) -> str:
    """Three significant digits without an exponent, thousands separated.

    >>> three_digits(1234.5), three_digits(12.345), three_digits(0.01234)
    ('1,234', '12.3', '0.0123')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def bar(share: float, columns: int = 12) -> str:
    """Draw a share between 0 and 1 as a bar of eighths.

    >>> bar(0.5, 4), bar(0.0, 4)
    ('██', '')
    """
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
