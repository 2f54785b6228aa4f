"""A user's own machine: reads their TOML file, checks it, says in a line what is wrong with it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infer_cost.errors import InputError, UnknownNameError, shorten
from infer_cost.hardware_specs.bundled import accelerator, accelerator_ids, build_machine, machine
from infer_cost.hardware_specs.memory import usable_memory
from infer_cost.hardware_specs.overrides import sparse_warning, with_overrides
from infer_cost.hardware_specs.quantities import FIELDS, PEAK
from infer_cost.hardware_specs.types import Accelerator, GpuHourPrice, Machine, Provenance

if TYPE_CHECKING:
    from infer_cost.hardware_specs.schema import Figure, UserMachine

TEMPLATE = """\
# A machine of your own, for `--hardware FILE.toml`. Four numbers suffice: memory, bandwidth, one rate, power.
# Rates are dense (half of a headline "with sparsity"), bandwidths one way, GB decimal (write GiB if you mean it).
name = "My accelerator"
memory = "80 GB"
memory_bandwidth = "3.35 TB/s"
power = "700 W"

[peak_flops]
bf16 = "989 TFLOP/s"
# fp8 = "1979 TFLOP/s"                # each precision as the datasheet has it; what is missing runs in 16 bits

# Optional, above the [peak_flops] line:
# base = "h100-sxm"                   # start from a bundled machine and give only what differs
# architecture = "Hopper"             # use the efficiencies measured on chips of this architecture
# vendor = "NVIDIA"
# usable_memory = "79.2 GiB"          # what a process can allocate
# scale_up_bandwidth = "450 GB/s"     # one way, from one accelerator to the others in its domain
# scale_up_domain = 8
# scale_out_bandwidth = "400 Gb/s"    # one accelerator's share of the NICs
# host_bandwidth = "64 GB/s"
# price_per_gpu_hour = 2.0            # US dollars
# memory = { value = "80 GB", source = "datasheet of 2026-01" }   # a figure with its source
"""

_NEEDED = {"memory": '"80 GB"', "memory_bandwidth": '"3.35 TB/s"'}


def machine_from_file(path: str) -> Machine:
    """Read a machine file.

    Parameters
    ----------
    path : str
        A TOML file as ``infer-cost catalog hardware --template`` prints it.

    Returns
    -------
    Machine

    Raises
    ------
    InputError
        The file can't be read, isn't TOML, lacks a figure or has one too many.
    UnitError
        A quantity has no unit or one of the wrong kind.
    """
    described = _checked(path, _read(path))
    source = f"{path}, the user's file"
    if described.base:
        return _from_base(path, described, source)
    return _from_nothing(path, described, source)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a machine file."""
    from infer_cost.hardware_specs.schema import UserMachine

    return UserMachine.model_json_schema()


def _read(path: str) -> dict[str, Any]:
    from infer_cost.files import read_toml

    file = Path(path)
    if file.is_dir():
        raise InputError(f"{path} is a directory", field="hardware", value=path, allowed="a TOML file")
    if not os.path.lexists(file):
        hint = "`infer-cost catalog hardware --template` prints one to start from"
        raise InputError(f"there is no file {shorten(path)}", field="hardware", value=path, hint=hint) from None
    return read_toml(file, field="hardware")


def _checked(path: str, content: dict[str, Any]) -> UserMachine:
    from pydantic import ValidationError

    from infer_cost.hardware_specs.schema import UserMachine

    try:
        return UserMachine.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise _explained(path, first, UserMachine.model_fields) from None


