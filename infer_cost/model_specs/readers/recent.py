"""Kimi Linear, MiMo-V2 and Step: layers of two kinds with heads of their own, and experts in most of them."""

from __future__ import annotations

from collections.abc import Callable

from infer_cost.model_specs.architecture import Architecture, Component, Ffn, Layer, Matrix, Mixer
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.parts import (
    Part,
    attention_mixer,
    attention_part,
    build_layer,
    dense_ffn,
    latent_mixer,
    latent_part,
    layer_groups,
)
from infer_cost.model_specs.readers import shared

_NOT_KIMI_LINEAR = ("routed_expert_hidden_size", "attn_res_block_size", "mla_use_output_gate")
"""Keys of a successor that calls its language model by the same type and has parts besides."""
_MIMO_MODULES = 3
"""Prediction modules that the released checkpoint stores; no key counts them."""


def read(config: Config) -> Architecture:
    """Read a config of one of the families in this module."""
    return _READERS[config.text("model_type")](config)


def _network(config: Config, hidden: int, sparse: bool, shared_width: int | None = None) -> tuple[Ffn, Part]:
    if not sparse:
        return dense_ffn(hidden, config.integer("intermediate_size"))
    width = config.integer("moe_intermediate_size")
    return shared.experts(config, hidden, width, shared_width=shared_width)


def _finish(
    config: Config,
    kinds: list[tuple[bool, bool]],
    build: Callable[[tuple[bool, bool]], Layer],
    components: tuple[Component, ...] = (),
) -> Architecture:
    """Return the model whose layers are told apart by attention and network; experts have score corrections."""
    buffers = shared.router_buffers(sum(sparse for _, sparse in kinds) * config.integer(*shared.EXPERTS))
    return shared.architecture(
        config,
        layer_groups(kinds, build),
        hidden=shared.hidden_size(config),
        tied=False,
        components=(buffers, *components),
    )


def _kimi_linear(config: Config) -> Architecture:
    """Most layers have a delta-rule recurrence gated for each channel, the rest latent attention."""
    for key in _NOT_KIMI_LINEAR:
        if config.has(key):
            raise config.error(key, config.get(key), "no such key: what it adds isn't known here")
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    linear = config.section("linear_attn_config") or config
    recurrent = [index - 1 for index in linear.integers("kda_layers") or []]
    full = [index - 1 for index in linear.integers("full_attn_layers") or []]
    if sorted(recurrent + full) != list(range(layers)):
        raise config.error("linear_attn_config", "layers", f"each of the layers 1 to {layers} in one of its lists")
    sparse = shared.moe_layers(config, layers)

    def build(kind: tuple[bool, bool]) -> Layer:
        is_recurrent, is_sparse = kind
        mixer, part = _kda(linear, hidden) if is_recurrent else _plain_latent(config, hidden)
        ffn, network = _network(config, hidden, is_sparse)
        return build_layer(mixer, ffn, part, network, vectors=2 * hidden)

    places = set(recurrent)
    return _finish(config, [(index in places, sparse[index]) for index in range(layers)], build)


