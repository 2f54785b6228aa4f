"""Checks of single inputs that every floor shares: finite, in range, whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from infer_cost.errors import InputError, unknown_name

MAX_TOKENS = 100_000_000
"""No context window comes near; a larger count is a slip of the keyboard."""
MAX_GPUS = 1_000_000


def finite(
    field: str, value: float, *, low: float = 0.0, high: float = math.inf, unit: str = "", allowed: str | None = None
) -> float:
    """Return ``value`` if it is a finite number in ``low..high``; ``allowed`` says in words what that is.

    >>> finite("utilization", 0.7, high=1.0)
    0.7
    """
    unit = f" {unit}" if unit else ""
    bounds = allowed or (f"{low:g} to {high:g}{unit}" if math.isfinite(high) else f"{low:g}{unit} or more")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{field} is {value!r}, not a number", field=field, value=value, allowed=bounds)
    if not low <= value <= high:
        raise InputError(f"{field} is {value:g}{unit}", field=field, value=value, allowed=bounds)
    return float(value)


def utilization(value: float) -> float:
    """Return a utilization if it is a share of the time above nothing, up to all of it.

    >>> utilization(0.4)
    0.4
    """
    return finite("utilization", value, low=1e-6, high=1.0, allowed="more than 0, up to 1 (or 100%)")


def whole(field: str, value: int, *, low: int = 1, high: int = MAX_TOKENS) -> int:
    """Return ``value`` if it is a whole number in ``low..high``.

    >>> whole("tp", 8)
    8
    """
    bounds = f"{low:,} to {high:,}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{field} is {value!r}, not a whole number", field=field, value=value, allowed=bounds)
    if not low <= value <= high:
        shown = f"{value:,}" if abs(value) < 10**15 else f"a number of {len(str(abs(value)))} digits"
        raise InputError(f"{field} is {shown}", field=field, value=value, allowed=bounds)
    return value


def known_options(function: Callable[..., Any], options: Mapping[str, Any], *own: str) -> None:
    """Refuse options that ``function`` doesn't take by keyword, by the nearest name; ``own`` are the caller's.

    >>> known_options(whole, {"hihg": 3})
    Traceback (most recent call last):
        ...
    infer_cost.errors.UnknownNameError: unknown option 'hihg'
    did you mean high?
    """
    names = {*(function.__kwdefaults__ or ()), *own}
    for name in options.keys() - names:
        raise unknown_name("option", name, names, field=name)
