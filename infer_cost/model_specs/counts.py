"""Parameters: in total, active for one token, beside the language model."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.model_specs.architecture import Architecture, Component, Layer


@dataclass(frozen=True, slots=True)
class Counts:
    """Parameters of a model.

    Vendors count active parameters in three ways; each is here, and :attr:`active` is the one shown by
    default.
    """

    total: int
    """The language model alone: every layer, the embedding, the head, norms and biases."""
    active: int
    """For one token, with the embedding and the head."""
    active_without_embedding: int
    """Without tables that are only looked up (an untied embedding, positions)."""
    active_body: int
    """Layers and final norm only: without embedding and head."""
    components: tuple[Component, ...]
    """What a checkpoint stores beside the language model."""
    stored: int
    """All of the above that a checkpoint stores."""


def layer_elements(layer: Layer) -> int:
    """Parameters of one layer, all experts included."""
    return sum(matrix.elements for matrix in layer.matrices) + layer.vectors + layer.expert_vectors


def layer_active(layer: Layer) -> int:
    """Parameters of one layer that one token runs through.

    Routed experts count with their share ``experts_per_token / experts``.
    """
    routed = layer.expert_vectors
    routed += sum(matrix.elements for matrix in layer.matrices if matrix.role == "expert")
    if not routed:
        return layer_elements(layer)
    share = routed * layer.ffn.experts_per_token / layer.ffn.experts
    return layer_elements(layer) - routed + round(share)


def counts(architecture: Architecture) -> Counts:
    """Count the parameters of a model.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    Counts
        Total, active under three conventions, and what a checkpoint stores beside.

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> counts(model("llama-3.1-70b")).total
    70553706496
    >>> counts(model("deepseek-v3")).active
    37552282624
    """
    embedding = architecture.embedding.elements
    head = architecture.head.elements if architecture.head else 0
    tables = architecture.lookup_vectors
    layers = sum(group.count * layer_elements(group.layer) for group in architecture.groups)
    active_layers = sum(group.count * layer_active(group.layer) for group in architecture.groups)
    own = embedding + head + tables + architecture.vectors
    active = active_layers + own
    looked_up = tables + (embedding if architecture.head else 0)
    total = layers + own
    return Counts(
        total=total,
        active=active,
        active_without_embedding=active - looked_up,
        active_body=active - embedding - head - tables,
        components=architecture.components,
        stored=total + sum(component.elements for component in architecture.components),
    )
