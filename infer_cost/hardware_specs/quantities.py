"""Which field of a machine is measured in what: a bandwidth reads ``"3.35 TB/s"`` and refuses ``"80 GB"``."""

from __future__ import annotations

from infer_cost import units

# The reader of each field of a machine file, and the field of the result that it fills.
FIELDS = {
    "memory": ("memory_bytes", units.parse_bytes),
    "shown_memory": ("shown_memory_bytes", units.parse_bytes),
    "usable_memory": ("usable_memory_bytes", units.parse_bytes),
    "memory_bandwidth": ("memory_bandwidth", units.parse_bandwidth),
    "scale_up_bandwidth": ("scale_up_bandwidth", units.parse_bandwidth),
    "scale_out_bandwidth": ("scale_out_bandwidth", units.parse_bandwidth),
    "host_bandwidth": ("host_bandwidth", units.parse_bandwidth),
    "power": ("power_w", units.parse_power),
    "all_in_power_per_gpu": ("all_in_power_per_gpu_w", units.parse_power),
    "l2": ("l2_bytes", units.parse_bytes),
    "host_memory": ("host_memory_bytes", units.parse_bytes),
}


def peak_flops(text: str, *, field: str = "peak_flops") -> float:
    """Read a dense rate in FLOP/s."""
    return units.parse_flops(text, field=field)


def price_usd(text: str, *, field: str = "price") -> float:
    """Read a price in US dollars: ``"269000 USD"``."""
    number, unit = text.split()
    if unit != "USD":
        raise ValueError(f"{field}: {text!r} isn't in USD")
    return float(number)
