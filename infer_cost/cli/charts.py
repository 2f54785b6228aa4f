"""Pictures for a terminal, as plain text: a roofline, a waterfall, a Pareto front, a memory bar.

Pure functions from numbers to text, without colour, so that a chart can be piped, tested and pasted into a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from infer_cost.cli.output import bar

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FILLS = "█▓▒░"
_MARGIN = 10
"""Columns left of a plot: a tick's label and the axis."""


class Point(NamedTuple):
    """A point in a plot."""

    name: str
    x: float
    y: float


class _LogAxis(NamedTuple):
    """A logarithmic axis in cells of text: powers of ten at its ends."""

    low: float
    high: float
    cells: int

    def cell(self, value: float) -> int:
        """Return the cell that a value lies in, the first or last when it lies outside."""
        share = (math.log10(max(value, 1e-300)) - self.low) / (self.high - self.low)
        return max(0, min(self.cells - 1, round(share * (self.cells - 1))))


def _across(ridge: float, points: Sequence[Point], cells: int) -> _LogAxis:
    """Whole decades that hold the points and one decade either side of the ridge."""
    known = [point.x for point in points if point.x > 0] or [ridge]
    low = math.floor(math.log10(min(*known, ridge / 10.0)))
    return _LogAxis(low, max(math.ceil(math.log10(max(*known, ridge * 10.0))), low + 2), cells)


def _up(peak: float, lowest: float, points: Sequence[Point], columns: int) -> _LogAxis:
    """From the least of the roof and the points up to the peak, at least a decade."""
    low = min([lowest, *(point.y for point in points if point.y > 0), peak / 10.0])
    return _LogAxis(math.log10(low), math.log10(peak), max(8, min(18, round(columns / 4.5))))


def roofline(peak_flops: float, memory_bandwidth: float, points: Sequence[Point], *, columns: int = 72) -> str:
    """Draw the two roofs of a machine and operating points under them, both axes logarithmic.

    Parameters
    ----------
    peak_flops : float
        Dense peak rate [FLOP/s].
    memory_bandwidth : float
        Memory bandwidth [B/s].
    points : sequence of Point
        ``x`` is the arithmetic intensity [FLOP/B], ``y`` the rate reached [FLOP/s]; 26 at most.
    columns : int
        Width of the whole chart.

    Examples
    --------
    >>> print(roofline(989.4e12, 3.35e12, [Point("batch 1", 1, 3.3e12)], columns=44))
         FLOP/s
        989 T ┤                  ╱╭───────────
              │               ╱╱╱
              │            ╱╱╱
        100 T ┤          ╱╱
              │       ╱╱╱
              │    ╱╱╱
         10 T ┤  ╱╱
              │A╱
              └┬───────┬──────┬──────┬───────┬
               1      10     100   1,000  10,000
                            FLOP/B
    A  batch 1: 1 FLOP/B, 3.3 TFLOP/s
    """
    ridge = peak_flops / memory_bandwidth
    across = _across(ridge, points, max(20, columns - _MARGIN - 3))
    up = _up(peak_flops, memory_bandwidth * 10.0**across.low, points, across.cells)
    grid = [[" "] * across.cells for _ in range(up.cells)]
    for place in range(across.cells):
        x = 10.0 ** (across.low + (across.high - across.low) * place / (across.cells - 1))
        line = up.cells - 1 - up.cell(min(peak_flops, x * memory_bandwidth))
        grid[line][place] = "─" if x >= ridge else "╱"
    grid[0][across.cell(ridge)] = "╭"
    for letter, point in zip(_LETTERS, points, strict=False):
        grid[up.cells - 1 - up.cell(point.y)][across.cell(point.x)] = letter
    decades = range(math.ceil(up.low), math.floor(up.high) + 1)
    ticks = {up.cells - 1 - up.cell(10.0**power): _si(10.0**power) for power in decades}
    ticks = {line: text for line, text in ticks.items() if line > 1} | {0: _si(peak_flops)}
    places = [(across.cell(10.0**power), _short(10.0**power)) for power in range(int(across.low), int(across.high) + 1)]
    legend = [
        f"{letter}  {point.name}: {_short(point.x)} FLOP/B, {_si(point.y)}FLOP/s"
        for letter, point in zip(_LETTERS, points, strict=False)
    ]
    return "\n".join([*_frame(grid, ticks, places, "FLOP/s", "FLOP/B"), *legend])


def waterfall(parts: Sequence[tuple[str, float]], write: Callable[[float], str], *, columns: int = 72) -> str:
    """Draw parts of a whole one under another, each beginning where the one before ended.

    Parameters
    ----------
    parts : sequence of (str, float)
        Names and values, not negative.
    write : callable
        Turns a value into text.
    columns : int
        Width of the whole chart.

    Examples
    --------
    >>> print(waterfall([("prefill", 2.0), ("decode", 6.0)], lambda value: f"{value:g} s", columns=40))
    prefill  █████▌                 2 s  25%
    decode         ████████████████ 6 s  75%
    """
    whole = sum(value for _, value in parts)
    if whole <= 0:
        return ""
    names = max(len(name) for name, _ in parts)
    written = [write(value) for _, value in parts]
    room = max(8, columns - names - 2 - max(map(len, written)) - 6)
    lines, begun = [], 0.0
    for (name, value), text in zip(parts, written, strict=True):
        start = round(begun / whole * room)
        begun += value
        drawn = bar(value / whole, room) or ("▏" if value > 0 else "")
        picture = (" " * min(start, room - 1) + drawn)[:room]
        lines.append(f"{name:<{names}}  {picture:<{room}} {text:>{max(map(len, written))}} {value / whole:>4.0%}")
    return "\n".join(lines)


