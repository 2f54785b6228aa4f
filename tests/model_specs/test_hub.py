"""Hugging Face ids: with and without the library, on and off the network (a stand-in for it; tests run offline)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infer_cost.errors import InputError
from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.hub import stored_parameters
from tests.model_specs.support import LLAMA


class EntryNotFoundError(Exception):
    pass


class LocalEntryNotFoundError(Exception):
    pass


def stand_in(files: dict[str, Path], error: type[Exception] | None = None) -> Any:
    module: Any = ModuleType("huggingface_hub")

    def hf_hub_download(repo_id: str, filename: str) -> str:
        if error is not None:
            raise error(repo_id)
        if filename not in files:
            raise EntryNotFoundError(filename)
        return str(files[filename])

    def model_info(repo_id: str, expand: list[str]) -> Any:
        if error is not None:
            raise error(repo_id)
        return SimpleNamespace(safetensors=SimpleNamespace(total=123))

    module.hf_hub_download = hf_hub_download
    module.model_info = model_info
    return module


def written(tmp_path: Path, name: str, data: dict[str, Any]) -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(data))
    return path


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'infer-cost\[hub\]'"):
        model("someone/unknown-model-9b")


def test_a_catalog_model_needs_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert model("deepseek-ai/DeepSeek-V3").name == "deepseek-v3"


def test_config_and_side_file_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    side = {"quantization": {"quant_algo": "NVFP4"}}
    files = {
        "config.json": written(tmp_path, "config.json", LLAMA),
        "hf_quant_config.json": written(tmp_path, "hf_quant_config.json", side),
    }
    monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in(files))
    built = model("someone/model-nvfp4")
    assert built.quantization is not None and built.quantization.formats["attention"] == "nvfp4"
    assert built.source == "huggingface.co/someone/model-nvfp4"
    assert stored_parameters("someone/model-nvfp4") == 123


def test_no_config_in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in({}))
    with pytest.raises(InputError, match=r"has no config\.json"):
        model("someone/gguf-only")


def test_offline_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in({}, LocalEntryNotFoundError))
    with pytest.raises(InputError, match="the network can't be reached or is switched off"):
        model("someone/model")
    with pytest.raises(InputError, match="local cache"):
        stored_parameters("someone/model")


def test_any_other_failure_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", stand_in({}, OSError))
    with pytest.raises(InputError, match=r"can't be fetched \(OSError\)"):
        model("someone/model")
