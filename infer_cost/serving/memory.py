"""What fits: weights, KV cache, activations and the runtime's share on each GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infer_cost.checks import whole
from infer_cost.errors import CannotBeMetError, InferCostError
from infer_cost.hardware_specs.types import Machine
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import (
    KvAllocator,
    element_bytes,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    state_bytes_per_sequence,
)
from infer_cost.model_specs.weights import weight_bytes, weight_formats
from infer_cost.serving.deployment import Deployment, deployment, legal_tp
from infer_cost.serving.program import local_elements


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes of a model, and of its deployment where one is given. Fields about the machine are None without one."""

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
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of one GPU: what may be used, what weights, activations and the runtime take, what is left for KV."""

    usable: float
    weights: float
    activations: float
    runtime: float

    @property
    def kv(self) -> float:
        """Left for KV cache and state; negative when the weights alone are too large."""
        return self.usable - self.weights - self.activations - self.runtime


def gpu_weight_bytes(plan: Deployment) -> float:
    """Bytes of weights on the fullest GPU: its shard of the layers of one pipeline stage, and one end of the model.

    The first stage holds the embedding and the last one the head; vectors are replicated over tensor ranks.
    """
    model, formats, parallel = plan.model, plan.weights, plan.parallel
    layers = 0.0
    for group in model.groups:
        inner = sum(
            local_elements(matrix, group.layer.mixer, plan) * formats.matrix_bits(matrix) / 8
            for matrix in group.layer.matrices
        )
        vectors = group.layer.vectors + group.layer.expert_vectors / (parallel.tp * parallel.dp)
        layers += group.count * (inner + formats.vector_bytes(vectors))
    stage = layers / model.layers * math.ceil(model.layers / parallel.pp)
    embedding = formats.matrix_bytes(model.embedding)
    head = formats.matrix_bytes(model.head) if model.head is not None else 0.0
    ends = embedding + head if parallel.pp == 1 else max(embedding, head)
    return stage + ends / parallel.tp + formats.vector_bytes(model.vectors + model.lookup_vectors)


def budget(plan: Deployment) -> Budget:
    """Divide one GPU's memory.

    Activations are those of a full token budget: the residual stream and the widest intermediate of a layer in 16
    bits, and the logits of every running sequence in 32.
    """
    model, parallel = plan.model, plan.parallel
    widest = max(
        (
            max(group.layer.ffn.width, group.layer.ffn.shared_width) / parallel.tp
            + group.layer.ffn.experts_per_token * group.layer.ffn.expert_width * parallel.dp / parallel.tp
            for group in model.groups
        ),
        default=0.0,
    )
    tokens = min(plan.max_batched_tokens, plan.context_limit or plan.max_batched_tokens)
    stream = tokens * (4 * model.hidden_size + 3 * widest) * 2
    logits = min(plan.max_num_seqs, tokens) * model.vocab_size / parallel.tp * 4
    return Budget(
        usable=plan.machine.accelerator.usable_memory_bytes * plan.memory_utilization,
        weights=gpu_weight_bytes(plan),
        activations=stream + logits,
        runtime=plan.engine.runtime_reserve_bytes,
    )


def sequence_bytes_per_gpu(plan: Deployment, context: Any, allocator: KvAllocator = "paged") -> Any:
    """Bytes that one sequence holds on the GPUs of its rank, cache and state; ``context`` may be an array."""
    cache = kv_bytes_per_sequence(
        plan.model, context, element_bytes(plan.kv.id), tp=plan.parallel.tp, allocator=allocator
    )
    state = state_bytes_per_sequence(plan.model) / plan.parallel.tp
    return (cache + state) / plan.parallel.pp


def sequences_that_run(plan: Deployment, context: Any) -> Any:
    """Sequences that can run at once in the whole deployment, by KV capacity and the engine's own limit."""
    from infer_cost.roofline.dispatch import floor, maximum, minimum

    held = maximum(sequence_bytes_per_gpu(plan, context), 1.0)
    by_memory = floor(maximum(budget(plan).kv, 0.0) / held) * plan.parallel.dp
    return minimum(by_memory, plan.max_num_seqs * plan.parallel.dp)


def require_fit(plan: Deployment, context: int) -> None:
    """Refuse a deployment whose weights and one sequence don't fit.

    Raises
    ------
    CannotBeMetError
        Saying by how much, and what would fit.
    """
    missing = missing_bytes(plan, context)
    if missing > 0:
        raise _does_not_fit(plan, context, missing)


def missing_bytes(plan: Deployment, context: Any) -> Any:
    """Bytes that the weights and one sequence lack on each GPU, 0 when they fit; ``context`` may be an array."""
    from infer_cost.roofline.dispatch import maximum

    return maximum(0.0, sequence_bytes_per_gpu(plan, context * 1.0) - budget(plan).kv)


