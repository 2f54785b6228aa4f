"""Llama and what is built like it: grouped-query attention, then a dense network or a mixture of experts.

The families differ in a handful of traits (a bias here, a norm there), most of which no key of the file
states. They stand in one table, :data:`TRAITS`.

Source of the traits: the model code of transformers 5.24.0, and of the repositories that bring their own; each type's
count is held against a published total in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from infer_cost.model_specs.architecture import Architecture, Component, Ffn, Layer
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
    pattern: int = 6
    """Every how many layers one sees everything, where the config doesn't say."""
    halved_width: bool = False
    """Whether ``intermediate_size`` counts gate and up together."""
    moe: bool = False
    """Whether layers hold experts at all."""
    expert_width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_width: str = ""
    """Key of the shared experts' own width."""
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    sinks: bool = False
    router_buffers: bool = False
    """Whether routers store score corrections."""
    small_head_stored: bool = False
    """Whether small models of the family store the tied head all the same (Qwen3-0.6B and 1.7B do, 4B
    doesn't)."""
    mtp_stored: bool = True
    mtp_modules: int = 0
    """Multi-token prediction modules where no key counts them."""
    mtp_copies: int = 0
    """Copies of the embedding that checkpoints store with a multi-token prediction module."""


_ATTENTION_BIAS = "attention_bias"
_SMALL = 2048
_OWN_WIDTH = ("intermediate_size",)
"""Families whose experts are as wide as ``intermediate_size`` says."""

TRAITS: dict[str, Traits] = {
    "llama": Traits(qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS, ffn_bias="mlp_bias"),
    "mistral": Traits(windows="all"),
    "ministral3": Traits(windows="all"),
    "mixtral": Traits(windows="all", moe=True, expert_width=_OWN_WIDTH),
    "qwen": Traits(qkv_bias=True, halved_width=True),
    "qwen2": Traits(qkv_bias=True, windows="qwen"),
    "qwen2_moe": Traits(
        qkv_bias=True,
        windows="qwen",
        moe=True,
        shared_width="shared_expert_intermediate_size",
        shared_gate=True,
    ),
    "qwen3": Traits(
        qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS, qk_norm="head", windows="qwen", small_head_stored=True
    ),
    "qwen3_moe": Traits(qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS, qk_norm="head", windows="qwen", moe=True),
    "gpt_oss": Traits(
        qkv_bias=_ATTENTION_BIAS,
        out_bias=_ATTENTION_BIAS,
        windows="even",
        moe=True,
        expert_width=_OWN_WIDTH,
        router_bias=True,
        expert_bias=True,
        sinks=True,
    ),
    "baichuan": Traits(),
    "chatglm": Traits(qkv_bias="add_qkv_bias"),
    "cohere": Traits(
        tied=True,
        norms=1,
        qkv_bias=_ATTENTION_BIAS,
        out_bias=_ATTENTION_BIAS,
        qk_norm="width",
        qk_norm_key="use_qk_norm",
    ),
    "cohere2": Traits(
        tied=True, norms=1, qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS, windows="pattern", pattern=4
    ),
    "deepseek": Traits(moe=True),
    "ernie4_5": Traits(tied=True, qkv_bias="use_bias", out_bias="use_bias", ffn_bias="use_bias"),
    "ernie4_5_moe": Traits(
        tied=True, qkv_bias="use_bias", out_bias="use_bias", ffn_bias="use_bias", moe=True, router_bias=True
    ),
    "exaone": Traits(),
    "exaone4": Traits(qk_norm="head", windows="pattern", pattern=4),
    "glm4": Traits(qkv_bias=_ATTENTION_BIAS, norms=4),
    "glm4_moe": Traits(qkv_bias=_ATTENTION_BIAS, qk_norm="head", qk_norm_key="use_qk_norm", moe=True, mtp_copies=2),
    "granite": Traits(tied=True, qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS, ffn_bias="mlp_bias"),
    "granitemoe": Traits(tied=True, moe=True, expert_width=_OWN_WIDTH),
    "grok-1": Traits(tied=True, norms=4, moe=True, expert_width=_OWN_WIDTH),
    "hunyuan_v1_dense": Traits(tied=True, qk_norm="head", qk_norm_key="use_qk_norm"),
    "hunyuan_v1_moe": Traits(tied=True, qk_norm="head", qk_norm_key="use_qk_norm", moe=True),
    "hy_v3": Traits(qk_norm="head", moe=True, mtp_modules=1, router_buffers=True),
    "internlm2": Traits(qkv_bias="bias", out_bias="bias"),
    "mimo": Traits(qkv_bias=True),
    "minicpm": Traits(tied=True),
    "minimax_m2": Traits(
        qk_norm="width",
        qk_norm_key="use_qk_norm",
        moe=True,
        expert_width=_OWN_WIDTH,
        router_buffers=True,
        mtp_stored=False,
    ),
    "nemotron": Traits(norm_bias=True, gated=False),
    "olmo2": Traits(qk_norm="width"),
    "olmo3": Traits(qk_norm="width", windows="pattern", pattern=4),
    "olmoe": Traits(qk_norm="width", moe=True, expert_width=_OWN_WIDTH),
    "phi3": Traits(windows="all"),
    "phimoe": Traits(
        qkv_bias=_ATTENTION_BIAS,
        out_bias=_ATTENTION_BIAS,
        norm_bias=True,
        head_bias="lm_head_bias",
        windows="all",
        moe=True,
        expert_width=_OWN_WIDTH,
    ),
    "seed_oss": Traits(qkv_bias=_ATTENTION_BIAS),
    "smollm3": Traits(tied=True, qkv_bias=_ATTENTION_BIAS, out_bias=_ATTENTION_BIAS),
    "stablelm": Traits(norm_bias=True, qkv_bias="use_qkv_bias"),
    "starcoder2": Traits(
        tied=True,
        norm_bias=True,
        qkv_bias="use_bias",
        out_bias="use_bias",
        ffn_bias="use_bias",
        gated=False,
        windows="all",
    ),
}


