"""Quantities as people write them: "3.35 TB/s", "80 GB", "989 TFLOP/s", "20 ms", "$2.50/h"; and the other way.

A quantity is read against the unit that the field is stated in, and comes back as a float in that unit. A unit of
another kind is an error, and so are bits where bytes are meant and spellings that leave bits and bytes open ("80gb").
Plain numbers are taken to be in the stated unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from infer_cost.errors import UnitError, shorten

Dimension = dict[str, int]
"""Exponents of the base units: B, bit, s, FLOP, USD, J, m, token. Other counts (layers, GPUs) have no dimension."""

_NUMBER = re.compile(r"([+-]?[\d.][\d.,_]*(?:[eE][+-]?\d+)?)")
_LONGEST = 80
_LARGE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
_SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_MULTIPLES = {**_LARGE, "B": 1e9, "million": 1e6, "billion": 1e9, "trillion": 1e12}
"""What may follow a plain count: 70B parameters, 12k tokens."""

_UNITS: dict[str, tuple[Dimension, float]] = {
    "%": ({}, 0.01),
    "FLOPS": ({"FLOP": 1, "s": -1}, 1.0),
    "OPS": ({"FLOP": 1, "s": -1}, 1.0),
    "bps": ({"bit": 1, "s": -1}, 1.0),
    "Bps": ({"B": 1, "s": -1}, 1.0),
    "W": ({"J": 1, "s": -1}, 1.0),
    "Wh": ({"J": 1}, 3600.0),
    "Hz": ({"s": -1}, 1.0),
}
_SPELLINGS: dict[str, tuple[str, float]] = {
    "B byte bytes Byte Bytes": ("B", 1.0),
    "b bit bits": ("bit", 1.0),
    "s sec second seconds": ("s", 1.0),
    "min minute minutes": ("s", 60.0),
    "h hr hour hours": ("s", 3600.0),
    "d day days": ("s", 86400.0),
    "year years yr": ("s", 31.536e6),
    "FLOP FLOPs flop flops": ("FLOP", 1.0),
    "USD $": ("USD", 1.0),
    "J": ("J", 1.0),
    "m": ("m", 1.0),
    "token tokens tok": ("token", 1.0),
}
for _names, (_base, _factor) in _SPELLINGS.items():
    _UNITS.update(dict.fromkeys(_names.split(), ({_base: 1}, _factor)))
_COUNTS = (
    "sequence seq request req parameter param weight layer element head expert rank chip GPU gpu server node host "
    "machine replica stage batch step block core cycle link switch port tier rail group table erlang payment ratio "
    "fraction"
)
for _name in _COUNTS.split():
    _UNITS.update(dict.fromkeys((_name, f"{_name}s"), ({}, 1.0)))
_UNITS.update({"1": ({}, 1.0), "x": ({}, 1.0), "batches": ({}, 1.0), "switches": ({}, 1.0)})
_NO_SMALL = frozenset({"B", "bit", "FLOP", "token"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit taken apart: exponents of the base units, and what one of it is in them."""

    dimension: Dimension
    factor: float


@lru_cache(maxsize=512)
def unit(text: str) -> Unit:
    """Take a unit apart.

    Parameters
    ----------
    text : str
        A unit: names with prefixes, joined by ``/`` and ``*``, with parentheses: ``TB/s``, ``USD/(B*s)``.

    Returns
    -------
    Unit
        Its dimension and its size in base units.

    Raises
    ------
    UnitError
        For a unit that isn't known.

    Examples
    --------
    >>> unit("GiB/s").factor, unit("GiB/s").dimension
    (1073741824.0, {'B': 1, 's': -1})
    >>> unit("kWh").factor
    3600000.0
    """
    dimension: Dimension = {}
    factor = 1.0
    inverse = [1]
    sign = 1
    for token in re.findall(r"[()*/·]|[^()*/·\s]+", text):
        if token == "(":
            inverse.append(inverse[-1] * sign)
            sign = 1
        elif token == ")":
            if len(inverse) == 1:
                raise _unknown(text)
            inverse.pop()
            sign = 1
        elif token in "*/·":
            sign = -1 if token == "/" else 1
        else:
            part, size = _named(token, text)
            power = sign * inverse[-1]
            factor *= size**power
            for base, exponent in part.items():
                dimension[base] = dimension.get(base, 0) + exponent * power
    if len(inverse) != 1:
        raise _unknown(text)
    return Unit({base: exponent for base, exponent in dimension.items() if exponent}, factor)


