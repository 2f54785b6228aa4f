"""The shipped models: names, sources, and that the compiled index is in step."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from infer_cost.errors import UnknownNameError
from infer_cost.model_specs.catalog import catalog_entry, model, summary
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.names import DATA, find, model_ids, nearest
from tests.model_specs.support import DATA as FOUND

ROOT = Path(__file__).parent.parent.parent


class Row(BaseModel):
    """An entry of ``models.toml``."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=2)
    hf_id: str
    aliases: list[str]
    source: str = Field(min_length=8)
    read: str = Field(pattern=r"^20\d\d-\d\d-\d\d$")
    confidence: Literal["two-sources", "one-source", "recalled", "derived"]
    note: str = ""


def test_every_entry_has_a_source_and_a_config() -> None:
    rows = tomllib.loads((DATA / "models.toml").read_text("utf-8"))["models"]
    for row in rows.values():
        Row.model_validate(row)
    assert {path.stem for path in (DATA / "configs").iterdir()} == set(rows)


def test_the_index_is_compiled_from_it() -> None:
    script = "from tools.compile_models import compiled; import sys; sys.stdout.write(compiled())"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == (DATA / "index.json").read_text("utf-8"), "run python tools/compile_models.py"


@pytest.mark.parametrize("name", model_ids())
def test_every_model_is_read(name: str) -> None:
    built = model(name)
    assert built.name == name and built.source
    assert counts(built).total == summary(name)["parameters_total"]


def test_every_measured_model_has_a_name() -> None:
    names = (FOUND / "measured_names.txt").read_text("utf-8").split()
    assert len(names) == 30
    assert [name for name in names if find(name) is None] == []


WANTED = (
    "llama-2-70b llama-3-8b llama-3.1-405b llama-3.2-1b llama-3.3-70b llama-4-scout llama-4-maverick "
    "nemotron-3-super nemotron-super-49b mistral-7b mistral-large-2 mixtral-8x22b qwen2.5-72b qwen3-235b-a22b "
    "qwen3-next qwen3.5-397b-a17b qwq-32b deepseek-v2 deepseek-v3 deepseek-r1-0528 deepseek-v3.2 deepseek-v4-pro "
    "gpt-oss-20b gpt-oss-120b gemma-2-27b gemma-3-27b gemma-4-31b glm-4.6 glm-5 kimi-k2 kimi-k2-thinking minimax-m2 "
    "minimax-m3 phi-4 granite-4.0-h-small jamba-1.5-large"
)


@pytest.mark.parametrize("name", WANTED.split())
def test_popular_models_are_known(name: str) -> None:
    assert model(name).layers > 10


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("Llama-3.1-70B", "llama-3.1-70b"),
        ("meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b"),
        ("meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("deepseek-v3/r1", "deepseek-v3"),
        ("Qwen3_32B", "qwen3-32b"),
        ("gpt-oss:120b", "gpt-oss-120b"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("Mixtral 8x7B", "mixtral-8x7b"),
    ],
)
def test_spellings(spelling: str, expected: str) -> None:
    assert find(spelling) == expected


def test_r1_shares_v3s_architecture() -> None:
    assert model("deepseek-r1").groups == model("deepseek-v3").groups


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean .*llama-3\.1-70b"):
        model("llama-3.1-71b")
    with pytest.raises(UnknownNameError):
        catalog_entry("nothing")
    assert "llama-3.1-8b" in nearest("llama-31-8b")


RECALLED_TOTALS = {
    "codellama-34b": 33_743_970_304,
    "ernie-4.5-0.3b": 360_748_032,
    "exaone-4.0-1.2b": 1_279_391_488,
    "gemma-2b": 2_506_172_416,
    "glm-4-9b": 9_400_279_040,
    "granite-3.1-3b-a800m": 3_298_793_472,
    "olmo-2-7b": 7_298_617_344,
    "phi-2": 2_779_683_840,
    "seed-oss-36b": 36_151_104_512,
    "smollm3-3b": 3_075_098_624,
    "starcoder2-7b": 7_173_923_840,
    "deepseek-v2-lite": 15_706_484_224,
    "gemma-3-270m": 268_098_176,
    "gpt-neox-20b": 20_554_567_680,
    "jamba-1.5-mini": 51_570_323_328,
    "llama-2-70b": 68_976_648_192,
    "mistral-large-2": 122_610_069_504,
    "nemotron-nano-9b-v2": 8_888_227_328,
    "openllama-3b": 3_426_473_600,
    "phi-3-medium": 13_960_238_080,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-coder-480b-a35b": 480_154_875_392,
}
"""Totals that the repositories' file listings show."""


@pytest.mark.parametrize("name", RECALLED_TOTALS)
def test_recalled_configs_come_to_the_published_total(name: str) -> None:
    assert counts(model(name)).total == RECALLED_TOTALS[name]
    assert catalog_entry(name).confidence == "recalled"


def test_a_look_up_imports_nothing_heavy() -> None:
    script = (
        "import sys; from infer_cost.model_specs.catalog import model; model('deepseek-v3');"
        "print([name for name in ('numpy', 'sympy', 'pydantic', 'rich', 'typer', 'tomllib') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.strip() == "[]"


def test_configs_hold_what_decides_the_architecture_only() -> None:
    sizes = {path.name: path.stat().st_size for path in (DATA / "configs").iterdir()}
    assert max(sizes.values()) < 40_000
    assert all(isinstance(json.loads(path.read_bytes()), dict) for path in (DATA / "configs").iterdir())
