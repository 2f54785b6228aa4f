"""Charts as SVG text, drawn by hand: no library, no script, small enough to read.

Every chart has the same width in its own units, so that they stand under one another, and takes its colours from
:data:`STYLE`, which a page carries once and a file of its own carries inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH = 460
ROW = 24
STYLE = """
.chart { font: 13px system-ui, sans-serif; --ink: #1a2433; --soft: #5b6778; --line: #c9d1dc;
  --one: #2563b0; --two: #c2570c; --three: #3d8361; --four: #8a5aa8; --five: #d9dfe7; }
.chart text { fill: var(--ink); } .chart .soft { fill: var(--soft); font-size: 12px; }
.chart .axis, .chart .grid { stroke: var(--line); stroke-width: 1; fill: none; } .chart .grid { stroke-dasharray: 2 3; }
.chart .roof { stroke: var(--one); stroke-width: 2.5; fill: none; }
.chart .mark { fill: var(--two); stroke: none; } .chart .dot { fill: var(--one); stroke: none; }
.chart .curve { stroke: var(--one); stroke-width: 1.5; fill: none; }
.chart .fill1 { fill: var(--one); } .chart .fill2 { fill: var(--two); } .chart .fill3 { fill: var(--three); }
.chart .fill4 { fill: var(--four); } .chart .fill5 { fill: var(--five); }
@media (prefers-color-scheme: dark) { .chart { --ink: #e6ebf2; --soft: #9aa7b8; --line: #3c4656;
  --one: #6aa5ee; --two: #f0914a; --three: #6cc39a; --four: #c496e0; --five: #333d4b; } }
@media print { .chart { --ink: #1a2433; --soft: #5b6778; --line: #c9d1dc; --one: #2563b0; --two: #c2570c;
  --three: #3d8361; --four: #8a5aa8; --five: #d9dfe7; } }
"""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear or logarithmic axis: values from ``low`` to ``high`` at places from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value; values outside stand at the ends."""
        low, high = self._measure(self.low), self._measure(self.high)
        share = (self._measure(value) - low) / (high - low) if high > low else 0.0
        return self.start + max(0.0, min(1.0, share)) * (self.end - self.start)

    def _measure(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def decades(self) -> list[float]:
        """Return the powers of ten on it."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]


def svg(name: str, height: float, parts: Iterable[str], *, style: bool = False) -> str:
    """Put the parts of a chart together; with ``style`` as a file that stands alone."""
    inside = f"<style>{STYLE}</style>" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{escape(name)}" '
        f'viewBox="0 0 {WIDTH} {height:g}">{inside}{"".join(parts)}</svg>'
    )


def tag(kind: str, **attributes: Any) -> str:
    """Write an empty element; ``class_`` is ``class``, other underscores are hyphens."""
    return f"<{kind}{_attributes(attributes)}/>"


def text(x: float, y: float, content: str, **attributes: Any) -> str:
    """Write a text at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}"{_attributes(attributes)}>{escape(content)}</text>'


def _attributes(attributes: dict[str, Any]) -> str:
    written = []
    for name, value in attributes.items():
        shown = f"{value:.1f}" if isinstance(value, float) else escape(str(value))
        written.append(f' {name.rstrip("_").replace("_", "-")}="{shown}"')
    return "".join(written)


def waterfall(parts: Sequence[tuple[str, float, str]], name: str, *, style: bool = False) -> str:
    """Draw parts of a whole, each beginning where the one before ended: name, value, the value in words.

    >>> drawn = waterfall([("prefill", 1.0, "1 s"), ("decode", 3.0, "3 s")], "stages")
    >>> drawn.count("<rect"), "decode" in drawn
    (2, True)
    """
    across = Axis(0.0, sum(value for _, value, _ in parts) or 1.0, 226.0, WIDTH - 60.0)
    drawn, begun = [], 0.0
    for place, (label, value, words) in enumerate(parts):
        y = ROW * place + 4.0
        start, end = across.at(begun), across.at(begun + value)
        drawn.append(text(0, y + 13, label))
        if value > 0:
            drawn.append(tag("rect", class_="fill1", x=start, y=y, width=max(end - start, 1.0), height=ROW - 8.0))
        drawn.append(text(WIDTH, y + 13, words, class_="soft", text_anchor="end"))
        begun += value
    return svg(name, ROW * len(parts) + 4, drawn, style=style)


def tornado(
    swings: Sequence[tuple[str, float, float, str]], middle: float, name: str, low_high: str, *, style: bool = False
) -> str:
    """Draw how far an answer moves: name, the answer at the low and at the high input, and both in words.

    >>> drawn = tornado([("price", 8.0, 12.0, "8 to 12")], 10.0, "cost", "20 % less and more")
    >>> drawn.count("fill1"), drawn.count("fill2")
    (1, 1)
    """
    reach = max((abs(value - middle) for _, low, high, _ in swings for value in (low, high)), default=0.0) or 1.0
    across = Axis(middle - reach, middle + reach, 140.0, WIDTH - 145.0)
    centre = across.at(middle)
    drawn = [text(140, 14, low_high, class_="soft")]
    for place, (label, low, high, words) in enumerate(swings):
        y = ROW * place + 24.0
        drawn.append(text(0, y + 13, label))
        for value, fill in ((low, "fill1"), (high, "fill2")):
            start, end = sorted((centre, across.at(value)))
            drawn.append(tag("rect", class_=fill, x=start, y=y, width=max(end - start, 0.5), height=ROW - 8.0))
        drawn.append(text(WIDTH, y + 13, words, class_="soft", text_anchor="end"))
    bottom = ROW * len(swings) + 24.0
    drawn.append(tag("line", class_="axis", x1=centre, x2=centre, y1=20.0, y2=bottom))
    return svg(name, bottom + 4, drawn, style=style)


def memory(parts: Sequence[tuple[str, float, str]], name: str, *, style: bool = False) -> str:
    """Draw one memory as a bar of its parts (name, bytes, words), and a legend below.

    >>> memory([("weights", 70e9, "70 GB"), ("free", 10e9, "10 GB")], "memory").count("<rect")
    4
    """
    across = Axis(0.0, sum(size for _, size, _ in parts) or 1.0, 0.0, float(WIDTH))
    drawn, begun = [], 0.0
    for place, (label, size, words) in enumerate(parts):
        fill = f"fill{place % 5 + 1}"
        start, end = across.at(begun), across.at(begun + size)
        begun += size
        drawn.append(tag("rect", class_=fill, x=start, y=0.0, width=end - start, height=34.0))
        y = 48.0 + 20.0 * place
        drawn.append(tag("rect", class_=fill, x=0.0, y=y, width=12.0, height=12.0))
        drawn.append(text(20, y + 11, label))
        drawn.append(text(WIDTH, y + 11, words, class_="soft", text_anchor="end"))
    return svg(name, 52 + 20 * len(parts), drawn, style=style)


def roofline(
    peak: float, bandwidth: float, points: Sequence[tuple[str, float, float]], name: str, *, style: bool = False
) -> str:
    """Draw the two roofs and points under them: label, intensity [FLOP/B], rate [FLOP/s]. The last is the mark.

    >>> roofline(1e15, 1e12, [("batch 1", 1.0, 1e12)], "roofs").count("<circle")
    1
    """
    height = 260.0
    ridge = peak / bandwidth
    across = roof_axis(ridge)
    up = Axis(across.low * bandwidth, peak * 1.6, height - 36.0, 10.0, log=True)
    drawn = _grid(across, up, height)
    corner = (across.at(ridge), up.at(peak))
    start = (across.at(across.low), up.at(across.low * bandwidth))
    path = f"M{start[0]:.1f} {start[1]:.1f}L{corner[0]:.1f} {corner[1]:.1f}H{across.end:.1f}"
    drawn.append(tag("path", class_="roof", d=path))
    drawn.append(text(across.end, corner[1] - 6, f"{peak / 1e12:,.0f} TFLOP/s", class_="soft", text_anchor="end"))
    drawn.append(text(corner[0], corner[1] + 16, f"ridge {ridge:.0f}", class_="soft"))
    drawn.append(text(WIDTH / 2, height - 2, "arithmetic intensity, FLOP a byte", class_="soft", text_anchor="middle"))
    for place, (label, intensity, rate) in enumerate(points):
        last = place == len(points) - 1
        x, y = across.at(intensity), up.at(rate)
        kind = {"class_": "mark", "id": "roof-mark", "r": 6.0} if last else {"class_": "dot", "r": 4.0}
        drawn.append(tag("circle", cx=x, cy=y, **kind))
        if not last:
            drawn.append(text(x + 8, y + 14, label, class_="soft"))
    return svg(name, height, drawn, style=style)


def roof_axis(ridge: float) -> Axis:
    """Intensities shown in a roofline: from a half to sixteen times the ridge point."""
    return Axis(0.5, max(ridge * 16.0, 100.0), 46.0, WIDTH - 20.0, log=True)


def pareto(
    points: Sequence[tuple[str, float, float]], chosen: int, x_name: str, y_name: str, name: str, *, style: bool = False
) -> str:
    """Draw a curve of operating points (label, x, y), one of them chosen.

    >>> pareto([("1", 90.0, 11.0), ("8", 60.0, 60.0)], 1, "x", "y", "front").count("<circle")
    3
    """
    height = 260.0
    across = Axis(0.0, max(x for _, x, _ in points) * 1.08, 46.0, WIDTH - 16.0)
    up = Axis(0.0, max(y for _, _, y in points) * 1.12, height - 36.0, 10.0)
    drawn = [
        tag("path", class_="axis", d=f"M{across.start} {up.end}V{up.start}H{across.end}"),
        text(across.start + 6, up.end + 6, y_name, class_="soft"),
        text(WIDTH / 2, height - 2, x_name, class_="soft", text_anchor="middle"),
    ]
    for value in _round_steps(across.high):
        drawn.append(text(across.at(value), up.start + 16, f"{value:,g}", class_="soft", text_anchor="middle"))
    for value in _round_steps(up.high):
        drawn.append(text(across.start - 6, up.at(value) + 4, f"{value:,g}", class_="soft", text_anchor="end"))
    path = "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for _, x, y in points)
    drawn.append(tag("path", class_="curve", d=f"M{path}"))
    named: list[tuple[float, float]] = []
    for label, x, y in points:
        place = (across.at(x), up.at(y))
        drawn.append(tag("circle", class_="dot", cx=place[0], cy=place[1], r=3.5))
        if all(abs(place[0] - left) > 30 or abs(place[1] - top) > 13 for left, top in named):
            named.append(place)
            drawn.append(text(place[0] + 7, place[1] - 5, label, class_="soft"))
    _, x, y = points[chosen]
    drawn.append(tag("circle", class_="mark", id="load-mark", cx=across.at(x), cy=up.at(y), r=6.5))
    return svg(name, height, drawn, style=style)


def _grid(across: Axis, up: Axis, height: float) -> list[str]:
    """Lines and labels at the powers of ten of two logarithmic axes."""
    drawn = []
    for value in across.decades():
        x = across.at(value)
        drawn.append(tag("line", class_="grid", x1=x, x2=x, y1=up.end, y2=up.start))
        drawn.append(text(x, height - 20, f"{value:,g}", class_="soft", text_anchor="middle"))
    for value in up.decades():
        y = up.at(value)
        drawn.append(tag("line", class_="grid", x1=across.start, x2=across.end, y1=y, y2=y))
        size, prefix = next(((s, p) for s, p in ((1e15, "P"), (1e12, "T")) if value >= s), (1e9, "G"))
        drawn.append(text(across.start - 4, y + 4, f"{value / size:,g} {prefix}", class_="soft", text_anchor="end"))
    return drawn


def _round_steps(high: float) -> list[float]:
    """Three to six round values from 0 up.

    >>> _round_steps(95.0)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    rough = high / 5.0
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * 0.8)
    return [step * count for count in range(int(high / step) + 1)]