def _named(name: str, whole: str) -> tuple[Dimension, float]:
    """Dimension and size of one name with its prefix."""
    if name in _UNITS:
        return _UNITS[name]
    for length, prefixes in ((2, _BINARY), (1, _LARGE), (1, _SMALL)):
        scale, rest = prefixes.get(name[:length]), _UNITS.get(name[length:])
        if scale is None or rest is None or not rest[0]:
            continue
        bases = set(rest[0])
        if (prefixes is _BINARY and not bases & {"B", "bit"}) or (prefixes is _SMALL and bases & _NO_SMALL):
            continue
        return rest[0], rest[1] * scale
    raise _unknown(whole)


def _unknown(text: str) -> UnitError:
    hint = None
    if re.fullmatch(r"[kmgtp]i?b(/s|ps)?", text):
        hint = "write GB for bytes or Gb for bits, and /s for a rate"
    return UnitError(f"unknown unit {shorten(text)!r}", field="unit", value=text, hint=hint)


def parse(
    value: str | float,
    stated: str,
    *,
    field: str = "value",
    minimum: float | None = 0.0,
    maximum: float | None = None,
    bits: bool = False,
) -> float:
    """Read a quantity and return it in the stated unit.

    Parameters
    ----------
    value : str or float
        What the user wrote; a plain number is in the stated unit.
    stated : str
        The unit of the field: ``B/s``, ``USD/h``, ``token``; ``ratio`` for none.
    field : str
        The field's name, for the error.
    minimum, maximum : float, optional
        Limits in the stated unit; None for none.
    bits : bool
        Whether bits are welcome and turned into bytes (a network link); otherwise they are refused.

    Returns
    -------
    float
        The quantity in the stated unit; finite.

    Raises
    ------
    UnitError
        For a unit that isn't known or is of another kind, and for bits where bytes are meant.
    InputError
        For what isn't a number, isn't finite, or lies outside the limits.

    Examples
    --------
    >>> parse("3.35 TB/s", "B/s"), parse("$2.50/h", "USD/h"), parse("70B", "parameter")
    (3350000000000.0, 2.5, 70000000000.0)
    >>> parse("400 Gb/s", "B/s", bits=True)
    50000000000.0
    >>> parse("400 Gb/s", "B/s", field="link_bandwidth")
    Traceback (most recent call last):
        ...
    infer_cost.errors.UnitError: link_bandwidth: '400 Gb/s' is in bits, bytes are meant; allowed: a quantity in B/s
    400 Gb/s are 50 GB/s
    """
    if isinstance(value, str):
        number, name = _split(value, field)
        if name:
            number = _convert(number, name, stated, value, field, bits)
    else:
        number = float(value)
    if not math.isfinite(number):
        raise _bad(field, value, "isn't a finite number")
    if minimum is not None and number < minimum:
        raise _bad(field, value, f"is below {minimum:g}")
    if maximum is not None and number > maximum:
        raise _bad(field, value, f"is above {maximum:g}")
    return number


def _bad(field: str, value: object, problem: str) -> UnitError:
    return UnitError(f"{field}: {shorten(str(value))!r} {problem}", field=field, value=value)


def _split(text: str, field: str) -> tuple[float, str]:
    """Separate the number from its unit; a dollar sign may stand before the number."""
    if len(text) > _LONGEST:
        raise _bad(field, text, "is too long for a quantity")
    body = "".join(text.split()).replace("per", "/")
    dollars = body.startswith("$")
    match = _NUMBER.match(body, 1 if dollars else 0)
    if match is None:
        finite = body.lower().lstrip("+-") not in ("nan", "inf", "infinity")
        raise _bad(field, text, "isn't a number with a unit" if finite else "isn't a finite number")
    digits = match.group().replace("_", "")
    if "," in digits and not re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", digits):
        raise _bad(field, text, "has a comma where no thousands end; write a decimal point")
    try:
        number = float(digits.replace(",", ""))
    except ValueError:
        raise _bad(field, text, "isn't a number with a unit") from None
    return number, ("USD" if dollars else "") + body[match.end() :]


def _convert(number: float, name: str, stated: str, text: str, field: str, bits: bool) -> float:
    target = unit(stated)
    if not target.dimension.keys() - {"token"} and name in _MULTIPLES:
        return number * _MULTIPLES[name]
    try:
        given = unit(name)
    except UnitError as error:
        raise UnitError(
            f"{field}: unknown unit in {shorten(text)!r}",
            field=field,
            value=text,
            allowed=f"a quantity in {stated}",
            hint=error.hint,
        ) from None
    if given.dimension == target.dimension or _per_token_left_out(given, target):
        return number * given.factor / target.factor
    if _swap_bits(given).dimension == target.dimension:
        as_bytes = number * _swap_bits(given).factor / target.factor
        if bits:
            return as_bytes
        written = format_quantity(as_bytes * target.factor, _base_name(target.dimension))
        meant, came = ("bytes", "bits") if "bit" in given.dimension else ("bits", "bytes")
        raise UnitError(
            f"{field}: {shorten(text)!r} is in {came}, {meant} are meant",
            field=field,
            value=text,
            allowed=f"a quantity in {stated}",
            hint=f"{text} are {written}",
        )
    raise UnitError(
        f"{field}: {shorten(text)!r} is of another kind ({_base_name(given.dimension) or 'no unit'})",
        field=field,
        value=text,
        allowed=f"a quantity in {stated}",
    )


