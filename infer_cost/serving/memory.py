"""What fits: weights, KV cache, activations and the runtime's share on each GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from infer_cost.checks import known_options, whole
from infer_cost.display import repr_html
from infer_cost.errors import CannotBeMetError, InferCostError
from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.types import Machine
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.catalog import model as find_model
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import (
    KvAllocator,
    element_bytes,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    state_bytes_per_sequence,
)
from infer_cost.model_specs.lora import Adapter, adapter_bytes, adapter_flops_per_token
from infer_cost.model_specs.naive import naive_kv_bytes_per_token
from infer_cost.model_specs.weights import WeightFormats, weight_bytes, weight_formats
from infer_cost.serving.budget import budget, missing_bytes, sequence_bytes_per_gpu
from infer_cost.serving.deployment import Deployment, deployment
from infer_cost.serving.fit import fewest_gpus, longest_context, remedies


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes of a model, and of its deployment where one is given. Fields about the machine are None without one."""

    _repr_html_ = repr_html

    model: str
    weights: str
    kv: str
    context: int
    parameters_total: int
    parameters_active: int
    weight_bytes: float
    kv_bytes_per_token: float
    kv_growth_bytes_per_token: float
    kv_bytes_per_sequence: float
    state_bytes_per_sequence: float
    kv_allocator: KvAllocator
    kv_allocated_bytes_per_sequence: float
    """What an engine with this allocator sets aside for a sequence."""
    naive_kv_bytes_per_sequence: float
    """What a count that charges every layer the whole context would say."""
    adapter_bytes: float = 0.0
    """All resident LoRA adapters."""
    adapter_flops_per_token: float = 0.0
    fits: bool | None = None
    kv_budget_bytes: float | None = None
    """Of all GPUs together."""
    max_concurrent_sequences: int | None = None
    gpus: int | None = None
    hardware: str | None = None
    usable_bytes_per_gpu: float | None = None
    weight_bytes_per_gpu: float | None = None
    activation_bytes_per_gpu: float | None = None
    runtime_bytes_per_gpu: float | None = None
    kv_budget_bytes_per_gpu: float | None = None
    kv_bytes_per_sequence_per_gpu: float | None = None
    missing_bytes_per_gpu: float | None = None
    """What the weights and one sequence lack on each GPU; 0 when they fit."""
    remedies: tuple[str, ...] = ()
    """What would make it fit, in words."""
    fewest_gpus: int | None = None
    """Smallest tensor-parallel size that holds the model and one sequence."""
    concurrency: int = 1
    longest_context: int | None = None
    """Tokens that each of ``concurrency`` sequences may have at once."""
    vllm_command: str | None = None
    """The command that gives this plan."""
    notes: tuple[str, ...] = ()


def memory_plan(
    model: str | Path | Architecture,
    hardware: str | Path | Machine | None = None,
    *,
    weights: str | None = None,
    kv: str | None = None,
    context: int | None = None,
    concurrency: int = 1,
    weights_everywhere: bool = False,
    assume: str | None = None,
    kv_allocator: KvAllocator = "paged",
    adapter: Adapter | None = None,
    adapters: int = 1,
    **options: Any,
) -> MemoryPlan:
    """Return the bytes of a model and, with ``hardware``, what fits on it.

    Parameters
    ----------
    model : str, path or Architecture
        Catalog name or config.json.
    hardware : str, path or Machine, optional
        Where it is to run.
    weights, kv : str, optional
        Number formats.
    context : int, optional
        Tokens of a sequence; the model's context window (at most 8,192 tokens of it) when absent.
    concurrency : int
        Sequences at once that ``longest_context`` is for.
    assume : str, optional
        Architecture to read a config of an unknown type as.
    kv_allocator : {"exact", "paged", "unified"}
        How the engine sets cache aside: by the token, by blocks, or every layer the whole context.
    adapter, adapters : Adapter, int
        A LoRA adapter served beside the model, and how many like it stay resident.
    options
        As for :func:`infer_cost.serving.deployment.deployment`: gpus, tp, pp, dp, ep, engine, max_model_len, ...

    Returns
    -------
    MemoryPlan
        ``fits`` is False, and ``missing_bytes_per_gpu`` says by how much, when it doesn't; nothing is raised for that.

    Raises
    ------
    CannotBeMetError
        When ``context`` exceeds the context window.

    Examples
    --------
    >>> plan = memory_plan("llama-3.1-70b", weights="fp8", context=12022)
    >>> round(plan.weight_bytes / 1e9, 1), plan.kv_bytes_per_token
    (72.7, 327680.0)
    """
    known_options(deployment, options, *(memory_plan.__kwdefaults__ or ()))
    whole("concurrency", concurrency, high=10_000_000)
    whole("adapters", adapters, high=1_000_000)
    architecture = model if isinstance(model, Architecture) else find_model(model, assume=assume)
    extras = _Extras(kv_allocator, adapter, adapters)
    if hardware is None:
        return _model_only(architecture, weights, kv, context, weights_everywhere, extras)
    plan = deployment(architecture, hardware, weights=weights, kv=kv, weights_everywhere=weights_everywhere, **options)
    plan = replace(plan, adapter_bytes=extras.adapter_bytes(architecture))
    return _on_machine(plan, _context(architecture, context, plan.max_model_len), concurrency, extras)


@dataclass(frozen=True, slots=True)
class _Extras:
    """What the question adds to a model: an allocator, and adapters."""

    allocator: KvAllocator
    adapter: Adapter | None
    adapters: int

    def adapter_bytes(self, model: Architecture) -> float:
        return adapter_bytes(model, self.adapter, self.adapters) if self.adapter else 0.0


