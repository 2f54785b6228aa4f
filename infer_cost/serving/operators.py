"""The operators of a forward pass: what each computes, reads and sends, as functions of the load.

One class a kind of operator, each with ``flops(load)`` and ``traffic(load)`` per GPU and launch. A load's numbers may
be floats or numpy arrays; the code is the same. What is counted as work is what
:data:`infer_cost.hardware_specs.efficiency.kernels.FAMILIES` says, because its efficiencies were fitted so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from infer_cost.hardware_specs.efficiency.collectives import CollectiveModel, collective_time
from infer_cost.hardware_specs.efficiency.kernels import KernelModel
from infer_cost.model_specs.architecture import Mixer
from infer_cost.roofline import experts_hit_uneven
from infer_cost.roofline.dispatch import Value, ceil, clip, minimum

ACTIVATION_BYTES = 2
"""Activations travel in 16 bits."""
STATE_FLOPS = 6.0
"""Decay, update and readout: a multiply-add each for an element of a recurrent state and a token."""


@dataclass(frozen=True, slots=True)
class Load:
    """One forward pass: ``sequences`` on each attention-data-parallel rank, ``query`` new tokens in each of them.

    ``cached`` tokens of each sequence are in the cache already; ``prefix`` of them were found there when the request
    came, the others were put there by earlier chunks of the same prompt or earlier tokens. ``ranks`` is the number of
    data-parallel ranks, whose tokens meet in the experts.
    """

    sequences: Value
    query: Value
    cached: Value
    decode: bool
    ranks: Value = 1
    prefix: Value = 0.0

    @property
    def tokens(self) -> Value:
        """Tokens computed on one rank."""
        return self.sequences * self.query


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of one launch on one GPU: weights, cache, the prefix that a prefill finds cached, and activations."""

    weights: Value = 0.0
    cache: Value = 0.0
    prefix: Value = 0.0
    activations: Value = 0.0


class Operator(Protocol):
    """What every operator has: a name, how often it runs in a pass, its kernel and its peak rate."""

    @property
    def name(self) -> str:
        """Name in explanations."""
        ...

    @property
    def launches(self) -> float:
        """Launches in a pass."""
        ...

    @property
    def kernel(self) -> KernelModel:
        """Constants of the kernel."""
        ...

    @property
    def peak_flops(self) -> float:
        """Dense rate that it multiplies at [FLOP/s]."""
        ...

    def flops(self, load: Load) -> Value:
        """Arithmetic of one launch on one GPU."""
        ...

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """Bytes of one launch on one GPU; ``fewest`` for the bound."""
        ...


@dataclass(frozen=True, slots=True)
class Gemm:
    """A weight matrix times the tokens; ``last_only`` for the head, which sees one token a sequence in prefill."""

    name: str
    launches: float
    kernel: KernelModel
    peak_flops: float
    inputs: float
    outputs: float
    bits: float
    last_only: bool = False

    def rows(self, load: Load) -> Value:
        """Tokens that the matrix is applied to."""
        return load.sequences if self.last_only and not load.decode else load.tokens

    def flops(self, load: Load) -> Value:
        """Two per weight and token."""
        return 2.0 * self.inputs * self.outputs * self.rows(load)

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """The matrix once, the tokens in and out."""
        return Traffic(
            weights=self.inputs * self.outputs * self.bits / 8,
            activations=self.rows(load) * (self.inputs + self.outputs) * ACTIVATION_BYTES,
        )


