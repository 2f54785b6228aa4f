"""DeepSeek V4: one shared key/value row, compressed over strides of tokens, beside a short sliding window."""

from __future__ import annotations

from infer_cost.model_specs.architecture import Architecture, Component, Layer, Matrix, Mixer, Role
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.counts import layer_elements
from infer_cost.model_specs.parts import Part, build_layer, layer_groups
from infer_cost.model_specs.readers import shared

INDEXED_STRIDE = 4
"""Layers that compress by 4 overlap their strides and choose among them with an indexer; others see all."""


def read(config: Config) -> Architecture:
    """Read a config of DeepSeek V4."""
    hidden = config.integer("hidden_size")
    layers = config.layers()
    mtp = config.count("num_nextn_predict_layers")
    ratios = config.integers("compress_ratios")
    if ratios is None:
        raise config.missing("compress_ratios")
    if len(ratios) not in (layers, layers + mtp):
        raise config.error("compress_ratios", f"{len(ratios)} entries", f"one for each of {layers} layers")
    hashed = config.count("num_hash_layers")
    experts = config.integer(*shared.EXPERTS)
    streams = config.integer("hc_mult", default=1)
    chosen = config.integer(*shared.TOP_K)
    components = [
        Component(
            "buffers",
            hashed * config.integer("vocab_size") * chosen + (layers - hashed + mtp) * experts,
            "hash routing tables and router score corrections",
        )
    ]
    if mtp:
        layer = v4_layer(config, hidden, 0)
        # Beside its layer: two projections of hidden states, three norms and its own mix of the streams.
        extra = 2 * hidden * hidden + 3 * hidden + _head_mix(hidden, streams)
        components.append(Component("mtp", mtp * (layer_elements(layer) + extra), "multi-token prediction", layer, mtp))
    return shared.architecture(
        config,
        layer_groups(ratios[:layers], lambda ratio: v4_layer(config, hidden, ratio)),
        hidden=hidden,
        tied=False,
        vectors=hidden + _head_mix(hidden, streams),
        components=tuple(components),
    )


def _head_mix(hidden: int, streams: int) -> int:
    return streams * streams * hidden + streams + 1 if streams > 1 else 0


def v4_layer(config: Config, hidden: int, ratio: int) -> Layer:
    """Return a layer that compresses ``ratio`` tokens into one entry; 0 keeps the window only."""
    heads = config.integer("num_attention_heads")
    width = config.integer("head_dim")
    window = config.integer("sliding_window")
    indexed = ratio == INDEXED_STRIDE
    index_dim = config.integer("index_head_dim") if indexed else 0
    mixer = Mixer(
        "attention",
        heads=heads,
        kv_heads=1,
        score_dim=width,
        value_dim=width,
        decode_score_dim=width,
        decode_value_dim=width,
        window=window,
        sparse_topk=config.integer("index_topk") if indexed else None,
        cache_elements=width,
        cache_stride=ratio or 1,
        window_cache_elements=width if ratio else 0,
        index_heads=config.integer("index_n_heads") if indexed else 0,
        index_dim=index_dim,
        index_elements=index_dim,
    )
    ffn, experts = shared.experts(config, hidden, config.integer("moe_intermediate_size"))
    parts = [_attention(config, hidden, heads, width), *_compressors(config, hidden, width, ratio), experts]
    return build_layer(mixer, ffn, *parts, vectors=2 * hidden + _stream_mix(config, hidden))


def _attention(config: Config, hidden: int, heads: int, width: int) -> Part:
    q_rank = config.integer("q_lora_rank")
    groups = config.integer("o_groups")
    o_rank = config.integer("o_lora_rank")
    return Part(
        (
            Matrix("qkv_a_proj", hidden, q_rank + width, "attention", "replicated"),
            Matrix("q_b_proj", q_rank, heads * width, "attention", "column"),
            Matrix("o_a_proj", heads * width // groups, groups * o_rank, "attention", "column"),
            Matrix("o_b_proj", groups * o_rank, hidden, "attention", "row"),
        ),
        q_rank + width + heads,
    )


def _compressors(config: Config, hidden: int, width: int, ratio: int) -> list[Part]:
    """Return the compressor of a layer and, with an indexer, the indexer and its own compressor."""
    if not ratio:
        return []
    if ratio != INDEXED_STRIDE:
        return [_compressor("compressor", hidden, width, ratio, overlap=1)]
    heads = config.integer("index_n_heads")
    dim = config.integer("index_head_dim")
    queries = Part(
        (
            Matrix("indexer.wq_b", config.integer("q_lora_rank"), heads * dim, "indexer", "replicated"),
            Matrix("indexer.weights_proj", hidden, heads, "router", "replicated"),
        )
    )
    return [
        _compressor("compressor", hidden, width, ratio, overlap=2),
        queries,
        _compressor("indexer.compressor", hidden, dim, ratio, overlap=2),
    ]


def _compressor(name: str, hidden: int, width: int, ratio: int, overlap: int) -> Part:
    role: Role = "indexer" if name.startswith("indexer") else "attention"
    values_and_gates = 2 * overlap * width
    return Part(
        (Matrix(f"{name}.kv_gate", hidden, values_and_gates, role, "replicated"),),
        ratio * overlap * width + width,
    )


def _stream_mix(config: Config, hidden: int) -> int:
    """Elements that mix the residual streams, before attention and before the experts."""
    streams = config.integer("hc_mult", default=1)
    outputs = (2 + streams) * streams
    return 2 * (outputs * streams * hidden + outputs + 3) if streams > 1 else 0
