"""What is asked: a model in a number format on some GPUs under an engine, and the requests it serves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from infer_cost.checks import MAX_GPUS, finite, whole
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.hardware_specs.catalog import hardware as find_hardware
from infer_cost.hardware_specs.formats import number_format
from infer_cost.hardware_specs.types import Machine, NumberFormat
from infer_cost.model_specs.architecture import Architecture, Mixer
from infer_cost.model_specs.catalog import model as find_model
from infer_cost.model_specs.weights import WeightFormats, weight_formats
from infer_cost.serving.engines import EngineProfile, engine_profile

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How one engine spreads over GPUs: ``gpus = tp · pp · dp``; ``ep`` divides ``tp · dp``.

    ``dp`` is attention data parallelism: each rank group holds whole sequences. ``ep`` shards only the experts; what
    is left of ``tp · dp / ep`` cuts each expert.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one engine."""
        return self.tp * self.pp * self.dp


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative decoding: ``draft_tokens`` guessed per step, each accepted with probability ``acceptance``."""

    method: Literal["mtp", "eagle", "draft"]
    draft_tokens: int
    acceptance: float
    draft_cost_ratio: float
    """Time of one draft step over that of one step of the model itself."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One engine: a model, its formats, the GPUs that hold it and how they share the work."""

    model: Architecture
    machine: Machine
    parallel: Parallelism
    weights: WeightFormats
    kv: NumberFormat
    engine: EngineProfile
    max_model_len: int | None
    max_batched_tokens: int
    max_num_seqs: int
    memory_utilization: float
    speculation: Speculation | None = None
    adapter_bytes: float = 0.0
    """LoRA adapters that stay resident beside the model, over all GPUs."""

    @property
    def gpus(self) -> int:
        """GPUs of this engine."""
        return self.parallel.gpus

    @property
    def context_limit(self) -> int | None:
        """Tokens that a request may have in all, input and output; None when nothing says."""
        limits = [limit for limit in (self.model.context_length, self.max_model_len) if limit]
        return min(limits) if limits else None


