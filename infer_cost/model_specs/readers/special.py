"""Families with an arrangement of their own: Llama 4, Llama 3.2 Vision, LongCat, MiniMax-M3, Nemotron-NAS,
Step."""

from __future__ import annotations

from collections.abc import Callable

from infer_cost.model_specs.architecture import Architecture, Component, Layer, LayerGroup, Matrix, Mixer
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.parts import (
    NO_FFN,
    NO_MIXER,
    Part,
    attention_mixer,
    attention_part,
    build_layer,
    dense_ffn,
    latent_mixer,
    latent_part,
    layer_groups,
    moe_ffn,
)
from infer_cost.model_specs.readers import shared


def read(config: Config) -> Architecture:
    """Read a config of one of the families in this module."""
    return _READERS[config.text("model_type")](config)


def _llama4(config: Config) -> Architecture:
    """Three layers of four see a chunk only; a shared expert runs beside the routed ones."""
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    sparse = shared.moe_layers(config, layers)
    chunk = config.optional("attention_chunk_size", minimum=0) or None
    local = config.integers("no_rope_layers", layers) or []
    every = config.integer("no_rope_layer_interval", default=4)
    if not local:
        local = [int((index + 1) % every != 0) for index in range(layers)]
    heads, kv_heads, width = shared.heads(config)

    def build(kind: tuple[bool, bool]) -> Layer:
        is_sparse, is_local = kind
        mixer = attention_mixer(heads, kv_heads, width, window=chunk if is_local else None, chunked=is_local)
        bias = config.flag("attention_bias")
        expert = config.integer("intermediate_size")
        if is_sparse:
            ffn, part = shared.experts(config, hidden, expert, shared_width=expert)
        else:
            ffn, part = dense_ffn(hidden, config.integer("intermediate_size_mlp", default=expert))
        attention = attention_part(hidden, mixer, qkv_bias=bias, out_bias=bias)
        return build_layer(mixer, ffn, attention, part, vectors=2 * hidden)

    groups = layer_groups(zip(sparse, (bool(flag) for flag in local), strict=True), build)
    return shared.architecture(config, groups, hidden=hidden, tied=False)


def _mllama(config: Config) -> Architecture:
    """Some layers attend to image tokens instead; their cache doesn't grow with the text."""
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    cross = set(config.integers("cross_attention_layers") or [])
    heads, kv_heads, width = shared.heads(config)
    config.note("cross-attention layers read image tokens; their cache is not counted")

    def build(is_cross: bool) -> Layer:
        mixer = attention_mixer(heads, kv_heads, width)
        attention = attention_part(hidden, mixer)
        ffn, part = dense_ffn(hidden, config.integer("intermediate_size"))
        # A cross layer has query and key norms and a gate for each half.
        vectors = 2 * hidden + (2 * width + 2 if is_cross else 0)
        return build_layer(NO_MIXER if is_cross else mixer, ffn, attention, part, vectors=vectors)

    return shared.architecture(
        config,
        layer_groups([index in cross for index in range(layers)], build),
        hidden=hidden,
        tied=False,
        # Eight rows of the table stand for the image.
        lookup_vectors=8 * hidden,
    )


def _longcat(config: Config) -> Architecture:
    """A layer is two of attention with a dense network each, and one mixture of experts beside them."""
    hidden = shared.hidden_size(config)
    blocks = shared.layer_count(config)
    experts = config.integer("n_routed_experts")
    zero = config.count("zero_expert_num")
    chosen = config.integer("moe_topk", "num_experts_per_tok")
    heads = config.integer("num_attention_heads")
    nope = config.integer("qk_nope_head_dim")
    rope = config.integer("qk_rope_head_dim")
    value = config.integer("v_head_dim")
    q_rank = config.integer("q_lora_rank")
    kv_rank = config.integer("kv_lora_rank")
    mixer = latent_mixer(heads, nope, rope, value, kv_rank)
    attention = latent_part(hidden, heads, nope, rope, value, q_rank, kv_rank)
    dense, network = dense_ffn(hidden, config.integer("ffn_hidden_size", "intermediate_size"))
    half = build_layer(mixer, dense, attention, network, vectors=2 * hidden)
    width = config.integer("expert_ffn_hidden_size", "moe_intermediate_size")
    routed = chosen * experts / (experts + zero)
    mixture = build_layer(NO_MIXER, *moe_ffn(hidden, experts, routed, width, router_outputs=experts + zero))
    if zero:
        config.note(f"{zero} experts compute nothing; {routed:g} of {chosen} chosen ones work on average")
    modules = config.count("num_nextn_predict_layers", default=1)
    vocab = config.integer("vocab_size")
    components = (
        shared.mtp(config, half, modules),
        Component("copies", modules * vocab * hidden, "embedding stored again with the prediction module"),
        shared.router_buffers(blocks * (experts + zero)),
    )
    return shared.architecture(
        config,
        (
            LayerGroup(half, 2 * blocks, tuple(range(2 * blocks))),
            LayerGroup(mixture, blocks, tuple(range(blocks))),
        ),
        hidden=hidden,
        tied=False,
        components=components,
    )


