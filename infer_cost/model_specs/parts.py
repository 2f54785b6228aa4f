"""The pieces that layers are made of: each function returns the matrices and vectors of one piece.

Readers put these together; nothing here knows a config key. Matrices are merged as serving engines merge them
(q, k and v in one, gate and up in one), so one matrix is one GEMM.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeVar

from infer_cost.model_specs.architecture import Ffn, Layer, LayerGroup, Matrix, Mixer, Role, Split


class Part(NamedTuple):
    """Matrices, elements of vectors (norms, biases), and elements of expert vectors of one piece of a
    layer."""

    matrices: tuple[Matrix, ...] = ()
    vectors: int = 0
    expert_vectors: int = 0

    @property
    def elements(self) -> int:
        """Parameters of the piece."""
        return sum(matrix.elements for matrix in self.matrices) + self.vectors + self.expert_vectors


NO_FFN = Ffn("none")
NO_MIXER = Mixer("none")


def build_layer(mixer: Mixer, ffn: Ffn, *parts: Part, vectors: int = 0) -> Layer:
    """Put a layer together from its pieces; ``vectors`` are its norms."""
    return Layer(
        mixer=mixer,
        ffn=ffn,
        matrices=tuple(matrix for part in parts for matrix in part.matrices),
        vectors=vectors + sum(part.vectors for part in parts),
        expert_vectors=sum(part.expert_vectors for part in parts),
    )


Kind = TypeVar("Kind", bound=Hashable)


def layer_groups(kinds: Iterable[Kind], build: Callable[[Kind], Layer]) -> tuple[LayerGroup, ...]:
    """Group layers by kind, in the order in which kinds first appear; each kind is built once.

    Kinds that turn out to build the same layer share a group.
    """
    places: dict[Kind, list[int]] = {}
    for index, kind in enumerate(kinds):
        places.setdefault(kind, []).append(index)
    groups: dict[Layer, list[int]] = {}
    for kind, indices in places.items():
        groups.setdefault(build(kind), []).extend(indices)
    return tuple(LayerGroup(layer, len(indices), tuple(sorted(indices))) for layer, indices in groups.items())


def attention_mixer(
    heads: int,
    kv_heads: int,
    head_dim: int,
    value_dim: int | None = None,
    *,
    window: int | None = None,
    chunked: bool = False,
    cached: bool = True,
) -> Mixer:
    """Return grouped-query attention (``kv_heads`` equal to ``heads`` is MHA, 1 is MQA).

    ``cached`` is False for a layer that reads the cache of an earlier one.
    """
    value_dim = head_dim if value_dim is None else value_dim
    elements = kv_heads * (head_dim + value_dim)
    return Mixer(
        "attention",
        heads=heads,
        kv_heads=kv_heads,
        score_dim=head_dim,
        value_dim=value_dim,
        decode_score_dim=head_dim,
        decode_value_dim=value_dim,
        window=window,
        window_kind="chunked" if chunked else "sliding",
        cache_elements=elements if cached else 0,
        shared_cache_elements=0 if cached else elements,
    )


def attention_part(
    hidden: int,
    mixer: Mixer,
    *,
    qkv_bias: bool = False,
    out_bias: bool = False,
    gated_output: bool = False,
    keys_are_values: bool = False,
) -> Part:
    """Return the projections of grouped-query attention.

    ``gated_output`` doubles the query projection (a gate for each output), ``keys_are_values`` drops the
    value projection; a layer without its own cache has no key and value projections at all.
    """
    queries = mixer.heads * mixer.score_dim * (2 if gated_output else 1)
    own = mixer.cache_elements > 0
    keys = mixer.kv_heads * mixer.score_dim if own else 0
    values = mixer.kv_heads * mixer.value_dim if own and not keys_are_values else 0
    outputs = queries + keys + values
    split: Split = "kv" if keys else "column"
    return Part(
        (
            Matrix("qkv_proj" if keys else "q_proj", hidden, outputs, "attention", split),
            Matrix("o_proj", mixer.heads * mixer.value_dim, hidden, "attention", "row"),
        ),
        (outputs if qkv_bias else 0) + (hidden if out_bias else 0),
    )


def latent_mixer(
    heads: int,
    nope: int,
    rope: int,
    value: int,
    kv_rank: int,
    *,
    sparse_topk: int | None = None,
    index_heads: int = 0,
    index_dim: int = 0,
    index_cached: bool = True,
) -> Mixer:
    """Return multi-head latent attention: one row of ``kv_rank + rope`` a token, absorbed in decode."""
    return Mixer(
        "latent_attention",
        heads=heads,
        kv_heads=1,
        score_dim=nope + rope,
        value_dim=value,
        decode_score_dim=kv_rank + rope,
        decode_value_dim=kv_rank,
        cache_elements=kv_rank + rope,
        sparse_topk=sparse_topk,
        index_heads=index_heads,
        index_dim=index_dim,
        index_elements=index_dim if index_cached else 0,
    )


def latent_part(
    hidden: int, heads: int, nope: int, rope: int, value: int, q_rank: int | None, kv_rank: int, bias: bool = False
) -> Part:
    """Return the projections of latent attention; ``q_rank`` None means a plain query projection."""
    queries = heads * (nope + rope)
    expand = Matrix("kv_b_proj", kv_rank, heads * (nope + value), "attention", "column")
    out = Matrix("o_proj", heads * value, hidden, "attention", "row")
    kv_row = kv_rank + rope
    if q_rank is None:
        first = (
            Matrix("q_proj", hidden, queries, "attention", "column"),
            Matrix("kv_a_proj", hidden, kv_row, "attention", "replicated"),
        )
        norms = kv_rank
    else:
        first = (
            Matrix("qkv_a_proj", hidden, q_rank + kv_row, "attention", "replicated"),
            Matrix("q_b_proj", q_rank, queries, "attention", "column"),
        )
        norms = q_rank + kv_rank
    biases = ((q_rank or 0) + kv_row + hidden) if bias else 0
    return Part((*first, expand, out), norms + biases)


def indexer_part(hidden: int, q_rank: int, index_heads: int, index_dim: int) -> Part:
    """Return a sparse-attention indexer: its query, key and head-weight projections and the key's
    LayerNorm."""
    return Part(
        (
            Matrix("indexer.wq_b", q_rank, index_heads * index_dim, "indexer", "replicated"),
            Matrix("indexer.wk", hidden, index_dim, "indexer", "replicated"),
            Matrix("indexer.weights_proj", hidden, index_heads, "router", "replicated"),
        ),
        2 * index_dim,
    )


def dense_ffn(hidden: int, width: int, gated: bool = True, bias: bool = False) -> tuple[Ffn, Part]:
    """Return a dense feed-forward network."""
    up = width * (2 if gated else 1)
    matrices = _ffn_matrices(hidden, width, gated, "dense_ffn", "")
    return Ffn("dense", width=width, gated=gated), Part(matrices, up + hidden if bias else 0)


def _ffn_matrices(
    inputs: int, width: int, gated: bool, role: Role, prefix: str, copies: int = 1
) -> tuple[Matrix, Matrix]:
    up = width * (2 if gated else 1)
    expert = role == "expert"
    return (
        Matrix(
            f"{prefix}gate_up_proj" if gated else f"{prefix}up_proj",
            inputs,
            up,
            role,
            "expert" if expert else "column",
            copies,
        ),
        Matrix(f"{prefix}down_proj", width, inputs, role, "expert" if expert else "row", copies),
    )


def moe_ffn(
    hidden: int,
    experts: int,
    per_token: float,
    width: int,
    *,
    shared_width: int = 0,
    shared_gate: bool = False,
    gated: bool = True,
    router_bias: bool = False,
    expert_bias: bool = False,
    latent: int | None = None,
    router_outputs: int | None = None,
) -> tuple[Ffn, Part]:
    """Return a mixture of experts with its router, shared experts and, if any, latent projections.

    ``latent`` is the width that experts work on instead of the hidden size; ``router_outputs`` counts
    zero-computation experts too.
    """
    inputs = latent or hidden
    outputs = experts if router_outputs is None else router_outputs
    matrices = [Matrix("router", hidden, outputs, "router", "replicated")]
    if latent:
        matrices.append(Matrix("latent_down_proj", hidden, latent, "latent", "replicated"))
    matrices += _ffn_matrices(inputs, width, gated, "expert", "experts.", experts)
    if latent:
        matrices.append(Matrix("latent_up_proj", latent, hidden, "latent", "replicated"))
    if shared_width:
        matrices += _ffn_matrices(hidden, shared_width, gated, "shared_expert", "shared_experts.")
    if shared_gate:
        matrices.append(Matrix("shared_expert_gate", hidden, 1, "router", "replicated"))
    up = width * (2 if gated else 1)
    ffn = Ffn(
        "moe",
        gated=gated,
        experts=experts,
        experts_per_token=per_token,
        expert_inputs=inputs,
        expert_width=width,
        shared_width=shared_width,
    )
    expert_vectors = experts * (up + inputs) if expert_bias else 0
    return ffn, Part(tuple(matrices), outputs if router_bias else 0, expert_vectors)


def mamba2(
    hidden: int,
    heads: int,
    head_dim: int,
    state: int,
    groups: int,
    kernel: int,
    *,
    conv_bias: bool = True,
    proj_bias: bool = False,
) -> tuple[Mixer, Part]:
    """Return a Mamba-2 mixer: in and out projections, depthwise convolution, gated norm, A, D and dt bias."""
    inner = heads * head_dim
    channels = inner + 2 * groups * state
    outputs = inner + channels + heads
    mixer = Mixer(
        "mamba",
        heads=heads,
        kv_heads=groups,
        score_dim=state,
        value_dim=head_dim,
        state_elements=heads * head_dim * state,
        conv_state_elements=channels * kernel,
        conv_kernel=kernel,
    )
    vectors = channels * kernel + (channels if conv_bias else 0) + 3 * heads + inner
    vectors += outputs + hidden if proj_bias else 0
    matrices = (
        Matrix("in_proj", hidden, outputs, "mixer", "column"),
        Matrix("out_proj", inner, hidden, "mixer", "row"),
    )
    return mixer, Part(matrices, vectors)


def gated_delta_net(
    hidden: int, key_heads: int, value_heads: int, key_dim: int, value_dim: int, kernel: int
) -> tuple[Mixer, Part]:
    """Return a gated delta-rule mixer: q, k, v, gate, decay and beta projections, convolution and norm."""
    keys = key_heads * key_dim
    values = value_heads * value_dim
    channels = 2 * keys + values
    mixer = Mixer(
        "linear",
        heads=value_heads,
        kv_heads=key_heads,
        score_dim=key_dim,
        value_dim=value_dim,
        state_elements=value_heads * key_dim * value_dim,
        conv_state_elements=channels * kernel,
        conv_kernel=kernel,
    )
    matrices = (
        Matrix("in_proj_qkvz", hidden, channels + values, "mixer", "column"),
        Matrix("in_proj_ba", hidden, 2 * value_heads, "mixer", "column"),
        Matrix("out_proj", values, hidden, "mixer", "row"),
    )
    return mixer, Part(matrices, channels * kernel + 2 * value_heads + value_dim)


def embedding(vocab: int, hidden: int) -> Matrix:
    """Return the token table: one row of ``hidden`` for each of ``vocab`` tokens."""
    return Matrix("embed_tokens", vocab, hidden, "embedding", "column")


def output_head(vocab: int, hidden: int) -> Matrix:
    """Return an untied output projection."""
    return Matrix("lm_head", hidden, vocab, "head", "column")
