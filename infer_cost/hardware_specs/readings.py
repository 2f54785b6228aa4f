"""Datasheet values as inputs of an explanation: what was read, where, when, and how sure it is."""

from __future__ import annotations

from infer_cost.hardware_specs.types import GpuHourPrice, Machine, Provenance
from infer_cost.steps import Input


def provenance_words(origin: Provenance | None) -> str:
    """Where a value was read, when, and how sure it is, in one line."""
    if origin is None:
        return "no source recorded"
    read = f", read {origin.read}" if origin.read else ""
    return f"{origin.source}{read} ({origin.confidence})"


def datasheet(machine: Machine, field: str, value: float, unit: str) -> Input:
    """Return a value of the accelerator's datasheet with its source."""
    return Input(field, value, unit, provenance_words(machine.accelerator.provenance.get(field)))


def price_input(price: GpuHourPrice) -> Input:
    """Return a price of a GPU-hour with its tier and source."""
    placeholder = "; the source calls it a placeholder" if price.placeholder else ""
    source = f"{provenance_words(price.provenance)}{placeholder}"
    return Input(f"price_per_gpu_hour, {price.tier}", price.usd, "USD/h", source)
