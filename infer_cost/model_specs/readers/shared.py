"""What most readers need: windows by layer, experts by layer, the finished architecture."""

from __future__ import annotations

from collections.abc import Iterable

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture, Component, Ffn, Layer, LayerGroup
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.counts import layer_elements
from infer_cost.model_specs.parts import Part, embedding, moe_ffn, output_head

_WINDOWED = ("sliding_attention", "chunked_attention")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
TOP_K = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_top_k",
    "moe_topk",
    "moe_k",
    "top_k_experts",
)
CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
)
HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
WIDTH = ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")
SHARED = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")


def context_length(config: Config, default: int | None = None) -> int | None:
    """Return the longest context that the config states; synonyms may differ, the first counts."""
    for key in CONTEXT:
        value = config.optional(key)
        if value is not None:
            return value
    return default


def hidden_size(config: Config) -> int:
    """Return the width of the residual stream."""
    return config.integer(*HIDDEN)


def layer_count(config: Config) -> int:
    """Return the number of decoder layers."""
    return config.layers(*LAYERS)


def heads(config: Config) -> tuple[int, int, int]:
    """Return query heads, KV heads and head width of grouped-query attention.

    Raises
    ------
    InputError
        If the query heads are no multiple of the KV heads, or the width can't be derived.
    """
    query = config.integer(*HEADS)
    kv = config.integer(*KV_HEADS, default=query)
    check_heads(config, query, kv)
    return query, kv, head_width(config, hidden_size(config), query)


def check_heads(config: Config, query: int, kv: int) -> None:
    """Refuse query heads that are no multiple of the KV heads."""
    if query % kv:
        raise InputError(
            f"config keys {config.where}num_attention_heads ({query}) and num_key_value_heads ({kv}) contradict",
            field=config.where + "num_key_value_heads",
            value=kv,
            allowed=f"a divisor of {query}",
        )


def head_width(config: Config, hidden: int, query: int) -> int:
    """Return ``head_dim``, or hidden size over heads where the config doesn't say."""
    width = config.optional("head_dim", "attention_head_dim", "kv_channels")
    if width is not None:
        return width
    if hidden % query:
        raise InputError(
            f"config keys {config.where}hidden_size ({hidden}) and num_attention_heads ({query}) contradict",
            field=config.where + "num_attention_heads",
            value=query,
            allowed=f"a divisor of {hidden}, or a head_dim beside them",
        )
    return hidden // query


def layer_windows(config: Config, layers: int, default: Iterable[bool] | None = None) -> list[int | None]:
    """Return each layer's attention window, None for full attention.

    Parameters
    ----------
    config : Config
        ``layer_types`` decides where it is given.
    layers : int
        Number of layers.
    default : Iterable[bool], optional
        Which layers slide when ``layer_types`` is absent.

    Notes
    -----
    A window that is null, or not smaller than the longest context, is none.
    """
    window = config.optional("sliding_window", "attention_chunk_size", minimum=0) or None
    longest = context_length(config)
    if window is None or (longest is not None and window >= longest):
        return [None] * layers
    kinds = config.kinds("layer_types", layers, "full_attention", *_WINDOWED)
    slides = [False] * layers if default is None else list(default)
    if kinds is not None:
        slides = [kind in _WINDOWED for kind in kinds]
    return [window if sliding else None for sliding in slides]


