"""The page is one file, asks nothing of a network, says what the library says, and a browser computes the same."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from infer_cost.report import Content, gather, html_page, write_page
from infer_cost.report.values import State, first_state, values
from infer_cost.report.words import amount

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


class Reader(HTMLParser):
    """Collects what a reader sees by the names that the script uses, and every address in the page."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, str] = {}
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self._name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        if "id" in given:
            self.ids.append(given["id"] or "")
        self._name = given.get("data-out") or ""
        if self._name:
            self.shown.setdefault(self._name, "")

    def handle_data(self, data: str) -> None:
        if self._name:
            self.shown[self._name] = data
            self._name = ""


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def expected(content: Content, state: State) -> dict[str, str]:
    shown = values(content, state)
    return {name: value if isinstance(value, str) else amount(value, unit) for name, (value, unit) in shown.items()}


def test_without_scripts_it_says_what_the_library_says(content: Content) -> None:
    seen = read(html_page(content)).shown
    wanted = expected(content, first_state(content))
    assert len(seen) > 100
    assert {name: wanted[name] for name in seen} == seen


def test_it_loads_nothing(content: Content) -> None:
    page = html_page(content)
    assert read(page).addresses == []
    assert "default-src 'none'" in page and "@import" not in page and "url(" not in page


def test_ids_are_unique_and_stages_complete(content: Content) -> None:
    ids = read(html_page(content)).ids
    assert len(ids) == len(set(ids))
    assert {f"stage-{number}" for number in range(1, 16)} <= set(ids)


def test_embedded_data_is_plain_json(content: Content) -> None:
    page = html_page(content)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert len(data["loads"]) == len(content.loads)
    assert "<" not in found[1]


def test_texts_from_outside_are_escaped() -> None:
    content = gather("llama-3.1-8b", "h100-sxm", command='infer-cost report "</script><b>x"')
    page = html_page(content)
    assert "<b>x" not in page and html.escape("</script><b>x") in page


def test_a_page_is_written_whole_or_not_at_all(dense: Content, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert write_page(dense, target) == target.stat().st_size
    with pytest.raises(OSError):
        write_page(dense, tmp_path / "nowhere" / "report.html")
    with pytest.raises(OSError):
        write_page(dense, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_pipes_are_written_to_and_links_followed(dense: Content, tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target.html", tmp_path / "link.html", tmp_path / "pipe"
    link.symlink_to(target)
    write_page(dense, link)
    assert link.is_symlink() and target.read_text().startswith("<!doctype html>")
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        size = write_page(dense, pipe)
        assert reader.stdout is not None and len(reader.stdout.read()) == size
    assert pipe.is_fifo()


def browse(page: Path, address: str = "") -> str:
    """Open a page in a browser, run its scripts, and return the document as it stands then."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={page.parent / 'profile'}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            f"{page.as_uri()}{address}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@needs_browser
@pytest.mark.parametrize("name", ["dense", "experts", "one token", "no price"])
def test_a_browser_shows_the_same(name: str, deployment: Callable[[str], Content], tmp_path: Path) -> None:
    content = deployment(name)
    page = tmp_path / "report.html"
    write_page(content, page)
    seen = read(browse(page)).shown
    wanted = expected(content, first_state(content))
    assert {key: wanted[key] for key in seen} == seen


@needs_browser
def test_a_browser_recomputes_at_other_controls(dense: Content, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_page(dense, page)
    roofs = dense.roofs
    load = [point.concurrency for point in dense.loads].index(32)
    state = State(load, 4.25, 0.5, roofs.batches.index(512), roofs.contexts.index(2048))
    document = browse(page, "#concurrency=32&price=4.25&utilization=0.5&batch=512&context=2048")
    seen = read(document).shown
    wanted = expected(dense, state)
    assert {key: wanted[key] for key in seen} == seen
    assert wanted["cost.expected"] != expected(dense, first_state(dense))["cost.expected"]


@needs_browser
@pytest.mark.parametrize("address", ["#price=-3&utilization=7", "#concurrency=x&batch=&context=nan", "#" + "a" * 5000])
def test_a_broken_address_changes_nothing(dense: Content, tmp_path: Path, address: str) -> None:
    page = tmp_path / "report.html"
    write_page(dense, page)
    seen = read(browse(page, address)).shown
    wanted = expected(dense, first_state(dense))
    assert {key: wanted[key] for key in seen} == seen


@needs_browser
def test_it_fits_a_phone(dense: Content, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_page(dense, page)
    frame = tmp_path / "phone.html"
    frame.write_text(
        "<body><iframe id=f src=report.html style='width:390px;height:800px;border:0'></iframe><script>"
        "f.onload = () => { const d = f.contentDocument.documentElement;"
        " document.title = `${d.scrollWidth} of ${d.clientWidth}`; }</script>"
    )
    found = re.search(r"<title>(\d+) of (\d+)</title>", browse(frame))
    assert found is not None and int(found[1]) <= int(found[2])
