"""Where a cached prefix lies, and what bringing it to the GPUs adds."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.errors import unknown_name
from infer_cost.hardware_specs.infrastructure import figure
from infer_cost.model_specs.kv import element_bytes, kv_bytes_per_sequence
from infer_cost.serving.program import slowest_link
from infer_cost.serving.scenario import Scenario

TIERS = ("hbm", "dram", "flash", "remote")


@dataclass(frozen=True, slots=True)
class PrefixMove:
    """Moving a cached prefix into the GPUs' memory."""

    seconds: float
    assumption: str


def prefix_move(question: Scenario, tier: str) -> PrefixMove:
    """Return the time to bring the cached tokens' KV from its tier; nothing for HBM, where prefill reads it in place.

    Every GPU fetches its shard over its own link.

    Raises
    ------
    UnknownNameError
        For a tier that doesn't exist.
    """
    if tier not in TIERS:
        raise unknown_name("cache tier", tier, TIERS, field="cache_tier", hint=", ".join(TIERS))
    cached = question.requests.cached_tokens
    if not cached or tier == "hbm":
        return PrefixMove(0.0, "the cached prefix lies in HBM" if cached else "")
    pool = question.prefill_pool
    plan = pool.engine.deployment if pool is not None else question.deployment
    machine = plan.machine
    # Each rank of the tensor group needs its own part; a latent cache is needed whole by every rank.
    per_rank = kv_bytes_per_sequence(plan.model, float(cached), element_bytes(plan.kv.id), tp=plan.parallel.tp)
    links = {
        "dram": machine.host_bandwidth or slowest_link(machine),
        # One drive for each GPU.
        "flash": figure("offload_bandwidth", "nvme-gen5").value or slowest_link(machine),
        "remote": machine.scale_out_bandwidth or slowest_link(machine),
    }
    seconds = float(per_rank) / plan.parallel.pp / links[tier]
    mark = ", recalled and not checked" if tier == "flash" else ""
    return PrefixMove(
        seconds,
        f"the cached prefix comes from {tier}: {per_rank / 1e9:.2f} GB a GPU at {links[tier] / 1e9:.0f} GB/s{mark}",
    )
