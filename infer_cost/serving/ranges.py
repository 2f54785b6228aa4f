"""Ranges: how far a prediction may be off, from errors on published measurements that no constant had seen."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infer_cost.hardware_specs.efficiency import kernel_model
from infer_cost.hardware_specs.generations import architecture_group
from infer_cost.model_specs.counts import counts
from infer_cost.roofline.dispatch import Value, maximum, minimum
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.engines.constants import constants_by_engine, fitted_models
from infer_cost.serving.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Range:
    """A figure: its physical bound, the expected value, and the range that 80 % of measurements fall into."""

    bound: Value
    expected: Value
    low: Value
    high: Value


def time_range(bound: Value, expected: Value, spread: Value) -> Range:
    """Range of a time: ``bound <= low <= expected <= high``.

    >>> time_range(1.0, 2.0, 0.25)
    Range(bound=1.0, expected=2.0, low=1.6, high=2.5)
    """
    bound = minimum(bound, expected)
    return Range(bound, expected, maximum(bound, expected / (1.0 + spread)), expected * (1.0 + spread))


def rate_range(bound: Value, expected: Value, spread: Value) -> Range:
    """Range of a rate, whose bound lies above: ``low <= expected <= high <= bound``.

    >>> rate_range(4.0, 2.0, 0.25)
    Range(bound=4.0, expected=2.0, low=1.6, high=2.5)
    """
    bound = maximum(bound, expected)
    return Range(bound, expected, expected / (1.0 + spread), minimum(bound, expected * (1.0 + spread)))


@dataclass(frozen=True, slots=True)
class Spreads:
    """Relative half-widths of the ranges of TTFT, TPOT and throughput."""

    ttft: float
    tpot: float
    throughput: float


def spreads(scenario: Scenario, *, static: bool = False) -> Spreads:
    """Return how wide the ranges of a scenario are, so that they hold 80 % of measurements.

    The widths come from errors on published rows that no constant had seen (``tools/fit_ranges.py``): a sum over the
    deployment's traits in the logarithm. A model, an accelerator generation or an engine without any published row
    widens them as much as leaving one out did.
    """
    present = traits(scenario, static=static)
    widths = {
        metric: math.exp(sum(parts[name] * value for name, value in present.items() if name in parts))
        for metric, parts in _parts().items()
    }
    return Spreads(*(math.expm1(widths[metric]) for metric in ("ttft_s", "tpot_s", "output_tokens_per_s_per_gpu")))


def traits(scenario: Scenario, *, static: bool = False) -> dict[str, float]:
    """Return what widens or narrows a scenario's range: 1 or 0 each, the batch as a decimal logarithm."""
    plan = scenario.deployment
    group = architecture_group(plan.machine.accelerator.architecture)
    fitted = constants_by_engine()
    layers = [layers.layer for layers in plan.model.groups]
    latent = any(layer.mixer.kind == "latent_attention" for layer in layers)
    held = scenario.requests.input_tokens + scenario.requests.output_tokens * plan.engine.output_reserve
    engines = scenario.decode_pool.instances if scenario.decode_pool else 1
    batch = scenario.requests.concurrency / engines
    found = {
        "all": True,
        "sglang": plan.engine.id == "sglang",
        "trtllm": plan.engine.id == "trtllm",
        "experts": not latent and any(layer.ffn.kind == "moe" for layer in layers),
        "latent attention": latent,
        "hopper": group == "hopper",
        "cdna": group.startswith("cdna"),
        "4-bit weights": min(plan.weights.bits.values(), default=16.0) < 5,
        "two pools": scenario.decode_pool is not None,
        "two pools, trtllm": scenario.decode_pool is not None and plan.engine.id == "trtllm",
        "speculative in one pool": plan.speculation is not None and scenario.decode_pool is None,
        "rack": plan.machine.scale_up_domain > 8,
        "small and dense": not latent and counts(plan.model).total < 15e9,
        "static": static,
        "queueing": batch > sequences_that_run(plan, float(held)),
        "batch": math.log10(max(batch, 1.0)),
        "unseen model": plan.model.name not in fitted_models(),
        "unseen generation": _distance(plan) if not any(seen == group for _, seen in fitted) else 0.0,
        "unseen engine": (plan.engine.id, "") not in fitted or plan.engine.id == "generic",
    }
    return {name: float(value) for name, value in found.items()}


def _distance(plan: Deployment) -> float:
    """How far an accelerator whose generation has no published row is from those that have: by its kernels' origin."""
    kernel = kernel_model(plan.machine.accelerator, "gemm", "bf16", plan.engine.kernels)
    return {"chip": 1.0, "architecture": 1.0, "vendor": 1.25, "generic": 1.5}[kernel.level]


@cache
def _parts() -> dict[str, dict[str, float]]:
    """Each trait's part of the logarithm of the width, by metric."""
    found: dict[str, dict[str, float]] = {}
    with (Path(__file__).parent / "ranges.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["metric"], {})[row["trait"]] = float(row["log_width"])
    return found
