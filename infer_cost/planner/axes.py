"""The axes of a sweep: lists, ranges and geometric ranges, as they are typed or written in a TOML file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

from infer_cost.errors import InputError, shorten

Kind = Literal["int", "float", "str", "bool"]

MAX_VALUES = 10_000_000
"""Values that one axis may have; a longer one is a slip of the keyboard."""

_NUMBER = r"[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:([*+])({_NUMBER}))?")
_SYNTAX = "1,2,4 or 1..256 or 1..256+8 or 128..131072*2"


def axis(field: str, text: Any, kind: Kind) -> Sequence[Any]:
    """Return the values of an axis.

    Parameters
    ----------
    field : str
        Name of the option, for messages.
    text : object
        What was given: one value, a list of values, or text: ``1,2,4,8`` (a list), ``1..256`` (every whole number),
        ``1..256+8`` (steps of 8), ``128..131072*2`` (each twice the last), and lists of these.
    kind : {"int", "float", "str", "bool"}
        What the values are.

    Returns
    -------
    sequence
        The values in the order given, without repetitions. A whole range stays a ``range`` and takes no memory.

    Raises
    ------
    InputError
        For text that is none of these, an empty axis, or one of more than ten million values.

    Examples
    --------
    >>> axis("tp", "1,2,4,8", "int"), axis("concurrency", "1..256", "int")
    ((1, 2, 4, 8), range(1, 257))
    >>> axis("input_tokens", "128..2048*2", "int")
    (128, 256, 512, 1024, 2048)
    """
    parts = text if isinstance(text, list | tuple) else [text]
    if len(parts) == 1 and isinstance(parts[0], str):
        parts = [part.strip() for part in parts[0].split(",") if part.strip()]
    expanded = [_values(field, part, kind) for part in parts]
    if len(expanded) == 1:
        return expanded[0]
    if not expanded:
        raise InputError(f"{field} has no value", field=field, value=text, allowed=_SYNTAX)
    if sum(len(values) for values in expanded) > MAX_VALUES:
        raise _too_many(field, text)
    return tuple(dict.fromkeys(value for values in expanded for value in values))


def _values(field: str, part: Any, kind: Kind) -> Sequence[Any]:
    if isinstance(part, str) and kind in ("int", "float"):
        found = _RANGE.fullmatch(part.strip())
        if found:
            return _range(field, part, kind, *found.groups())
    return (_single(field, part, kind),)


def _single(field: str, part: Any, kind: Kind) -> Any:
    text = part.strip() if isinstance(part, str) else part
    try:
        if kind == "str":
            if isinstance(text, str) and text:
                return text
        elif kind == "bool":
            if isinstance(text, bool) or str(text).lower() in ("true", "false"):
                return text is True or str(text).lower() == "true"
        elif not isinstance(text, bool):
            number = int(text) if kind == "int" and not isinstance(text, float) else _quantity(field, text)
            if kind == "float" or number == int(number):
                return int(number) if kind == "int" else number
    except (ValueError, TypeError, OverflowError):
        pass
    wanted = {"int": _SYNTAX, "float": "numbers", "str": "names", "bool": "true, false"}[kind]
    raise InputError(f"{field} can't be {shorten(str(part))!r}", field=field, value=part, allowed=wanted)


def _quantity(field: str, text: Any) -> float:
    """Read a number that may have a unit: ``$2.50/h`` for a price, ``70%`` for a share."""
    from infer_cost.units import parse

    return parse(text, "USD/h" if field == "price_per_gpu_hour" else "ratio", field=field)


def _range(field: str, text: str, kind: Kind, first: str, last: str, sign: str | None, by: str | None) -> Sequence[Any]:
    low, high = _single(field, first, kind), _single(field, last, kind)
    if low > high:
        raise InputError(f"{field} runs backwards: {text}", field=field, value=text, allowed=f"{last}..{first}")
    step: float = float(by) if by else 1.0
    if sign == "*":
        if step <= 1.0 or low <= 0:
            raise InputError(f"{field} never gets there: {text}", field=field, value=text, allowed="a factor above 1")
        return _geometric(low, high, step, kind)
    if step <= 0:
        raise InputError(f"{field} never gets there: {text}", field=field, value=text, allowed="a step above 0")
    if (high - low) / step > MAX_VALUES:
        raise _too_many(field, text)
    if kind == "int":
        return range(low, high + 1, int(_single(field, by or "1", "int")))
    return tuple(low + step * index for index in range(math.floor((high - low) / step + 1e-9) + 1))


def _geometric(low: float, high: float, factor: float, kind: Kind) -> tuple[Any, ...]:
    found: dict[float, None] = {}
    value = float(low)
    while value <= high * (1 + 1e-12):
        found[round(value) if kind == "int" else value] = None
        value *= factor
    return tuple(found)


def _too_many(field: str, text: Any) -> InputError:
    return InputError(
        f"{field} has too many values: {shorten(str(text))}", field=field, value=text, allowed=f"{MAX_VALUES:,} an axis"
    )