def _explained(path: str, first: Any, known: Any) -> InputError:
    from difflib import get_close_matches

    field = ".".join(str(part) for part in first["loc"] if str(part) not in ("Given", "constrained-str"))
    value = first.get("input")
    if first["type"] == "extra_forbidden":
        near = get_close_matches(field, list(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return InputError(f"{path}: no field {shorten(field)!r}", field=field, value=value, hint=hint)
    if first["type"] == "missing":
        return InputError(f"{path}: {field} is missing", field=field)
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and field.split(".")[0] in (*FIELDS, "peak_flops")
    ):
        return InputError(
            f"{path}: {field} is {value} without a unit", field=field, value=value, allowed='such as "80 GB"'
        )
    return InputError(f"{path}: {field}: {first['msg'].lower()}", field=field, value=value)


def _from_base(path: str, described: UserMachine, source: str) -> Machine:
    try:
        base = machine(str(described.base))
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{path}: base: {error.message}", field="base", value=described.base, allowed=error.allowed, hint=error.hint
        ) from None
    changes: dict[str, str | float] = {name: _text(figure) for name, figure in _figures(described).items()}
    changes |= {f"peak_flops.{p}": _text(figure) for p, figure in described.peak_flops.items()}
    for name in ("scale_up_domain", "price_per_gpu_hour"):
        if getattr(described, name) is not None:
            changes[name] = getattr(described, name)
    return _renamed(with_overrides(base, changes, source=source), described)


def _renamed(machine: Machine, described: UserMachine) -> Machine:

    chip = replace(
        machine.accelerator,
        name=described.name,
        vendor=described.vendor or machine.accelerator.vendor,
        architecture=described.architecture or machine.accelerator.architecture,
    )
    # The chip keeps its id: the efficiencies measured on it still hold.
    return replace(machine, id=_slug(described.name), name=described.name, accelerator=chip)


def _from_nothing(path: str, described: UserMachine, source: str) -> Machine:
    figures = _figures(described)
    for name, example in _NEEDED.items():
        if name not in figures:
            raise InputError(f"{path}: {name} is missing", field=name, allowed=f"such as {example}")
    if not described.peak_flops:
        raise InputError(
            f"{path}: peak_flops is missing", field="peak_flops", allowed='a rate such as bf16 = "989 TFLOP/s"'
        )
    values: dict[str, Any] = {}
    origins = {}
    for name, figure in figures.items():
        field = FIELDS[name].result
        values[field] = FIELDS[name].read(_text(figure), field=name)
        origins[field] = _origin(figure, source)
    if "usable_memory_bytes" not in values:
        values["usable_memory_bytes"], note = usable_memory(values["memory_bytes"])
        origins["usable_memory_bytes"] = Provenance("arithmetic", confidence="derived", note=note)
    peaks: dict[str, float] = {
        p: PEAK.read(_text(figure), field=f"peak_flops.{p}") for p, figure in described.peak_flops.items()
    }
    origins |= {f"peak_flops.{p}": _origin(figure, source) for p, figure in described.peak_flops.items()}
    chip = Accelerator(
        id=_slug(described.name),
        name=described.name,
        vendor=described.vendor or "",
        architecture=described.architecture or "",
        peak_flops=peaks,
        scale_up_domain=described.scale_up_domain or 1,
        provenance=origins,
        **values,
    )
    price = described.price_per_gpu_hour
    rates = () if price is None else (GpuHourPrice("user", price, Provenance(source, confidence="user")),)

    machine = build_machine(chip, None, limited=False, rates=rates)
    return replace(machine, warnings=tuple(_sparse_warnings(chip)))


def _sparse_warnings(chip: Accelerator) -> list[str]:
    """Warn of with-sparsity rates of a chip that looks like a bundled one: the same memory and bandwidth."""
    for key in accelerator_ids():
        known = accelerator(key)
        if _close(chip.memory_bytes, known.memory_bytes) and _close(chip.memory_bandwidth, known.memory_bandwidth):
            found = [w for p, rate in chip.peak_flops.items() for w in sparse_warning(known, p, rate)]
            if found:
                return found
    return []


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 0.03 * other


def _figures(described: UserMachine) -> dict[str, Figure]:
    found = {name: getattr(described, name, None) for name in FIELDS}
    return {name: figure for name, figure in found.items() if figure is not None}


def _text(figure: Figure) -> str:
    return figure if isinstance(figure, str) else figure.value


def _origin(figure: Figure, source: str) -> Provenance:
    if isinstance(figure, str):
        return Provenance(source, confidence="user")
    return Provenance(figure.source or source, confidence="user", note=figure.note)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split()) or "user-machine"
