"""GGUF mixtures: llama.cpp holds each tensor in a block type of its own, so bits a weight differ by model.

The rules are those of ``llama-quantize`` (ggml-org/llama.cpp, ``src/llama-quant.cpp``): the output projection in 6
bits, value and down projections of some layers a step finer, norms, biases and routers in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from infer_cost.hardware_specs.formats import number_format
from infer_cost.model_specs.architecture import Architecture, LayerGroup, Matrix, Role

VECTOR_BITS = 32.0
_FALLBACK = {
    "q2_k_block": "iq4_nl_block",
    "q3_k_block": "iq4_nl_block",
    "q4_k_block": "q5_0",
    "q5_k_block": "q5_1",
    "q6_k_block": "q8_0",
}
"""What a tensor gets whose rows are no multiple of 256."""

_COARSE = ("q3_k_block", "q4_k_block")

Rule = Callable[[int, int], str]


def _more_bits(index: int, layers: int) -> bool:
    """Tell whether a layer is among those held finer: the first and last eighth and every third between."""
    eighth = layers // 8
    return index < eighth or index >= 7 * layers // 8 or (index - eighth) % 3 == 2


def _always(block: str) -> Rule:
    return lambda index, layers: block


def _some(fine: str, plain: str) -> Rule:
    return lambda index, layers: fine if _more_bits(index, layers) else plain


def _first(count: Callable[[int], int], fine: str, plain: str) -> Rule:
    return lambda index, layers: fine if index < count(layers) else plain


@dataclass(frozen=True, slots=True)
class Mix:
    """Block types of a mixture: everywhere, and where it differs."""

    plain: str
    output: str = "q6_k_block"
    value: Rule | None = None
    down: Rule | None = None
    attention_output: str | None = None
    few_experts: str | None = None
    """Attention output where there are eight experts."""


MIXES: dict[str, Mix] = {
    "q2_k": Mix("q2_k_block", "q6_k_block", _always("q4_k_block"), _always("q3_k_block"), "q3_k_block", "q5_k_block"),
    "q3_k_s": Mix("q3_k_block", few_experts="q5_k_block"),
    "q3_k_m": Mix(
        "q3_k_block",
        value=_first(lambda layers: 2, "q5_k_block", "q4_k_block"),
        down=_first(lambda layers: layers // 16, "q5_k_block", "q4_k_block"),
        attention_output="q4_k_block",
        few_experts="q5_k_block",
    ),
    "q3_k_l": Mix(
        "q3_k_block",
        value=_always("q5_k_block"),
        down=_always("q5_k_block"),
        attention_output="q5_k_block",
    ),
    "q4_0": Mix("q4_0"),
    "q4_1": Mix("q4_1"),
    "q4_k_s": Mix(
        "q4_k_block",
        value=_first(lambda layers: 4, "q5_k_block", "q4_k_block"),
        down=_first(lambda layers: layers // 8, "q5_k_block", "q4_k_block"),
        few_experts="q5_k_block",
    ),
    "q4_k_m": Mix(
        "q4_k_block",
        value=_some("q6_k_block", "q4_k_block"),
        down=_some("q6_k_block", "q4_k_block"),
        few_experts="q5_k_block",
    ),
    "q5_0": Mix("q5_0"),
    "q5_1": Mix("q5_1"),
    "q5_k_s": Mix("q5_k_block"),
    "q5_k_m": Mix(
        "q5_k_block",
        value=_some("q6_k_block", "q5_k_block"),
        down=_some("q6_k_block", "q5_k_block"),
    ),
    "q6_k": Mix("q6_k_block"),
    "q8_0": Mix("q8_0", "q8_0"),
    "mxfp4_moe": Mix("q8_0", "q8_0"),
}


def gguf_bits(architecture: Architecture, mix_name: str) -> dict[Role, float]:
    """Return the average bits of each role's weights in a GGUF mixture.

    Parameters
    ----------
    architecture : Architecture
        The model.
    mix_name : str
        A key of :data:`MIXES`, such as ``q4_k_m``.

    Returns
    -------
    dict[Role, float]
        Bits a weight, block scales included.

    Examples
    --------
    Qwen2.5-7B in Q4_K_M holds its output projection in 6.56 bits:

    >>> from infer_cost.model_specs.catalog import model
    >>> round(gguf_bits(model("qwen2.5-7b"), "q4_k_m")["head"], 2)
    6.56
    """
    mix = MIXES[mix_name]
    bits: dict[Role, float] = {}
    weights: dict[Role, int] = {}
    for role, elements, block in _tensors(architecture, mix, experts_mxfp4=mix_name == "mxfp4_moe"):
        weights[role] = weights.get(role, 0) + elements
        bits[role] = bits.get(role, 0.0) + elements * number_format(block).bits_per_weight
    return {role: total / weights[role] for role, total in bits.items()}


def _block(block: str, inputs: int) -> str:
    return _FALLBACK.get(block, block) if inputs % 256 else block


def _tensors(architecture: Architecture, mix: Mix, *, experts_mxfp4: bool) -> Iterator[tuple[Role, int, str]]:
    """Yield role, elements and block type of every tensor."""
    hidden = architecture.hidden_size
    tied = architecture.head is None
    table = mix.output if tied else mix.plain
    yield "embedding", architecture.embedding.elements, _block(table, hidden)
    yield "head", architecture.output_matrix.elements, _block(mix.output, hidden)
    layers = architecture.layers
    for group in architecture.groups:
        for matrix in group.layer.matrices:
            if experts_mxfp4 and matrix.role == "expert":
                yield matrix.role, group.count * matrix.elements, "mxfp4"
                continue
            yield from _matrix_tensors(group, matrix, mix, layers)


def _matrix_tensors(group: LayerGroup, matrix: Matrix, mix: Mix, layers: int) -> Iterator[tuple[Role, int, str]]:
    if matrix.role == "router":
        yield matrix.role, group.count * matrix.elements, "fp32"
        return
    few = group.layer.ffn.experts == 8
    plain = mix.plain
    if matrix.name == "o_proj":
        plain = (mix.few_experts if few else None) or mix.attention_output or plain
    rule = mix.down if matrix.name.endswith("down_proj") else None
    mixer = group.layer.mixer
    values = mixer.kv_heads * mixer.value_dim * matrix.inputs if matrix.name == "qkv_proj" else 0
    if matrix.name == "qkv_proj" and few:
        # With eight experts the small key and value projections are kept in 8 bits.
        small = values + mixer.kv_heads * mixer.score_dim * matrix.inputs
        yield matrix.role, group.count * small, "q8_0"
        yield matrix.role, group.count * (matrix.elements - small), _block(plain, matrix.inputs)
        return
    for index in group.indices:
        block = rule(index, layers) if rule else plain
        yield matrix.role, matrix.elements - values, _block(block, matrix.inputs)
        if values:
            block = mix.value(index, layers) if mix.value else plain
            # The 70B shape, eight query heads to a KV head, affords its values a step finer.
            if layers == 80 and mixer.heads == 8 * mixer.kv_heads and block in _COARSE:
                block = "q5_k_block"
            yield matrix.role, values, _block(block, matrix.inputs)
