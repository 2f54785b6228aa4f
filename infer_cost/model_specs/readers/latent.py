"""DeepSeek V2, V3, R1 and V3.2, Kimi K2, GLM-5 and others: multi-head latent attention with experts."""

from __future__ import annotations

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture, Component, Ffn, Layer
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.parts import (
    Part,
    build_layer,
    dense_ffn,
    indexer_part,
    latent_mixer,
    latent_part,
    layer_groups,
)
from infer_cost.model_specs.readers import decoder, shared

_DENSE = ("minicpm3",)
"""Families without experts; the others are refused when the number of experts is missing."""


def read(config: Config) -> Architecture:
    """Read a config with latent attention; with ``use_mla`` off the model has plain heads."""
    if config.get("use_mla") is False:
        return decoder.read_with(config, decoder.Traits(moe=True))
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    indexed = _indexers(config, layers)
    dense = config.text("model_type") in _DENSE
    sparse = [False] * layers if dense else shared.moe_layers(config, layers)

    def build(kind: tuple[str, bool]) -> Layer:
        return latent_layer(config, hidden, indexer=kind[0], sparse=kind[1])

    groups = layer_groups(zip(indexed, sparse, strict=True), build)
    return shared.architecture(
        config,
        groups,
        hidden=hidden,
        tied=dense,
        components=_components(config, hidden, sum(sparse)),
    )


def latent_layer(config: Config, hidden: int, *, indexer: str, sparse: bool) -> Layer:
    """Return one layer; ``indexer`` is ``full``, ``shared`` (uses another layer's choice) or empty."""
    heads = config.integer("num_attention_heads")
    nope = config.integer("qk_nope_head_dim")
    rope = config.integer("qk_rope_head_dim")
    value = config.integer("v_head_dim", default=hidden // heads)
    q_rank = config.optional("q_lora_rank")
    kv_rank = config.integer("kv_lora_rank")
    index_heads = config.integer("index_n_heads") if indexer == "full" else 0
    index_dim = config.integer("index_head_dim") if indexer == "full" else 0
    mixer = latent_mixer(
        heads,
        nope,
        rope,
        value,
        kv_rank,
        sparse_topk=config.integer("index_topk") if indexer else None,
        index_heads=index_heads,
        index_dim=index_dim,
        index_cached=indexer == "full",
    )
    parts = [latent_part(hidden, heads, nope, rope, value, q_rank, kv_rank, config.flag("attention_bias"))]
    if indexer == "full":
        if q_rank is None:
            raise InputError(
                "config has an indexer (index_n_heads) but no q_lora_rank that it reads",
                field="q_lora_rank",
                allowed="both keys or neither",
            )
        parts.append(indexer_part(hidden, q_rank, index_heads, index_dim))
    ffn, part = _ffn(config, hidden, sparse)
    return build_layer(mixer, ffn, *parts, part, vectors=2 * hidden)


def _ffn(config: Config, hidden: int, sparse: bool) -> tuple[Ffn, Part]:
    if not sparse:
        return dense_ffn(hidden, config.integer("intermediate_size", "ffn_hidden_size"))
    return shared.experts(config, hidden, config.integer("moe_intermediate_size"))


def _indexers(config: Config, layers: int) -> list[str]:
    if not config.has("index_topk"):
        return [""] * layers
    return config.kinds("indexer_types", layers, "full", "shared") or ["full"] * layers


def _components(config: Config, hidden: int, sparse_layers: int) -> tuple[Component, ...]:
    modules = config.count("num_nextn_predict_layers")
    experts = config.optional(*shared.EXPERTS) or 0
    parts = []
    if modules:
        indexer = "full" if config.has("index_topk") else ""
        layer = latent_layer(config, hidden, indexer=indexer, sparse=experts > 0)
        parts.append(shared.mtp(config, layer, modules))
        if config.text("model_type") != "glm_moe_dsa":  # GLM shares them, DeepSeek stores them again
            copies = 2 * config.integer("vocab_size") * hidden * modules
            parts.append(Component("copies", copies, "embedding and head stored again with the module"))
    if experts and config.text("topk_method") == "noaux_tc":
        parts.append(shared.router_buffers(experts * (sparse_layers + modules)))
    return tuple(parts)
