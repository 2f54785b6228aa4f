"""Decoders of 2019 to 2023 with biases everywhere: GPT-2, GPT-J, GPT-BigCode, BLOOM, OPT, Falcon, Phi-1,
DBRX."""

from __future__ import annotations

from collections.abc import Callable

from infer_cost.model_specs.architecture import Architecture, Component, Ffn
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


def read(config: Config) -> Architecture:
    """Read a config of one of the families in this module."""
    return _READERS[config.text("model_type")](config)


def _build(
    config: Config,
    *,
    kv_heads: int | None = None,
    attention_bias: bool = True,
    ffn: tuple[Ffn, Part] | None = None,
    norms: int = 2,
    norm_bias: bool = True,
    tied: bool = True,
    vocab: int | None = None,
    final: int | None = None,
    positions: int = 0,
    components: tuple[Component, ...] = (),
) -> Architecture:
    """Put together a model of identical layers; ``norms`` are LayerNorms a layer."""
    hidden = shared.hidden_size(config)
    heads = config.integer(*shared.HEADS)
    kv = heads if kv_heads is None else kv_heads
    shared.check_heads(config, heads, kv)
    mixer = attention_mixer(heads, kv, shared.head_width(config, hidden, heads))
    attention = attention_part(hidden, mixer, qkv_bias=attention_bias, out_bias=attention_bias)
    kind, part = ffn or dense_ffn(hidden, _width(config, hidden), gated=False, bias=True)
    width = hidden * (2 if norm_bias else 1)
    layer = build_layer(mixer, kind, attention, part, vectors=norms * width)
    return shared.architecture(
        config,
        layer_groups([0] * shared.layer_count(config), lambda _: layer),
        hidden=hidden,
        tied=tied,
        vocab=vocab,
        vectors=width if final is None else final,
        lookup_vectors=positions * hidden,
        components=components,
    )


def _width(config: Config, hidden: int) -> int:
    return config.integer(*shared.WIDTH, default=4 * hidden)


def _positions(config: Config) -> int:
    return config.integer(*shared.CONTEXT[:3], default=1024)


def _gpt2(config: Config) -> Architecture:
    positions = _positions(config)
    masks = Component("buffers", shared.layer_count(config) * positions * positions, "causal masks")
    return _build(config, positions=positions, components=(masks,))


def _gpt_bigcode(config: Config) -> Architecture:
    kv_heads = 1 if config.flag("multi_query", True) else None
    return _build(config, kv_heads=kv_heads, positions=_positions(config))


def _gptj(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    vocab = config.integer("vocab_size")
    return _build(config, attention_bias=False, norms=1, tied=False, final=2 * hidden + vocab)


def _phi_msft(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    vocab = config.integer("vocab_size")
    return _build(config, norms=1, tied=False, final=2 * hidden + vocab)


def _bloom(config: Config) -> Architecture:
    # A second norm follows the embedding.
    return _build(config, final=4 * shared.hidden_size(config))


def _opt(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    if config.integer("word_embed_proj_dim", default=hidden) != hidden:
        raise config.error("word_embed_proj_dim", config.get("word_embed_proj_dim"), f"hidden_size, {hidden}")
    return _build(config, positions=_positions(config) + 2)


def _falcon(config: Config) -> Architecture:
    new = config.flag("new_decoder_architecture")
    kv_heads = config.optional("num_kv_heads", "n_head_kv") if new else None
    if not new and config.flag("multi_query", True):
        kv_heads = 1
    bias = config.flag("bias")
    hidden = shared.hidden_size(config)
    norms = config.integer("num_ln_in_parallel_attn", default=2 if new else 1)
    if not config.flag("parallel_attn", True):
        norms = 2
    return _build(
        config,
        kv_heads=kv_heads,
        attention_bias=bias,
        ffn=dense_ffn(hidden, _width(config, hidden), gated=False, bias=bias),
        norms=norms,
        components=shared.stored_head(config),
    )


def _phi3small(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    _, kv_heads, _ = shared.heads(config)
    width = config.integer("ff_intermediate_size")
    return _build(config, kv_heads=kv_heads, ffn=dense_ffn(hidden, width, gated=True, bias=True))


def _gpt_neox(config: Config) -> Architecture:
    return _build(config, tied=False)


def _phi(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    _, kv_heads, _ = shared.heads(config)
    final = 2 * hidden + config.integer("vocab_size")
    return _build(config, kv_heads=kv_heads, norms=1, tied=False, final=final)


def _mpt(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    attention = config.section("attn_config")
    kv_heads = attention.optional("kv_n_heads") if attention else None
    width = config.integer("expansion_ratio", default=4) * hidden
    ffn = dense_ffn(hidden, width, gated=False, bias=False)
    return _build(config, kv_heads=kv_heads, attention_bias=False, ffn=ffn, norm_bias=False)


def _dbrx(config: Config) -> Architecture:
    attention = config.section("attn_config")
    experts = config.section("ffn_config")
    if attention is None or experts is None:
        raise config.missing("attn_config and ffn_config")
    hidden = shared.hidden_size(config)
    ffn = shared.experts(experts, hidden, experts.integer("ffn_hidden_size"))
    kv_heads = attention.integer("kv_n_heads")
    return _build(config, kv_heads=kv_heads, attention_bias=False, ffn=ffn, norm_bias=False, tied=False)


_READERS: dict[str, Callable[[Config], Architecture]] = {
    "bloom": _bloom,
    "dbrx": _dbrx,
    "falcon": _falcon,
    "gpt2": _gpt2,
    "gpt_bigcode": _gpt_bigcode,
    "gpt_neox": _gpt_neox,
    "gptj": _gptj,
    "mpt": _mpt,
    "opt": _opt,
    "phi": _phi,
    "phi-msft": _phi_msft,
    "phi3small": _phi3small,
}