@dataclass(frozen=True, slots=True)
class GroupedGemm:
    """The routed experts of a layer on one rank: tokens of all data-parallel ranks, the experts that they hit."""

    name: str
    launches: float
    kernel: KernelModel
    peak_flops: float
    experts: int
    experts_per_token: float
    expert_elements: float
    """Weights of one expert on one rank."""
    inputs: float
    width: float
    bits: float
    expert_ranks: int

    def routed_rows(self, load: Load) -> Value:
        """Token-expert pairs on a rank, on average."""
        return load.tokens * load.ranks * self.experts_per_token / self.expert_ranks

    def flops(self, load: Load) -> Value:
        """Two per weight of an expert and token routed to it."""
        return 2.0 * self.expert_elements * self.routed_rows(load)

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """The experts hit once; rows permuted in, through the middle, reduced out."""
        tokens = load.tokens * load.ranks
        hit = (
            minimum(self.experts_per_token, float(self.experts))
            if fewest
            else experts_hit_uneven(self.experts, self.experts_per_token, tokens)
        )
        return Traffic(
            weights=hit / self.expert_ranks * self.expert_elements * self.bits / 8,
            activations=self.routed_rows(load) * 3 * (2 * self.inputs + 3 * self.width) * ACTIVATION_BYTES,
        )


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention core of a layer: scores and sums over the cache, split by heads over the tensor ranks."""

    name: str
    launches: float
    kernel: KernelModel
    peak_flops: float
    mixer: Mixer
    heads: float
    """Query heads on one rank."""
    cache_bytes: float
    """Bytes that one cached token holds on one rank in this layer."""
    window_cache_bytes: float
    index_bytes: float

    def flops(self, load: Load) -> Value:
        """``2·heads·(score_dim + value_dim)`` for each pair of a query and a token that it sees."""
        mixer = self.mixer
        dims = mixer.decode_score_dim + mixer.decode_value_dim if load.decode else mixer.score_dim + mixer.value_dim
        pairs = seen_pairs(load.query, load.cached, mixer)
        scored = index_pairs(load.query, load.cached, mixer)
        work = 2.0 * self.heads * dims * pairs + 2.0 * mixer.index_heads * mixer.index_dim * scored
        return load.sequences * work

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """The cache that is seen, once; queries in and sums out."""
        mixer = self.mixer
        everything = self._cache_bytes(load.cached + load.query, load)
        prefix = everything - self._cache_bytes(load.cached + load.query - load.prefix, load)
        score, value = (
            (mixer.decode_score_dim, mixer.decode_value_dim) if load.decode else (mixer.score_dim, mixer.value_dim)
        )
        activations = load.query * self.heads * (score + value) * ACTIVATION_BYTES
        return Traffic(
            cache=load.sequences * (everything - prefix),
            prefix=load.sequences * prefix,
            activations=load.sequences * activations,
        )

    def _cache_bytes(self, held: Value, load: Load) -> Value:
        """Bytes read of one sequence that holds ``held`` tokens."""
        mixer = self.mixer
        entries = held / mixer.cache_stride
        if mixer.window is not None and not mixer.window_cache_elements:
            # In prefill every query's window slides on, so new tokens are all read once.
            entries = minimum(entries, mixer.window + load.query)
        if mixer.sparse_topk is not None and load.decode:
            entries = minimum(entries, float(mixer.sparse_topk))
        cache = entries * self.cache_bytes + held / mixer.cache_stride * self.index_bytes
        if mixer.window_cache_elements and mixer.window is not None:
            cache = cache + minimum(held, mixer.window + load.query) * self.window_cache_bytes
        return cache


def seen_pairs(query: Value, cached: Value, mixer: Mixer) -> Value:
    """Pairs of a new token and a cache entry that it attends to, causal, under the layer's window or selection.

    >>> from infer_cost.model_specs.architecture import Mixer
    >>> seen_pairs(4.0, 0.0, Mixer("attention", window=2))
    7.0
    """
    stride = float(mixer.cache_stride)
    limits = [float(limit) for limit in (mixer.window, mixer.sparse_topk) if limit is not None]
    if mixer.window_cache_elements and mixer.window is not None:
        window = _causal_pairs(query, cached, float(mixer.window))
        selected = float(mixer.sparse_topk) * stride if mixer.sparse_topk is not None else None
        return window + _causal_pairs(query, cached, selected) / stride
    return _causal_pairs(query, cached, min(limits) if limits else None) / stride


def index_pairs(query: Value, cached: Value, mixer: Mixer) -> Value:
    """Pairs that a sparse layer's indexer scores: each query against every entry before it."""
    return _causal_pairs(query, cached, None) / float(mixer.cache_stride) if mixer.index_heads else 0.0


def _causal_pairs(query: Value, cached: Value, limit: float | None) -> Value:
    """Sum over the new tokens of the tokens each sees, itself included, at most ``limit``."""
    every = query * cached + query * (query + 1) / 2
    if limit is None:
        return every
    ramp = clip(limit - cached, 0.0, query)
    return cached * ramp + ramp * (ramp + 1) / 2 + (query - ramp) * limit


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The state update of a Mamba or linear-attention layer: the state in and out once a token or chunk."""

    name: str
    launches: float
    kernel: KernelModel
    peak_flops: float
    state_bytes: float
    """State of one sequence on one rank."""
    state_elements: float
    chunk: int = 256
    """Tokens that prefill takes through the state at once."""

    def flops(self, load: Load) -> Value:
        """Decay, update and readout of every state element, once a token."""
        return STATE_FLOPS * self.state_elements * load.tokens

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """The state read and written, once a token in decode and once a chunk in prefill."""
        passes = 1.0 if load.decode else ceil(load.query / float(self.chunk))
        return Traffic(cache=2.0 * self.state_bytes * load.sequences * passes)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """Norms, rotary embedding, activation, cache writes; and sampling over the logits."""

    name: str
    launches: float
    kernel: KernelModel
    peak_flops: float
    width: float
    """Elements that one token moves in one launch."""
    last_only: bool = False

    def flops(self, load: Load) -> Value:
        """Too little to count."""
        return 0.0

    def traffic(self, load: Load, *, fewest: bool = False) -> Traffic:
        """What it reads and writes; nothing in the bound, where everything is fused."""
        rows = load.sequences if self.last_only and not load.decode else load.tokens
        return Traffic(activations=0.0 if fewest else rows * self.width * ACTIVATION_BYTES)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A collective or a send between GPUs, by the alpha-beta model."""

    name: str
    launches: float
    ranks: int
    scope: Literal["scale_up", "scale_out"]
    bandwidth: float
    """Bytes/s one way of the link that it takes."""
    model: CollectiveModel
    bytes_per_token: float
    """Bytes of the message for one token of one rank, counted as the collective's model counts them."""
    last_only: bool = False

    def message_bytes(self, load: Load) -> Value:
        """Bytes of one message."""
        rows = load.sequences if self.last_only and not load.decode else load.tokens
        return rows * self.bytes_per_token

    def wire_time(self, load: Load) -> Value:
        """Time that the fewest bytes take on the link at its full rate.

        An all-reduce inside the network (or a one-shot one of two ranks) sends each byte once, so the bound counts
        it once for it as for every other collective.
        """
        return self.message_bytes(load) * ((self.ranks - 1) / self.ranks / self.bandwidth)

    def time(self, load: Load) -> Value:
        """Latency plus wire time at the measured share of the link's rate."""
        return collective_time(self.message_bytes(load), self.ranks, self.bandwidth, self.model)
