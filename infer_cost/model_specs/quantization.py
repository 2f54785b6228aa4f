"""How a checkpoint stores its weights: ``quantization_config`` of every method, and modelopt's side file.

The result is a number format for each role. Checkpoints name modules (``model.layers.3.mlp.experts.7.w1``), often
layer by layer; here a name counts for the roles and layers that it covers, and a role of which only some layers are
quantised gets the average of its bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from infer_cost.hardware_specs.formats import number_format
from infer_cost.model_specs.architecture import Architecture, Quantization, Role
from infer_cost.model_specs.config import NESTING, Config

LAYER_ROLES: tuple[Role, ...] = (
    "attention",
    "indexer",
    "mixer",
    "dense_ffn",
    "expert",
    "shared_expert",
    "latent",
)
"""Roles that a method quantises unless told otherwise."""
_OUTSIDE = re.compile(r"vision|visual|audio|projector|mm_|patch_merge|mtp|norm|bias|shared_head|eh_proj|conv1d")
_LAYER = re.compile(r"layers\.(\d{1,6})(?=\D|$)")


@dataclass(frozen=True, slots=True)
class Stored:
    """A format and its exact bits, where the format's own differ (other group sizes, zero points)."""

    format: str
    bits: float | None = None

    @property
    def bits_per_weight(self) -> float:
        """Bits of one weight, scales included."""
        return number_format(self.format).bits_per_weight if self.bits is None else self.bits


def read_quantization(
    data: Mapping[str, Any], architecture: Architecture, side_file: Mapping[str, Any] | None = None
) -> tuple[Quantization | None, str]:
    """Return how the checkpoint of a config stores its weights.

    Parameters
    ----------
    data : Mapping[str, Any]
        The whole config.
    architecture : Architecture
        The model that was read from it.
    side_file : Mapping[str, Any], optional
        Content of modelopt's ``hf_quant_config.json``, for configs that say nothing.

    Returns
    -------
    tuple[Quantization or None, str]
        None for 16 bits, and a note on what wasn't understood, empty otherwise.
    """
    raw = data.get("quantization_config")
    for nest in NESTING:
        if raw is None and isinstance(data.get(nest), dict):
            raw = data[nest].get("quantization_config")
    if raw is None and side_file:
        raw = {"quant_method": "modelopt", **_section(side_file, "quantization")}
    if not isinstance(raw, dict) or not raw:
        return None, ""
    config = Config(raw, "quantization_config.")
    method = _method(config)
    parts = _groups(config, method)
    if parts is None:
        return None, f"weights are stored by {method or 'an unnamed method'}, which isn't known; 16 bits assumed"
    layout = _Layout(architecture)
    for stored, targets in parts:
        layout.assign(stored, targets)
    layout.keep(_excluded(config))
    if method in ("gptq", "awq") and config.get("lm_head") is True:
        layout.assign(parts[0][0], ["lm_head"])
    if data.get("expert_dtype") == "fp4" and method == "fp8":
        layout.assign(Stored("mxfp4"), ["experts"])
    return layout.quantization(method, _kv_format(config)), ""


