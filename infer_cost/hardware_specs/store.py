"""Reads the compiled data files, each once, and gives a value's provenance back its full citation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.hardware_specs.types import Provenance

FOLDER = Path(__file__).parent / "compiled"


@cache
def compiled(name: str) -> dict[str, Any]:
    """Return the compiled file ``name`` (catalog, formats, infrastructure); don't change what comes back."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def provenance(row: Sequence[Any], sources: Mapping[str, Sequence[str]]) -> Provenance:
    """Build a provenance from its compiled row: source keys, confidence, note, other readings.

    ``sources`` maps a key to its citation and the date it was read.
    """
    keys, confidence, note, readings = row
    return Provenance(
        source="; ".join(sources[key][0] for key in keys),
        read=max((sources[key][1] for key in keys), default=""),
        confidence=confidence,
        note=note,
        readings=tuple(readings),
    )
