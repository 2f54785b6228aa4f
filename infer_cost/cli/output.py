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
    """Print one JSON document on standard output."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=False))


def width() -> int:
    """Columns to print in: the terminal's (or ``COLUMNS``), at most 100."""
    import shutil

    return max(40, min(WIDTH_LIMIT, shutil.get_terminal_size((WIDTH_LIMIT, 24)).columns))


def colour() -> bool:
    """Whether escape codes are wanted: on a terminal, unless ``NO_COLOR`` is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Bold on a terminal, plain elsewhere."""
    return f"\x1b[1m{text}\x1b[0m" if colour() else text


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """Lay out rows in columns separated by two spaces; columns in ``left`` are left-aligned, the others right.

    >>> print(table(["chip", "GB"], [["h100-sxm", "80"], ["b200-sxm", "180"]]))
    chip       GB
    h100-sxm   80
    b200-sxm  180
    """
    cells = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        parts = [
            cell.ljust(widths[column]) if column in left else cell.rjust(widths[column])
            for column, cell in enumerate(row)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


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
    """Write bytes in decimal GB.

    >>> gigabytes(141.1e9)
    '141.1 GB'
    """
    return "-" if value is None else f"{value / 1e9:,.1f} GB"


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