def _plain_latent(config: Config, hidden: int) -> tuple[Mixer, Part]:
    heads = config.integer("num_attention_heads")
    sizes = tuple(config.integer(key) for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    nope, rope, value = sizes
    rank = config.integer("kv_lora_rank")
    part = latent_part(hidden, heads, nope, rope, value, config.optional("q_lora_rank"), rank)
    return latent_mixer(heads, nope, rope, value, rank), part


def _kda(linear: Config, hidden: int) -> tuple[Mixer, Part]:
    heads = linear.integer("num_heads", "linear_num_heads")
    width = linear.integer("head_dim", "linear_head_dim")
    kernel = linear.integer("short_conv_kernel_size", "linear_conv_kernel_dim", default=4)
    inner = heads * width
    mixer = Mixer(
        "linear",
        heads=heads,
        kv_heads=heads,
        score_dim=width,
        value_dim=width,
        state_elements=heads * width * width,
        conv_state_elements=3 * inner * kernel,
        conv_kernel=kernel,
    )
    matrices = (
        Matrix("in_proj_qkv", hidden, 3 * inner, "mixer", "column"),
        Matrix("in_proj_fgb", hidden, 2 * width + heads, "mixer", "replicated"),
        Matrix("f_b_proj", width, inner, "mixer", "column"),
        Matrix("g_b_proj", width, inner, "mixer", "column"),
        Matrix("out_proj", inner, hidden, "mixer", "row"),
    )
    # Convolutions, the gate's bias and decay, the norm of a head.
    return mixer, Part(matrices, 3 * inner * kernel + inner + heads + width)


def _mimo_v2(config: Config) -> Architecture:
    """Sliding layers have KV heads of their own and sinks; values are narrower than keys."""
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    sparse = shared.moe_layers(config, layers)
    pattern = config.integers("hybrid_layer_pattern", layers)
    if pattern is None:
        kinds = config.names("layer_types", layers)
        if kinds is None:
            raise config.missing("hybrid_layer_pattern", "layer_types")
        pattern = [int(kind == "sliding_attention") for kind in kinds]

    def build(kind: tuple[bool, bool]) -> Layer:
        slides, is_sparse = kind
        prefix = "swa_" if slides else ""
        heads = config.integer(prefix + "num_attention_heads", default=config.integer("num_attention_heads"))
        kv_heads = config.integer("num_key_value_heads") * (2 if slides else 1)
        kv_heads = config.integer(prefix + "num_key_value_heads", default=kv_heads)
        width = config.integer(prefix + "head_dim", default=config.integer("head_dim"))
        value = config.integer(prefix + "v_head_dim", default=config.integer("v_head_dim"))
        shared.check_heads(config, heads, kv_heads)
        window = config.integer("sliding_window", "sliding_window_size") if slides else None
        mixer = attention_mixer(heads, kv_heads, width, value, window=window)
        attention = attention_part(hidden, mixer, qkv_bias=config.flag("attention_bias"))
        sinks = heads if config.flag(_SINKS[slides], slides) else 0
        ffn, network = _network(config, hidden, is_sparse, 0)
        return build_layer(mixer, ffn, attention, network, vectors=2 * hidden + sinks)

    config.note(f"{_MIMO_MODULES} multi-token prediction modules assumed; no key counts them")
    modules = shared.mtp(config, build((True, False)), _MIMO_MODULES)
    layout = [(pattern[index] != 0, sparse[index]) for index in range(layers)]
    return _finish(config, layout, build, (modules,))


_SINKS = {True: "add_swa_attention_sink_bias", False: "add_full_attention_sink_bias"}


def _step(config: Config) -> Architecture:
    """Sliding layers have query heads of their own number; every head has an output gate."""
    hidden = shared.hidden_size(config)
    layers = shared.layer_count(config)
    modules = config.count("num_nextn_predict_layers")
    windows = shared.layer_windows(_without_prediction_layers(config, layers, modules), layers)
    sparse = _step_sparse(config, layers)
    window = next((window for window in windows if window), None)
    other = config.section("attention_other_setting")
    heads, kv_heads, width = shared.heads(config)
    sliding = config.integer("num_sliding_attention_heads", default=heads)
    if other:
        sliding = other.integer("num_attention_heads", default=sliding)
    shared.check_heads(config, sliding, kv_heads)

    def build(kind: tuple[bool, bool]) -> Layer:
        slides, is_sparse = kind
        mixer = attention_mixer(sliding if slides else heads, kv_heads, width, window=window if slides else None)
        gate = Part((Matrix("head_gate", hidden, mixer.heads, "attention", "column"),), 2 * width)
        ffn, network = _network(config, hidden, is_sparse, config.count("share_expert_dim", "share_expert_dims"))
        return build_layer(mixer, ffn, attention_part(hidden, mixer), gate, network, vectors=2 * hidden)

    components: tuple[Component, ...] = ()
    if modules:
        vocab = config.integer("vocab_size")
        heads_again = Component("copies", modules * vocab * hidden, "a head for each prediction module")
        components = (shared.mtp(config, build((window is not None, False)), modules), heads_again)
    kinds = [(windows[index] is not None, sparse[index]) for index in range(layers)]
    return _finish(config, kinds, build, components)


def _without_prediction_layers(config: Config, layers: int, modules: int) -> Config:
    """Return the config with ``layer_types`` cut to the decoder's layers; files list the modules' after them."""
    kinds = config.names("layer_types")
    if kinds is None or len(kinds) != layers + modules:
        return config
    return Config({**config.data, "layer_types": kinds[:layers]}, config.where, config.notes)


def _step_sparse(config: Config, layers: int) -> list[bool]:
    """Return which layers hold experts; files list them as text, or name how many dense ones come first."""
    listed = config.get("moe_layers_enum")
    if isinstance(listed, str):
        numbers = {int(item) for item in listed.split(",") if item.strip().isdigit()}
        return [index in numbers for index in range(layers)]
    if config.has("moe_layers_enum"):
        chosen = set(config.integers("moe_layers_enum") or [])
        return [index in chosen for index in range(layers)]
    first = config.count("first_k_dense_replace", default=3)
    return [index >= first for index in range(layers)]


_READERS: dict[str, Callable[[Config], Architecture]] = {
    "kimi_linear": _kimi_linear,
    "mimo_v2_flash": _mimo_v2,
    "step3p5": _step,
}
