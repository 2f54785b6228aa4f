"""The answer of ``infer-cost roofline``: a model's decode under the two roofs of a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from infer_cost.checks import known_options, whole
from infer_cost.display import repr_html
from infer_cost.hardware_specs.cautions import doubts
from infer_cost.hardware_specs.readings import datasheet
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import element_bytes, kv_bytes_per_sequence
from infer_cost.roofline import (
    arithmetic_intensity,
    critical_context,
    optimal_batch,
    optimal_batch_with_kv,
    ridge_point,
    step_time_max,
    step_time_sum,
    t_attention,
    t_compute,
    t_mem,
)
from infer_cost.serving.deployment import Deployment, deployment
from infer_cost.serving.limits import every_weight_read, relation, weights_read
from infer_cost.steps import Input, Step


@dataclass(frozen=True, slots=True)
class RooflineReport:
    """Decode of a batch at full datasheet rates, nothing else in the way. Of all GPUs together unless it says a GPU."""

    _repr_html_ = repr_html

    model: str
    hardware: str
    gpus: int
    weights: str
    kv: str
    batch: int
    context: int
    precision: str
    peak_flops: float
    """Dense FLOP/s a GPU."""
    memory_bandwidth: float
    """Bytes/s a GPU."""
    ridge_point: float
    weight_bytes_read: float
    kv_bytes_read: float
    t_compute_s: float
    t_mem_s: float
    step_bound_s: float
    step_sum_s: float
    """Without any overlap."""
    limited_by: str
    arithmetic_intensity: float
    optimal_batch_without_kv: float
    optimal_batch: float | None
    critical_context_tokens: float | None
    tokens_per_s_bound: float
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def roofline_report(
    model: Any, hardware: Any, *, batch: int = 1, context: int = 1024, **options: Any
) -> RooflineReport:
    """Put a model's decode under the roofs of a machine.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names or files
    batch : int
        Sequences decoded together, over all GPUs
    context : int
        Cached tokens of each
    options
        As for :func:`infer_cost.serving.deployment.deployment`

    Returns
    -------
    RooflineReport
        Times, ridge point, optimal batches, critical context, and the steps of the calculation

    Examples
    --------
    >>> report = roofline_report("llama-3.1-70b", "h100-sxm", weights="bf16")
    >>> round(report.ridge_point)
    295
    """
    known_options(deployment, options, "batch", "context")
    whole("batch", batch, high=10_000_000)
    whole("context", context, low=0)
    plan = deployment(model, hardware, **options)
    symbols = relation(plan)
    gpus = plan.gpus
    peak, bandwidth = symbols["peak_flops"], symbols["memory_bandwidth"]
    read = weights_read(plan, float(batch))
    cache = batch * float(kv_bytes_per_sequence(plan.model, float(context), element_bytes(plan.kv.id)))
    attention = t_attention(batch, context, symbols["attention_flops"], symbols["attention_peak_flops"] * gpus)
    compute = t_compute(batch, symbols["active_parameters"], peak * gpus) + attention
    memory = t_mem(read, cache, bandwidth * gpus)
    bound = step_time_max(compute, memory)
    counted = counts(plan.model)
    looked_up = counted.active - counted.active_without_embedding
    total = float(counted.total - looked_up)
    all_weights = every_weight_read(plan)
    best = float(optimal_batch_with_kv(all_weights, context=context, **symbols))
    critical = float(critical_context(**symbols))
    without_kv = optimal_batch(peak, bandwidth, all_weights / total, total, symbols["active_parameters"])
    flops = compute * peak * gpus
    return RooflineReport(
        model=plan.model.name,
        hardware=plan.machine.id,
        gpus=gpus,
        weights=plan.weights.label,
        kv=plan.kv.id,
        batch=batch,
        context=context,
        precision=_precision(plan, peak),
        peak_flops=peak,
        memory_bandwidth=bandwidth,
        ridge_point=ridge_point(peak, bandwidth),
        weight_bytes_read=read,
        kv_bytes_read=cache,
        t_compute_s=compute,
        t_mem_s=memory,
        step_bound_s=bound,
        step_sum_s=step_time_sum(compute, memory),
        limited_by="compute" if compute > memory else "memory",
        arithmetic_intensity=arithmetic_intensity(flops, read + cache),
        optimal_batch_without_kv=float(without_kv),
        optimal_batch=best if math.isfinite(best) else None,
        critical_context_tokens=critical if math.isfinite(critical) else None,
        tokens_per_s_bound=batch / bound,
        steps=_steps(plan, symbols, read, cache, batch, context, (compute, memory, bound, best, critical)),
        notes=(*doubts(plan.machine), *plan.model.notes),
    )


def _precision(plan: Deployment, peak: float) -> str:
    rates = plan.machine.accelerator.peak_flops
    return next((name for name, rate in rates.items() if rate == peak), "")


def _steps(
    plan: Deployment,
    symbols: dict[str, float],
    read: float,
    cache: float,
    batch: int,
    context: int,
    results: tuple[float, float, float, float, float],
) -> tuple[Step, ...]:
    compute, memory, bound, best, critical = results
    machine = plan.machine
    precision = _precision(plan, symbols["peak_flops"])
    peak = datasheet(machine, f"peak_flops.{precision}", symbols["peak_flops"], "FLOP/s")
    bandwidth = datasheet(machine, "memory_bandwidth", symbols["memory_bandwidth"], "B/s")
    source = plan.model.source or "config.json"
    active = Input("active_parameters", symbols["active_parameters"], "parameter", f"counted from {source}")
    gpus = Input("gpus", plan.gpus, "GPU", "your option")
    size = Input("batch", batch, "sequence", "your option")
    length = Input("context", context, "token", "your option")
    kv = Input("kv_bytes_per_token", symbols["kv_bytes_per_token"], "B/token", f"counted from {source}, {plan.kv.id}")
    attention = Input("attention_flops", symbols["attention_flops"], "FLOP/token", f"counted from {source}")
    steps = [
        Step(
            "ridge point",
            "I = C / BW",
            symbols["peak_flops"] / symbols["memory_bandwidth"],
            "FLOP/B",
            (peak, bandwidth),
            "ridge_point",
        ),
        Step("weights read", "sum of the matrices read, experts where hit", read, "B", (size,)),
        Step("KV cache read", "B·S·k, windows capped", cache, "B", (size, length, kv), "kv_bytes"),
        Step(
            "T_compute",
            "B·(2·N_active/C + S·a/C_a) / GPUs",
            compute,
            "s",
            (size, active, peak, length, attention, gpus),
            "t_compute",
        ),
        Step("T_mem", "(W + K) / (BW·GPUs)", memory, "s", (bandwidth, gpus), "t_mem"),
        Step("step, at least", "max(T_compute, T_mem)", bound, "s", (), "step_time_max"),
    ]
    if math.isfinite(best):
        equation = "(W/BW) / (2·N_active/C + S·a/C_a − S·k/BW)"
        steps.append(Step("optimal batch", equation, best, "sequence", (length, kv), "optimal_batch_with_kv"))
    if math.isfinite(critical):
        equation = "(2·N_active/C) / (k/BW − a/C_a)"
        steps.append(Step("critical context", equation, critical, "token", (kv, attention), "critical_context"))
    return tuple(steps)
