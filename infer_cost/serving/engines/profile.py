"""The engine profile and its loader."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from infer_cost.checks import finite
from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.generations import architecture_group
from infer_cost.serving.engines.constants import constants_by_engine, nearest_constants

KERNEL_AGEING = 0.1
"""Yearly gain of the kernels over that of the overheads; one figure for all engines, chosen on rows left out."""


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """What an engine adds to the kernels: host time, launches, scheduling, reserves.

    Constants are physical and hold for every model; see ``profiles.toml`` for where each comes from.
    """

    id: str
    name: str
    version: str
    kernels: str
    """Whose kernel timings apply: trtllm, vllm, sglang or generic."""
    prefill: Literal["blocking", "chunked"]
    """Whether a prefill stops the decodes, or shares its steps with them."""
    kernel_factor: float
    """Time of the kernels inside the engine over their time alone."""
    prefill_factor: float
    """The same for a prefill's kernels, on top."""
    expert_prefill_factor: float
    """Time of the experts in a prefill over their kernels' time alone: routing, permuting, kernels tuned for decode."""
    floor_share: float
    """Share of a kernel's launch floor that shows when a graph replays a whole step."""
    host_step_s: float
    """Host time a step that the GPU waits for (scheduling, input preparation, sampling's round trip)."""
    host_sequence_s: float
    """As above, for each sequence in the batch."""
    host_request_s: float
    """Host time a request before its prefill starts (admission, first schedule)."""
    small_kernels_per_layer: float
    """Norms, rotary embedding, activation, cache write and quantisation kernels in one layer after fusion."""
    latent_kernels_per_layer: float
    """More of them where attention is latent: splits, two norms, absorbed projections, routing."""
    eager_layer_s: float
    """Host time to launch one layer of a prefill, which no graph replays."""
    admission_steps: float
    """Decode steps between the arrival of a request and the step that takes it in: half of the one under way, and the
    next one, which is launched before that one ends."""
    handover_s: float
    """Fixed part of handing a request from a prefill pool to a decode pool: routing, the two engines' handshake."""
    output_reserve: float
    """Share of a request's output that is set aside in the KV cache when it starts; the rest is taken as it grows."""
    yearly_gain: float
    """Rate at which overheads shrank with newer versions, a year."""
    age_years: float
    """Years that the version served is older than ``version``."""
    launch_s: float
    """Launch gap between kernels: near zero when a CUDA graph replays them."""
    kv_follows_weights: bool
    """Whether an 8- or 4-bit checkpoint gets an FP8 cache without being asked."""
    max_batched_tokens: int
    max_num_seqs: int
    memory_utilization: float
    runtime_reserve_bytes: float
    """Memory that the runtime holds on each GPU: context, graphs, communication buffers."""
    notes: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Constants calibrated by the user: they hold whatever the accelerator."""

    @property
    def overhead(self) -> float:
        """Overheads of the version served over those of ``version``."""
        return math.exp(self.yearly_gain * self.age_years)

    @property
    def kernel_overhead(self) -> float:
        """Time of the kernels of the version served over that of ``version``'s: they age less than what is around."""
        return math.exp(self.yearly_gain * self.age_years * KERNEL_AGEING)

    def on(self, architecture: str) -> EngineProfile:
        """Return the profile with the constants fitted on an accelerator generation, or the nearest ones.

        ``constants.csv`` holds them by engine and generation.
        """
        key = nearest_constants(self.id, architecture_group(architecture))
        return replace(self, **{**(constants_by_engine()[key] if key else {}), **self.own})


def engine_profiles() -> dict[str, EngineProfile]:
    """Every engine by id."""
    return dict(_load())


def engine_profile(name: str) -> EngineProfile:
    """Return one engine by id or alias, or read it from a TOML file that ``infer-cost calibrate`` wrote.

    >>> engine_profile("vLLM").id
    'vllm'
    """
    if name.endswith(".toml"):
        return _from_file(Path(name))
    profiles, aliases = _load(), _aliases()
    key = name.strip().lower().replace(" ", "-").replace("_", "-")
    key = aliases.get(key, key)
    if key not in profiles:
        known = f"known: {', '.join(profiles)}; or a TOML file"
        raise unknown_name("engine", name, [*profiles, *aliases], field="engine", hint=known)
    return profiles[key]


def _from_file(path: Path) -> EngineProfile:
    """Read ``base`` (a known engine), ``name`` and ``[constants]`` from a file."""
    from infer_cost.files import read_toml

    raw = read_toml(path, field="engine", what="an engine file in TOML")
    base = engine_profile(str(raw.get("base", "generic")))
    constants = raw.get("constants")
    known = {name for constants in constants_by_engine().values() for name in constants}
    if not isinstance(constants, dict) or set(constants) - known:
        wrong = ", ".join(sorted(set(constants) - known)) if isinstance(constants, dict) else "no [constants]"
        raise InputError(f"{path.name}: {wrong}", field="engine", value=str(path), allowed=", ".join(sorted(known)))
    own = {name: finite(name, value, high=1e3) for name, value in constants.items()}
    return replace(base, name=str(raw.get("name", path.stem)), own=own)


@cache
def _tables() -> tuple[dict[str, EngineProfile], dict[str, str]]:
    with (Path(__file__).parent / "profiles.toml").open("rb") as file:
        raw = tomllib.load(file)
    defaults = raw["defaults"]
    profiles, aliases = {}, {}
    for key, own in raw["engine"].items():
        entry = {**defaults, **own}
        for alias in entry.pop("aliases", ()):
            aliases[alias] = key
        entry["notes"] = tuple(entry.get("notes", ()))
        profiles[key] = EngineProfile(id=key, **entry)
    return profiles, aliases


def _load() -> dict[str, EngineProfile]:
    return _tables()[0]


def _aliases() -> dict[str, str]:
    return _tables()[1]
