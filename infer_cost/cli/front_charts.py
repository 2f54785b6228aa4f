"""Several Pareto fronts on one chart: in a terminal, and as an SVG or HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import three_digits, width

if TYPE_CHECKING:
    from infer_cost.planner.sweep import SweepResult

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ROWS = 18
_TITLES = {
    "output_tokens_per_s_per_user": ("tokens/s a user", 1.0),
    "output_tokens_per_s_per_gpu": ("tokens/s a GPU", 1.0),
    "tpot_s": ("ms an output token", 1e3),
    "ttft_s": ("ms to the first token", 1e3),
    "cost_per_million_output_tokens_usd": ("$ a million output tokens", 1.0),
}

Series = dict[str, list[tuple[float, float]]]


def series_of(answer: SweepResult, pair: tuple[str, str], each: str) -> Series:
    """Return the points of each front, in the order of the rows."""
    columns = answer.columns
    scales = [_TITLES.get(name, (name, 1.0))[1] for name in pair]
    x, y = (columns.index(name) for name in pair)
    name = columns.index(each) if each in columns else None
    series: Series = {}
    for row in answer.rows:
        label = str(row[name]) if name is not None else "front"
        series.setdefault(label, []).append((row[x] * scales[0], row[y] * scales[1]))
    return series


def draw(answer: SweepResult, pair: tuple[str, str], each: str) -> str:
    """Draw the fronts as text, a letter for each series."""
    series = series_of(answer, pair, each)
    if not series:
        return "Nothing to draw."
    columns = max(30, min(width(), 90) - 14)
    high_x, high_y = (max(point[side] for points in series.values() for point in points) for side in (0, 1))
    field = [[" "] * columns for _ in range(_ROWS)]
    for letter, points in zip(_LETTERS, series.values(), strict=False):
        for x, y in points:
            line = _ROWS - 1 - round(y / high_y * (_ROWS - 1))
            field[line][round(x / high_x * (columns - 1))] = letter
    names = [_TITLES.get(name, (name, 1.0))[0] for name in pair]
    lines = [f"{names[1]:>12}"]
    marks = {0: three_digits(high_y), (_ROWS - 1) // 2: three_digits(high_y / 2), _ROWS - 1: "0"}
    lines += [f"{marks.get(place, ''):>10} │{''.join(line)}".rstrip() for place, line in enumerate(field)]
    lines.append(" " * 11 + "└" + "─" * columns)
    lines.append(" " * 12 + "0" + three_digits(high_x).rjust(columns - 1))
    lines.append(" " * 12 + names[0].center(columns).rstrip())
    return "\n".join([*lines, *(f"{letter}  {name}" for letter, name in zip(_LETTERS, series, strict=False))])


def write(path: Path, answer: SweepResult, pair: tuple[str, str], each: str) -> None:
    """Draw the fronts into a file.

    Raises
    ------
    InputError
        For an ending that is neither ``.svg`` nor ``.html``.
    """
    from infer_cost.errors import InputError
    from infer_cost.files import written_whole

    ending = path.suffix.lower()
    if ending not in (".svg", ".html"):
        raise InputError(f"can't draw {path.name}", field="svg", value=str(path), allowed=".svg, .html")
    picture = picture_of(series_of(answer, pair, each), pair)
    if ending == ".html":
        title = "Pareto fronts"
        picture = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><body>{picture}</body></html>'
        )
    with written_whole(path) as unfinished:
        unfinished.write_text(picture, encoding="utf-8")


def picture_of(series: Series, pair: tuple[str, str]) -> str:
    """Return the fronts as an SVG."""
    from infer_cost.report.svg import WIDTH, Axis, svg, tag, text

    height = 300.0 + 18.0 * len(series)
    bottom = 264.0
    across = Axis(0.0, _most(series, 0), 60.0, WIDTH - 16.0)
    up = Axis(0.0, _most(series, 1), bottom, 20.0)
    names = [_TITLES.get(name, (name, 1.0))[0] for name in pair]
    parts = [
        tag("path", class_="axis", d=f"M{across.start} {up.end}V{up.start}H{across.end}"),
        text(across.start + 6, up.end - 6, names[1], class_="soft"),
        text(WIDTH / 2, bottom + 32, names[0], class_="soft", text_anchor="middle"),
    ]
    for part in range(5):
        x, y = across.high * part / 4, up.high * part / 4
        parts.append(text(across.at(x), bottom + 16, f"{x:,.3g}", class_="soft", text_anchor="middle"))
        parts.append(text(across.start - 6, up.at(y) + 4, f"{y:,.3g}", class_="soft", text_anchor="end"))
    for number, (name, points) in enumerate(series.items()):
        colour = f"hsl({number * 360 // max(1, len(series))} 60% 45%)"
        parts += _line(points, across, up, colour)
        place = 300.0 + 18.0 * number
        parts.append(tag("circle", cx=across.start, cy=place - 4, r=4, fill=colour))
        parts.append(text(across.start + 10, place, name))
    return svg("Pareto fronts", height, parts, style=True)


def _most(series: Series, side: int) -> float:
    return max((point[side] for points in series.values() for point in points), default=1.0) * 1.05


def _line(points: Sequence[tuple[float, float]], across: Any, up: Any, colour: str) -> list[str]:
    from infer_cost.report.svg import tag

    placed = [(across.at(x), up.at(y)) for x, y in points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
    dots = [tag("circle", cx=x, cy=y, r=2.5, fill=colour) for x, y in placed]
    return [tag("path", d=f"M{path}", fill="none", stroke=colour, stroke_width=1.5), *dots]
