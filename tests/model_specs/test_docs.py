"""docs/models.md: its commands, its code, its table."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.kv import kv_bytes_per_sequence
from infer_cost.model_specs.naive import naive_factor
from tools.models_table import page

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "models.md"
TEXT = PAGE.read_text("utf-8")
COMMANDS = re.findall(r"```console\n\$ infer-cost ([^\n]*)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_print_what_the_page_shows(command: str, output: str) -> None:
    run = [sys.executable, "-c", "from infer_cost.cli.main import run; run()", *command.split()]
    environment = {**os.environ, "COLUMNS": "100"}
    result = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    assert result.stdout == output
    assert max(len(line) for line in output.splitlines()) <= 100


def test_code_prints_what_the_page_shows() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5 and result.failed == 0


def test_the_table_is_fresh() -> None:
    assert page(TEXT) == TEXT, "run python tools/models_table.py"


def test_shortcuts_are_as_wrong_as_the_page_says() -> None:
    rows = re.findall(r"\| ([\w.-]+) \| ([\d.]+) GB \| ([\d.]+) GB \| ([\d.]+) \|", TEXT)
    assert len(rows) == 7
    for name, right, shortcut, times in rows:
        held = kv_bytes_per_sequence(model(name), 131072)
        factor = naive_factor(model(name), 131072)
        assert (f"{held / 1e9:.1f}", f"{held * factor / 1e9:.1f}", f"{factor:.1f}") == (right, shortcut, times)
