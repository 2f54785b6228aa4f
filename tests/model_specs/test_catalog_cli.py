"""``infer-cost catalog models``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infer_cost.cli.catalog_models import app
from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.names import model_ids
from tests.model_specs.support import LLAMA

RUNNER = CliRunner()


def output(*arguments: str) -> str:
    result = RUNNER.invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_the_list_names_every_model() -> None:
    listed = output()
    assert all(f"\n{name} " in listed for name in model_ids())


def test_the_list_as_json() -> None:
    rows = json.loads(output("--json", "--like", "qwen3-235b"))
    assert [row["id"] for row in rows] == ["qwen3-235b-a22b"]
    assert rows[0]["parameters_total"] == 235_093_634_560 and rows[0]["source"]


def test_one_model_as_json() -> None:
    document = json.loads(output("show", "deepseek-v3", "--json"))
    assert document["parameters_total"] == 671_026_404_352
    assert document["parameters_stored"] == 684_489_845_504
    assert document["kv_bytes_per_token"] == 70_272
    assert {part["kind"] for part in document["components"]} == {"mtp", "copies", "buffers"}
    assert document["catalog"]["confidence"] == "two-sources"


@pytest.mark.parametrize("name", ["gemma-4-e4b", "deepseek-v4-pro", "qwen3-next", "nemotron-3-super", "longcat-flash"])
def test_odd_models_are_shown(name: str) -> None:
    shown = output("show", name)
    assert "KV a token" in shown and "source:" in shown


def test_a_file_of_an_unknown_type(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "model_type": "newmodel"}))
    with pytest.raises(UnknownNameError):
        output("show", str(path))
    assert "was read as llama" in " ".join(output("show", str(path), "--assume", "llama").split())
