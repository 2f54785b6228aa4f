"""``infer-cost report``: a page, charts, JSON, errors."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUESTION = "report llama-3.1-8b --hardware h100-sxm --weights fp8 --output-tokens 100"
Run = Callable[[str], Any]


def test_a_page_and_its_charts(infer_cost: Run, tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "charts"
    answer = infer_cost(f"{QUESTION} -o {page} --svg {folder}")
    assert answer.code == 0 and not answer.err
    assert page.read_text().startswith("<!doctype html>")
    assert {path.name for path in folder.iterdir()} >= {"stages.svg", "roofline.svg", "memory.svg", "load.svg"}
    assert f"wrote {page}" in answer.out


def test_the_page_says_how_to_repeat_it(infer_cost: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    infer_cost(f"{QUESTION} --set 'memory_bandwidth=4 TB/s' -o {page}")
    text = page.read_text().replace("&#x27;", "'")
    start = text.index("infer-cost report llama")
    command = text[start : text.index("</code>", start)]
    again = tmp_path / "again.html"
    assert infer_cost(f"{command.removeprefix('infer-cost ')} -o {shlex.quote(str(again))}").code == 0
    assert again.read_text() == page.read_text()


def test_standard_output_and_json(infer_cost: Run, tmp_path: Path) -> None:
    assert infer_cost(f"{QUESTION} -o -").out.endswith("</html>\n")
    answer = infer_cost(f"{QUESTION} -o {tmp_path}/p.html --json")
    assert answer.json == {"file": f"{tmp_path}/p.html", "bytes": (tmp_path / "p.html").stat().st_size, "charts": []}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("report llama-3.1-405b --hardware h100-sxm -o {}/x.html", 1),
        ("report llama-9 --hardware h100-sxm -o {}/x.html", 2),
        (f"{QUESTION} -o - --json", 2),
        (f"{QUESTION} -o {{}}/no/such/folder.html", 2),
        (f"{QUESTION} -o {{}}", 2),
    ],
)
def test_what_cannot_be_leaves_nothing_behind(infer_cost: Run, tmp_path: Path, line: str, code: int) -> None:
    answer = infer_cost(line.format(tmp_path))
    assert answer.code == code and answer.err.startswith("infer-cost: ")
    assert not list(tmp_path.iterdir())
