"""Which reader reads which ``model_type``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from infer_cost.errors import InputError, unknown_name
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.config import NESTING, Config
from infer_cost.model_specs.readers.defaults import filled

_LATENT = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "mistral4", "minicpm3")
_LEGACY = (
    "bloom", "dbrx", "falcon", "gpt2", "gpt_bigcode", "gpt_neox", "gptj", "mpt", "opt", "phi", "phi-msft",
    "phi3small",
)  # fmt: skip
_HYBRID = ("falcon_h1", "granitemoehybrid", "jamba", "nemotron_h", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_next")
_SPECIAL = ("llama4_text", "longcat_flash", "minimax_m3", "mllama_text_model", "nemotron-nas")
_RECENT = ("kimi_linear", "mimo_v2_flash", "step3p5")
_MULTIMODAL = (
    "deepseek_vl_v2", "gemma3", "gemma4", "internvl_chat", "kimi_k25", "llama4", "llava", "minimax_m3_vl",
    "mistral3", "mllama", "qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe",
    "step3p7",
)  # fmt: skip
_DECODER = (
    "baichuan", "chatglm", "cohere", "cohere2", "deepseek", "ernie4_5", "ernie4_5_moe", "exaone", "exaone4",
    "glm4", "glm4_moe", "gpt_oss", "granite", "granitemoe", "grok-1", "hunyuan_v1_dense", "hunyuan_v1_moe",
    "hy_v3", "internlm2", "llama", "mimo", "minicpm", "minimax_m2", "ministral3", "mistral", "mixtral",
    "nemotron", "olmo2", "olmo3", "olmoe", "phi3", "phimoe", "qwen", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2",
)  # fmt: skip

READERS: dict[str, str] = {
    **dict.fromkeys(_DECODER, "decoder"),
    **dict.fromkeys(_LATENT, "latent"),
    **dict.fromkeys(_LEGACY, "legacy"),
    **dict.fromkeys(_HYBRID, "hybrid"),
    **dict.fromkeys(_SPECIAL, "special"),
    **dict.fromkeys(_RECENT, "recent"),
    **dict.fromkeys(_MULTIMODAL, "multimodal"),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text", "gemma4_text"), "gemma"),
    "deepseek_v4": "deepseek_v4",
    "deepseek_ref": "deepseek_v4",
}
"""Module of each ``model_type``."""


def read_config(
    data: Mapping[str, Any], *, assume: str | None = None, side_file: Mapping[str, Any] | None = None
) -> Architecture:
    """Read a config file's content.

    Parameters
    ----------
    data : Mapping[str, Any]
        The JSON object of a ``config.json``.
    assume : str, optional
        A model type to read it as when its own is unknown (``llama``).
    side_file : Mapping[str, Any], optional
        Content of the ``hf_quant_config.json`` beside it.

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
    kind = kind or config.text("model_type")
    reader = importlib.import_module(f"infer_cost.model_specs.readers.{READERS[config.text('model_type')]}")
    architecture = cast(Architecture, reader.read(filled(config)))
    bits = 32.0 if _dtype(data) == "float32" else 16.0
    architecture = replace(architecture, model_type=kind, stored_bits=bits)
    return _with_quantization(architecture, data, side_file)


def _dtype(data: Mapping[str, Any]) -> Any:
    """Return the number type of the stored weights, by either of its keys, inside or outside."""
    nested = (data.get(key) for key in NESTING)
    for place in (data, *(inner for inner in nested if isinstance(inner, dict))):
        found = place.get("dtype") or place.get("torch_dtype")
        if found is not None:
            return found
    return None


def _with_quantization(
    architecture: Architecture, data: Mapping[str, Any], side_file: Mapping[str, Any] | None
) -> Architecture:
    """Add how the checkpoint is stored, for the files that say so."""
    nested = (data.get(key) for key in NESTING)
    places = [data, *(inner for inner in nested if isinstance(inner, dict))]
    if side_file is None and not any("quantization_config" in place for place in places):
        return architecture
    from infer_cost.model_specs.quantization import read_quantization

    quantization, note = read_quantization(data, architecture, side_file)
    notes = (*architecture.notes, note) if note else architecture.notes
    return replace(architecture, quantization=quantization, notes=notes)


def _assumed(config: Config, kind: str, assume: str | None) -> Config:
    if assume is None:
        if not kind:
            raise InputError(
                "config has no model_type",
                field="model_type",
                allowed="a model_type that is known",
                hint="read it as a Llama with --assume llama if it's built like one",
            )
        raise unknown_name("model_type", kind, READERS, field="model_type", hint="--assume llama reads it as a Llama")
    if assume not in READERS:
        raise unknown_name("model_type", assume, READERS, field="assume")
    assumed = Config({**config.data, "model_type": assume})
    assumed.note(f"model_type {kind or 'none'} is unknown and was read as {assume}")
    return assumed