def _on(config: Config, trait: bool | str) -> bool:
    return config.flag(trait) if isinstance(trait, str) else trait


def slides(config: Config, layers: int, rule: str, pattern: int = 6) -> list[int | None]:
    """Return each layer's window by the family's rule, for files that don't list ``layer_types``."""
    if rule == "qwen" and not config.flag("use_sliding_window"):
        return [None] * layers
    first = config.count("max_window_layers", default=0) if rule == "qwen" else 0
    every = 0
    if rule == "pattern":
        every = config.integer("sliding_window_pattern", "_sliding_window_pattern", default=pattern)
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
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    windows = slides(config, layers, traits.windows, traits.pattern)
    sparse = shared.moe_layers(config, layers) if traits.moe else [False] * layers
    norm_width = hidden * (2 if traits.norm_bias else 1)

    def build(kind: tuple[int | None, bool]) -> Layer:
        return _layer(config, traits, hidden, *kind)

    head_bias = config.integer("vocab_size") if _on(config, traits.head_bias) else 0
    return shared.architecture(
        config,
        layer_groups(zip(windows, sparse, strict=True), build),
        hidden=hidden,
        tied=traits.tied,
        vectors=norm_width + head_bias,
        components=_components(config, traits, sum(sparse), lambda: build((None, traits.moe))),
    )


def _layer(config: Config, traits: Traits, hidden: int, window: int | None, sparse: bool) -> Layer:
    heads, kv_heads, head_dim = shared.heads(config)
    mixer = attention_mixer(heads, kv_heads, head_dim, window=window)
    attention = attention_part(
        hidden, mixer, qkv_bias=_on(config, traits.qkv_bias), out_bias=_on(config, traits.out_bias)
    )
    ffn, ffn_part = _moe(config, traits, hidden) if sparse else _dense(config, traits, hidden)
    vectors = traits.norms * hidden * (2 if traits.norm_bias else 1) + (heads if traits.sinks else 0)
    if not traits.qk_norm_key or config.flag(traits.qk_norm_key):
        vectors += qk_norm_elements(traits.qk_norm, heads, kv_heads, head_dim)
    return build_layer(mixer, ffn, attention, ffn_part, vectors=vectors)


def _components(
    config: Config, traits: Traits, sparse_layers: int, layer: Callable[[], Layer]
) -> tuple[Component, ...]:
    parts = []
    modules = 0
    if traits.mtp_stored:
        modules = config.count("num_nextn_predict_layers", default=traits.mtp_modules)
        if modules and not config.has("num_nextn_predict_layers"):
            config.note(f"{modules} multi-token prediction module assumed; no key counts them")
    if modules:
        parts.append(shared.mtp(config, layer(), modules))
        if traits.mtp_copies:
            copies = traits.mtp_copies * modules * config.integer("vocab_size") * shared.hidden_size(config)
            parts.append(Component("copies", copies, "embedding and head stored again with the module"))
    if traits.router_buffers or traits.mtp_copies:
        parts.append(shared.router_buffers(config.integer(*shared.EXPERTS) * (sparse_layers + modules)))
    tied = config.flag("tie_word_embeddings")
    if traits.small_head_stored and tied and shared.hidden_size(config) <= _SMALL:
        parts.extend(shared.stored_head(config))
    return tuple(parts)


def _dense(config: Config, traits: Traits, hidden: int) -> tuple[Ffn, Part]:
    width = config.integer(*shared.WIDTH)
    if traits.halved_width:
        width //= 2
    return dense_ffn(hidden, width, traits.gated, _on(config, traits.ffn_bias))


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