def _does_not_fit(plan: Deployment, context: int, missing: float) -> CannotBeMetError:
    share = budget(plan)
    remedies = _remedies(plan, context)
    where = (
        f"{plan.gpus} x {plan.machine.accelerator.name}" if plan.gpus > 1 else f"one {plan.machine.accelerator.name}"
    )
    return CannotBeMetError(
        f"{plan.model.name} in {plan.weights.label} doesn't fit on {where}: {missing / 1e9:,.1f} GB short on each GPU "
        f"(weights {share.weights / 1e9:,.1f} GB, {share.usable / 1e9:,.1f} GB usable, "
        f"{(share.activations + share.runtime) / 1e9:,.1f} GB activations and runtime)",
        field="gpus",
        value=plan.gpus,
        hint=f"would fit: {'; '.join(remedies)}"
        if remedies
        else "nothing that divides this model fits; shorten the context",
    )


def _remedies(plan: Deployment, context: int) -> list[str]:
    """Ways to make it fit: more GPUs, or narrower weights on these."""
    found = []
    more = fewest_gpus(plan, context)
    if more is not None:
        found.append(f"--gpus {more}")
    for narrower in ("fp8", "int4-g128"):
        if _fits_as(plan, context, narrower):
            found.append(f"--weights {narrower}")
            break
    return found


def _fits_as(plan: Deployment, context: int, format_id: str) -> bool:
    from dataclasses import replace

    formats = weight_formats(plan.model, format_id)
    narrower = weight_bytes(plan.model, formats) < weight_bytes(plan.model, plan.weights)
    return narrower and missing_bytes(replace(plan, weights=formats), context) == 0


def fewest_gpus(plan: Deployment, context: int) -> int | None:
    """Smallest tensor-parallel size at which the deployment fits at a context, or None."""
    from dataclasses import replace

    from infer_cost.serving.deployment import Parallelism

    limit = plan.machine.max_gpus or 1024
    for tp in legal_tp(plan.model):
        if tp <= limit and missing_bytes(replace(plan, parallel=Parallelism(tp=tp)), context) == 0:
            return tp
    return None


def memory_plan(
    model: str | Path | Architecture,
    *,
    hardware: str | Path | Machine | None = None,
    weights: str | None = None,
    kv: str | None = None,
    context: int | None = None,
    weights_everywhere: bool = False,
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
    if hardware is None and not isinstance(model, Architecture):
        from infer_cost.model_specs.catalog import model as find_model

        model = find_model(model)
    if hardware is None:
        assert isinstance(model, Architecture)
        return _model_only(model, weights, kv, context, weights_everywhere)
    plan = deployment(model, hardware, weights=weights, kv=kv, weights_everywhere=weights_everywhere, **options)
    return _on_machine(plan, _context(plan.model, context, plan.max_model_len))


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
    model: Architecture, weights: str | None, kv: str | None, context: int | None, everywhere: bool
) -> MemoryPlan:
    from infer_cost.hardware_specs.formats import number_format

    formats = weight_formats(model, weights, everywhere=everywhere)
    stored = model.quantization.kv_format if model.quantization else None
    cache = number_format(kv or stored or "bf16").id
    return MemoryPlan(**_model_fields(model, formats, cache, _context(model, context)))


def _model_fields(model: Architecture, formats: Any, kv: str, context: int) -> dict[str, Any]:
    counted = counts(model)
    width = element_bytes(kv)
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
        "kv_bytes_per_sequence": kv_bytes_per_sequence(model, float(context), width),
        "state_bytes_per_sequence": state_bytes_per_sequence(model),
        "notes": tuple(model.notes),
    }


def _on_machine(plan: Deployment, context: int) -> MemoryPlan:
    share = budget(plan)
    per_sequence = sequence_bytes_per_gpu(plan, float(context))
    missing = missing_bytes(plan, context)
    fields = _model_fields(plan.model, plan.weights, plan.kv.id, context)
    fields["notes"] = (*fields["notes"], *_machine_notes(plan))
    return MemoryPlan(
        **fields,
        fits=missing == 0,
        kv_budget_bytes=max(0.0, share.kv) * plan.gpus,
        max_concurrent_sequences=int(max(0.0, share.kv) // max(per_sequence, 1.0)) * plan.parallel.dp,
        gpus=plan.gpus,
        hardware=plan.machine.id,
        usable_bytes_per_gpu=share.usable,
        weight_bytes_per_gpu=share.weights,
        activation_bytes_per_gpu=share.activations,
        runtime_bytes_per_gpu=share.runtime,
        kv_budget_bytes_per_gpu=share.kv,
        kv_bytes_per_sequence_per_gpu=per_sequence,
        missing_bytes_per_gpu=missing,
        remedies=tuple(_remedies(plan, context)) if missing else (),
    )


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
