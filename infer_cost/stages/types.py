"""What a journey consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infer_cost.display import repr_html
from infer_cost.serving.ranges import Range

StageLimit = Literal["compute", "memory", "network", "host", "queue", "price", "none"]


@dataclass(frozen=True, slots=True)
class Without:
    """The whole request without a stage: what that means, and what it would take and cost."""

    what: str
    ttft_s: float
    tpot_s: float | None
    e2e_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's exposed share of the request; shares add up to the totals."""

    number: int
    name: str
    ttft_s: float
    tpot_s: float
    e2e_s: float
    cost_usd: float | None
    """None where no price of the machine is known."""
    limited_by: StageLimit
    without: Without | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """The same request routed elsewhere: a smaller model, or other silicon for a phase."""

    what: str
    model: str
    hardware: str
    gpus: int
    ttft_s: float
    tpot_s: float | None
    e2e_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Journey:
    """One request through the fifteen stages. Times in seconds, money in dollars.

    ``e2e_s = ttft_s + (output_tokens - 1) · tpot_s + tail``; ``cost_usd`` is the operator's own cost, ``bill_usd`` the
    provider's invoice; the two are never added.
    """

    _repr_html_ = repr_html

    model: str
    hardware: str
    gpus: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    concurrency: int
    numbering: Literal["digest", "article"]
    stages: tuple[Stage, ...]
    ttft_s: Range
    tpot_s: Range | None
    e2e_s: Range
    cost_usd: Range | None
    bill_usd: str | None
    limited_by: StageLimit
    bottleneck: int
    """Number of the stage with the largest share of the end-to-end time."""
    routing: tuple[Alternative, ...]
    assumptions: tuple[str, ...]
