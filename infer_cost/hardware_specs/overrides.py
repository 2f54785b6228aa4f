"""A machine with some of its figures replaced by the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.memory import usable_memory
from infer_cost.hardware_specs.quantities import FIELDS, PEAK
from infer_cost.hardware_specs.types import PRECISIONS, Accelerator, GpuHourPrice, Machine, Provenance

_SHARED = ("scale_up_bandwidth", "scale_out_bandwidth", "host_bandwidth")
"""Fields that a machine repeats from its accelerator."""

_SYSTEM = ("shown_memory", "all_in_power_per_gpu", "host_memory", "price")
"""Fields of bundled data that a user has no say in."""

SETTABLE = (
    *(name for name in FIELDS if name not in _SYSTEM),
    "scale_up_domain",
    "price_per_gpu_hour",
    *(f"peak_flops.{precision}" for precision in PRECISIONS),
)
"""What :func:`with_overrides` accepts."""


def with_overrides(machine: Machine, changes: Mapping[str, str | float], *, source: str = "set by the user") -> Machine:
    """Return the machine with the figures in ``changes`` in place of its own.

    A new memory size changes what is usable of it, a new power of the accelerator that of the machine. A rate that
    looks like a with-sparsity figure is taken as given, with a warning among the machine's.

    Parameters
    ----------
    machine : Machine
    changes : mapping of str to str
        Quantities with their units by field: ``{"memory_bandwidth": "4 TB/s", "peak_flops.fp8": "2 PFLOP/s"}``;
        plain numbers for ``scale_up_domain`` and ``price_per_gpu_hour`` [USD].
    source : str, optional
        What is shown as the source of these figures.

    Returns
    -------
    Machine

    Raises
    ------
    UnknownNameError
        There is no such field.
    UnitError
        A quantity has no unit or one of the wrong kind.

    Examples
    --------
    >>> from infer_cost.hardware_specs import hardware
    >>> faster = with_overrides(hardware("h100-sxm"), {"memory_bandwidth": "4 TB/s"})
    >>> faster.accelerator.memory_bandwidth
    4000000000000.0
    """
    chip, warnings = machine.accelerator, list(machine.warnings)
    shared: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in SETTABLE:
            raise unknown_name("field of a machine", name, SETTABLE, field="set", hint=f"fields: {_fields()}")
        origin = Provenance(source, confidence="user")
        if name == "price_per_gpu_hour":
            shared["prices"] = (GpuHourPrice("user", _number(name, value, 0, 1000), origin), *machine.prices)
        elif name == "scale_up_domain":
            shared[name] = int(_number(name, value, 1, 1_000_000))
            chip = replace(chip, scale_up_domain=shared[name])
        elif name.startswith("peak_flops."):
            rate = PEAK.read(str(value), field=name)
            warnings += sparse_warning(chip, name[11:], rate)
            chip = _changed(chip, name, origin, peak_flops={**chip.peak_flops, name[11:]: rate})
        else:
            field = FIELDS[name].result
            figure = FIELDS[name].read(str(value), field=name)
            extra = _consequences(machine, chip, name, figure, changes, shared)
            chip = _changed(chip, field, origin, **{field: figure}, **extra)
            if name in _SHARED:
                shared[name] = figure
    return replace(machine, accelerator=chip, warnings=tuple(warnings), **shared)


def sparse_warning(chip: Accelerator, precision: str, rate: float) -> list[str]:
    """Return a warning if a rate is twice the dense one that is known of this chip, else nothing.

    >>> from infer_cost.hardware_specs import accelerator
    >>> sparse_warning(accelerator("h100-sxm"), "bf16", 1979e12)
    ['bf16 of 1979 TFLOP/s is the rate with sparsity: h100-sxm has 989.4 TFLOP/s dense']
    """
    dense = chip.peak_flops.get(precision)
    if dense is None or not 1.9 < rate / dense < 2.1:
        return []
    return [
        f"{precision} of {rate / 1e12:g} TFLOP/s is the rate with sparsity: "
        f"{chip.id} has {dense / 1e12:g} TFLOP/s dense"
    ]


def _consequences(
    machine: Machine,
    chip: Accelerator,
    name: str,
    figure: float,
    changes: Mapping[str, Any],
    shared: dict[str, Any],
) -> dict[str, Any]:
    if name == "memory" and "usable_memory" not in changes:
        return {"usable_memory_bytes": usable_memory(figure)[0]}
    if name == "power" and machine.power_per_gpu_w is not None:
        shared["power_per_gpu_w"] = machine.power_per_gpu_w + figure - (chip.power_w or 0.0)
    elif name == "power":
        shared["power_per_gpu_w"] = figure
    return {}


def _changed(chip: Accelerator, field: str, origin: Provenance, **values: Any) -> Accelerator:
    return replace(chip, provenance={**chip.provenance, field: origin}, **values)


def _number(field: str, value: str | float, low: float, high: float) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise InputError(
            f"{field} is {value!r}", field=field, value=value, allowed=f"a number from {low:g} to {high:,}"
        )
    return number


def _fields() -> str:
    return ", ".join(name for name in SETTABLE if "." not in name) + ", peak_flops.<precision>"
