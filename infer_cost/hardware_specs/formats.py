"""Number formats by id and by the names that people and checkpoints use."""

from __future__ import annotations

from functools import cache

from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.store import compiled, provenance
from infer_cost.hardware_specs.types import NumberFormat


def number_format(name: str) -> NumberFormat:
    """Return the number format called ``name``: an id, or an alias such as ``float16`` or ``awq``.

    Parameters
    ----------
    name : str
        An id (``bf16``, ``fp8-block``, ``nvfp4``, ``q4_k_m``) or an alias; case doesn't matter.

    Returns
    -------
    NumberFormat
        With ``bits_per_weight`` [bit], the block scales included.

    Raises
    ------
    UnknownNameError
        No format has this name; the nearest are named.

    Examples
    --------
    NVFP4 stores a shared 8-bit scale for each 16 weights, 4 + 8/16 bits:

    >>> number_format("nvfp4").bits_per_weight
    4.5
    >>> number_format("BFloat16").id
    'bf16'
    >>> round(number_format("fp8-block").bits_per_weight, 6)
    8.001953
    """
    if not isinstance(name, str):
        raise InputError("a number format is a name", field="format", value=name, allowed="such as bf16, fp8, nvfp4")
    key = name.strip().lower()
    rows = compiled("formats")
    found = rows["aliases"].get(key) or rows["aliases"].get(key.replace("_", "-"))
    if found is None:
        raise unknown_name(
            "number format", name, rows["formats"], field="format", hint="`infer-cost catalog formats` lists all"
        )
    return _build(found)


def number_formats() -> tuple[NumberFormat, ...]:
    """Return every number format, in the order of the data file."""
    return tuple(_build(key) for key in compiled("formats")["formats"])


@cache
def _build(key: str) -> NumberFormat:
    row = compiled("formats")["formats"][key]
    return NumberFormat(
        id=key,
        name=row["name"],
        bits=row["bits"],
        scale_bits=row["scale_bits"],
        block_size=row["block_size"],
        bits_per_weight=row["bits_per_weight"],
        compute=tuple(row["compute"]),
        aliases=tuple(row["aliases"]),
        provenance=provenance(row["provenance"], compiled("formats")["sources"]),
    )
