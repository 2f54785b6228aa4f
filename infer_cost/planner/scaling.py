"""A day's swing of traffic, and engines that follow it: how long one takes to start, and what following saves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from infer_cost.checks import finite
from infer_cost.errors import InputError
from infer_cost.planner.candidates import Candidate
from infer_cost.planner.result import Plan
from infer_cost.serving.budget import gpu_weight_bytes

WeightsFrom = Literal["disk", "dram", "peer"]

MINUTES = 1440
ENGINE_START_S = 60.0
"""Seconds that an engine takes to start besides loading weights: process, compilation, graph capture. An assumption,
printed where it decides; engines report half a minute to several."""
_BOX = 8
"""GPUs that share a drive."""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """How long an engine takes from nothing to its first request."""

    load_s: float
    """Loading the weights."""
    start_s: float
    """Everything else."""
    source: str
    """Where the weights come from, and how fast."""

    @property
    def total_s(self) -> float:
        """Both."""
        return self.load_s + self.start_s


def cold_start(candidate: Candidate, weights_from: WeightsFrom, start_s: float = ENGINE_START_S) -> ColdStart:
    """Return how long an engine takes to start with its weights on a drive, in host memory or at a peer.

    A drive is shared by the GPUs of a box; from host memory every GPU loads over its own link, from a peer over its
    own NIC.

    Raises
    ------
    InputError
        When the machine's data name no such link.
    """
    from infer_cost.hardware_specs.infrastructure import figure

    machine, per_gpu = candidate.machine, gpu_weight_bytes(candidate.engine.deployment)
    if weights_from == "disk":
        drive = figure("offload_bandwidth", "nvme-gen5")
        whole, sharing, name = drive.value, min(candidate.gpus, _BOX), drive.name
    elif weights_from == "dram":
        whole, sharing, name = machine.host_bandwidth, 1, "host memory, each GPU's link"
    else:
        whole, sharing, name = machine.scale_out_bandwidth, 1, "a peer, each GPU's NIC"
    if not whole:
        known = "disk, dram, peer"
        raise InputError(f"no such link is known for {machine.id}", field="weights_from", allowed=known)
    rate, text = whole / sharing, f"{name}, {whole / 1e9:g} GB/s"
    return ColdStart(per_gpu / rate, finite("start_seconds", start_s, high=86400.0), text)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A day of engines that follow the traffic, against as many as the peak needs all day."""

    usd_per_day: float
    fixed_usd_per_day: float
    fewest: int
    most: int
    """Engines at the quietest and at the busiest minute, spare ones included."""
    start: ColdStart

    @property
    def saving(self) -> float:
        """Share of the cost saved."""
        return 1.0 - self.usd_per_day / self.fixed_usd_per_day


def follow(plan: Plan, swing: float, weights_from: WeightsFrom, start_s: float = ENGINE_START_S) -> Scaled:
    """Return what engines cost that follow a day's sine from the plan's rate down to ``1/swing`` of it.

    An engine has to be asked for a cold start before it is needed, and is paid for from then on.

    Parameters
    ----------
    plan : Plan
        For the peak
    swing : float
        Peak over trough [ratio]
    weights_from : str
        ``disk``, ``dram`` or ``peer``
    start_s : float
        Seconds of a start besides the weights [s]

    Returns
    -------
    Scaled
    """
    finite("daily_swing", swing, low=1.0, high=1000.0)
    starts = [cold_start(pool.candidate, weights_from, start_s) for pool in plan.pools]
    cost, fewest, most = 0.0, 0, 0
    for pool, start in zip(plan.pools, starts, strict=True):
        ahead = min(MINUTES - 1, math.ceil(start.total_s / 60.0))
        peak = pool.rate * (pool.engines - pool.spare)
        needed = [max(1, math.ceil(peak * _share(minute, swing) / pool.most - 1e-9)) for minute in range(MINUTES)]
        running = [max(needed[(minute + later) % MINUTES] for later in range(ahead + 1)) for minute in range(MINUTES)]
        cost += (sum(running) / MINUTES + pool.spare) * 24.0 * pool.candidate.usd_per_hour
        fewest += min(running) + pool.spare
        most += max(running) + pool.spare
    longest = max(starts, key=lambda start: start.total_s)
    return Scaled(cost, 24.0 * plan.usd_per_hour, fewest, most, longest)


def mean_share(swing: float) -> float:
    """Mean traffic of such a day over its peak.

    >>> mean_share(1.0), mean_share(3.0)
    (1.0, 0.6666666666666666)
    """
    return (1.0 + 1.0 / swing) / 2.0


def _share(minute: int, swing: float) -> float:
    """Traffic at a minute over its peak."""
    low = 1.0 / swing
    return low + (1.0 - low) * (1.0 + math.cos(2.0 * math.pi * minute / MINUTES)) / 2.0
