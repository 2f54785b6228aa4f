"""Gemma 1 to 4: tied embeddings, windows, and in Gemma 4 two head widths, shared caches and experts beside a
dense network."""

from __future__ import annotations

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture, Component, Ffn, Layer, Matrix
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.parts import (
    Part,
    attention_mixer,
    attention_part,
    build_layer,
    dense_ffn,
    layer_groups,
)
from infer_cost.model_specs.readers import decoder, shared

_TRAITS = {
    "gemma": decoder.Traits(tied=True, qkv_bias="attention_bias", out_bias="attention_bias"),
    "gemma2": decoder.Traits(tied=True, norms=4, qkv_bias="attention_bias", out_bias="attention_bias", windows="even"),
    "gemma3_text": decoder.Traits(
        tied=True,
        norms=4,
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm="head",
        windows="pattern",
    ),
}


def read(config: Config) -> Architecture:
    """Read a config of a Gemma language model."""
    kind = config.text("model_type")
    if kind == "gemma4_text":
        return _gemma4(config)
    return decoder.read_with(config, _TRAITS[kind])


def _gemma4(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    kinds = config.kinds("layer_types", layers, "full_attention", "sliding_attention")
    if kinds is None:
        config.note("layer_types absent, five sliding layers for each full one assumed")
        kinds = ["full_attention" if (index + 1) % 6 == 0 else "sliding_attention" for index in range(layers)]
    sharing = config.count("num_kv_shared_layers")
    if sharing >= layers:
        raise InputError(
            f"config keys num_kv_shared_layers ({sharing}) and num_hidden_layers ({layers}) contradict",
            field=config.where + "num_kv_shared_layers",
            value=sharing,
            allowed=f"0 to {layers - 1}",
        )
    own = layers - sharing
    # The last layer always sees everything, whatever the pattern says.
    kinds = [*kinds[:-1], "full_attention"]
    per_layer = config.count("hidden_size_per_layer_input")
    vocab = config.integer("vocab_size")
    rows = config.integer("vocab_size_per_layer_input", default=vocab)
    lookup = rows * layers * per_layer
    unused = _unused_projections(config, hidden, kinds[own:])
    components = [Component("buffers", layers, "a scalar for each layer")]
    if unused:
        components.append(
            Component("other", unused, "key and value projections of layers that read another layer's cache")
        )
    return shared.architecture(
        config,
        layer_groups(
            [(kind, index < own) for index, kind in enumerate(kinds)],
            lambda kind: _gemma4_layer(config, hidden, per_layer, *kind),
        ),
        hidden=hidden,
        tied=True,
        vocab=vocab,
        vectors=hidden + per_layer,
        lookup_vectors=lookup,
        components=tuple(components),
    )


def _gemma4_heads(config: Config, kind: str) -> tuple[int, int, int]:
    """Return query heads, KV heads and head width; full layers may have their own."""
    heads = config.integer("num_attention_heads")
    kv_heads = config.integer("num_key_value_heads", default=heads)
    width = config.integer("head_dim")
    if kind == "full_attention":
        if config.flag("attention_k_eq_v"):
            kv_heads = config.integer("num_global_key_value_heads", default=kv_heads)
        width = config.integer("global_head_dim")
    shared.check_heads(config, heads, kv_heads)
    return heads, kv_heads, width


def _gemma4_layer(config: Config, hidden: int, per_layer: int, kind: str, own_cache: bool) -> Layer:
    heads, kv_heads, width = _gemma4_heads(config, kind)
    full = kind == "full_attention"
    window = None if full else config.integer("sliding_window")
    mixer = attention_mixer(heads, kv_heads, width, window=window, cached=own_cache)
    attention = attention_part(hidden, mixer, keys_are_values=full and config.flag("attention_k_eq_v"), qkv_bias=False)
    norms = 4 * hidden + (2 * width if own_cache else width)
    ffn_width = config.integer("intermediate_size")
    if not own_cache and config.flag("use_double_wide_mlp"):
        ffn_width *= 2
    ffn, dense = dense_ffn(hidden, ffn_width)
    parts = [attention, dense]
    if config.flag("enable_moe_block"):
        ffn, experts = _experts_beside(config, hidden, ffn_width)
        parts = [attention, experts]
    if per_layer:
        gate = Matrix("per_layer_input_gate", hidden, per_layer, "dense_ffn", "replicated")
        projection = Matrix("per_layer_projection", per_layer, hidden, "dense_ffn", "replicated")
        # One matrix makes the inputs of all layers; each layer's slice is listed with it.
        model = Matrix("per_layer_model_projection", hidden, per_layer, "dense_ffn", "replicated")
        parts.append(Part((gate, projection, model), hidden))
    return build_layer(mixer, ffn, *parts, vectors=norms)


def _experts_beside(config: Config, hidden: int, dense_width: int) -> tuple[Ffn, Part]:
    """Return experts with the dense network that runs beside them for every token, as a shared expert
    does."""
    ffn, part = shared.experts(config, hidden, config.integer("moe_intermediate_size"), shared_width=dense_width)
    # Three more norms, the router's input scale and one scale for each expert.
    return ffn, part._replace(vectors=part.vectors + 4 * hidden + ffn.experts)


def _unused_projections(config: Config, hidden: int, kinds: list[str]) -> int:
    total = 0
    for kind in kinds:
        _, kv_heads, width = _gemma4_heads(config, kind)
        total += 2 * hidden * kv_heads * width + width
    return total
