"""Ranges: how far a prediction may be off, from the kernels' own residuals and the engine's."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.roofline.dispatch import Value, maximum, minimum
from infer_cost.serving.engine_times import decode_load
from infer_cost.serving.operators import Load
from infer_cost.serving.passes import kernel_spread
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
    """Return how wide the ranges of a scenario are.

    An engine's own scatter and that of its kernels are independent, so their squares add; a chip whose kernels were
    never timed has a wider spread than one whose were.
    """
    engine = scenario.deployment.engine
    requests = scenario.requests
    prefill = kernel_spread(
        scenario.engine.prefill, Load(1.0, float(requests.new_tokens), float(requests.cached_tokens), False)
    )
    context = requests.input_tokens + requests.output_tokens / 2.0
    decode = kernel_spread(scenario.engine.decode, decode_load(scenario.engine, float(requests.concurrency), context))
    ttft = (engine.range_ttft**2 + prefill**2) ** 0.5
    tpot = (engine.range_tpot**2 + decode**2) ** 0.5
    return Spreads(ttft, tpot, tpot)
