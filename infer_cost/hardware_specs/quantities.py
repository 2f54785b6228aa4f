"""Which field of a machine is measured in what: a bandwidth reads ``"3.35 TB/s"`` and refuses ``"80 GB"``."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost import units
from infer_cost.errors import UnitError


@dataclass(frozen=True, slots=True)
class Measure:
    """What a field of a machine file holds."""

    result: str
    """The field of the result that it fills."""
    unit: str
    example: str
    low: float
    high: float
    """Limits of what a machine can have; what lies beyond is a slip of the keyboard."""
    bits: bool = False
    """Whether it may be given in bits, as networks are."""

    def read(self, text: str, *, field: str) -> float:
        """Return the quantity in the field's unit.

        Raises
        ------
        UnitError
            There is no unit, one of the wrong kind, or a number that no machine has.
        """
        text = str(text)
        if text.strip().replace(".", "").isdigit():
            raise UnitError(
                f"{field}: {text} has no unit", field=field, value=text, allowed=f'such as "{self.example}"'
            )
        return units.parse(text, self.unit, field=field, minimum=self.low, maximum=self.high, bits=self.bits)


def _bandwidth(result: str, example: str, *, bits: bool = False) -> Measure:
    return Measure(result, "B/s", example, 1e6, 1e18, bits)


FIELDS = {
    "memory": Measure("memory_bytes", "B", "80 GB", 1e6, 1e16),
    "shown_memory": Measure("shown_memory_bytes", "B", "81559 MiB", 1e6, 1e16),
    "usable_memory": Measure("usable_memory_bytes", "B", "79.2 GiB", 1e6, 1e16),
    "memory_bandwidth": _bandwidth("memory_bandwidth", "3.35 TB/s"),
    "scale_up_bandwidth": _bandwidth("scale_up_bandwidth", "450 GB/s"),
    "scale_out_bandwidth": _bandwidth("scale_out_bandwidth", "400 Gb/s", bits=True),
    "host_bandwidth": _bandwidth("host_bandwidth", "64 GB/s"),
    "power": Measure("power_w", "W", "700 W", 0.1, 1e9),
    "all_in_power_per_gpu": Measure("all_in_power_per_gpu_w", "W", "1730 W", 0.1, 1e6),
    "l2": Measure("l2_bytes", "B", "50 MB", 1.0, 1e12),
    "host_memory": Measure("host_memory_bytes", "B", "2048 GB", 1e6, 1e16),
    "price": Measure("price_usd", "USD", "269000 USD", 1.0, 1e10),
}
"""By their names in machine files."""

PEAK = Measure("peak_flops", "FLOP/s", "989 TFLOP/s", 1e9, 1e19)
"""A dense rate."""

SECTIONS = {
    "links": Measure("links", "B/s", "450 GB/s", 1e6, 1e18),
    "nics": Measure("nics", "B/s", "400 Gb/s", 1e6, 1e18, bits=True),
    "switches": Measure("switches", "B/s", "3200 GB/s", 1e6, 1e18),
    "switch_prices": Measure("switch_prices", "USD", "30000 USD", 1.0, 1e9),
    "optics_power": Measure("optics_power", "W", "16 W", 0.1, 1e4),
    "optics_prices": Measure("optics_prices", "USD", "1200 USD", 1.0, 1e6),
    "latencies": Measure("latencies", "s", "2 us", 1e-9, 1.0),
    "purchase": Measure("purchase", "USD", "30000 USD", 1.0, 1e9),
    "depreciation": Measure("depreciation", "years", "5 years", 0.1, 50.0),
    "electricity": Measure("electricity", "USD/kWh", "$0.08/kWh", 0.001, 10.0),
    "colocation": Measure("colocation", "USD/kW/month", "200", 1.0, 1e5),
    "pue": Measure("pue", "ratio", "1.25", 1.0, 5.0),
    "offload_bandwidth": Measure("offload_bandwidth", "B/s", "63 GB/s", 1e6, 1e18),
    "offload_price": Measure("offload_price", "USD/GB", "8 USD/GB", 0.001, 1e4),
}
"""The sections of ``infrastructure.toml``; plain numbers there are in the section's unit."""
