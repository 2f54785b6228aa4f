"""The shape of a provider comparison file, as pydantic sees it. Imported when a file is read, never at start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infer_cost.errors import InputError, shorten

Score = Annotated[float, Field(ge=0, le=10)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Scored = Literal["throughput", "compliance", "residency", "determinism", "coverage", "deployment", "portability"]
Criterion = Literal[
    "latency",
    "cost",
    "reliability",
    "throughput",
    "compliance",
    "residency",
    "determinism",
    "coverage",
    "deployment",
    "portability",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProviderModel(_Strict):
    """One ``[[provider]]``."""

    name: Annotated[str, Field(min_length=1)]
    p99_ttft_ms: Positive
    p99_itl_ms: Positive
    usd_per_mtok: Positive
    functional_availability: Share
    scores: dict[Scored, Score]
    has: list[str] = []


class RequireModel(_Strict):
    """Hard requirements."""

    max_p99_ttft_ms: Positive | None = None
    max_p99_itl_ms: Positive | None = None
    max_usd_per_mtok: Positive | None = None
    min_functional_availability: Share | None = None
    has: list[str] = []


class ChoiceFile(_Strict):
    """A whole comparison file."""

    workload: str = "balanced"
    output_tokens: Annotated[int, Field(ge=1)] = 300
    weights: dict[Criterion, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
    require: RequireModel = RequireModel()
    provider: Annotated[list[ProviderModel], Field(min_length=1)]


def read_choice(document: Mapping[str, object], name: str) -> ChoiceFile:
    """Return the checked file, or raise an :class:`InputError` that names the first wrong key."""
    try:
        return ChoiceFile.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{shorten(name)}: {place or 'file'}: {first['msg']}", field=place) from None
