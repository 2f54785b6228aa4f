"""Charts show what they are given, stay within their width, and survive odd values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.cli import charts
from infer_cost.cli.charts import Point

rates = st.floats(1e9, 1e18)
bandwidths = st.floats(1e9, 1e14)
points = st.lists(st.builds(Point, st.just("p"), st.floats(1e-3, 1e7), st.floats(1e3, 1e18)), max_size=5)


def plot(chart: str) -> list[str]:
    """Lines of a chart between its axes."""
    return [line for line in chart.splitlines() if "┤" in line or "│" in line]


@given(rates, bandwidths, points, st.integers(40, 120))
def test_roofline_keeps_its_width_and_marks_every_point(
    peak: float, bandwidth: float, marks: list[Point], columns: int
) -> None:
    chart = charts.roofline(peak, bandwidth, marks, columns=columns)
    assert all(len(line) <= columns for line in plot(chart))
    assert sum(line.startswith(tuple(f"{letter}  p:" for letter in "ABCDE")) for line in chart.splitlines()) == len(
        marks
    )


def test_roofline_bends_at_the_ridge() -> None:
    lines = plot(charts.roofline(1e15, 1e12, [Point("below", 10, 1e13), Point("flat", 1e4, 1e15)]))
    roof = lines[0]
    assert "─" in roof and roof.index("╭") < roof.index("B")
    assert all("─" not in line for line in lines[1:])


def test_a_faster_point_stands_higher() -> None:
    lines = plot(charts.roofline(1e15, 1e12, [Point("slow", 100, 1e12), Point("fast", 100, 1e14)]))
    row = {letter: next(n for n, line in enumerate(lines) if letter in line) for letter in "AB"}
    assert row["B"] < row["A"]


def test_waterfall_begins_where_the_last_part_ended() -> None:
    first, second = charts.waterfall([("a", 1.0), ("b", 1.0)], str, columns=40).splitlines()
    assert first.rindex("█") + 1 == second.index("█")
    assert first.count("█") == second.count("█")


def test_waterfall_of_nothing_is_nothing() -> None:
    assert charts.waterfall([("a", 0.0)], str) == ""
    assert charts.waterfall([], str) == ""


@given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), st.floats(0, 1e6)), min_size=1, max_size=15))
def test_waterfall_shares_make_a_whole(parts: list[tuple[str, float]]) -> None:
    drawn = charts.waterfall(parts, lambda value: f"{value:.3g}", columns=80)
    if sum(value for _, value in parts) > 0:
        assert len(drawn.splitlines()) == len(parts)
        assert all(len(line) <= 80 for line in drawn.splitlines())


def test_pareto_puts_the_front_on_top() -> None:
    front = [Point("one", 90, 10), Point("two", 50, 50)]
    chart = charts.pareto([*front, Point("worse", 40, 20)], front, x_name="x", y_name="y")
    lines = plot(chart)
    assert any("B" in line for line in lines) and any("·" in line for line in lines)
    assert next(n for n, line in enumerate(lines) if "B" in line) < next(
        n for n, line in enumerate(lines) if "A" in line
    )
    assert "A  one: 90, 10" in chart


@given(st.floats(0, 1e13), st.floats(0, 1e13), st.floats(1e9, 1e13))
def test_memory_bar_is_as_wide_as_asked(weights: float, cache: float, total: float) -> None:
    drawn = charts.memory([("weights", weights), ("KV cache", cache)], total, columns=50)
    assert len(drawn.splitlines()[0]) == 52


def test_memory_that_does_not_fit_says_by_how_much() -> None:
    assert "66.0 GB too much" in charts.memory([("weights", 146e9)], 80e9)
    assert "free 10.0 GB" in charts.memory([("weights", 70e9)], 80e9)


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("roofline llama-3.1-8b --hardware h100-sxm --batch 64", "A  batch 1: "),
        ("journey llama-3.1-8b --hardware h100-sxm", "prefill and decode      "),
        ("estimate llama-3.1-8b --hardware h100-sxm --concurrency 4", "4 in flight: "),
        ("memory llama-3.1-8b --hardware h100-sxm", " █ weights 16.1 GB"),
    ],
)
def test_commands_draw_when_asked(infer_cost: Callable[[str], Any], line: str, sign: str) -> None:
    plain, drawn = infer_cost(line), infer_cost(f"{line} --chart")
    assert drawn.code == 0 and drawn.out.startswith(plain.out)
    assert sign in drawn.out[len(plain.out) :]
    assert infer_cost(f"{line} --chart --json").json
