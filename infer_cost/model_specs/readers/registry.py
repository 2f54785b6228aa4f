"""Which reader reads which ``model_type``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from infer_cost.errors import InputError, unknown_name
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.config import Config

_LATENT = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "mistral4", "minicpm3")
_DECODER = (
    "llama", "mistral", "ministral3", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gpt_oss",
)  # fmt: skip

READERS: dict[str, str] = {
    **dict.fromkeys(_DECODER, "decoder"),
    **dict.fromkeys(_LATENT, "latent"),
    "deepseek_v4": "deepseek_v4",
    "deepseek_ref": "deepseek_v4",
}
"""Module of each ``model_type``."""


def read_config(data: Mapping[str, Any], *, assume: str | None = None) -> Architecture:
    """Read a config file's content.

    Parameters
    ----------
    data : Mapping[str, Any]
        The JSON object of a ``config.json``.
    assume : str, optional
        A model type to read it as when its own is unknown (``llama``).

    Returns
    -------
    Architecture
        The model; its ``name`` is empty.

    Raises
    ------
    UnknownNameError
        If the model type is unknown, with the nearest known one.
    InputError
        If keys are missing, of the wrong type, out of range, or contradict each other.
    """
    config = Config(data)
    kind = config.text("model_type")
    if kind not in READERS:
        config = _assumed(config, kind, assume)
    reader = importlib.import_module(f"infer_cost.model_specs.readers.{READERS[config.text('model_type')]}")
    architecture = cast(Architecture, reader.read(config))
    return replace(architecture, model_type=kind or architecture.model_type)


def _assumed(config: Config, kind: str, assume: str | None) -> Config:
    if assume is None:
        if not kind:
            raise InputError(
                "config has no model_type",
                field="model_type",
                allowed="a model_type that is known",
                hint="read it as a Llama with --assume llama if it's built like one",
            )
        raise unknown_name(
            "model_type", kind, READERS, field="model_type", hint="--assume llama reads it as a Llama"
        )
    if assume not in READERS:
        raise unknown_name("model_type", assume, READERS, field="assume")
    assumed = Config({**config.data, "model_type": assume})
    assumed.note(f"model_type {kind or 'none'} is unknown and was read as {assume}")
    return assumed
