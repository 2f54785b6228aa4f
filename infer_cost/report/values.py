"""The numbers of a page that a reader can change: what they are at a state of the controls, and what is embedded.

``page.js`` computes the same from the embedded data; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infer_cost.report.content import Content, Linear, LoadPoint, Roofs
from infer_cost.report.pictures import nearest, operating_point
from infer_cost.roofline import step_time_max, t_attention, t_compute, t_mem
from infer_cost.serving.ranges import Range

Shown = tuple[float | str | None, str]
"""A value and its unit; texts have the unit ``text``."""


@dataclass(frozen=True, slots=True)
class State:
    """Where the controls stand."""

    load: int
    """Index among the report's concurrencies."""
    usd_per_gpu_hour: float | None
    utilization: float
    batch: int
    """Index among the roofline's batches."""
    context: int
    """Index among its contexts."""

    @property
    def rate(self) -> float | None:
        """Dollars for a GPU-hour that serves."""
        return None if self.usd_per_gpu_hour is None else self.usd_per_gpu_hour / self.utilization


def first_state(content: Content) -> State:
    """Return the state that a page opens in: the deployment that was asked about."""
    roofs = content.roofs
    return State(
        load=[load.concurrency for load in content.loads].index(content.trip.concurrency),
        usd_per_gpu_hour=content.usd_per_gpu_hour,
        utilization=content.utilization,
        batch=roofs.batches.index(nearest(roofs.batches, content.trip.concurrency)),
        context=roofs.contexts.index(nearest(roofs.contexts, content.memory.context)),
    )


def values(content: Content, state: State) -> dict[str, Shown]:
    """Return every number that depends on the controls, by the name that the page knows it under."""
    load = content.loads[state.load]
    return {**_load_values(load, state.rate), **_stage_values(load, state.rate), **_roof_values(content.roofs, state)}


def _load_values(load: LoadPoint, rate: float | None) -> dict[str, Shown]:
    trip, answer = load.trip, load.answer
    shown: dict[str, Shown] = {"concurrency": (float(trip.concurrency), "count")}
    times: Mapping[str, Range | None] = {"ttft": trip.ttft_s, "tpot": trip.tpot_s, "e2e": trip.e2e_s}
    for name, figure in times.items():
        for part in Range.__slots__:
            shown[f"{name}.{part}"] = (getattr(figure, part) if figure else None, "s")
    for part, cost in zip(Range.__slots__, load.cost, strict=True):
        shown[f"cost.{part}"] = (_priced(cost, rate), "USD")
    shown["user-rate"] = (answer.output_tokens_per_s_per_user.expected, "token/s")
    shown["gpu-rate"] = (answer.output_tokens_per_s_per_gpu.expected, "token/s")
    for name, dollars in (
        ("mtok-in", answer.cost_per_million_input_tokens_usd),
        ("mtok-out", answer.cost_per_million_output_tokens_usd),
    ):
        shown[name] = (None if rate is None or dollars is None else dollars * rate, "USD")
    largest = trip.stages[trip.bottleneck - 1]
    shown["bottleneck"] = (f"{largest.number} {largest.name} ({largest.limited_by})", "text")
    return shown


def _stage_values(load: LoadPoint, rate: float | None) -> dict[str, Shown]:
    shown: dict[str, Shown] = {}
    whole = load.trip.e2e_s.expected
    for stage, cost in zip(load.trip.stages, load.stage_costs, strict=True):
        name = f"stage.{stage.number}"
        shown[f"{name}.ttft"] = (stage.ttft_s, "s")
        shown[f"{name}.tpot"] = (stage.tpot_s, "s")
        shown[f"{name}.e2e"] = (stage.e2e_s, "s")
        shown[f"{name}.cost"] = (_priced(cost, rate), "USD")
        shown[f"{name}.share"] = (stage.e2e_s / whole, "share")
        shown[f"{name}.limit"] = ("" if stage.limited_by == "none" else stage.limited_by, "text")
    return shown


def _roof_values(roofs: Roofs, state: State) -> dict[str, Shown]:
    batch, context = roofs.batches[state.batch], roofs.contexts[state.context]
    cache = batch * roofs.kv_bytes_by_context[state.context]
    read = roofs.weight_bytes_by_batch[state.batch]
    compute = t_compute(batch, roofs.active_parameters, roofs.peak_flops * roofs.gpus)
    compute += t_attention(batch, context, roofs.attention_flops, roofs.attention_peak_flops * roofs.gpus)
    memory = t_mem(read, cache, roofs.memory_bandwidth * roofs.gpus)
    step = step_time_max(compute, memory)
    intensity, rate = operating_point(roofs, batch, context)
    return {
        "roof.batch": (float(batch), "count"),
        "roof.context": (float(context), "count"),
        "roof.weights": (read, "B"),
        "roof.cache": (cache, "B"),
        "roof.compute": (compute, "s"),
        "roof.memory": (memory, "s"),
        "roof.step": (step, "s"),
        "roof.limit": ("compute" if compute > memory else "memory", "text"),
        "roof.intensity": (intensity, "FLOP/B"),
        "roof.rate": (rate, "FLOP/s"),
        "roof.tokens": (batch / step, "token/s"),
    }


def _priced(cost: Linear, rate: float | None) -> float | None:
    return None if rate is None else cost.at(rate)


def page_data(content: Content) -> dict[str, Any]:
    """Return what is embedded in the page: enough to compute :func:`values` at any state."""
    roofs = content.roofs
    first = first_state(content)
    return {
        "state": {
            "load": first.load,
            "price": first.usd_per_gpu_hour,
            "utilization": first.utilization,
            "batch": first.batch,
            "context": first.context,
        },
        "loads": [_load_data(load) for load in content.loads],
        "roofs": {
            "gpus": roofs.gpus,
            "peak": roofs.peak_flops,
            "bandwidth": roofs.memory_bandwidth,
            "attentionPeak": roofs.attention_peak_flops,
            "active": roofs.active_parameters,
            "attention": roofs.attention_flops,
            "batches": roofs.batches,
            "weights": roofs.weight_bytes_by_batch,
            "contexts": roofs.contexts,
            "cache": roofs.kv_bytes_by_context,
        },
    }


def _load_data(load: LoadPoint) -> dict[str, Any]:
    trip, answer = load.trip, load.answer
    ranges = {"ttft": trip.ttft_s, "tpot": trip.tpot_s, "e2e": trip.e2e_s}
    return {
        "concurrency": trip.concurrency,
        **{
            name: [getattr(figure, part) for part in Range.__slots__] if figure else None
            for name, figure in ranges.items()
        },
        "cost": [[cost.fixed, cost.slope] for cost in load.cost],
        "userRate": answer.output_tokens_per_s_per_user.expected,
        "gpuRate": answer.output_tokens_per_s_per_gpu.expected,
        "mtokIn": answer.cost_per_million_input_tokens_usd,
        "mtokOut": answer.cost_per_million_output_tokens_usd,
        "bottleneck": trip.bottleneck,
        "stages": [
            [stage.name, stage.limited_by, stage.ttft_s, stage.tpot_s, stage.e2e_s, cost.fixed, cost.slope]
            for stage, cost in zip(trip.stages, load.stage_costs, strict=True)
        ],
    }
