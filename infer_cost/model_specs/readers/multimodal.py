"""Models that see or hear: a language model nested under a key, with towers beside it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any, cast

from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.config import NESTING, Config
from infer_cost.model_specs.readers.defaults import filled
from infer_cost.model_specs.readers.registry import READERS

TEXT_TYPES = {
    "deepseek_vl_v2": "deepseek_v2",
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "internvl_chat": "qwen2",
    "kimi_k25": "deepseek_v3",
    "llama4": "llama4_text",
    "llava": "llama",
    "minimax_m3_vl": "minimax_m3",
    "mistral3": "mistral",
    "mllama": "mllama_text_model",
    "qwen2_5_vl": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "step3p7": "step3p5",
}
"""Type of the language model inside, where the nested object doesn't name its own."""
_SAME_READER = {
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
}
_LLAMA_DEFAULTS = {
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
}
"""What Llama's config class fills in; files of LLaVA rely on it."""


def read(config: Config) -> Architecture:
    """Read the language model inside, and count the towers beside it."""
    from infer_cost.model_specs.readers import vision

    kind = config.text("model_type")
    text = _language_model(config, kind)
    inner = text.text("model_type")
    if inner not in READERS or READERS[inner] == "multimodal":
        raise text.error("model_type", inner, f"a language model's type, such as {TEXT_TYPES[kind]}")
    reader = importlib.import_module(f"infer_cost.model_specs.readers.{READERS[inner]}")
    architecture = cast(Architecture, reader.read(filled(text)))
    towers = vision.components(config, kind, architecture.hidden_size)
    # The files of models with towers never store the tied head a second time.
    own = tuple(part for part in architecture.components if "tied head" not in part.note)
    return replace(
        architecture,
        model_type=kind,
        components=(*own, *towers),
        notes=tuple(config.notes),
    )


def _language_model(config: Config, kind: str) -> Config:
    """Return the nested config with the keys that it inherits."""
    nested = config.section(*NESTING)
    data: dict[str, Any] = dict(config.data if nested is None else nested.data)
    inner = data.get("model_type") if nested is not None else None
    if not isinstance(inner, str) or not inner:
        inner = TEXT_TYPES[kind]
    data["model_type"] = _SAME_READER.get(inner, inner)
    if data.get("tie_word_embeddings") is None and isinstance(config.get("tie_word_embeddings"), bool):
        data["tie_word_embeddings"] = config.get("tie_word_embeddings")
    outer = config.get("tie_word_embeddings")
    if isinstance(outer, bool) and outer != data.get("tie_word_embeddings", outer):
        config.note(f"tie_word_embeddings is {outer} outside and not so inside; the language model's own holds")
    if kind == "llava":
        missing = [key for key in _LLAMA_DEFAULTS if data.get(key) is None]
        if missing:
            config.note(f"{', '.join(missing)} absent, the class defaults of Llama apply")
        data = {**{key: _LLAMA_DEFAULTS[key] for key in missing}, **{k: v for k, v in data.items() if v is not None}}
    return Config(data, "" if nested is None else nested.where, config.notes)