@dataclass(frozen=True, slots=True)
class Workload:
    """The requests: all alike, ``concurrency`` of them in flight in the whole deployment, each replaced at its end."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    concurrency: int = 1

    @property
    def new_tokens(self) -> int:
        """Input tokens that prefill has to compute."""
        return self.input_tokens - self.cached_tokens


def workload(input_tokens: int, output_tokens: int, cached_tokens: int = 0, concurrency: int = 1) -> Workload:
    """Check and return a workload.

    Raises
    ------
    InputError
        For a count out of range, or more cached tokens than leave one to compute: an engine always computes at
        least the last prompt token, whose logits give the first output token.
    """
    whole("input_tokens", input_tokens)
    whole("output_tokens", output_tokens)
    whole("cached_tokens", cached_tokens, low=0)
    whole("concurrency", concurrency, high=10_000_000)
    if cached_tokens >= input_tokens:
        raise InputError(
            f"cached_tokens is {cached_tokens:,} of {input_tokens:,} input tokens",
            field="cached_tokens",
            value=cached_tokens,
            allowed=f"0 to {input_tokens - 1:,} (at least one prompt token is computed)",
        )
    return Workload(input_tokens, output_tokens, cached_tokens, concurrency)


def check_context(deployment: Deployment, requests: Workload) -> None:
    """Refuse a request that is longer than the context window, naming the limit.

    Raises
    ------
    CannotBeMetError
        When input plus output exceed the model's context window or ``--max-model-len``.
    """
    limit = deployment.context_limit
    total = requests.input_tokens + requests.output_tokens
    if limit is not None and total > limit:
        lowered = deployment.max_model_len is not None and limit == deployment.max_model_len
        whose = "--max-model-len" if lowered else f"the context window of {deployment.model.name}"
        raise CannotBeMetError(
            f"{requests.input_tokens:,} input and {requests.output_tokens:,} output tokens are {total:,} in all, "
            f"{total - limit:,} beyond {whose}",
            field="input_tokens",
            value=requests.input_tokens,
            allowed=f"{limit:,} tokens in all",
        )


def deployment(
    model: str | Path | Architecture,
    hardware: str | Path | Machine,
    *,
    gpus: int | None = None,
    tp: int | None = None,
    pp: int = 1,
    dp: int = 1,
    ep: int = 1,
    weights: str | None = None,
    kv: str | None = None,
    weights_everywhere: bool = False,
    engine: str | EngineProfile = "generic",
    max_model_len: int | None = None,
    max_batched_tokens: int | None = None,
    max_num_seqs: int | None = None,
    memory_utilization: float | None = None,
    speculation: Speculation | None = None,
    assume: str | None = None,
) -> Deployment:
    """Look everything up, check that it goes together, and return the deployment.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog name, file, or what those resolve to.
    gpus, tp, pp, dp, ep : int
        ``gpus = tp · pp · dp``; a missing one follows from the others, one GPU and no parallelism by default.
    weights, kv : str, optional
        Number formats; the checkpoint's own, and the engine's default, when absent.
    assume : str, optional
        Architecture to read a config of an unknown type as: ``llama``.

    Raises
    ------
    InputError
        For unknown names, sizes that don't divide, or a system with too few GPUs.
    """
    architecture = model if isinstance(model, Architecture) else find_model(model, assume=assume)
    machine = hardware if isinstance(hardware, Machine) else find_hardware(str(hardware))
    generation = machine.accelerator.architecture
    profile = engine if isinstance(engine, EngineProfile) else engine_profile(engine).on(generation)
    parallel = parallelism(architecture, machine, gpus=gpus, tp=tp, pp=pp, dp=dp, ep=ep)
    formats = weight_formats(architecture, weights, everywhere=weights_everywhere)
    if max_model_len is not None:
        whole("max_model_len", max_model_len)
    return Deployment(
        model=architecture,
        machine=machine,
        parallel=parallel,
        weights=formats,
        kv=number_format(_default_kv(architecture, formats, profile) if kv is None else kv),
        engine=profile,
        max_model_len=max_model_len,
        max_batched_tokens=whole("max_batched_tokens", _either(max_batched_tokens, profile.max_batched_tokens)),
        max_num_seqs=whole("max_num_seqs", _either(max_num_seqs, profile.max_num_seqs)),
        memory_utilization=finite(
            "memory_utilization", _either(memory_utilization, profile.memory_utilization), low=0.01, high=1.0
        ),
        speculation=speculation,
    )


def _either(own: T | None, default: T) -> T:
    """What was asked for, a 0 too, so that it is refused rather than replaced."""
    return default if own is None else own


def _default_kv(model: Architecture, formats: WeightFormats, engine: EngineProfile) -> str:
    stored = model.quantization.kv_format if model.quantization else None
    if engine.kv_follows_weights and min(formats.bits.values()) < 16:
        return "fp8"
    return stored or "bf16"


def parallelism(
    model: Architecture,
    machine: Machine,
    *,
    gpus: int | None = None,
    tp: int | None = None,
    pp: int = 1,
    dp: int = 1,
    ep: int = 1,
) -> Parallelism:
    """Fill in what is missing and check that the model can be cut that way.

    Raises
    ------
    InputError
        Naming the size that doesn't go and the legal ones.
    """
    for field, value in (("pp", pp), ("dp", dp), ("ep", ep)):
        whole(field, value, high=MAX_GPUS)
    if gpus is not None:
        whole("gpus", gpus, high=MAX_GPUS)
    if tp is None:
        tp = _tp_from_gpus(gpus, pp, dp)
    whole("tp", tp, high=MAX_GPUS)
    parallel = Parallelism(tp=tp, pp=pp, dp=dp, ep=ep)
    if gpus is not None and parallel.gpus != gpus:
        raise InputError(
            f"tp {tp} x pp {pp} x dp {dp} are {parallel.gpus} GPUs, not {gpus}",
            field="gpus",
            value=gpus,
            allowed="gpus = tp x pp x dp",
        )
    if machine.max_gpus is not None and parallel.gpus > machine.max_gpus:
        raise InputError(
            f"{machine.name} has {machine.max_gpus} GPUs, not {parallel.gpus}",
            field="gpus",
            value=parallel.gpus,
            allowed=f"1 to {machine.max_gpus}",
            hint=f"the accelerator id {machine.accelerator.id} allows several systems",
        )
    _check_cut(model, parallel)
    return parallel


def _tp_from_gpus(gpus: int | None, pp: int, dp: int) -> int:
    if gpus is None:
        return 1
    tp, rest = divmod(gpus, pp * dp)
    if rest or not tp:
        raise InputError(
            f"{gpus} GPUs can't be cut into pp {pp} x dp {dp}",
            field="gpus",
            value=gpus,
            allowed=f"multiples of {pp * dp}",
        )
    return tp


def legal_tp(model: Architecture, limit: int = 1024) -> list[int]:
    """Tensor-parallel sizes that divide the model's heads and widths.

    KV heads may be fewer than ranks (they are then replicated), if one of the two numbers divides the other.
    """
    return [tp for tp in _divisors(model, limit) if all(_cuts(group.layer.mixer, tp) for group in model.groups)]


def _divisors(model: Architecture, limit: int) -> list[int]:
    from math import gcd

    common = 0
    for group in model.groups:
        mixer, ffn = group.layer.mixer, group.layer.ffn
        common = gcd(common, mixer.heads)
        common = gcd(common, ffn.width if ffn.kind == "dense" else ffn.shared_width)
    common = common or 1
    return [tp for tp in range(1, min(common, limit) + 1) if common % tp == 0]


def _cuts(mixer: Mixer, tp: int) -> bool:
    return not mixer.kv_heads or mixer.kv_heads % tp == 0 or tp % mixer.kv_heads == 0


def _check_cut(model: Architecture, parallel: Parallelism) -> None:
    legal = legal_tp(model)
    if parallel.tp not in legal:
        raise InputError(
            f"tp {parallel.tp} doesn't divide the heads and widths of {model.name}",
            field="tp",
            value=parallel.tp,
            allowed=", ".join(map(str, legal)),
        )
    if parallel.pp > model.layers:
        raise InputError(
            f"pp {parallel.pp} is more than the {model.layers} layers of {model.name}",
            field="pp",
            value=parallel.pp,
            allowed=f"1 to {model.layers}",
        )
    experts = max((group.layer.ffn.experts for group in model.groups), default=0)
    ranks = parallel.tp * parallel.dp
    legal_ep = [ep for ep in range(1, ranks + 1) if ranks % ep == 0 and (ep == 1 or (experts and ep <= experts))]
    if parallel.ep not in legal_ep:
        why = f"{model.name} has no experts" if not experts else f"it must divide tp x dp = {ranks}"
        raise InputError(
            f"ep {parallel.ep} doesn't go: {why}",
            field="ep",
            value=parallel.ep,
            allowed=", ".join(map(str, legal_ep)),
        )


def with_parallelism(base: Deployment, parallel: Parallelism) -> Deployment:
    """Return the same engine cut otherwise, checked."""
    _check_cut(base.model, parallel)
    return replace(base, parallel=parallel)
