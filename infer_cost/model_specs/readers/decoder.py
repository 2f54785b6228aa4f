"""Llama and what is built like it: grouped-query attention, then a dense network or a mixture of experts.

The families differ in a handful of traits (a bias here, a norm there), most of which no key of the file states.
They stand in one table, :data:`TRAITS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infer_cost.model_specs.architecture import Architecture, Ffn, Layer
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.parts import (
    Part,
    attention_mixer,
    attention_part,
    build_layer,
    dense_ffn,
    layer_groups,
)
from infer_cost.model_specs.readers import shared


@dataclass(frozen=True, slots=True)
class Traits:
    """What a family's code fixes and its config file doesn't say.

    A ``str`` in a bias field is the config key that decides.
    """

    tied: bool = False
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    ffn_bias: bool | str = False
    head_bias: bool | str = False
    norms: int = 2
    norm_bias: bool = False
    qk_norm: Literal["", "head", "width"] = ""
    qk_norm_key: str = ""
    """Key that switches the query and key norms on; empty when the family always has them."""
    qk_norm_default: bool = False
    gated: bool = True
    windows: Literal["", "all", "qwen", "even", "pattern"] = ""
    moe: bool = False
    """Whether layers hold experts at all."""
    expert_width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_width: str = ""
    """Key of the shared experts' own width."""
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    sinks: bool = False
    router_norms: int = 0


_LLAMA = Traits(qkv_bias="attention_bias", out_bias="attention_bias", ffn_bias="mlp_bias")
_QWEN3 = Traits(qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", windows="qwen")

TRAITS: dict[str, Traits] = {
    "llama": _LLAMA,
    "mistral": Traits(windows="all"),
    "ministral3": Traits(windows="all"),
    "mixtral": Traits(windows="all", moe=True, expert_width=("intermediate_size",)),
    "qwen2": Traits(qkv_bias=True, windows="qwen"),
    "qwen2_moe": Traits(
        qkv_bias=True,
        windows="qwen",
        moe=True,
        shared_width="shared_expert_intermediate_size",
        shared_gate=True,
    ),
    "qwen3": _QWEN3,
    "qwen3_moe": Traits(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm="head", windows="qwen", moe=True
    ),
    "gpt_oss": Traits(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        windows="even",
        moe=True,
        expert_width=("intermediate_size",),
        router_bias=True,
        expert_bias=True,
        sinks=True,
    ),
}


def _on(config: Config, trait: bool | str) -> bool:
    return config.flag(trait) if isinstance(trait, str) else trait


def slides(config: Config, layers: int, rule: str) -> list[int | None]:
    """Return each layer's window by the family's rule, for files that don't list ``layer_types``."""
    if rule == "qwen" and not config.flag("use_sliding_window"):
        return [None] * layers
    first = config.count("max_window_layers", default=0) if rule == "qwen" else 0
    every = 0
    if rule == "pattern":
        every = config.integer("sliding_window_pattern", "_sliding_window_pattern", default=6)
    defaults = {
        "": [False] * layers,
        "all": [True] * layers,
        "qwen": [index >= first for index in range(layers)],
        "even": [index % 2 == 0 for index in range(layers)],
        "pattern": [bool((index + 1) % every) for index in range(layers)] if every else [],
    }
    return shared.layer_windows(config, layers, defaults[rule])


def qk_norm_elements(kind: str, heads: int, kv_heads: int, head_dim: int) -> int:
    """Elements of the query and key norms: one head wide, or as wide as all heads."""
    if kind == "head":
        return 2 * head_dim
    return (heads + kv_heads) * head_dim if kind == "width" else 0


def read(config: Config) -> Architecture:
    """Read a config of one of the families in :data:`TRAITS`."""
    return read_with(config, TRAITS[config.text("model_type")])


def read_with(config: Config, traits: Traits) -> Architecture:
    """Read a config whose family has the given traits."""
    hidden = config.integer("hidden_size")
    layers = config.layers()
    heads, kv_heads, head_dim = shared.heads(config)
    has_norm = traits.qk_norm and (not traits.qk_norm_key or config.flag(traits.qk_norm_key, traits.qk_norm_default))
    norm_width = hidden * (2 if traits.norm_bias else 1)
    vectors = traits.norms * norm_width + (heads if traits.sinks else 0)
    vectors += qk_norm_elements(traits.qk_norm if has_norm else "", heads, kv_heads, head_dim)
    windows = slides(config, layers, traits.windows)
    sparse = shared.moe_layers(config, layers) if traits.moe else [False] * layers

    def build(kind: tuple[int | None, bool]) -> Layer:
        window, is_moe = kind
        mixer = attention_mixer(heads, kv_heads, head_dim, window=window)
        attention = attention_part(
            hidden, mixer, qkv_bias=_on(config, traits.qkv_bias), out_bias=_on(config, traits.out_bias)
        )
        ffn, ffn_part = _moe(config, traits, hidden) if is_moe else _dense(config, traits, hidden)
        return build_layer(mixer, ffn, attention, ffn_part, vectors=vectors)

    groups = layer_groups(zip(windows, sparse, strict=True), build)
    final = norm_width + (config.integer("vocab_size") if _on(config, traits.head_bias) else 0)
    return shared.architecture(config, groups, hidden=hidden, tied=traits.tied, vectors=final)


def _dense(config: Config, traits: Traits, hidden: int) -> tuple[Ffn, Part]:
    return dense_ffn(hidden, config.integer("intermediate_size"), traits.gated, _on(config, traits.ffn_bias))


def _moe(config: Config, traits: Traits, hidden: int) -> tuple[Ffn, Part]:
    width = config.integer(*traits.expert_width)
    shared_width = config.count(traits.shared_width) if traits.shared_width else None
    return shared.experts(
        config,
        hidden,
        width,
        shared_width=shared_width,
        shared_gate=traits.shared_gate,
        router_bias=traits.router_bias,
        expert_bias=traits.expert_bias,
        gated=traits.gated,
    )
