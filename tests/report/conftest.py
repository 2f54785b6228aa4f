"""Reports of a few deployments, each gathered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from infer_cost.report import Content, gather

DEPLOYMENTS = {
    "dense": ("llama-3.1-70b", "h100-sxm", {"gpus": 8, "weights": "fp8", "concurrency": 8}),
    "experts": ("deepseek-v3", "h200-sxm", {"gpus": 8, "input_tokens": 4000, "concurrency": 3}),
    "windowed": ("gpt-oss-120b", "h100-sxm", {"input_tokens": 9000}),
    "pools": (
        "llama-3.1-70b",
        "h100-sxm",
        {"weights": "fp8", "prefill_gpus": 4, "decode_gpus": 4, "prefill_tp": 4, "decode_tp": 4},
    ),
    "one token": ("llama-3.1-8b", "h100-sxm", {"output_tokens": 1}),
    "no price": ("llama-3.1-8b", "m1-ultra", {"weights": "q4_k_m"}),
    "idle": ("llama-3.1-8b", "h100-sxm", {"utilization": 0.35, "price_per_gpu_hour": 2.5}),
}


@cache
def gathered(name: str) -> Content:
    model, hardware, options = DEPLOYMENTS[name]
    return gather(model, hardware, command=f"infer-cost report {model}", **options)


@pytest.fixture(params=sorted(DEPLOYMENTS))
def content(request: pytest.FixtureRequest) -> Content:
    return gathered(str(request.param))


@pytest.fixture
def deployment() -> Callable[[str], Content]:
    """Return a deployment's content by its name above."""
    return gathered


@pytest.fixture
def dense() -> Content:
    return gathered("dense")
