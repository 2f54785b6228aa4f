"""Models that mix attention with recurrences: Qwen3-Next and 3.5, Nemotron-H, Granite 4, Jamba, Falcon-H1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture, Ffn, Layer, Matrix, Mixer
from infer_cost.model_specs.config import MAX_LAYERS, Config
from infer_cost.model_specs.parts import (
    NO_FFN,
    NO_MIXER,
    Part,
    attention_mixer,
    attention_part,
    build_layer,
    dense_ffn,
    gated_delta_net,
    layer_groups,
    mamba2,
)
from infer_cost.model_specs.readers import shared


def read(config: Config) -> Architecture:
    """Read a config of one of the families in this module."""
    return _READERS[config.text("model_type")](config)


def _qwen(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    kinds = config.kinds("layer_types", layers, "full_attention", "linear_attention")
    if kinds is None:
        every = config.integer("full_attention_interval", default=4)
        kinds = ["linear_attention" if (index + 1) % every else "full_attention" for index in range(layers)]
    has_experts = config.text("model_type") != "qwen3_5_text"
    sparse = shared.moe_layers(config, layers) if has_experts else [False] * layers
    next_token = config.count("mtp_num_hidden_layers", default=1)
    components = []
    if next_token:
        layer = _qwen_layer(config, hidden, "full_attention", sparse[-1])
        components.append(shared.mtp(config, layer, next_token))
        if not config.has("mtp_num_hidden_layers"):
            config.note("one multi-token prediction module assumed; no key of the config counts it")
    return shared.architecture(
        config,
        layer_groups(zip(kinds, sparse, strict=True), lambda kind: _qwen_layer(config, hidden, *kind)),
        hidden=hidden,
        tied=False,
        components=tuple(components),
    )


def _qwen_layer(config: Config, hidden: int, kind: str, sparse: bool) -> Layer:
    mixer: Mixer
    if kind == "linear_attention":
        mixer, mixing = gated_delta_net(
            hidden,
            config.integer("linear_num_key_heads"),
            config.integer("linear_num_value_heads"),
            config.integer("linear_key_head_dim"),
            config.integer("linear_value_head_dim"),
            config.integer("linear_conv_kernel_dim"),
        )
    else:
        heads, kv_heads, width = shared.heads(config)
        mixer = attention_mixer(heads, kv_heads, width)
        gated = config.flag("attn_output_gate", True)
        mixing = attention_part(hidden, mixer, gated_output=gated, qkv_bias=config.flag("attention_bias"))
        mixing = mixing._replace(vectors=mixing.vectors + 2 * width)
    if sparse:
        ffn, part = shared.experts(
            config,
            hidden,
            config.integer("moe_intermediate_size"),
            shared_width=config.count("shared_expert_intermediate_size"),
            shared_gate=True,
        )
    else:
        ffn, part = dense_ffn(hidden, config.integer("intermediate_size"))
    return build_layer(mixer, ffn, mixing, part, vectors=2 * hidden)


_NEMOTRON_LETTERS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}


def _nemotron_kinds(config: Config, pattern_key: str, list_key: str) -> list[str] | None:
    """Return the kind of each block from a pattern of letters or a list of names."""
    kinds = config.names(list_key)
    if kinds is None:
        pattern = config.text(pattern_key)
        if not pattern:
            return None
        kinds = [_NEMOTRON_LETTERS.get(letter, letter) for letter in pattern]
        unknown = set(kinds) - set(_NEMOTRON_LETTERS.values())
        if unknown:
            raise config.error(pattern_key, pattern, "letters M (mamba), * (attention), E (experts), - (dense)")
    if not 0 < len(kinds) <= MAX_LAYERS:
        raise config.error(list_key, f"{len(kinds)} blocks", f"1 to {MAX_LAYERS} blocks")
    return kinds


def _nemotron(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    kinds = _nemotron_kinds(config, "hybrid_override_pattern", "layers_block_type")
    if kinds is None:
        raise config.missing("hybrid_override_pattern", "layers_block_type")
    layers = config.optional("num_hidden_layers")
    if layers is not None and layers != len(kinds):
        raise InputError(
            f"config keys num_hidden_layers ({layers}) and hybrid_override_pattern ({len(kinds)}) contradict",
            field=config.where + "num_hidden_layers",
            value=layers,
            allowed=f"{len(kinds)}, the length of the pattern",
        )
    components = []
    modules = config.count("num_nextn_predict_layers")
    ahead = None
    if modules:
        ahead = _nemotron_kinds(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
    if ahead:
        blocks = [_nemotron_block(config, hidden, kind) for kind in ahead]
        components.append(shared.mtp(config, _joined(blocks), modules))
    return shared.architecture(
        config,
        layer_groups(kinds, lambda kind: _nemotron_block(config, hidden, kind)),
        hidden=hidden,
        tied=False,
        components=tuple(components),
    )


def _joined(blocks: list[Layer]) -> Layer:
    """Return one layer that holds a mixer and a network from blocks of their own."""
    return Layer(
        mixer=next((block.mixer for block in blocks if block.mixer.kind != "none"), NO_MIXER),
        ffn=next((block.ffn for block in blocks if block.ffn.kind != "none"), NO_FFN),
        matrices=tuple(matrix for block in blocks for matrix in block.matrices),
        vectors=sum(block.vectors for block in blocks),
        expert_vectors=sum(block.expert_vectors for block in blocks),
    )


def _nemotron_block(config: Config, hidden: int, kind: str) -> Layer:
    """Return a block that is a mixer or a network, never both."""
    if kind == "mamba":
        mixer, part = _mamba2(
            config, hidden, ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel")
        )
        return build_layer(mixer, NO_FFN, part, vectors=hidden)
    if kind == "attention":
        heads, kv_heads, width = shared.heads(config)
        mixer = attention_mixer(heads, kv_heads, width)
        bias = config.flag("attention_bias")
        return build_layer(mixer, NO_FFN, attention_part(hidden, mixer, qkv_bias=bias, out_bias=bias), vectors=hidden)
    if kind == "moe":
        ffn, part = shared.experts(
            config,
            hidden,
            config.integer("moe_intermediate_size"),
            shared_width=config.count(*shared.SHARED) * config.count("moe_shared_expert_intermediate_size"),
            gated=False,
            latent=config.optional("moe_latent_size"),
        )
        return build_layer(NO_MIXER, ffn, part, vectors=hidden)
    if kind != "mlp":
        raise config.error("layers_block_type", kind, "mamba, attention, moe or mlp")
    ffn, part = dense_ffn(hidden, config.integer("intermediate_size"), False, config.flag("mlp_bias"))
    return build_layer(NO_MIXER, ffn, part, vectors=hidden)


def _mamba2(config: Config, hidden: int, keys: tuple[str, str, str, str, str]) -> tuple[Mixer, Part]:
    heads, width, state, groups, kernel = keys
    return mamba2(
        hidden,
        config.integer(heads),
        config.integer(width),
        config.integer(state),
        config.integer(groups, default=1),
        config.integer(kernel, default=4),
        conv_bias=config.flag("use_conv_bias", config.flag("mamba_conv_bias", True)),
        proj_bias=config.flag("use_bias", config.flag("mamba_proj_bias")),
    )


_GRANITE = ("mamba", "attention")


def _granite(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    kinds = config.kinds("layer_types", layers, *_GRANITE) or config.kinds("layers_block_type", layers, *_GRANITE)
    if kinds is None:
        raise config.missing("layer_types", "layers_block_type")
    return shared.architecture(
        config,
        layer_groups(kinds, lambda kind: _granite_layer(config, hidden, kind)),
        hidden=hidden,
        tied=True,
    )


def _granite_layer(config: Config, hidden: int, kind: str) -> Layer:
    if kind == "mamba":
        keys = ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")
        mixer, part = _mamba2(config, hidden, keys)
    else:
        heads, kv_heads, width = shared.heads(config)
        mixer = attention_mixer(heads, kv_heads, width)
        bias = config.flag("attention_bias")
        part = attention_part(hidden, mixer, qkv_bias=bias, out_bias=bias)
    shared_width = config.count("shared_intermediate_size")
    ffn: Ffn
    if config.count(*shared.EXPERTS, default=None):
        ffn, network = shared.experts(config, hidden, config.integer("intermediate_size"), shared_width=shared_width)
    else:
        ffn, network = dense_ffn(hidden, shared_width or config.integer("intermediate_size"))
    return build_layer(mixer, ffn, part, network, vectors=2 * hidden)


def _jamba(config: Config) -> Architecture:
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    period = config.integer("attn_layer_period", default=8)
    offset = config.count("attn_layer_offset", default=4)
    # A single expert is a plain network.
    sparse = shared.moe_layers(config, layers) if config.integer(*shared.EXPERTS) > 1 else [False] * layers
    kinds = [("attention" if index % period == offset else "mamba", sparse[index]) for index in range(layers)]
    return shared.architecture(
        config,
        layer_groups(kinds, lambda kind: _jamba_layer(config, hidden, *kind)),
        hidden=hidden,
        tied=False,
    )


def _jamba_layer(config: Config, hidden: int, kind: str, sparse: bool) -> Layer:
    if kind == "mamba":
        mixer, part = _mamba1(config, hidden)
    else:
        mixer = attention_mixer(*shared.heads(config))
        part = attention_part(hidden, mixer)
    width = config.integer("intermediate_size")
    ffn, network = shared.experts(config, hidden, width) if sparse else dense_ffn(hidden, width)
    return build_layer(mixer, ffn, part, network, vectors=2 * hidden)


def _mamba1(config: Config, hidden: int) -> tuple[Mixer, Part]:
    inner = config.integer("mamba_expand", default=2) * hidden
    state = config.integer("mamba_d_state", default=16)
    kernel = config.integer("mamba_d_conv", default=4)
    rank = config.integer("mamba_dt_rank", default=-(-hidden // 16))
    mixer = Mixer(
        "mamba",
        heads=inner,
        kv_heads=1,
        score_dim=state,
        value_dim=1,
        state_elements=inner * state,
        conv_state_elements=inner * kernel,
        conv_kernel=kernel,
    )
    matrices = (
        Matrix("in_proj", hidden, 2 * inner, "mixer", "column"),
        Matrix("x_proj", inner, rank + 2 * state, "mixer", "row"),
        Matrix("dt_proj", rank, inner, "mixer", "column"),
        Matrix("out_proj", inner, hidden, "mixer", "row"),
    )
    # Convolution with bias, A, D, the bias of dt, and the norms of dt, B and C.
    vectors = inner * (kernel + 1) + inner * state + 2 * inner + rank + 2 * state
    return mixer, Part(matrices, vectors)


def _falcon_h1(config: Config) -> Architecture:
    """Attention and a recurrence side by side in every layer: it caches tokens and keeps a state."""
    hidden = shared.hidden_size(config)
    heads, kv_heads, width = shared.heads(config)
    attention = attention_mixer(heads, kv_heads, width)
    state_heads = config.integer("mamba_n_heads")
    inner = config.integer("mamba_d_ssm", default=config.integer("mamba_expand", default=2) * hidden)
    recurrence, part = mamba2(
        hidden,
        state_heads,
        inner // state_heads,
        config.integer("mamba_d_state"),
        config.integer("mamba_n_groups", default=1),
        config.integer("mamba_d_conv", default=4),
        conv_bias=config.flag("mamba_conv_bias", True),
        proj_bias=config.flag("mamba_proj_bias"),
    )
    if not config.flag("mamba_rms_norm"):
        part = part._replace(vectors=part.vectors - inner)
    mixer = replace(
        attention,
        state_elements=recurrence.state_elements,
        conv_state_elements=recurrence.conv_state_elements,
        conv_kernel=recurrence.conv_kernel,
    )
    bias = config.flag("attention_bias")
    projections = attention_part(hidden, attention, qkv_bias=bias, out_bias=bias)
    ffn, network = dense_ffn(hidden, config.integer("intermediate_size"), bias=config.flag("mlp_bias"))
    layer = build_layer(mixer, ffn, projections, part, network, vectors=2 * hidden)
    layers = shared.layer_count(config)
    return shared.architecture(config, layer_groups([layer] * layers, lambda same: same), hidden=hidden, tied=False)


_READERS: dict[str, Callable[[Config], Architecture]] = {
    "qwen3_next": _qwen,
    "qwen3_5_text": _qwen,
    "qwen3_5_moe_text": _qwen,
    "nemotron_h": _nemotron,
    "granitemoehybrid": _granite,
    "jamba": _jamba,
    "falcon_h1": _falcon_h1,
}