def _per_token_left_out(given: Unit, target: Unit) -> bool:
    """Whether only "per token" (or "tokens") is missing, which is fine unless the stated unit is per million."""
    without = {base: exponent for base, exponent in target.dimension.items() if base != "token"}
    return given.dimension == without and target.factor == 1.0


def _swap_bits(given: Unit) -> Unit:
    """The same unit with bytes for bits, or bits for bytes."""
    old, new, factor = ("bit", "B", 0.125) if "bit" in given.dimension else ("B", "bit", 8.0)
    exponent = given.dimension.get(old, 0)
    rest = {base: power for base, power in given.dimension.items() if base != old}
    return Unit({**rest, new: exponent} if exponent else rest, given.factor * factor**exponent)


def _base_name(dimension: Dimension) -> str:
    """Write a dimension as a unit: ``B/s``."""
    over = "*".join(base for base, exponent in dimension.items() for _ in range(exponent))
    under = "*".join(base for base, exponent in dimension.items() for _ in range(-exponent))
    if not under:
        return over
    return f"{over or '1'}/({under})" if "*" in under else f"{over or '1'}/{under}"


def format_quantity(value: float, stated: str, *, digits: int = 3) -> str:
    """Write a quantity as people do, with three significant digits unless told otherwise.

    Parameters
    ----------
    value : float
        The quantity in the stated unit.
    stated : str
        Its unit.
    digits : int
        Significant digits.

    Returns
    -------
    str
        Number and unit; counts in full with thousands separators.

    Examples
    --------
    >>> format_quantity(3.35e12, "B/s"), format_quantity(0.0211, "s"), format_quantity(3017.6, "token")
    ('3.35 TB/s', '21.1 ms', '3,018 tokens')
    >>> format_quantity(2.39e-7, "USD/token"), format_quantity(70.6e9, "parameter")
    ('$0.239/Mtok', '70.6 billion parameters')
    """
    if stated in ("ratio", "fraction", "1"):
        return _digits(value, digits)
    if stated.startswith("USD"):
        if stated == "USD/token":
            value, stated = value * 1e6, "USD/Mtok"
        return f"{'-' if value < 0 else ''}${_digits(abs(value), digits)}{stated[3:]}"
    head = re.split(r"[*/]", stated)[0]
    if head in ("s", "B", "bit", "FLOP", "J", "W", "Hz", "m"):
        small = head not in _NO_SMALL
        scale, prefix = _prefix(value, small=small)
        return f"{_digits(value / scale, digits)} {prefix}{stated}"
    if stated == "kWh" or not unit(stated).dimension.keys() <= {"token"} or "/" in stated:
        return f"{_digits(value, digits)} {stated}"
    plural = (
        stated
        if value == 1 or stated == "erlang"
        else {"batch": "batches", "switch": "switches"}.get(stated, f"{stated}s")
    )
    return f"{_count(value, digits)} {plural}"


def _prefix(value: float, *, small: bool) -> tuple[float, str]:
    """The prefix that leaves one to three digits before the point; seconds and the like shrink, bytes don't."""
    size = abs(value)
    steps = [("n", 1e-9), ("µ", 1e-6), ("m", 1e-3), ("", 1.0)] if small else [("", 1.0)]
    if not small:
        steps += [(prefix, _LARGE[prefix]) for prefix in "kMGTPEZY"]
    best = steps[0]
    for step in steps:
        if size >= step[1] * 0.9995:
            best = step
    return (1.0, "") if size == 0 else (best[1], best[0])


def _count(value: float, digits: int) -> str:
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e7, "million")):
        if abs(value) >= size:
            return f"{_digits(value / (1e6 if size == 1e7 else size), digits)} {word}"
    return f"{value:,.0f}" if abs(value) >= 1000 else _digits(value, digits)


def _digits(value: float, digits: int) -> str:
    """So many significant digits, thousands separated, an exponent only far from one."""
    if value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _reader(stated: str, what: str, *, bits: bool = False) -> Callable[..., float]:
    """Make the reader of one kind of quantity."""

    def read(text: str | float, *, field: str = what) -> float:
        return parse(text, stated, field=field, bits=bits)

    read.__doc__ = f"Read a {what} in {stated}; see :func:`parse`."
    return read


parse_bytes = _reader("B", "size")
parse_bandwidth = _reader("B/s", "bandwidth", bits=True)  # networks are quoted in bits
parse_flops = _reader("FLOP/s", "rate")
parse_power = _reader("W", "power")
parse_duration = _reader("s", "duration")
