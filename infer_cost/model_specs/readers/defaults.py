"""What config classes fill in where a file is silent.

A key that is *absent* takes the default of its family's config class, as the engines that load the file would have it;
a key that is null is left null. Every default that is filled in becomes a note of the answer. Sizes such as the hidden
size have class defaults too, but a file without them is broken, so they are refused instead.

Source: the config classes of transformers 5.24.0 (Apache-2.0), read 2026-11-30.
"""

from __future__ import annotations

from typing import Any

from infer_cost.model_specs.config import Config

_V3 = {"first_k_dense_replace": 3, "n_shared_experts": 1, "q_lora_rank": 1536, "v_head_dim": 128}
_INDEXER = {"index_topk": 2048, "index_head_dim": 128}

CLASS_DEFAULTS: dict[str, dict[str, Any]] = {
    "deepseek_v2": {"first_k_dense_replace": 0, "n_shared_experts": 2, "q_lora_rank": 1536, "v_head_dim": 128},
    "deepseek_v3": _V3,
    "deepseek_v32": {**_V3, **_INDEXER, "index_n_heads": 64},
    "ernie4_5_moe": {"num_key_value_heads": 4, "moe_num_shared_experts": 2, "moe_layer_start_index": 1},
    "falcon_h1": {"num_key_value_heads": 8},
    "exaone4": {"num_key_value_heads": 32, "sliding_window": 4096},
    "gemma": {"num_key_value_heads": 16, "head_dim": 256},
    "gemma2": {"num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096},
    "gemma3_text": {
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 4096,
    },
    "gemma4_text": {
        "vocab_size": 262_144,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "global_head_dim": 512,
        "sliding_window": 512,
        "hidden_size_per_layer_input": 256,
    },
    "glm4": {"num_key_value_heads": 2, "head_dim": 128, "attention_bias": True},
    "glm4_moe": {"num_key_value_heads": 8, "first_k_dense_replace": 1, "n_shared_experts": 1},
    "glm_moe_dsa": {
        **_INDEXER,
        "first_k_dense_replace": 3,
        "n_shared_experts": 1,
        "q_lora_rank": 2048,
        "v_head_dim": 256,
        "index_n_heads": 32,
    },
    "gpt_oss": {
        "num_key_value_heads": 8,
        "head_dim": 64,
        "sliding_window": 128,
        "attention_bias": True,
    },
    "hy_v3": {"num_key_value_heads": 8, "head_dim": 128, "num_shared_experts": 1},
    "jamba": {"num_key_value_heads": 8},
    "kimi_k2": _V3,
    "llama4_text": {"num_key_value_heads": 8, "head_dim": 128, "attention_chunk_size": 8192},
    "minimax_m2": {"num_key_value_heads": 8, "head_dim": 128, "use_qk_norm": True},
    "mistral": {"num_key_value_heads": 8, "sliding_window": 4096},
    "mistral4": {"first_k_dense_replace": 0, "n_shared_experts": 1, "q_lora_rank": 1024, "v_head_dim": 128},
    "mixtral": {"num_key_value_heads": 8},
    "nemotron_h": {"num_key_value_heads": 8, "head_dim": 128},
    "olmo3": {"sliding_window": 4096},
    "phimoe": {"num_key_value_heads": 8},
    "qwen2": {"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28},
    "qwen2_moe": {
        "num_key_value_heads": 16,
        "sliding_window": 4096,
        "max_window_layers": 28,
        "shared_expert_intermediate_size": 5632,
    },
    "qwen3": {
        "num_key_value_heads": 32,
        "head_dim": 128,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
    "qwen3_5_moe_text": {
        "num_key_value_heads": 2,
        "head_dim": 256,
        "shared_expert_intermediate_size": 512,
    },
    "qwen3_5_text": {"num_key_value_heads": 4, "head_dim": 256},
    "qwen3_moe": {"num_key_value_heads": 4, "sliding_window": 4096},
    "qwen3_next": {
        "num_key_value_heads": 2,
        "head_dim": 256,
        "shared_expert_intermediate_size": 512,
    },
    "seed_oss": {"num_key_value_heads": 8, "head_dim": 128, "attention_bias": True},
    "smollm3": {"num_key_value_heads": 4},
    "starcoder2": {"num_key_value_heads": 2, "use_bias": True},
}
_SILENT = frozenset(("sliding_window", "max_window_layers"))
"""Keys of Qwen that count only where ``use_sliding_window`` is on; without it they deserve no note."""
_SAME_THING = {
    "num_key_value_heads": ("num_kv_heads", "n_head_kv"),
    "n_shared_experts": ("num_shared_experts",),
    "head_dim": ("attention_head_dim",),
}


def filled(config: Config) -> Config:
    """Return the config with its class's defaults in place of absent keys, each noted."""
    defaults = CLASS_DEFAULTS.get(config.text("model_type"), {})
    missing = {
        key: value
        for key, value in defaults.items()
        if key not in config.data and not config.has(*_SAME_THING.get(key, ()))
    }
    if not missing:
        return config
    windowless = config.text("model_type").startswith("qwen") and not config.flag("use_sliding_window")
    for key, value in missing.items():
        if not (windowless and key in _SILENT):
            config.note(f"{config.where}{key} absent, the class default {value} applies")
    return Config({**config.data, **missing}, config.where, config.notes)
