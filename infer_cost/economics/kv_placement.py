"""Where the KV cache of a model on a machine should wait between two calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infer_cost.checks import finite
from infer_cost.economics.defaults import value_of
from infer_cost.economics.gpu_hours import GpuHour
from infer_cost.economics.kv_tiers import (
    TTL_SECONDS,
    Place,
    Span,
    capacity_price,
    cheapest_at,
    cheapest_spans,
    hbm_price,
    keep,
    move,
    recompute,
)
from infer_cost.hardware_specs.infrastructure import figure
from infer_cost.model_specs.kv import element_bytes, kv_bytes_per_sequence
from infer_cost.serving.budget import budget, sequence_bytes_per_gpu
from infer_cost.serving.estimate import estimate_of
from infer_cost.serving.scenario import scenario

IDLE_TIMES = {"1 s": 1.0, "1 min": 60.0, "5 min": 300.0, "1 h": 3600.0, "24 h": 86400.0}


@dataclass(frozen=True, slots=True)
class KvPlacement:
    """The places a cache can wait, and which is the cheapest for how long."""

    model: str
    hardware: str
    gpus: int
    tokens: int
    kv_bytes: float
    """One copy, as it lies outside the GPUs."""
    kv_bytes_in_hbm: float
    """Of all GPUs, copies included."""
    places: tuple[Place, ...]
    spans: tuple[Span, ...]
    cheapest_by_ttl: Mapping[str, str]
    """What vendors' times to live correspond to."""
    assumptions: tuple[str, ...]


def kv_placement(
    model: Any, hardware: Any, hour: GpuHour, tokens: int, *, blocked_share: float = 1.0, **options: Any
) -> KvPlacement:
    """Return what keeping, moving or recomputing a sequence's KV cache costs on a machine.

    Parameters
    ----------
    model, hardware
        As for :func:`infer_cost.serving.estimate.estimate`.
    hour : GpuHour
        Price of a GPU-hour.
    tokens : int
        Length of the cached sequence [token].
    blocked_share : float
        Share of the GPUs that waits while a cache is loaded [1]: 1 when nothing else runs meanwhile.
    options
        As for :func:`infer_cost.serving.scenario.scenario`.

    Notes
    -----
    Every GPU loads its part over its own link, all at once. HBM is priced by the sequences that it could serve
    instead; DRAM and flash by their purchase over the machine's years, used half. Recomputing is one prefill alone
    on the deployment, which is what the estimate gives as TTFT.
    """
    finite("blocked share", blocked_share, high=1.0)
    options = {**options, "input_tokens": tokens, "output_tokens": 1, "concurrency": 1, "cached_tokens": 0}
    question = scenario(model, hardware, **options)
    plan, answer = question.deployment, estimate_of(question)
    # Ranks that hold the same heads, or the same latent, hold copies: HBM keeps them all, elsewhere one is enough.
    on_gpu = float(sequence_bytes_per_gpu(plan, tokens))
    size = float(kv_bytes_per_sequence(plan.model, tokens, element_bytes(plan.kv.id)))
    gigabytes, per_second = size / 1e9, hour.usd * plan.gpus / 3600.0
    per_link = size / on_gpu
    years = hour.owned.years if hour.owned else value_of("years")
    host = plan.machine.host_bandwidth or figure("offload_bandwidth", "dram-pcie5").value or 0.0
    flash, flash_usd = _value("offload_bandwidth", "nvme-gen5"), _value("offload_price", "nvme")
    prefill_s = float(answer.ttft_s.expected)
    places = (
        keep("HBM", on_gpu * plan.gpus / 1e9, hbm_price(hour.usd, budget(plan).kv / 1e9)),
        move(
            "DRAM",
            gigabytes,
            capacity_price(_value("offload_price", "dram"), years, 0.5),
            host * per_link,
            per_second,
            gpu_share_blocked=blocked_share,
        ),
        move(
            "flash",
            gigabytes,
            capacity_price(flash_usd, years, 0.5),
            flash * per_link,
            per_second,
            gpu_share_blocked=blocked_share,
            usd_per_gb_written=flash_usd / value_of("flash_writes"),
        ),
        recompute(prefill_s * plan.gpus, hour.usd / 3600.0, prefill_s),
    )
    return KvPlacement(
        model=answer.model,
        hardware=answer.hardware,
        gpus=plan.gpus,
        tokens=tokens,
        kv_bytes=size,
        kv_bytes_in_hbm=on_gpu * plan.gpus,
        places=places,
        spans=cheapest_spans(places),
        cheapest_by_ttl={name: cheapest_at(places, idle).name for name, idle in TTL_SECONDS.items()},
        assumptions=(
            f"HBM at ${hour.usd:.4g} a GPU-hour over {budget(plan).kv / 1e9:.0f} GB of KV space a GPU",
            f"DRAM at ${_value('offload_price', 'dram'):g} and flash at ${flash_usd:g} a GB (recalled), "
            f"used half, over {years:g} years",
            f"loading over {host / 1e9:.0f} GB/s (DRAM) and {flash / 1e9:.0f} GB/s (flash) a GPU, "
            f"{blocked_share:.0%} of the GPUs waiting",
        ),
    )


def _value(section: str, key: str) -> float:
    value = figure(section, key).value
    assert value is not None
    return value
