"""What the library knows about machines: accelerators, systems, number formats, and where each was read.

Rates are dense FLOP/s and bytes/s in one direction; sizes are bytes (GB decimal unless written GiB).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Confidence = Literal["two-sources", "one-source", "recalled", "derived", "user"]

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4")
"""Keys that ``Accelerator.peak_flops`` may have."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a value was read, when, and how sure it is."""

    source: str
    read: str = ""
    confidence: Confidence = "one-source"
    note: str = ""
    readings: tuple[str, ...] = ()
    """Other readings of a contested value, each with its source."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A number format for weights or KV cache: nominal bits plus the scales that blocks carry."""

    id: str
    name: str
    bits: float
    scale_bits: float = 0.0
    block_size: int = 1
    bits_per_weight: float = 0.0
    """Effective bits a weight, scales included: bits + scale_bits/block_size."""
    compute: tuple[str, ...] = ()
    """Precisions of ``Accelerator.peak_flops`` that multiply it, best first; bf16 for weight-only formats."""
    aliases: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=lambda: Provenance(""))


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One chip as its datasheet has it."""

    id: str
    name: str
    vendor: str
    architecture: str
    memory_bytes: float
    usable_memory_bytes: float
    """What a process can allocate before the serving engine takes its own share."""
    memory_bandwidth: float
    peak_flops: Mapping[str, float]
    """Dense FLOP/s by precision: fp32, tf32, bf16, fp16, fp8, int8, fp6, fp4, ...; only what is stated."""
    scale_up_bandwidth: float | None = None
    """Bytes/s one way from one chip into its scale-up domain."""
    scale_up_domain: int = 1
    scale_out_bandwidth: float | None = None
    """Bytes/s one way from one chip's share of the NICs."""
    host_bandwidth: float | None = None
    power_w: float | None = None
    l2_bytes: float | None = None
    year: int | None = None
    aliases: tuple[str, ...] = ()
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    """By field name (``peak_flops.fp8`` for a precision)."""
    notes: tuple[str, ...] = ()
    system: str | None = None
    """Id of the system that it usually comes in."""
    memory_kind: str = ""
    scale_up_link: str = ""
    """Technology of the scale-up link, in words."""
    status: str = ""
    """Empty once the chip ships and its datasheet stands."""

    @property
    def unverified(self) -> tuple[str, ...]:
        """Names of the fields whose value is a recollection that nothing has confirmed."""
        return tuple(name for name, origin in self.provenance.items() if origin.confidence == "recalled")


@dataclass(frozen=True, slots=True)
class System:
    """A box or rack of accelerators that share a scale-up domain."""

    id: str
    name: str
    accelerator: str
    gpus: int
    scale_up_bandwidth: float | None = None
    scale_out_bandwidth: float | None = None
    host_bandwidth: float | None = None
    host_memory_bytes: float | None = None
    power_w: float | None = None
    """Of the whole system, everything in it."""
    price_usd: float | None = None
    aliases: tuple[str, ...] = ()
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    all_in_power_per_gpu_w: float | None = None
    """With its share of CPU, network and the building, as an analyst's model has it."""
    status: str = ""

    @property
    def unverified(self) -> tuple[str, ...]:
        """Names of the fields whose value is a recollection that nothing has confirmed."""
        return tuple(name for name, origin in self.provenance.items() if origin.confidence == "recalled")


@dataclass(frozen=True, slots=True)
class GpuHourPrice:
    """A price of one accelerator for one hour, in dollars."""

    tier: str
    usd: float
    provenance: Provenance
    placeholder: bool = False
    """The source itself calls the figure a placeholder."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the serving model runs on: an accelerator in the system that it usually comes in.

    ``max_gpus`` is None for an accelerator id (beyond the scale-up domain traffic takes the scale-out network)
    and the system's size for a system id.
    """

    id: str
    name: str
    accelerator: Accelerator
    scale_up_bandwidth: float | None
    scale_up_domain: int
    scale_out_bandwidth: float | None
    host_bandwidth: float | None
    max_gpus: int | None
    power_per_gpu_w: float | None
    """Everything that runs with one accelerator: its share of CPU, network, cooling inside the rack."""
    prices: tuple[GpuHourPrice, ...] = ()
    system: System | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What looks wrong with figures that the user gave; to be printed, not to be refused."""
