"""Helpers of the model tests: configs and facts as found."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.readers.registry import read_config

DATA = Path(__file__).parent.parent / "data" / "models"


@cache
def facts() -> list[dict[str, str]]:
    with (DATA / "facts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counted() -> list[dict[str, str]]:
    """Rows with a known total."""
    return [row for row in facts() if row["oracle_total"]]


@cache
def config_text(file: str) -> str:
    return (DATA / "configs" / file).read_text("utf-8")


def config(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(config_text(file))
    return data


@cache
def architecture(file: str) -> Architecture:
    return read_config(config(file))


def names(rows: list[dict[str, str]]) -> list[str]:
    return [row["file"].removesuffix(".json") for row in rows]


LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
