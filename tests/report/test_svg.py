"""Charts are well-formed, keep inside their box and put larger values further out."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.report import Content, pictures, svg

SPACE = "{http://www.w3.org/2000/svg}"


def test_every_picture_is_a_file_of_its_own(content: Content) -> None:
    drawn = pictures(content)
    assert {"stages", "load", "roofline", "memory", "time-sensitivity"} <= set(drawn)
    for text in drawn.values():
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SPACE}svg" and root.find(f"{SPACE}style") is not None
        assert not re.search(r"(nan|inf)\b", text) and "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_names_are_escaped() -> None:
    drawn = svg.waterfall([("<script>&", 1.0, "1 s")], 'a "name"')
    assert "<script>" not in drawn
    ElementTree.fromstring(drawn)


positive = st.floats(1e-9, 1e9)


@given(st.lists(st.tuples(st.just("part"), positive, st.just("x")), min_size=1, max_size=15))
def test_waterfall_bars_touch_and_stay_inside(parts: list[tuple[str, float, str]]) -> None:
    bars = ElementTree.fromstring(svg.waterfall(parts, "parts")).findall(f"{SPACE}rect")
    for bar in bars:
        left, width = float(bar.attrib["x"]), float(bar.attrib["width"])
        assert left >= 0 and left + width <= svg.WIDTH


@given(st.floats(1e9, 1e17), st.floats(1e9, 1e14), st.floats(1e-2, 1e6))
def test_roofline_marks_stay_inside(peak: float, bandwidth: float, intensity: float) -> None:
    rate = min(peak, intensity * bandwidth)
    root = ElementTree.fromstring(svg.roofline(peak, bandwidth, [("here", intensity, rate)], "roofs"))
    mark = root.find(f"{SPACE}circle")
    assert mark is not None
    assert 0 <= float(mark.attrib["cx"]) <= svg.WIDTH and 0 <= float(mark.attrib["cy"]) <= 260


def test_an_axis_runs_from_end_to_end() -> None:
    axis = svg.Axis(1.0, 1000.0, 10.0, 40.0, log=True)
    assert [axis.at(value) for value in (1.0, 10.0, 1000.0, 1e9, 0.0)] == pytest.approx([10, 20, 40, 40, 10])
    assert axis.decades() == [1.0, 10.0, 100.0, 1000.0]


def test_tornado_bars_lie_on_their_sides() -> None:
    root = ElementTree.fromstring(svg.tornado([("price", 8.0, 12.0, "")], 10.0, "cost", ""))
    low, high = root.findall(f"{SPACE}rect")
    assert float(low.attrib["x"]) + float(low.attrib["width"]) == pytest.approx(float(high.attrib["x"]), abs=0.2)
