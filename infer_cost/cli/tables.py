"""A result's document as a table for other programs: CSV or Markdown, in the units that the columns' names say."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any


def written(document: Any, wanted: str) -> str:
    """Write a document's table as ``csv`` or ``markdown``: its first list of records, or else its own values.

    >>> print(written({"model": "m", "stages": [{"number": 1, "ttft_s": {"low": 0.1}}]}, "csv"), end="")
    number,ttft_s.low
    1,0.1
    >>> print(written({"model": "m", "fits": True}, "markdown"), end="")
    | name | value |
    | --- | --- |
    | model | m |
    | fits | true |
    """
    records = _records(document)
    columns = _columns(records)
    if wanted == "csv":
        return _csv(columns, records)
    if len(records) == 1 and records[0] == _flat(document):
        return _markdown(["name", "value"], [[name, records[0][name]] for name in columns])
    return _markdown(columns, [[record.get(name) for name in columns] for record in records])


def _records(document: Any) -> list[dict[str, Any]]:
    candidates = [document, *document.values()] if isinstance(document, Mapping) else [document]
    for one in candidates:
        if isinstance(one, list) and one and all(isinstance(row, Mapping) for row in one):
            return [_flat(row) for row in one]
    if isinstance(document, list):
        return [{"value": item} for item in document]
    return [_flat(document)]


def _flat(value: Any, before: str = "") -> dict[str, Any]:
    """Name nested values by their path: ``ttft_s.low``."""
    if not isinstance(value, Mapping):
        return {before or "value": value}
    flat: dict[str, Any] = {}
    for name, item in value.items():
        path = f"{before}.{name}" if before else str(name)
        flat |= _flat(item, path) if isinstance(item, Mapping) and item else {path: item}
    return flat


def _columns(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of all records; one that holds nothing in some and more values in others stands for the latter only."""
    names = dict.fromkeys(name for record in records for name in record)
    parents = {name[:place] for name in names for place, letter in enumerate(name) if letter == "."}
    return [name for name in names if name not in parents]


def _cell(value: Any, digits: str = "") -> str:
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, digits)
    if isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        return "; ".join(_cell(item, digits) for item in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else str(value)


def _csv(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(record.get(name)) for name in columns] for record in records)
    return text.getvalue()


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write a table for readers: four significant digits."""
    lines = [columns, ["---"] * len(columns), *[[_cell(cell, ".4g") for cell in row] for row in rows]]
    return "".join(f"| {' | '.join(_escaped(cell) for cell in line)} |\n" for line in lines)


def _escaped(cell: str) -> str:
    return " ".join(cell.replace("|", "\\|").split())
