"""The shape of the hardware data files and of a user's machine file, checked by pydantic.

Imported only by the compiler of the bundled data, by tests and when a user's file is read: a query for a
bundled machine never loads it.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from infer_cost.hardware_specs.types import PRECISIONS

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=600, strip_whitespace=True)]
Quantity = Annotated[str, StringConstraints(min_length=1, max_length=40)]
Precision = Literal["fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4"]
Keys = Annotated[list[Identifier], Field(min_length=1)]

assert Precision.__args__ == PRECISIONS  # type: ignore[attr-defined]  # one list, spelled twice for the type checker


class Strict(BaseModel):
    """Refuses keys that it doesn't know, so that a typing error can't be passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Strict):
    """Where values were read."""

    text: Text
    read: date
    licence: str = ""


class Sourced(Strict):
    """What every bundled value carries beside its number."""

    source: Annotated[Keys, BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]
    confidence: Literal["two-sources", "one-source", "recalled", "derived"] = "one-source"
    note: str = ""
    readings: list[Text] = []

    @model_validator(mode="after")
    def _two_sources_are_two(self) -> Sourced:
        if self.confidence == "two-sources" and len(self.source) < 2:
            raise ValueError("two-sources needs at least two sources")
        return self


class Value(Sourced):
    """A quantity with its unit: ``"3.35 TB/s"``."""

    value: Quantity


class Count(Sourced):
    """A number of things."""

    value: Annotated[int, Field(gt=0)]


class AcceleratorFile(Strict):
    """One accelerator, one file."""

    id: Identifier
    name: Text
    vendor: Text
    architecture: Text
    year: Annotated[int, Field(ge=2010, le=2035)]
    status: str = ""
    memory_kind: str = ""
    system: Identifier | None = None
    aliases: list[Text] = []
    notes: list[Text] = []
    memory: Value
    shown_memory: Value | None = None
    usable_memory: Value | None = None
    memory_bandwidth: Value
    peak_flops: dict[Precision, Value] = {}
    scale_up_link: str = ""
    scale_up_bandwidth: Value | None = None
    scale_up_domain: Count | None = None
    scale_out_bandwidth: Value | None = None
    host_bandwidth: Value | None = None
    power: Value | None = None
    l2: Value | None = None


class SystemRow(Strict):
    """A box or rack."""

    name: Text
    accelerator: Identifier
    status: str = ""
    aliases: list[Text] = []
    notes: list[Text] = []
    gpus: Count
    scale_up_bandwidth: Value | None = None
    scale_out_bandwidth: Value | None = None
    host_bandwidth: Value | None = None
    host_memory: Value | None = None
    power: Value | None = None
    all_in_power_per_gpu: Value | None = None
    price: Value | None = None


class GpuHour(Sourced):
    """What one accelerator costs an hour at one tier."""

    accelerator: Identifier
    tier: Identifier
    usd: Annotated[float, Field(gt=0, lt=1000)]
    placeholder: bool = False


class FormatRow(Sourced):
    """A number format."""

    name: Text
    bits: Annotated[float, Field(gt=0, le=64)]
    scale_bits: Annotated[int, Field(ge=0)] = 0
    block_size: Annotated[int, Field(ge=1)] = 1
    compute: Annotated[list[Precision], Field(min_length=1)]
    aliases: list[Text] = []


class FigureRow(Sourced):
    """A figure around the machines: a value, a range, or both."""

    name: Text
    value: Quantity | float | None = None
    low: Quantity | float | None = None
    high: Quantity | float | None = None

    @model_validator(mode="after")
    def _says_something(self) -> FigureRow:
        if self.value is None and (self.low is None or self.high is None):
            raise ValueError("needs a value or a range")
        return self


class Given(Strict):
    """A user's figure with where it was read, if they like."""

    value: Quantity
    source: str = ""
    note: str = ""


Figure = Quantity | Given


class UserMachine(Strict):
    """A machine as its owner describes it: four numbers suffice, ``base`` takes the rest from a bundled one."""

    name: Text
    base: str | None = Field(None, description="id of a bundled machine to start from")
    vendor: str | None = None
    architecture: str | None = Field(None, description="efficiencies of chips of the same architecture are used")
    memory: Figure | None = Field(None, description='memory of one accelerator, such as "80 GB"')
    usable_memory: Figure | None = Field(None, description="what a process can allocate of it")
    memory_bandwidth: Figure | None = Field(None, description='such as "3.35 TB/s"')
    peak_flops: dict[Precision, Figure] = Field({}, description='dense rates by precision, such as "989 TFLOP/s"')
    scale_up_bandwidth: Figure | None = Field(None, description="one way, from one accelerator to the others")
    scale_up_domain: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    scale_out_bandwidth: Figure | None = Field(None, description="one way, one accelerator's share of the NICs")
    host_bandwidth: Figure | None = Field(None, description="one way, to the memory of the CPU")
    power: Figure | None = Field(None, description='of one accelerator, such as "700 W"')
    l2: Figure | None = None
    price_per_gpu_hour: Annotated[float, Field(ge=0, lt=1000)] | None = Field(None, description="US dollars")
