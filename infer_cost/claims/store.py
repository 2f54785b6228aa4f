"""Reads the claims: one row a statement, as ``data/*.toml`` has them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
DOCUMENTS = ("digest", "article", "explainer", "lecture")
"""Short names of the four documents: the long and the short retelling of one article on a token's journey, an
explanation of inference cost, and a summary of a lecture on serving and token prices."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: what the library computes against what the statement says."""

    ours: str
    """A calculation, see :mod:`.calculation`."""
    claimed: float | tuple[float, float] | str | None = None
    """A figure, a range, or a calculation of the document's own formula."""
    at_least: float | None = None
    at_most: float | None = None
    tolerance: float = 0.02
    """Relative; chosen from the digits that the document prints."""
    scale: float = 1.0
    """From the library's unit to the claim's."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of the documents."""

    id: str
    documents: tuple[str, ...]
    stage: int | None
    """Of the fifteen, numbered as the digest does; None for what belongs to none."""
    statement: str
    given: str
    """The figure as printed."""
    unit: str
    why: str
    """One sentence; ``{0}``, ``{1}`` are the computed values in order."""
    term: str = ""
    """The Korean term, where it helps."""
    checks: tuple[Check, ...] = ()
    implies: str = ""
    """A calculation of what the statement amounts to, where there is nothing to hold it against."""
    implies_scale: float = 1.0
    source: str = ""
    read: str = ""
    confidence: str = ""


@cache
def claims() -> tuple[Claim, ...]:
    """Return every claim, in the order of their ids."""
    rows = [row for path in sorted(DATA.glob("*.toml")) for row in _rows(path)]
    return tuple(sorted((_claim(row) for row in rows), key=lambda claim: claim.id))


def documents() -> Mapping[str, str]:
    """Return the documents: short name to title."""
    return tomllib.loads((DATA.parent / "documents.toml").read_text(encoding="utf-8"))["documents"]  # type: ignore[no-any-return]


def _rows(path: Path) -> list[dict[str, Any]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))["claims"]  # type: ignore[no-any-return]


def _claim(row: Mapping[str, Any]) -> Claim:
    fields = dict(row)
    fields["documents"] = tuple(row["documents"])
    fields["stage"] = row.get("stage")
    fields["read"] = str(row.get("read", ""))
    fields["checks"] = tuple(_check(check) for check in row.get("checks", ()))
    return Claim(**fields)


def _check(row: Mapping[str, Any]) -> Check:
    claimed = row.get("claimed")
    return Check(**{**row, "claimed": tuple(claimed) if isinstance(claimed, list) else claimed})
