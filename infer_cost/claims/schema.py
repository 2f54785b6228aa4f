"""The shape of a claim's row, checked by pydantic in a test; a query never loads it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Document = Literal["digest", "article", "explainer", "lecture"]


class Strict(BaseModel):
    """Refuses keys that it doesn't know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CheckRow(Strict):
    """One comparison; exactly one of ``claimed``, ``at_least`` and ``at_most``."""

    ours: Text
    claimed: float | Annotated[list[float], Field(min_length=2, max_length=2)] | Text | None = None
    at_least: float | None = None
    at_most: float | None = None
    tolerance: Annotated[float, Field(ge=0, le=0.25)] = 0.02
    scale: Annotated[float, Field(gt=0)] = 1.0

    @model_validator(mode="after")
    def _one_comparison(self) -> CheckRow:
        if sum(value is not None for value in (self.claimed, self.at_least, self.at_most)) != 1:
            raise ValueError("a check compares with one of claimed, at_least, at_most")
        return self


class ClaimRow(Strict):
    """One statement."""

    id: Annotated[str, StringConstraints(pattern=r"^C\d{3}[a-z]?$")]
    documents: Annotated[list[Document], Field(min_length=1)]
    stage: Annotated[int, Field(ge=1, le=15)] | None = None
    statement: Text
    term: str = ""
    given: Text
    unit: Text
    why: Text
    checks: list[CheckRow] = []
    implies: str = ""
    implies_scale: Annotated[float, Field(gt=0)] = 1.0
    source: str = ""
    read: date | None = None
    confidence: Literal["", "two-sources", "one-source", "recalled", "derived"] = ""

    @model_validator(mode="after")
    def _sourced_or_computed(self) -> ClaimRow:
        if self.checks and (self.source or self.implies):
            raise ValueError("what is computed needs no source beside it, and says all in its checks")
        if self.source and not (self.read and self.confidence):
            raise ValueError("a source needs the date it was read and a confidence")
        return self


class ClaimFile(Strict):
    """One file of claims."""

    claims: Annotated[list[ClaimRow], Field(min_length=1)]