def _nemotron_nas(config: Config) -> Architecture:
    """Each layer was searched for: its own number of KV heads and FFN width, or none of them."""
    hidden = shared.hidden_size(config)
    blocks = config.list_of("block_configs")
    if not blocks:
        raise config.missing("block_configs")
    layers = config.layers("num_hidden_layers", default=len(blocks))
    if layers != len(blocks):
        config.list_of("block_configs", layers)
    heads = config.integer("num_attention_heads")
    width = shared.head_width(config, hidden, heads)

    def kind(index: int) -> tuple[int, int]:
        block = blocks[index]
        if not isinstance(block, dict):
            raise config.error("block_configs", block, "a list of objects")
        block = Config(block, f"block_configs[{index}].")
        attention = block.section("attention")
        ffn = block.section("ffn")
        group = 0
        inner = 0
        if attention and not attention.flag("no_op") and not attention.flag("replace_with_linear"):
            group = attention.integer("n_heads_in_group")
        if ffn and not ffn.flag("no_op") and not ffn.flag("replace_with_linear"):
            inner = _nas_width(hidden, ffn.number("ffn_mult", 0.0))
        return group, inner

    def build(sizes: tuple[int, int]) -> Layer:
        group, inner = sizes
        parts = []
        mixer, ffn = NO_MIXER, NO_FFN
        if group:
            mixer = attention_mixer(heads, heads // group, width)
            parts.append(attention_part(hidden, mixer))
        if inner:
            ffn, part = dense_ffn(hidden, inner)
            parts.append(part)
        return build_layer(mixer, ffn, *parts, vectors=hidden * ((group > 0) + (inner > 0)))

    groups = layer_groups([kind(index) for index in range(layers)], build)
    return shared.architecture(config, groups, hidden=hidden, tied=False)


def _nas_width(hidden: int, multiple: float) -> int:
    """Two thirds of ``multiple · hidden``, gate and up together, in steps of 256."""
    return -(-int(2 * multiple * hidden / 3) // 256) * 256


def _minimax_m3(config: Config) -> Architecture:
    """Grouped-query attention that reads the blocks of tokens an indexer chose."""
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    sparse = shared.moe_layers(config, layers)
    choice = config.section("sparse_attention_config")
    indexed = choice.integers("sparse_attention_freq", layers) if choice else None
    heads, kv_heads, width = shared.heads(config)

    def build(kind: tuple[bool, bool]) -> Layer:
        is_sparse, is_indexed = kind
        mixer = attention_mixer(heads, kv_heads, width)
        parts = [attention_part(hidden, mixer)]
        if is_indexed and choice is not None:
            mixer, part = _m3_indexer(choice, hidden, mixer)
            parts.append(part)
        if is_sparse:
            ffn, part = shared.experts(
                config,
                hidden,
                config.integer("intermediate_size"),
                shared_width=config.count("shared_intermediate_size"),
            )
        else:
            ffn, part = dense_ffn(hidden, config.integer("dense_intermediate_size"))
        return build_layer(mixer, ffn, *parts, part, vectors=2 * hidden + 2 * width)

    kinds = zip(sparse, (bool(flag) for flag in indexed or [0] * layers), strict=True)
    buffers = shared.router_buffers(sum(sparse) * config.integer(*shared.EXPERTS))
    return shared.architecture(config, layer_groups(kinds, build), hidden=hidden, tied=False, components=(buffers,))


def _m3_indexer(choice: Config, hidden: int, mixer: Mixer) -> tuple[Mixer, Part]:
    index_heads = choice.integer("sparse_num_index_heads")
    dim = choice.integer("sparse_index_dim")
    tokens = choice.integer("sparse_block_size") * choice.integer("sparse_topk_blocks")
    mixer = Mixer(
        mixer.kind,
        heads=mixer.heads,
        kv_heads=mixer.kv_heads,
        score_dim=mixer.score_dim,
        value_dim=mixer.value_dim,
        decode_score_dim=mixer.decode_score_dim,
        decode_value_dim=mixer.decode_value_dim,
        cache_elements=mixer.cache_elements,
        sparse_topk=tokens,
        index_heads=index_heads,
        index_dim=dim,
        index_elements=dim,
    )
    projection = Matrix("indexer.qk_proj", hidden, (index_heads + 1) * dim, "indexer", "replicated")
    return mixer, Part((projection,), 2 * dim)


_READERS: dict[str, Callable[[Config], Architecture]] = {
    "llama4_text": _llama4,
    "longcat_flash": _longcat,
    "minimax_m3": _minimax_m3,
    "mllama_text_model": _mllama,
    "nemotron-nas": _nemotron_nas,
}
