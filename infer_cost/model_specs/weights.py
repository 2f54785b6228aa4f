"""Bytes of weights: which number format each matrix is held in, and what all of them take.

The default is what serving engines do: the layers' matrices in the format asked for; embeddings, the
output head, routers, norms and biases in 16 bits, unless the checkpoint itself says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from infer_cost.hardware_specs.formats import number_format
from infer_cost.model_specs.architecture import Architecture, Layer, Matrix, Role
from infer_cost.model_specs.gguf import MIXES, VECTOR_BITS, gguf_bits

KEPT_ROLES: frozenset[Role] = frozenset(("embedding", "head", "router"))
"""Roles that quantised checkpoints leave in 16 bits as a rule."""
KEPT_FORMAT = "bf16"
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class WeightFormats:
    """The number format of every role.

    ``bits`` are effective bits a weight, block scales included; where a role's layers differ they are the
    average and ``ids`` names the format of most of them.
    """

    name: str
    """The format asked for, or ``checkpoint``."""
    ids: Mapping[Role, str]
    bits: Mapping[Role, float]
    vector_bits: float = 16.0
    """Norms, biases and other vectors."""

    @property
    def label(self) -> str:
        """What to call the formats in an answer: the one asked for, or the checkpoint's narrowest."""
        if self.name != "checkpoint":
            return self.name
        return f"{self.ids[min(self.bits, key=lambda role: self.bits[role])]} (the checkpoint's own)"

    def matrix_bits(self, matrix: Matrix) -> float:
        """Effective bits of one weight of a matrix, block scales included."""
        return self.bits[matrix.role]

    def matrix_format(self, matrix: Matrix) -> str:
        """Number-format id of a matrix."""
        return self.ids[matrix.role]

    def matrix_bytes(self, matrix: Matrix) -> float:
        """Bytes of a matrix, all copies."""
        return matrix.elements * self.bits[matrix.role] / 8

    def vector_bytes(self, elements: float) -> float:
        """Bytes of norms and biases."""
        return elements * self.vector_bits / 8


def weight_formats(
    architecture: Architecture,
    weights: str | None = None,
    *,
    everywhere: bool = False,
    head: str | None = None,
) -> WeightFormats:
    """Return the format of every role.

    Parameters
    ----------
    architecture : Architecture
        The model; its ``quantization`` decides when ``weights`` is None.
    weights : str, optional
        A number format (``fp8``, ``nvfp4``, ``int4-g128``, ...), or ``checkpoint``; None is the
        checkpoint's own, BF16 where it states none.
    everywhere : bool
        Hold embeddings, head, routers and vectors in that format too.
    head : str, optional
        Format of the output head alone.

    Returns
    -------
    WeightFormats
        Formats and effective bits by role.

    Raises
    ------
    UnknownNameError
        If a format is unknown.

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> formats = weight_formats(model("llama-3.1-70b"), "nvfp4")
    >>> formats.ids["attention"], formats.bits["attention"], formats.ids["head"]
    ('nvfp4', 4.5, 'bf16')
    """
    key = "checkpoint" if weights is None else weights.strip().lower().replace("-", "_")
    if key == "checkpoint":
        formats = _checkpoint(architecture)
    elif key in MIXES:
        formats = _gguf(architecture, key)
    else:
        assert weights is not None
        formats = _chosen(number_format(weights).id, everywhere)
    if head is None:
        return formats
    found = number_format(head)
    return WeightFormats(
        formats.name,
        {**formats.ids, "head": found.id},
        {**formats.bits, "head": found.bits_per_weight},
        formats.vector_bits,
    )


def _chosen(name: str, everywhere: bool) -> WeightFormats:
    chosen = number_format(name).bits_per_weight
    # Nobody keeps an embedding narrower than the rest.
    everywhere = everywhere or chosen >= 16
    ids = {role: name if everywhere or role not in KEPT_ROLES else KEPT_FORMAT for role in ROLES}
    return WeightFormats(name, ids, _bits(ids), chosen if everywhere else 16.0)


def _gguf(architecture: Architecture, mix: str) -> WeightFormats:
    bits = dict.fromkeys(ROLES, 16.0) | gguf_bits(architecture, mix)
    return WeightFormats(mix, dict.fromkeys(ROLES, mix if mix != "mxfp4_moe" else "mxfp4"), bits, VECTOR_BITS)


def _checkpoint(architecture: Architecture) -> WeightFormats:
    quantization = architecture.quantization
    if quantization is None:
        return _chosen(KEPT_FORMAT, False)
    ids = {role: quantization.formats.get(role, quantization.default) for role in ROLES}
    bits = {**_bits(ids), **quantization.mixed_bits}
    return WeightFormats("checkpoint", ids, bits)


def _bits(ids: Mapping[Role, str]) -> dict[Role, float]:
    known = {name: number_format(name).bits_per_weight for name in set(ids.values())}
    return {role: known[name] for role, name in ids.items()}


def weight_bytes(architecture: Architecture, formats: WeightFormats) -> float:
    """Bytes of the language model's weights.

    .. math:: W = \\sum_m N_m b_m / 8 + V b_v / 8

    Parameters
    ----------
    architecture : Architecture
        The model.
    formats : WeightFormats
        Number format of every role.

    Returns
    -------
    float
        Bytes of every layer, the embedding, the head (unless tied), norms and biases [B].

    Examples
    --------
    >>> from infer_cost.model_specs.catalog import model
    >>> llama = model("llama-3.1-70b")
    >>> round(weight_bytes(llama, weight_formats(llama, "fp8")) / 1e9, 1)
    72.7
    >>> round(weight_bytes(llama, weight_formats(llama, "fp8", everywhere=True)) / 1e9, 1)
    70.6
    """
    return sum(weight_bytes_by_role(architecture, formats).values())


def weight_bytes_by_role(architecture: Architecture, formats: WeightFormats) -> dict[str, float]:
    """Bytes of the weights by role; norms, biases and position tables under ``vectors``."""
    totals: dict[str, float] = {}
    vectors = architecture.vectors + architecture.lookup_vectors
    for matrix in (architecture.embedding, architecture.head):
        if matrix is not None:
            totals[matrix.role] = totals.get(matrix.role, 0.0) + formats.matrix_bytes(matrix)
    for group in architecture.groups:
        vectors += group.count * (group.layer.vectors + group.layer.expert_vectors)
        _add(totals, group.layer, group.count, formats)
    totals["vectors"] = formats.vector_bytes(vectors)
    return totals


def _add(totals: dict[str, float], layer: Layer, count: int, formats: WeightFormats) -> None:
    for matrix in layer.matrices:
        totals[matrix.role] = totals.get(matrix.role, 0.0) + count * formats.matrix_bytes(matrix)


def matrices(architecture: Architecture) -> Iterable[tuple[Matrix, int]]:
    """Yield every matrix of the model with the number of layers that hold it; the head only if it's
    stored."""
    yield architecture.embedding, 1
    if architecture.head is not None:
        yield architecture.head, 1
    for group in architecture.groups:
        for matrix in group.layer.matrices:
            yield matrix, group.count