def pareto(
    points: Sequence[Point], front: Sequence[Point], *, x_name: str, y_name: str, columns: int = 72, rows: int = 14
) -> str:
    """Draw configurations (``·``) and those that no other beats in both directions (letters).

    Parameters
    ----------
    points, front : sequence of Point
        All of them, and the ones on the front, which are named underneath.
    x_name, y_name : str
        What the axes show.
    columns, rows : int
        Size of the whole chart, and of the plot in it.

    Examples
    --------
    >>> front = [Point("batch 1", 100, 100), Point("batch 8", 50, 400)]
    >>> print(pareto([*front, Point("worse", 40, 200)], front, x_name="tok/s/user", y_name="tok/s", columns=36, rows=5))
          tok/s
          400 ┤          B
              │
          200 ┤        ·
              │                     A
            0 ┤
              └┬─────────┬──────────┬
               0        50         100
                     tok/s/user
    A  batch 1: 100, 100
    B  batch 8: 50, 400
    """
    every = [*points, *front]
    width = max(20, columns - _MARGIN - 4)
    high_x, high_y = (_round_up(max(value, default=0.0)) for value in ([p.x for p in every], [p.y for p in every]))
    grid = [[" "] * width for _ in range(rows)]

    def mark(point: Point, sign: str) -> None:
        place = round(point.x / high_x * (width - 1))
        line = rows - 1 - round(point.y / high_y * (rows - 1))
        grid[max(0, min(rows - 1, line))][max(0, min(width - 1, place))] = sign

    for point in points:
        mark(point, "·")
    for letter, point in zip(_LETTERS, front, strict=False):
        mark(point, letter)
    ticks = {0: _short(high_y), (rows - 1) // 2: _short(high_y / 2), rows - 1: "0"}
    decades = [(0, "0"), ((width - 1) // 2, _short(high_x / 2)), (width - 1, _short(high_x))]
    legend = [
        f"{letter}  {point.name}: {_short(point.x)}, {_short(point.y)}"
        for letter, point in zip(_LETTERS, front, strict=False)
    ]
    return "\n".join([*_frame(grid, ticks, decades, y_name, x_name), *legend])


def memory(parts: Sequence[tuple[str, float]], total_bytes: float, *, columns: int = 72) -> str:
    """Draw one bar of a memory with its parts, and say below what each is.

    Parameters
    ----------
    parts : sequence of (str, float)
        Names and bytes; what is left to ``total_bytes`` is drawn as free.
    total_bytes : float
        All of the memory [B]. Parts that exceed it are drawn to the bar's end and marked.

    Examples
    --------
    >>> print(memory([("weights", 70e9), ("KV cache", 6e9)], 80e9, columns=40))
    [███████████████████████████████████▓▓▓··]
     █ weights 70.0 GB 88%  ▓ KV cache 6.0 GB 8%  · free 4.0 GB 5%
    """
    used = sum(size for _, size in parts)
    whole = max(total_bytes, used)
    drawn, legend, begun = "", [], 0.0
    for place, (name, size) in enumerate(part for part in parts if part[1] > 0):
        fill = _FILLS[place % len(_FILLS)]
        begun += size
        drawn += fill * (round(begun / whole * columns) - len(drawn))
        legend.append(f"{fill} {name} {size / 1e9:,.1f} GB {size / total_bytes:.0%}")
    if used < total_bytes:
        legend.append(f"· free {(total_bytes - used) / 1e9:,.1f} GB {1 - used / total_bytes:.0%}")
    elif used > total_bytes:
        legend.append(f"{(used - total_bytes) / 1e9:,.1f} GB too much")
    return f"[{drawn.ljust(columns, '·')}]\n " + "  ".join(legend)


def _frame(
    grid: Sequence[Sequence[str]], ticks: dict[int, str], places: Sequence[tuple[int, str]], y_name: str, x_name: str
) -> list[str]:
    """Put axes around a plot: ticks by row, places by column."""
    width = len(grid[0])
    lines = [f"{y_name:>{_MARGIN + 1}}"]
    for number, line in enumerate(grid):
        axis = "┤" if number in ticks else "│"
        lines.append(f"{ticks.get(number, ''):>{_MARGIN - 1}} {axis}{''.join(line)}".rstrip())
    axis_line, labels = ["─"] * width, [" "] * (width + 4)
    for place, text in places:
        axis_line[place] = "┬"
        start = max(0, min(place - len(text) // 2, width + 2 - len(text)))
        if all(sign == " " for sign in labels[max(0, start - 1) : start + len(text) + 1]):
            labels[start : start + len(text)] = text
    lines.append(" " * _MARGIN + "└" + "".join(axis_line))
    lines.append((" " * (_MARGIN + 1) + "".join(labels)).rstrip())
    lines.append((" " * (_MARGIN + 1) + x_name.center(width)).rstrip())
    return lines


def _si(value: float) -> str:
    """Write a rate with the prefix of its thousands: ``3.3 T``."""
    for limit, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= limit:
            return f"{value / limit:.3g} {prefix}"
    return f"{value:.3g} "


def _short(value: float) -> str:
    """Write a number in few letters."""
    return f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:.3g}"


def _round_up(value: float) -> float:
    """Return the next number above that makes a good end of an axis: 1, 2, 4 or 5 and zeros."""
    if value <= 0:
        return 1.0
    step = 10.0 ** math.floor(math.log10(value))
    return next(factor * step for factor in (1.0, 2.0, 4.0, 5.0, 10.0) if factor * step >= value * (1 - 1e-9))
