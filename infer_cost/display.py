"""How results show themselves in a notebook: a small HTML table, numbers with their units.

A field's name ends with its unit (``ttft_s``, ``weight_bytes``, ``cost_usd``), so any result can be shown without
knowing what it is. Standard library only; it stands below all floors beside units and errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_UNITS = (
    (r"_per_s(_|$)", "token/s"),
    (r"bytes_per_token", "B/token"),
    (r"bytes", "B"),
    (r"_usd$", "USD"),
    (r"_s$", "s"),
    (r"_w$", "W"),
    (r"^peak_flops$", "FLOP/s"),
    (r"_bandwidth$", "B/s"),
)
"""Patterns of field names and the unit that each stands for; the first that matches counts."""
_RANGE = ("bound", "expected", "low", "high")


def repr_html(result: Any) -> str:
    """Return a dataclass as an HTML table: a row a field, nested results in tables of their own.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Answer:
    ...     ttft_s: float
    ...     model: str
    >>> repr_html(Answer(0.0211, "<8b>"))
    '<table><tr><th>ttft</th><td>21.1 ms</td></tr><tr><th>model</th><td>&lt;8b&gt;</td></tr></table>'
    """
    rows = "".join(
        f"<tr><th>{_escape(_label(item.name))}</th><td>{_cell(item.name, getattr(result, item.name))}</td></tr>"
        for item in fields(result)
        if getattr(result, item.name) not in (None, (), [], "")
    )
    return f"<table>{rows}</table>"


def _cell(name: str, value: Any) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        if tuple(item.name for item in fields(value)) == _RANGE:
            bound, expected, low, high = (_text(name, getattr(value, part)) for part in _RANGE)
            return f"{expected} ({low} to {high}; bound {bound})"
        return repr_html(value)
    if isinstance(value, Mapping):
        return _lines(f"{_escape(str(key))}: {_cell(name, item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        same = value and all(is_dataclass(item) and type(item) is type(value[0]) for item in value)
        return _grid(value) if same else _lines(_cell(name, item) for item in value)
    return _text(name, value)


def _grid(rows: Sequence[Any]) -> str:
    """Results of one kind, one a row; fields that hold results themselves are left to the result."""
    names = [item.name for item in fields(rows[0]) if not any(_nested(getattr(row, item.name)) for row in rows)]
    head = "".join(f"<th>{_escape(_label(name))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(name, getattr(row, name), _stated(row, name))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _stated(row: Any, name: str) -> str | None:
    """Unit of a row's ``value`` where the row has a field that says so."""
    return getattr(row, "unit", None) if name == "value" else None


def _nested(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, Mapping | tuple | list)


def _lines(cells: Any) -> str:
    return "<br>".join(cells)


def _text(name: str, value: Any, unit: str | None = None) -> str:
    from infer_cost.units import format_quantity

    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return _escape(str(value))
    unit = unit or next((unit for pattern, unit in _UNITS if re.search(pattern, name)), None)
    if unit is None:
        return f"{value:,}" if isinstance(value, int) else _escape(format_quantity(value, "ratio"))
    return _escape(format_quantity(value, unit))


def _label(name: str) -> str:
    """Write a field's name as words, its unit left off where the value shows it."""
    for end in ("_bytes", "_usd", "_s", "_w"):
        name = name.removesuffix(end)
    return name.replace("_", " ")


def _escape(text: str) -> str:
    from html import escape  # not at the top: its tables of names cost every command a millisecond

    return escape(text)