def moe_layers(config: Config, layers: int) -> list[bool]:
    """Return which layers hold experts, by whichever of the keys the family uses; all of them by default."""
    kinds = config.kinds("mlp_layer_types", layers, "dense", "sparse")
    if kinds is not None:
        return [kind != "dense" for kind in kinds]
    frequency = config.get("moe_layer_freq")
    if isinstance(frequency, list):
        return [value != 0 for value in config.integers("moe_layer_freq", layers) or []]
    if config.has("moe_layer_start_index"):
        first = config.count("moe_layer_start_index")
        last = config.count("moe_layer_end_index", default=layers - 1)
        step = config.integer("moe_layer_interval", default=1)
        return [first <= index <= last and (index + 1) % step == 0 for index in range(layers)]
    if config.has("moe_layers"):
        listed = set(config.integers("moe_layers") or [])
        return [index in listed for index in range(layers)]
    if config.has("interleave_moe_layer_step"):
        step = config.integer("interleave_moe_layer_step")
        return [(index + 1) % step == 0 for index in range(layers)]
    if config.has("expert_layer_period"):
        period = config.integer("expert_layer_period")
        offset = config.count("expert_layer_offset")
        return [index % period == offset for index in range(layers)]
    step = config.integer("decoder_sparse_step", default=1)
    dense = set(config.integers("mlp_only_layers") or [])
    first = config.count("first_k_dense_replace")
    every = config.integer("moe_layer_freq", default=1)
    return [
        index not in dense and (index + 1) % step == 0 and index >= first and index % every == 0
        for index in range(layers)
    ]


def experts(
    config: Config,
    hidden: int,
    width: int,
    *,
    shared_width: int | None = None,
    shared_gate: bool = False,
    router_bias: bool = False,
    expert_bias: bool = False,
    gated: bool = True,
    latent: int | None = None,
    top_k: int | None = None,
) -> tuple[Ffn, Part]:
    """Return a mixture of experts as the config sizes it; shared experts default to a count times ``width``.

    Raises
    ------
    InputError
        If a token would run through more experts than there are.
    """
    total = config.integer(*EXPERTS)
    chosen = config.integer(*TOP_K, default=top_k)
    if chosen > total:
        raise InputError(
            f"config has {chosen} experts a token and only {total} experts",
            field=config.where + next(key for key in TOP_K if config.has(key)),
            value=chosen,
            allowed=f"1 to {total}",
        )
    if shared_width is None:
        shared_width = config.count(*SHARED) * width
    return moe_ffn(
        hidden,
        total,
        chosen,
        width,
        shared_width=shared_width,
        shared_gate=shared_gate and shared_width > 0,
        router_bias=router_bias,
        expert_bias=expert_bias,
        gated=gated,
        latent=latent,
    )


def mtp(config: Config, layer: Layer, modules: int) -> Component:
    """Return multi-token prediction modules that each hold one layer.

    Beside its layer a module has the projection of two hidden states into one, their norms, and the norm
    before its head.
    """
    hidden = hidden_size(config)
    elements = modules * (layer_elements(layer) + 2 * hidden * hidden + 3 * hidden)
    return Component("mtp", elements, "multi-token prediction", layer, modules)


def router_buffers(total: int) -> Component:
    """Return the score corrections that routers store beside their weights."""
    return Component("buffers", total, "router score corrections")


def stored_head(config: Config) -> tuple[Component, ...]:
    """Return the copy of a tied head that a checkpoint stores all the same."""
    elements = config.integer("vocab_size") * hidden_size(config)
    return (Component("copies", elements, "the tied head is stored too"),)


def architecture(
    config: Config,
    groups: tuple[LayerGroup, ...],
    *,
    hidden: int,
    tied: bool,
    vocab: int | None = None,
    vectors: int | None = None,
    context: int | None = None,
    components: tuple[Component, ...] = (),
    lookup_vectors: int = 0,
) -> Architecture:
    """Return the finished language model; ``tied`` is the family's default, ``vectors`` its final norm."""
    vocab = vocab or config.integer("vocab_size", "padded_vocab_size")
    tie = config.flag("tie_word_embeddings", tied)
    return Architecture(
        name="",
        model_type=config.text("model_type"),
        hidden_size=hidden,
        vocab_size=vocab,
        context_length=context_length(config, context),
        groups=groups,
        embedding=embedding(vocab, hidden),
        head=None if tie else output_head(vocab, hidden),
        vectors=hidden if vectors is None else vectors,
        lookup_vectors=lookup_vectors,
        components=components,
        notes=tuple(config.notes),
    )
