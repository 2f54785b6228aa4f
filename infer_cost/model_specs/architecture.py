"""A model as layers: what is stored, what one more token caches, what attention computes.

Everything that the rest of the library wants to know about a model (parameters, bytes, FLOPs, KV cache,
state) is computed from the :class:`Architecture`; nothing else is read from a config file. Readers build
one, see :mod:`infer_cost.model_specs.readers`.

A layer lists its weight matrices once. A GEMM of the serving model, a parameter count and a byte count are
all sums over the same :class:`Matrix` objects, so they can't disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal[
    "attention",  # q, k, v, o projections, latent attention's down and up projections
    "indexer",  # the projections of a sparse-attention indexer
    "mixer",  # in/out projections of Mamba and linear attention
    "dense_ffn",
    "expert",  # routed experts: the matrix stands once, `copies` says how many
    "shared_expert",
    "latent",  # projections into and out of a latent expert width
    "router",  # small matrices that choose: expert routers, an indexer's head weights; kept in 16 bits
    "embedding",
    "head",
]

Split = Literal["column", "row", "kv", "replicated", "expert"]
"""How tensor parallelism divides a matrix: its outputs, its inputs, its outputs by KV head (replicated once
there are more ranks than KV heads), not at all, or as experts do (over the expert-parallel ranks first)."""

MixerKind = Literal["attention", "latent_attention", "linear", "mamba", "none"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One weight matrix: ``outputs`` × ``inputs`` elements, ``copies`` times (experts)."""

    name: str
    inputs: int
    outputs: int
    role: Role
    split: Split
    copies: int = 1

    @property
    def elements(self) -> int:
        """Parameters in all copies."""
        return self.inputs * self.outputs * self.copies


@dataclass(frozen=True, slots=True)
class Mixer:
    """How a layer mixes tokens: attention of some kind, a recurrence, or nothing.

    Attention FLOPs of one query against one cached token are ``2·heads·(score_dim + value_dim)``: a
    grouped-query head scores and sums over ``head_dim`` each. Latent attention has a second pair for
    decode, where it works in the absorbed form (``kv_lora + rope`` and ``kv_lora``).
    """

    kind: MixerKind
    heads: int = 0
    kv_heads: int = 0
    """Heads that tensor parallelism can split the cache by; 1 for latent attention, whose cache every rank
    holds."""
    score_dim: int = 0
    value_dim: int = 0
    decode_score_dim: int = 0
    """As ``score_dim``, in decode; equal to it unless absorbed."""
    decode_value_dim: int = 0
    window: int | None = None
    """Tokens that a query can see at most and the cache keeps; None for all. Beside a compressed cache it
    bounds ``window_cache_elements`` only."""
    window_kind: Literal["sliding", "chunked"] = "sliding"
    sparse_topk: int | None = None
    """Cache entries that a query attends to after an indexer chose them; None without one."""
    cache_elements: int = 0
    """Elements that one cached token adds in this layer (K and V, or the latent row); 0 when nothing is
    cached."""
    shared_cache_elements: int = 0
    """Elements a cached token that attention reads here though another layer keeps them (KV sharing)."""
    cache_stride: int = 1
    """Tokens that share one cache entry (compressed attention)."""
    window_cache_elements: int = 0
    """A second, windowed cache beside a compressed one: elements a token, kept for ``window`` tokens."""
    index_heads: int = 0
    index_dim: int = 0
    index_elements: int = 0
    """Indexer keys that one token (or one stride of tokens) adds to the cache."""
    state_elements: int = 0
    """Recurrent state of one sequence, elements in 32 bit."""
    conv_state_elements: int = 0
    """Convolution state of one sequence, elements in the activations' format: all ``conv_kernel`` columns."""
    conv_kernel: int = 0
    """Columns of the convolution; engines that keep one column fewer say so, see :mod:`.kv`."""


@dataclass(frozen=True, slots=True)
class Ffn:
    """A layer's feed-forward part: dense, a mixture of experts, or nothing."""

    kind: Literal["dense", "moe", "none"]
    width: int = 0
    """Intermediate width of the dense network."""
    gated: bool = True
    experts: int = 0
    experts_per_token: float = 0.0
    """Experts that a token runs through; may be an average (zero-computation experts)."""
    expert_inputs: int = 0
    """Width that experts read: the hidden size, or a latent width."""
    expert_width: int = 0
    shared_width: int = 0
    """Intermediate width of all shared experts together."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer: its parts, every matrix, and the elements of its vectors (norms, biases, sinks)."""

    mixer: Mixer
    ffn: Ffn
    matrices: tuple[Matrix, ...]
    vectors: int = 0
    expert_vectors: int = 0
    """Elements of expert biases, all experts together; kept apart because only hit experts are read."""


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """``count`` identical layers."""

    layer: Layer
    count: int
    indices: tuple[int, ...] = ()
    """Where in the stack the layers stand, from 0."""


@dataclass(frozen=True, slots=True)
class Component:
    """Parameters that a checkpoint stores beside the language model: MTP module, vision tower, buffers,
    copies."""

    kind: Literal["mtp", "vision", "audio", "copies", "buffers", "scales", "other"]
    elements: int
    note: str = ""
    layer: Layer | None = None
    """The layer that the component repeats ``modules`` times (multi-token prediction)."""
    modules: int = 0


@dataclass(frozen=True, slots=True)
class Quantization:
    """How a checkpoint stores its weights: a number-format id for each role that is quantised.

    Roles that are absent stay in ``default`` (16 bits).
    """

    formats: Mapping[Role, str]
    default: str = "bf16"
    mixed_bits: Mapping[Role, float] = field(default_factory=dict)
    """Average bits a weight of roles that are held in several formats, or in one that has no id."""
    kv_format: str | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder-only language model, as far as serving is concerned."""

    name: str
    model_type: str
    hidden_size: int
    vocab_size: int
    context_length: int | None
    groups: tuple[LayerGroup, ...]
    embedding: Matrix
    """Looked up, not multiplied; position tables are in ``lookup_vectors``."""
    head: Matrix | None
    """None when tied to the embedding."""
    vectors: int = 0
    """Final norm and whatever else belongs to no layer."""
    lookup_vectors: int = 0
    """Tables beside the token embedding that are only looked up: positions, embeddings by layer."""
    components: tuple[Component, ...] = ()
    quantization: Quantization | None = None
    stored_bits: float = 16.0
    """Bits in which the checkpoint stores weights that it doesn't quantise; engines hold them in 16."""
    source: str = ""
    notes: tuple[str, ...] = field(default=())
    """Defaults filled in and assumptions made, in words; printed with the answer."""

    @property
    def layers(self) -> int:
        """Number of decoder layers."""
        return sum(group.count for group in self.groups)

    @property
    def output_matrix(self) -> Matrix:
        """The matrix that turns hidden states into logits, whether stored or tied."""
        if self.head is not None:
            return self.head
        return Matrix("lm_head", self.hidden_size, self.vocab_size, "head", "column")
