"""Whether a deployment fits, by how much it doesn't, and what would."""

from __future__ import annotations

from dataclasses import replace

from infer_cost.checks import MAX_TOKENS
from infer_cost.errors import CannotBeMetError
from infer_cost.model_specs.weights import weight_bytes, weight_formats
from infer_cost.serving.budget import budget, missing_bytes, sequence_bytes_per_gpu
from infer_cost.serving.deployment import Deployment, Parallelism, legal_tp


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


def _does_not_fit(plan: Deployment, context: int, missing: float) -> CannotBeMetError:
    share = budget(plan)
    ways = remedies(plan, context)
    where = (
        f"{plan.gpus} x {plan.machine.accelerator.name}" if plan.gpus > 1 else f"one {plan.machine.accelerator.name}"
    )
    return CannotBeMetError(
        f"{plan.model.name} in {plan.weights.label} doesn't fit on {where}: {missing / 1e9:,.1f} GB short on each GPU "
        f"(weights {share.weights / 1e9:,.1f} GB, {share.usable / 1e9:,.1f} GB usable, "
        f"{(share.activations + share.runtime) / 1e9:,.1f} GB activations and runtime)",
        field="gpus",
        value=plan.gpus,
        hint=f"would fit: {'; '.join(ways)}" if ways else "nothing that divides this model fits; shorten the context",
    )


def remedies(plan: Deployment, context: int) -> list[str]:
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
    formats = weight_formats(plan.model, format_id)
    narrower = weight_bytes(plan.model, formats) < weight_bytes(plan.model, plan.weights)
    return narrower and missing_bytes(replace(plan, weights=formats), context) == 0


def fewest_gpus(plan: Deployment, context: int) -> int | None:
    """Smallest tensor-parallel size at which the deployment fits at a context, or None."""
    limit = plan.machine.max_gpus or 1024
    for tp in legal_tp(plan.model):
        if tp <= limit and missing_bytes(replace(plan, parallel=Parallelism(tp=tp)), context) == 0:
            return tp
    return None


def longest_context(plan: Deployment, concurrency: int) -> int:
    """Tokens that each of ``concurrency`` sequences may have at once; 0 when not even one token fits.

    At most the context window, and at most a hundred million tokens for a model that states none.
    """
    per_rank = -(-concurrency // plan.parallel.dp)
    room = budget(plan).kv

    def fits(tokens: int) -> bool:
        return bool(per_rank * sequence_bytes_per_gpu(plan, float(tokens)) <= room)

    high = plan.context_limit or MAX_TOKENS
    if fits(high):
        return high
    low = 0
    # The bytes never fall as the context grows, so the boundary is found by halving.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