def _context(model: Architecture, context: int | None, max_model_len: int | None = None) -> int:
    limits = [limit for limit in (model.context_length, max_model_len) if limit]
    limit = min(limits) if limits else None
    if context is None:
        return min(limit or 8192, 8192)
    whole("context", context)
    if limit is not None and context > limit:
        raise CannotBeMetError(
            f"context {context:,} is beyond the window of {model.name}",
            field="context",
            value=context,
            allowed=f"1 to {limit:,} tokens",
        )
    return context


def _model_only(
    model: Architecture, weights: str | None, kv: str | None, context: int | None, everywhere: bool, extras: _Extras
) -> MemoryPlan:
    formats = weight_formats(model, weights, everywhere=everywhere)
    stored = model.quantization.kv_format if model.quantization else None
    cache = number_format(stored or "bf16" if kv is None else kv).id
    return MemoryPlan(**_model_fields(model, formats, cache, _context(model, context), extras))


def _model_fields(
    model: Architecture, formats: WeightFormats, kv: str, context: int, extras: _Extras
) -> dict[str, Any]:
    counted = counts(model)
    width = element_bytes(kv)
    length = float(context)
    return {
        "model": model.name,
        "weights": formats.label,
        "kv": kv,
        "context": context,
        "parameters_total": counted.total,
        "parameters_active": counted.active,
        "weight_bytes": weight_bytes(model, formats),
        "kv_bytes_per_token": kv_bytes_per_token(model, width),
        "kv_growth_bytes_per_token": kv_growth_bytes_per_token(model, width),
        "kv_bytes_per_sequence": kv_bytes_per_sequence(model, length, width),
        "state_bytes_per_sequence": state_bytes_per_sequence(model),
        "kv_allocator": extras.allocator,
        "kv_allocated_bytes_per_sequence": kv_bytes_per_sequence(model, length, width, allocator=extras.allocator),
        "naive_kv_bytes_per_sequence": naive_kv_bytes_per_token(model, width) * context,
        "adapter_bytes": extras.adapter_bytes(model),
        "adapter_flops_per_token": adapter_flops_per_token(model, extras.adapter) if extras.adapter else 0.0,
        "notes": tuple(model.notes),
    }


def _on_machine(plan: Deployment, context: int, concurrency: int, extras: _Extras) -> MemoryPlan:
    share = budget(plan)
    per_sequence = sequence_bytes_per_gpu(plan, float(context), extras.allocator)
    missing = missing_bytes(plan, context)
    fitting = int(max(0.0, share.kv) // max(per_sequence, 1.0)) * plan.parallel.dp
    fields = _model_fields(plan.model, plan.weights, plan.kv.id, context, extras)
    fields["notes"] = (*fields["notes"], *_machine_notes(plan))
    return MemoryPlan(
        **fields,
        fits=missing == 0,
        kv_budget_bytes=max(0.0, share.kv) * plan.gpus,
        max_concurrent_sequences=fitting,
        gpus=plan.gpus,
        hardware=plan.machine.id,
        usable_bytes_per_gpu=share.usable,
        weight_bytes_per_gpu=share.weights,
        activation_bytes_per_gpu=share.activations,
        runtime_bytes_per_gpu=share.runtime,
        kv_budget_bytes_per_gpu=share.kv,
        kv_bytes_per_sequence_per_gpu=per_sequence,
        missing_bytes_per_gpu=missing,
        remedies=tuple(remedies(plan, context)) if missing else (),
        fewest_gpus=fewest_gpus(plan, context),
        concurrency=concurrency,
        longest_context=longest_context(plan, concurrency),
        vllm_command=None if missing else _vllm_command(plan, context, fitting),
    )


def _vllm_command(plan: Deployment, context: int, sequences: int) -> str:
    from infer_cost.serving.flags import engine_command

    batch = max(1, min(plan.max_num_seqs, sequences // plan.parallel.dp))
    return engine_command(plan, "vllm", plan.max_model_len or context, batch)


def _machine_notes(plan: Deployment) -> tuple[str, ...]:
    notes = [
        f"{plan.memory_utilization:.0%} of the GPU's memory is given to the engine",
        f"{plan.engine.runtime_reserve_bytes / 1e9:.1f} GB a GPU are reserved for the runtime (assumption)",
    ]
    fewest_kv = min((g.layer.mixer.kv_heads for g in plan.model.groups if g.layer.mixer.kv_heads), default=0)
    if fewest_kv and plan.parallel.tp > fewest_kv:
        copies = plan.parallel.tp // fewest_kv
        notes.append(f"each KV head is held by {copies} GPUs (tp {plan.parallel.tp}, {fewest_kv} KV heads)")
    return tuple(notes)


def fit_error(plan: MemoryPlan) -> InferCostError | None:
    """Return the error that says that a plan doesn't fit, or None when it does."""
    if plan.fits is not False or plan.missing_bytes_per_gpu is None:
        return None
    hint = f"would fit: {'; '.join(plan.remedies)}" if plan.remedies else None
    return CannotBeMetError(
        f"{plan.model} in {plan.weights} doesn't fit on {plan.gpus} x {plan.hardware}: "
        f"{plan.missing_bytes_per_gpu / 1e9:,.1f} GB short on each GPU",
        field="gpus",
        value=plan.gpus,
        hint=hint,
    )
