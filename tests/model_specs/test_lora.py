"""Adapters beside a base model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infer_cost.errors import InputError
from infer_cost.model_specs.catalog import model
from infer_cost.model_specs.lora import (
    TARGETS,
    Adapter,
    adapter_bytes,
    adapter_elements,
    adapter_flops_per_token,
    read_adapter,
)


def test_a_known_adapter() -> None:
    # PEFT prints 20,971,520 trainable parameters for rank 8 on all linear layers of Llama-3-8B.
    assert adapter_elements(model("llama-3-8b"), Adapter(8, TARGETS)) == 20_971_520


def test_bytes_and_work_follow_rank_and_number() -> None:
    llama = model("llama-3.1-8b")
    one = adapter_bytes(llama, Adapter(8))
    assert adapter_bytes(llama, Adapter(16), resident=3) == 6 * one
    assert adapter_flops_per_token(llama, Adapter(8)) == one


def test_a_token_meets_the_adapters_of_its_own_experts_only() -> None:
    mixtral, adapter = model("mixtral-8x7b"), Adapter(16, ("down_proj",))
    assert adapter_flops_per_token(mixtral, adapter) == 2 * adapter_elements(mixtral, adapter) * 2 / 8


def test_adapter_files(tmp_path: Path) -> None:
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps({"r": 32, "target_modules": ["model.layers.0.self_attn.q_proj", "v_proj"]}))
    assert read_adapter(path) == Adapter(32, ("q_proj", "v_proj"))
    path.write_text(json.dumps({"r": 32, "target_modules": "all-linear"}))
    assert read_adapter(path) == Adapter(32, TARGETS)


@pytest.mark.parametrize(("rank", "targets"), [(0, ("q_proj",)), (8, ("nothing",)), (8, ()), (2.5, ("q_proj",))])
def test_adapters_that_can_not_be(rank: Any, targets: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="LoRA"):
        Adapter(rank, targets)
