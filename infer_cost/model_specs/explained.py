"""A model's counts explained: parameters matrix by matrix, weights by format, KV cache layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from infer_cost.model_specs.architecture import Architecture, LayerGroup, Matrix, Mixer
from infer_cost.model_specs.catalog import CatalogEntry
from infer_cost.model_specs.checkpoint import checkpoint_size
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import (
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    state_bytes_per_sequence,
    token_elements,
)
from infer_cost.model_specs.weights import weight_bytes, weight_formats
from infer_cost.steps import Chain, Input, Step

_BYTES = 2.0
"""Of a cached element in BF16."""


def model_chains(
    architecture: Architecture, entry: CatalogEntry | None, formats: Iterable[str] = ()
) -> tuple[Chain, ...]:
    """Return how a model's figures are counted from its config, and where that was read.

    Parameters
    ----------
    architecture : Architecture
        The model
    entry : CatalogEntry, optional
        Where its config was read; None for a user's own file
    formats : iterable of str
        Number formats to give the weights' bytes in

    Returns
    -------
    tuple of Chain
        Parameters that add up to the total, bytes of the weights, bytes that a token caches

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> parameters, weights, cache = model_chains(model("llama-3.1-70b"), None)
    >>> [step.value for step in parameters.steps if step.name == "parameters"], cache.steps[-1].value
    ([70553706496], 327680.0)
    """
    name = architecture.name
    return (
        Chain(f"{name}: parameters", tuple(_parameters(architecture)), _config(architecture, entry)),
        Chain(f"{name}: weights", tuple(_weights(architecture, formats))),
        Chain(f"{name}: KV cache, BF16", tuple(_cache(architecture))),
    )


def _config(architecture: Architecture, entry: CatalogEntry | None) -> tuple[Input, ...]:
    source = architecture.source or "config.json"
    if entry is not None:
        source = f"{entry.source}, read {entry.read} ({entry.confidence})"
    return (
        Input("layers", float(architecture.layers), "layer", source),
        Input("hidden_size", float(architecture.hidden_size), "ratio", source),
        Input("vocab_size", float(architecture.vocab_size), "token", source),
    )


def _parameters(architecture: Architecture) -> Iterator[Step]:
    counted = counts(architecture)
    yield _matrix(architecture.embedding, "")
    for group in architecture.groups:
        layers = _layers(group)
        for matrix in group.layer.matrices:
            yield _matrix(matrix, layers, group.count)
        vectors = group.layer.vectors + group.layer.expert_vectors
        if vectors:
            yield Step("norms and biases", f"{layers} · {vectors:,}", group.count * vectors, "parameter")
    if architecture.head is not None:
        yield _matrix(architecture.head, "")
    for name, elements in (
        ("tables that are looked up", architecture.lookup_vectors),
        ("final norm", architecture.vectors),
    ):
        if elements:
            yield Step(name, f"{elements:,}", elements, "parameter")
    yield Step("parameters", "Σ of the above", counted.total, "parameter")
    yield Step("active", "Σ, of the experts those of one token", counted.active, "parameter")
    looked_up = "active − tables that are only looked up"
    yield Step("without lookups", looked_up, counted.active_without_embedding, "parameter")
    yield Step("layers only", "active − embedding − head − tables", counted.active_body, "parameter")
    for part in counted.components:
        yield Step(f"beside: {part.kind}", part.note or "stored, not served", part.elements, "parameter")
    if counted.components:
        yield Step("stored", "parameters + Σ beside", counted.stored, "parameter")


def _layers(group: LayerGroup) -> str:
    return f"{group.count} layer{'s' if group.count != 1 else ''}"


def _matrix(matrix: Matrix, layers: str, count: int = 1) -> Step:
    copies = f"{matrix.copies:,} experts" if matrix.copies > 1 else ""
    factors = [layers, copies, f"{matrix.inputs:,}", f"{matrix.outputs:,}"]
    return Step(matrix.name, " · ".join(filter(None, factors)), count * matrix.elements, "parameter")


def _weights(architecture: Architecture, names: Iterable[str]) -> Iterator[Step]:
    for name in names:
        found = weight_formats(architecture, name)
        bits = ", ".join(sorted({f"{bits:.6g}" for bits in found.bits.values()}))
        yield Step(name, f"Σ matrix · bits / 8; {bits} bits by role", weight_bytes(architecture, found), "B")
    own = weight_formats(architecture)
    stored = checkpoint_size(architecture).total_bytes
    yield Step("checkpoint", f"Σ stored · bits / 8, {own.label}", stored, "B")


def _cache(architecture: Architecture) -> Iterator[Step]:
    for group in architecture.groups:
        mixer = group.layer.mixer
        elements = token_elements(mixer)
        if elements:
            equation, formula = _row(mixer, _layers(group))
            value = group.count * elements * _BYTES
            yield Step(_kind(mixer), equation, value, "B/token", (), formula)
    state = state_bytes_per_sequence(architecture)
    if state:
        yield Step("state a sequence", "Σ layers (state · 4 B + convolution · 2 B)", state, "B")
    beyond, all_layers = kv_growth_bytes_per_token(architecture), kv_bytes_per_token(architecture)
    if beyond != all_layers:
        yield Step("beyond all windows", "Σ of layers without a window", beyond, "B/token")
    yield Step("KV cache a token", "Σ of all layers", all_layers, "B/token")


def _kind(mixer: Mixer) -> str:
    window = f", window {mixer.window:,}" if mixer.window else ""
    return f"{mixer.kind.replace('_', ' ')}{window}"


def _row(mixer: Mixer, layers: str) -> tuple[str, str | None]:
    """How a layer's cached elements are made up, and the formula of the plain kinds."""
    extra = f" + {mixer.index_elements:,} of the indexer" if mixer.index_elements else ""
    if mixer.kind == "latent_attention":
        rope = mixer.cache_elements - mixer.decode_value_dim
        inner = f"({mixer.decode_value_dim:,} kv_lora_rank + {rope:,} rope{extra})"
        formula: str | None = "kv_bytes_per_token_mla"
    else:
        inner = f"{mixer.kv_heads:,} KV heads · ({mixer.score_dim:,} + {mixer.value_dim:,})"
        inner = f"({inner}{extra})" if extra else inner
        formula = "kv_bytes_per_token_gqa" if mixer.score_dim == mixer.value_dim else None
    plain = mixer.kind == "latent_attention" or mixer.cache_elements == mixer.kv_heads * (
        mixer.score_dim + mixer.value_dim
    )
    if mixer.cache_stride > 1 or mixer.window_cache_elements or not plain:
        own = f"{mixer.cache_elements:,} elements{extra}"
        beside = f" + {mixer.window_cache_elements:,} in a window" if mixer.window_cache_elements else ""
        return f"{layers} · ({own} / {mixer.cache_stride} tokens{beside}) · 2 B", None
    return f"{layers} · {inner} · 2 B", None if extra else formula
