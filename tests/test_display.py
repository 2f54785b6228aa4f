"""Results show themselves in a notebook, numbers with units, texts escaped."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

import infer_cost
from infer_cost.display import repr_html
from infer_cost.serving.ranges import Range


class Cells(HTMLParser):
    """Collects texts of cells and checks that tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(html: str) -> list[str]:
    parser = Cells()
    parser.feed(html)
    assert not parser.open
    return parser.texts


@pytest.mark.parametrize("name", ["estimate", "journey", "memory_plan", "roofline_report"])
def test_results_show_themselves(name: str) -> None:
    machine = {"hardware": "h100-sxm"} if name == "memory_plan" else {}
    arguments = ["llama-3.1-8b"] if machine else ["llama-3.1-8b", "h100-sxm"]
    result = getattr(infer_cost, name)(*arguments, weights="fp8", **machine)
    shown = cells(result._repr_html_())
    assert "llama-3.1-8b" in shown and len(shown) > 20


@dataclass
class Sample:
    ttft_s: Range
    weight_bytes: float
    kv_bytes_per_token: float
    tokens_per_s_bound: float
    peak_flops: float
    fits: bool
    notes: tuple[str, ...]
    empty: tuple[str, ...] = ()
    unknown: float | None = None


SAMPLE = Sample(Range(0.1, 0.2, 0.15, 0.3), 70.6e9, 327680.0, 378.0, 1.98e15, True, ("<a>", "b"))


def test_units_follow_from_names() -> None:
    shown = cells(repr_html(SAMPLE))
    assert "200 ms (150 ms to 300 ms; bound 100 ms)" in shown
    assert {"70.6 GB", "328 kB/token", "378 token/s", "1.98 PFLOP/s", "yes", "<a>", "b"} <= set(shown)


def test_what_is_empty_is_left_out() -> None:
    assert not {"empty", "unknown"} & set(cells(repr_html(SAMPLE)))


def test_texts_are_escaped() -> None:
    assert "&lt;a&gt;" in repr_html(SAMPLE) and "<a>" not in repr_html(SAMPLE)
