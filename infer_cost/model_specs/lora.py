"""LoRA adapters served beside a base model: what they take and what they add to each token.

An adapter puts two thin matrices beside a projection: ``rank × inputs`` and ``outputs × rank``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture, Layer, Matrix, Mixer
from infer_cost.model_specs.config import Config
from infer_cost.model_specs.config_file import read_json

ATTENTION_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
FFN_TARGETS = ("gate_proj", "up_proj", "down_proj")
TARGETS = (*ATTENTION_TARGETS, *FFN_TARGETS)
MAX_RANK = 4096


@dataclass(frozen=True, slots=True)
class Adapter:
    """A LoRA adapter: its rank and the projections that it changes."""

    rank: int
    targets: tuple[str, ...] = ATTENTION_TARGETS

    def __post_init__(self) -> None:
        """Refuse ranks and targets that can't be."""
        if not isinstance(self.rank, int) or not 1 <= self.rank <= MAX_RANK:
            raise InputError(f"LoRA rank {self.rank}", field="lora_rank", value=self.rank, allowed=f"1 to {MAX_RANK}")
        unknown = sorted(set(self.targets) - set(TARGETS))
        if unknown or not self.targets:
            raise InputError(
                f"LoRA targets {', '.join(unknown) or 'are empty'}",
                field="lora_targets",
                value=self.targets,
                allowed=", ".join(TARGETS),
            )


def read_adapter(path: Path) -> Adapter:
    """Return the adapter that an ``adapter_config.json`` describes; targets unknown here are refused."""
    config = Config(read_json(path))
    targets = config.get("target_modules")
    if targets == "all-linear" or targets is None:
        names: list[str] = list(TARGETS if targets else ATTENTION_TARGETS)
    else:
        names = [name.rpartition(".")[2] for name in config.names("target_modules") or []]
    return Adapter(config.integer("r", maximum=MAX_RANK), tuple(dict.fromkeys(names)))


def adapter_elements(architecture: Architecture, adapter: Adapter) -> int:
    """Return an adapter's parameters.

    .. math:: N = r \\sum_m (inputs_m + outputs_m)

    Parameters
    ----------
    architecture : Architecture
        The base model.
    adapter : Adapter
        Rank and targets. In a mixture of experts each expert's projections are targets of their own.

    Returns
    -------
    int
        Elements of all low-rank matrices.

    Examples
    --------
    Rank 16 on the four attention projections of Llama-3.1-8B:

    >>> from infer_cost.model_specs.catalog import model
    >>> adapter_elements(model("llama-3.1-8b"), Adapter(16))
    13631488
    """
    return sum(
        group.count * adapter.rank * copies * (inputs + outputs)
        for group in architecture.groups
        for inputs, outputs, copies in _projections(group.layer, adapter.targets)
    )


def adapter_bytes(
    architecture: Architecture, adapter: Adapter, resident: int = 1, bytes_per_element: float = 2.0
) -> float:
    """Return the bytes of ``resident`` adapters, as an engine that keeps them all on the GPU holds them [B].

    >>> from infer_cost.model_specs.catalog import model
    >>> adapter_bytes(model("llama-3.1-8b"), Adapter(16), resident=4)
    109051904.0
    """
    return adapter_elements(architecture, adapter) * resident * bytes_per_element


def adapter_flops_per_token(architecture: Architecture, adapter: Adapter) -> float:
    """Return the FLOPs that an adapter adds to one token: two for each parameter that the token meets.

    >>> from infer_cost.model_specs.catalog import model
    >>> adapter_flops_per_token(model("llama-3.1-8b"), Adapter(16))
    27262976.0
    """
    total = 0.0
    for group in architecture.groups:
        ffn = group.layer.ffn
        share = ffn.experts_per_token / ffn.experts if ffn.experts else 1.0
        for inputs, outputs, copies in _projections(group.layer, adapter.targets):
            met = copies * share if copies > 1 else 1.0
            total += group.count * 2 * adapter.rank * met * (inputs + outputs)
    return total


def _projections(layer: Layer, targets: Iterable[str]) -> Iterator[tuple[int, int, int]]:
    """Yield inputs, outputs and copies of each targeted projection, merged matrices taken apart."""
    wanted = set(targets)
    for matrix in layer.matrices:
        for name, outputs in _parts(matrix, layer.mixer):
            if name in wanted:
                yield matrix.inputs, outputs, matrix.copies


def _parts(matrix: Matrix, mixer: Mixer) -> Iterator[tuple[str, int]]:
    name = matrix.name.rpartition(".")[2]
    if name == "qkv_proj":
        keys = mixer.kv_heads * mixer.score_dim
        values = mixer.cache_elements - keys
        yield "q_proj", matrix.outputs - keys - values
        yield "k_proj", keys
        yield "v_proj", values
    elif name == "gate_up_proj":
        yield "gate_proj", matrix.outputs // 2
        yield "up_proj", matrix.outputs // 2
    else:
        yield {"q_b_proj": "q_proj", "kv_b_proj": "k_proj"}.get(name, name), matrix.outputs
