"""Machines side by side: what a FLOP, a byte a second and a gigabyte cost and draw on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infer_cost.hardware_specs.summary import Summary, summary
from infer_cost.hardware_specs.types import Machine
from infer_cost.roofline.roofs import ridge_point


@dataclass(frozen=True, slots=True)
class Comparison:
    """One machine's figures and what they cost; all of one accelerator, or of the whole system."""

    summary: Summary
    ridge_flop_per_byte: Mapping[str, float]
    """By precision."""
    all_in_power_w: float | None
    """With its share of the box or rack that it comes in, without the building."""
    usd_per_hour_per_pflops: Mapping[str, float]
    """Dollars an hour for one dense PFLOP/s, by precision; empty without a price."""
    usd_per_hour_per_tbs: float | None
    """Dollars an hour for one TB/s of memory bandwidth."""
    usd_per_hour_per_100_gb: float | None
    """Dollars an hour for 100 GB of memory."""
    watts_per_pflops: Mapping[str, float]
    """All-in watts for one dense PFLOP/s, by precision; empty without a power."""


def compare(machine: Machine) -> Comparison:
    """Return a machine's figures with what they cost an hour and draw.

    Parameters
    ----------
    machine : Machine
        Its default price tier is taken.

    Returns
    -------
    Comparison

    Examples
    --------
    An H100 at 1.69 dollars an hour gives 0.9894 PFLOP/s in BF16:

    >>> from infer_cost.hardware_specs import hardware
    >>> row = compare(hardware("h100-sxm"))
    >>> round(row.usd_per_hour_per_pflops["bf16"], 3), round(row.usd_per_hour_per_tbs, 3)
    (1.708, 0.504)
    """
    row = summary(machine)
    price, power = row.price_usd_per_hour, machine.power_per_gpu_w
    all_in = power * row.gpus if power else None
    return Comparison(
        summary=row,
        ridge_flop_per_byte={p: ridge_point(rate, row.memory_bandwidth) for p, rate in row.peak_flops.items()},
        all_in_power_w=all_in,
        usd_per_hour_per_pflops={p: price / rate * 1e15 for p, rate in row.peak_flops.items()} if price else {},
        usd_per_hour_per_tbs=price / row.memory_bandwidth * 1e12 if price else None,
        usd_per_hour_per_100_gb=price / row.memory_bytes * 100e9 if price else None,
        watts_per_pflops={p: all_in / rate * 1e15 for p, rate in row.peak_flops.items()} if all_in else {},
    )