def _section(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = data.get(key)
    return inner if isinstance(inner, dict) else dict(data)


def _method(config: Config) -> str:
    method = config.text("quant_method")
    return method or ("modelopt" if config.has("quant_algo") else "")


def _excluded(config: Config) -> list[str]:
    names: list[str] = []
    for key in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers", "llm_int8_skip_modules"):
        names += config.names(key) or []
    return names


def _kv_format(config: Config) -> str | None:
    algorithm = config.text("kv_cache_quant_algo").upper()
    if algorithm:
        return {"FP8": "fp8", "NVFP4": "nvfp4", "INT8": "int8"}.get(algorithm)
    scheme = config.section("kv_cache_scheme")
    if scheme is None:
        return None
    bits = scheme.optional("num_bits")
    if bits == 8:
        return "fp8" if scheme.text("type", "float") == "float" else "int8"
    return "nvfp4" if bits == 4 else None


_EVERYWHERE = ["Linear"]
Groups = list[tuple[Stored, list[str]]]


def _groups(config: Config, method: str) -> Groups | None:
    """Return formats with the modules that each holds, None for a method that isn't known."""
    reader = _METHODS.get(method)
    if reader is None:
        return None
    return reader(config)


def _fp8(config: Config) -> Groups:
    block = config.integers("weight_block_size")
    if not block:
        return [(Stored("fp8"), _EVERYWHERE)]
    scale_bits = 8 if config.text("scale_fmt") == "ue8m0" else 32
    area = 1
    for side in block:
        area *= max(side, 1)
    return [(Stored("fp8-block", 8 + scale_bits / area), _EVERYWHERE)]


def _integer(config: Config) -> Groups:
    """GPTQ and AWQ: a 16-bit scale and a zero point of the weights' own width for each group."""
    bits = config.integer("bits", "w_bit", "num_bits", default=4, maximum=16)
    group = config.get("group_size") or config.get("q_group_size") or 128
    return [(_grouped(bits, group, zero_point=True), _EVERYWHERE)]


def _grouped(bits: int, group: object, *, zero_point: bool) -> Stored:
    size = group if isinstance(group, int) and not isinstance(group, bool) and group > 0 else 0
    scale = (16 + (bits if zero_point else 0)) / size if size else 0.0
    if bits >= 8:
        return Stored("int8", bits + scale)
    return Stored("int4-g32" if 0 < size <= 32 else "int4-g128", bits + scale)


def _bitsandbytes(config: Config) -> Groups:
    if config.flag("load_in_8bit"):
        return [(Stored("int8"), _EVERYWHERE)]
    # A 32-bit scale for each 64 weights, itself quantised to 8 bits in blocks of 256 when doubled.
    scale = 8 / 64 + 32 / (64 * 256) if config.flag("bnb_4bit_use_double_quant") else 32 / 64
    return [(Stored("int4-g128", 4 + scale), _EVERYWHERE)]


_MODELOPT = {
    "FP8": Stored("fp8"),
    "FP8_PB_WO": Stored("fp8-block"),
    "FP8_PB_REAL": Stored("fp8-block"),
    "FP8_PER_CHANNEL_PER_TOKEN": Stored("fp8"),
    "INT8_SQ": Stored("int8"),
    "MXFP4": Stored("mxfp4"),
    "MXFP8": Stored("mxfp8"),
    "NVFP4": Stored("nvfp4"),
    "NVFP4_AWQ": Stored("nvfp4"),
    "W4A16_AWQ": Stored("int4-g128"),
    "W4A16_MXFP4": Stored("mxfp4"),
    "W4A16_NVFP4": Stored("nvfp4"),
    "W4A8_AWQ": Stored("int4-g128"),
    "W4A8_MXFP4_FP8": Stored("mxfp4"),
    "W4A8_NVFP4_FP8": Stored("nvfp4"),
    "W8A16": Stored("int8"),
    "W8A8_SQ_PER_CHANNEL": Stored("int8"),
}


def _modelopt(config: Config) -> Groups | None:
    algorithm = config.text("quant_algo").upper()
    layers = config.section("quantized_layers")
    if layers is None:
        stored = _MODELOPT.get(algorithm)
        return None if stored is None else [(stored, _EVERYWHERE)]
    by_format: dict[Stored, dict[str, None]] = {}
    for module, how in layers.data.items():
        if isinstance(how, dict):
            stored = _MODELOPT.get(str(how.get("quant_algo")).upper())
            if stored is not None:
                # Large files name every expert of every layer; the experts of a layer are alike.
                before, experts, _ = module.partition(".experts.")
                by_format.setdefault(stored, {})[before + experts] = None
    return [(stored, list(modules)) for stored, modules in by_format.items()]


def _compressed_tensors(config: Config) -> Groups | None:
    groups = config.section("config_groups")
    if groups is None:
        return None
    found: Groups = []
    for name in groups.data:
        group = groups.section(name)
        weights = group.section("weights") if group else None
        if group is None or weights is None:
            continue
        stored = _weights_format(weights)
        if stored is None:
            return None
        found.append((stored, group.names("targets") or _EVERYWHERE))
    return found


def _weights_format(weights: Config) -> Stored | None:
    bits = weights.integer("num_bits", default=8, maximum=16)
    size = weights.get("group_size")
    if weights.text("type", "int") == "int":
        return _grouped(bits, size, zero_point=weights.get("symmetric") is False)
    if bits == 4:
        return Stored("mxfp4") if size == 32 else Stored("nvfp4")
    if bits != 8:
        return None
    if size == 32:
        return Stored("mxfp8")
    return Stored("fp8-block") if weights.text("strategy") == "block" else Stored("fp8")


_METHODS: dict[str, Callable[[Config], Groups | None]] = {
    "auto-round": _integer,
    "awq": _integer,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed_tensors,
    "fbgemm_fp8": _fp8,
    "fp8": _fp8,
    "gptq": _integer,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "mxfp4": lambda config: [(Stored("mxfp4"), _EVERYWHERE)],
}


def spelled_out(pattern: str) -> list[str]:
    """Write a pattern of compressed-tensors (``re:...``) as names with stars, one for each alternative.

    Patterns come from files, so they are never run as regular expressions: one could be made to take for ever.

    >>> spelled_out(r"re:.*mlp\\.(up|down)_proj$")
    ['*mlp.up_proj', '*mlp.down_proj']
    """
    if not pattern.startswith("re:"):
        return [pattern]
    text = pattern.removeprefix("re:").removeprefix("^").removesuffix("$")
    for sign, plain in ((r"\.", "."), (r"\d+", "*"), ("[0-9]+", "*"), (".*", "*"), (".+", "*"), ("(?:", "(")):
        text = text.replace(sign, plain)
    names = [text]
    for _ in range(_MAX_GROUPS):
        first = _GROUP.search(names[0])
        if first is None or len(names) > _MAX_NAMES:
            break
        options = first.group(1).split("|")
        names = [name.replace(first.group(0), option, 1) for name in names for option in options]
    return names[:_MAX_NAMES]


_GROUP = re.compile(r"\(([^()]*)\)")
_MAX_GROUPS, _MAX_NAMES = 4, 64


def roles_of(module: str) -> tuple[Role, ...]:
    """Return the roles of the weights in a module, by its name; none for norms, biases and towers.

    >>> roles_of("model.layers.3.mlp.shared_experts*"), roles_of("model.layers.3.mlp.gate")
    (('shared_expert',), ('router',))
    """
    return _roles(_LAYER.sub("layers", module))


@lru_cache(maxsize=4096)
def _roles(name: str) -> tuple[Role, ...]:
    """Return the roles of a name whose layer number is taken out."""
    if "lm_head" in name or name == "output":
        return ("head",)
    if "embed_tokens" in name:
        return ("embedding",)
    if _OUTSIDE.search(name):
        return ()
    for needle, roles in _NEEDLES:
        if needle.search(name):
            return roles
    whole = re.search(r"layers\.?\*?$|layers\.\.?\*$|^Linear$|\.\*$|^\*$", name)
    return (*LAYER_ROLES, "router") if whole and name != "Linear" else (LAYER_ROLES if whole else ())


_PATTERNS: tuple[tuple[str, tuple[Role, ...]], ...] = (
    (r"indexers_proj|weights_proj", ()),
    (r"indexer", ("indexer",)),
    (r"self_attn\W*$", ("attention", "indexer")),
    (r"shared_expert_gate", ("router",)),
    (r"shared_expert|shared_mlp|share_expert", ("shared_expert",)),
    (r"experts?\b|experts", ("expert",)),
    (r"(mlp|moe|ffn|mixer|feed_forward)\.gate\b|router|^gate$|gate\.wg", ("router",)),
    (r"latent", ("latent",)),
    (r"self_attn|attention|[qkvo]_proj|kv_a|kv_b|q_a|q_b|wq|wkv|wo_", ("attention",)),
    (r"linear_attn|mamba|mixer|in_proj|out_proj", ("mixer",)),
    (r"block_sparse_moe", ("expert", "shared_expert", "router")),
    (r"(mlp|feed_forward)\.(gate|up|down)", ("dense_ffn",)),
    (r"mlp|feed_forward", ("dense_ffn", "expert", "shared_expert", "router")),
)
_NEEDLES = tuple((re.compile(pattern), roles) for pattern, roles in _PATTERNS)


class _Layout:
    """Formats by role and layer while names are being applied, summed up at the end."""

    def __init__(self, architecture: Architecture) -> None:
        # Gemma 4 has a dense network beside the experts; its `mlp` is that one alone.
        self.apart = architecture.model_type.startswith("gemma4")
        self.weights: dict[tuple[Role, int], int] = {}
        for group in architecture.groups:
            for matrix in group.layer.matrices:
                for index in group.indices:
                    key = (matrix.role, index)
                    self.weights[key] = self.weights.get(key, 0) + matrix.elements
        self.weights["embedding", -1] = architecture.embedding.elements
        self.weights["head", -1] = architecture.output_matrix.elements
        self.stored: dict[tuple[Role, int], Stored] = {}
        self.by_role: dict[Role, list[int]] = {}
        for role, index in self.weights:
            self.by_role.setdefault(role, []).append(index)

    def _places(self, module: str) -> Iterable[tuple[Role, int]]:
        for name in spelled_out(module):
            yield from self._named(name)

    def _named(self, name: str) -> Iterable[tuple[Role, int]]:
        found = _LAYER.search(name)
        layer = int(found.group(1)) if found else None
        roles = roles_of(name)
        if self.apart and "expert" not in name and "mlp" in name:
            roles = ("dense_ffn", "shared_expert")
        for role in roles:
            if layer is None:
                yield from ((role, index) for index in self.by_role.get(role, ()))
            elif (role, layer) in self.weights:
                yield role, layer

    def assign(self, stored: Stored, modules: list[str]) -> None:
        for module in modules:
            for place in self._places(module):
                self.stored[place] = stored

    def keep(self, modules: list[str]) -> None:
        for module in modules:
            for place in self._places(module):
                self.stored.pop(place, None)

    def quantization(self, method: str, kv_format: str | None) -> Quantization:
        formats: dict[Role, str] = {}
        mixed: dict[Role, float] = {}
        for role, indices in self.by_role.items():
            held: dict[Stored, int] = {}
            for index in indices:
                stored = self.stored.get((role, index), _KEPT)
                held[stored] = held.get(stored, 0) + self.weights[role, index]
            main = max(held, key=lambda stored: held[stored])
            total = sum(held.values())
            bits = sum(stored.bits_per_weight * count for stored, count in held.items()) / total
            if set(held) == {_KEPT}:
                continue
            formats[role] = main.format
            if bits != number_format(main.format).bits_per_weight:
                mixed[role] = bits
        return Quantization(formats, mixed_bits=mixed, kv_format=kv_format, method=method)


_KEPT = Stored("bf16")
