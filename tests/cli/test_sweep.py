"""``infer-cost sweep`` as a user types it."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infer_cost.cli.options import SCENARIO
from infer_cost.planner.grid import option_kinds

Run = Callable[[str], Any]


def test_a_table_of_the_best(infer_cost: Run) -> None:
    answer = infer_cost(
        "sweep llama-3.1-70b --hardware h100-sxm,b200-sxm --tp 1,2,3,8 --weights fp8 --concurrency 1..256 "
        "--where 'tpot_s < 30 ms' --top 5"
    )
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].split()[:4] == ["hardware", "gpus", "tp", "concurrency"]
    assert lines[6] == "" and "2,048 combinations" in lines[7] and "512 make no sense" in lines[7]
    assert "tp 3 doesn't divide" in answer.out


def test_json_is_one_document_and_nothing_else(infer_cost: Run) -> None:
    answer = infer_cost("sweep llama-3.1-70b --hardware h100-sxm --tp 1,8 --concurrency 1,64 --json")
    assert answer.err == ""
    rows = answer.json["rows"]
    assert [row["fits"] for row in rows] == [False, False, True, True]
    assert rows[0]["ttft_s"] is None and rows[3]["concurrency"] == 64
    assert answer.json["combinations"] == 4 and answer.json["rows_left_out"] == 0


def test_every_option_of_estimate_is_an_axis() -> None:
    names = {option.name for option in SCENARIO} - {"set_"}
    assert names | {"model"} == set(option_kinds())


def test_a_file_and_no_progress_bar_in_a_pipe(infer_cost: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    answer = infer_cost(f"sweep llama-3.1-8b --hardware h100-sxm --concurrency 1..300 --input-tokens 1..1000 -o {path}")
    assert answer.code == 0 and answer.err == "" and str(path) in answer.out
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300_000 and rows[0]["concurrency"] == "1" and rows[-1]["input_tokens"] == "1000"


def test_a_grid_file_and_an_option_that_comes_first(infer_cost: Run, tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text('model = "llama-3.1-8b"\nhardware = "h100-sxm"\ntp = [1, 2]\nconcurrency = "1..8*2"\n')
    assert infer_cost(f"sweep --grid {path} --json").json["combinations"] == 8
    assert infer_cost(f"sweep --grid {path} --tp 1 --json").json["combinations"] == 4
    path.write_text('tps = [1]\nmodel = "llama-3.1-8b"\nhardware = "h100-sxm"\n')
    answer = infer_cost(f"sweep --grid {path}")
    assert answer.code == 2 and "did you mean tp" in answer.err


def test_replacing_a_datasheet_value(infer_cost: Run) -> None:
    line = "sweep llama-3.1-8b --hardware h100-sxm --json"
    plain = infer_cost(line).json["rows"][0]["tpot_s"]
    assert infer_cost(f"{line} --set memory_bandwidth='6 TB/s'").json["rows"][0]["tpot_s"] < plain


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("sweep --hardware h100-sxm", "model is missing"),
        ("sweep llama-3.1-8b", "hardware is missing"),
        ("sweep llama-3.1-8b --hardware h100-smx", "did you mean h100-sxm"),
        ("sweep llama-3.1-8b --hardware h100-sxm --tp 4..1", "backwards"),
        ("sweep llama-3.1-8b --hardware h100-sxm --tp 3", "none of the 1 combinations makes sense"),
        ("sweep llama-3.1-8b --hardware h100-sxm --where 'speed > 3'", "unknown column"),
        ("sweep llama-3.1-8b --hardware h100-sxm --top 0", "top is 0"),
        ("sweep llama-3.1-8b --hardware h100-sxm --by luck --top 3", "unknown column"),
        ("sweep llama-3.1-8b --hardware h100-sxm -o rows.xlsx", "format"),
        ("sweep llama-3.1-8b --hardware h100-sxm -o /nowhere/rows.csv", "cannot read or write"),
        ("sweep llama-3.1-8b --hardware h100-sxm --workers 0", "workers"),
        ("sweep --grid nowhere.toml", "nowhere.toml"),
    ],
)
def test_bad_input_leaves_with_2_and_a_line_or_two(infer_cost: Run, line: str, says: str) -> None:
    answer = infer_cost(line)
    assert answer.code == 2
    assert says in answer.err and len(answer.err.splitlines()) <= 2 and answer.out == ""


def test_a_terminal_sees_progress(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    words = "sweep llama-3.1-8b --hardware h100-sxm --concurrency 1..500 --input-tokens 1..1000 --top 1"
    code = f"from infer_cost.cli.main import run; run({words.split()!r})"
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", code], stderr=slave, stdout=subprocess.PIPE, env=environment)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    assert process.wait() == 0
    assert b"/500000" in seen.replace(b",", b"")


def test_fronts_on_one_chart(infer_cost: Run, tmp_path: Path) -> None:
    line = "sweep llama-3.1-70b --hardware h100-sxm,b200-sxm --tp 4,8 --weights fp8 --concurrency 1..64"
    answer = infer_cost(f"{line} --chart")
    assert answer.code == 0
    assert "A  h100-sxm" in answer.out and "B  b200-sxm" in answer.out and "tokens/s a user" in answer.out
    for ending in ("svg", "html"):
        path = tmp_path / f"front.{ending}"
        assert infer_cost(f"{line} --front cost --svg {path}").code == 0
        text = path.read_text()
        assert text.count("<path") == 3 and ">b200-sxm<" in text and "$ a million output tokens" in text
    assert infer_cost(f"{line} --svg {tmp_path / 'front.png'}").code == 2


def test_an_empty_front(infer_cost: Run) -> None:
    answer = infer_cost("sweep llama-3.1-70b --hardware h100-sxm --tp 1 --chart")
    assert answer.code == 0 and "Nothing to draw" in answer.out


def test_a_picture_that_cannot_be_written_leaves_no_answer(infer_cost, tmp_path):
    for name in ("front.png", "x" * 300 + ".svg"):
        result = infer_cost(f"sweep llama-3.1-8b --hardware h100-sxm --concurrency 1..4 --svg {tmp_path / name}")
        assert result.code == 2
        assert result.out == ""
        assert len(result.err.strip().splitlines()) <= 2
