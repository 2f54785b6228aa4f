"""One question in full: which machines, cut how, under which load, at which price; every default is written down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from infer_cost.checks import MAX_GPUS, finite, whole
from infer_cost.checks import utilization as check_utilization
from infer_cost.errors import InputError, unknown_name
from infer_cost.hardware_specs.cautions import cautions
from infer_cost.hardware_specs.types import Machine
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.names import find
from infer_cost.roofline.dispatch import Value
from infer_cost.serving.budget import missing_bytes
from infer_cost.serving.deployment import (
    Deployment,
    Speculation,
    Workload,
    check_context,
    deployment,
    parallelism,
    with_parallelism,
    workload,
)
from infer_cost.serving.drafts import speculation
from infer_cost.serving.engine_times import CompiledEngine, compile_engine
from infer_cost.serving.fit import require_fit


@dataclass(frozen=True, slots=True)
class Pool:
    """Identical engines that share a phase of the work."""

    engine: CompiledEngine
    instances: int

    @property
    def gpus(self) -> int:
        """GPUs of the pool."""
        return self.engine.deployment.gpus * self.instances


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """What a GPU costs an hour, and where that was read."""

    usd_per_hour: float
    tier: str
    source: str

    @property
    def usd_per_second(self) -> float:
        """Dollars a GPU-second."""
        return self.usd_per_hour / 3600.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A deployment (one engine, or a prefill and a decode pool), its workload and its price."""

    engine: CompiledEngine
    """The engine that decodes; it prefills too unless ``prefill_pool`` is set."""
    requests: Workload
    price: GpuPrice | None
    utilization: float
    prefill_pool: Pool | None = None
    decode_pool: Pool | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def deployment(self) -> Deployment:
        """The deployment of the engine that decodes."""
        return self.engine.deployment

    @property
    def gpus(self) -> int:
        """All GPUs, both pools included."""
        if self.prefill_pool is None or self.decode_pool is None:
            return self.deployment.gpus
        return self.prefill_pool.gpus + self.decode_pool.gpus


def scenario(
    model: str | Path | Architecture,
    hardware: str | Path | Machine,
    *,
    input_tokens: int = 1024,
    output_tokens: int = 256,
    cached_tokens: int = 0,
    concurrency: int = 1,
    gpus: int | None = None,
    tp: int | None = None,
    pp: int = 1,
    dp: int = 1,
    ep: int = 1,
    weights: str | None = None,
    kv: str | None = None,
    weights_everywhere: bool = False,
    engine: str = "generic",
    max_model_len: int | None = None,
    max_batched_tokens: int | None = None,
    max_num_seqs: int | None = None,
    memory_utilization: float | None = None,
    assume: str | None = None,
    speculative: str = "none",
    draft_tokens: int | None = None,
    acceptance: float | None = None,
    prefill_gpus: int | None = None,
    decode_gpus: int | None = None,
    prefill_tp: int | None = None,
    prefill_ep: int = 1,
    prefill_dp: int = 1,
    decode_tp: int | None = None,
    decode_ep: int = 1,
    decode_dp: int = 1,
    price_per_gpu_hour: float | None = None,
    price_tier: str | None = None,
    utilization: float = 1.0,
    must_fit: bool = True,
) -> Scenario:
    """Check every input, look everything up and return the scenario.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names, files, or what those resolve to.
    input_tokens, output_tokens, cached_tokens, concurrency : int
        The requests; cached tokens are part of the input.
    prefill_gpus, decode_gpus : int, optional
        Both together make the deployment disaggregated; each pool holds as many engines as its GPUs allow.
    utilization : float
        Share of the paid hours in which the GPUs serve at this concurrency, 0 to 1.
    must_fit : bool
        Refuse what doesn't fit or is longer than the context window; a sweep asks :func:`fits` instead.
    others
        See :func:`infer_cost.serving.deployment.deployment` and the command line's help.

    Raises
    ------
    InputError
        For anything unknown, out of range or contradictory.
    CannotBeMetError
        When the model doesn't fit or the request is longer than the context window.
    """
    check_utilization(utilization)
    requests = workload(input_tokens, output_tokens, cached_tokens, concurrency)
    split = _check_pools(gpus, tp, prefill_gpus, decode_gpus)
    compiled = _engine(
        model,
        hardware,
        speculative,
        draft_tokens,
        acceptance,
        gpus=None if split else gpus,
        tp=decode_tp if split else tp,
        pp=pp,
        dp=decode_dp if split else dp,
        ep=decode_ep if split else ep,
        weights=weights,
        kv=kv,
        weights_everywhere=weights_everywhere,
        engine=engine,
        max_model_len=max_model_len,
        max_batched_tokens=max_batched_tokens,
        max_num_seqs=max_num_seqs,
        memory_utilization=memory_utilization,
        assume=assume,
    )
    base = compiled.deployment
    if must_fit:
        check_context(base, requests)
        require_fit(base, input_tokens + output_tokens)
    price = gpu_price(base.machine, price_per_gpu_hour, price_tier)
    prefill_pool = decode_pool = None
    if split:
        assert prefill_gpus is not None and decode_gpus is not None
        front = parallelism(
            base.model, base.machine, tp=1 if prefill_tp is None else prefill_tp, pp=pp, dp=prefill_dp, ep=prefill_ep
        )
        prefill = with_parallelism(base, front)
        if must_fit:
            require_fit(prefill, input_tokens)
        prefill_pool = Pool(compile_engine(prefill), _instances("prefill_gpus", prefill_gpus, prefill))
        decode_pool = Pool(compiled, _instances("decode_gpus", decode_gpus, base))
    return Scenario(
        compiled,
        requests,
        price,
        utilization,
        prefill_pool,
        decode_pool,
        tuple(_assumptions(base, acceptance, price, utilization, engine)),
    )


def _engine(
    model: str | Path | Architecture,
    hardware: str | Path | Machine,
    speculative: str,
    draft_tokens: int | None,
    acceptance: float | None,
    **options: Any,
) -> CompiledEngine:
    """Return the compiled engine; one that only catalog names describe is kept for the next question about it."""
    drafts = (speculative, draft_tokens, acceptance)
    if isinstance(model, str) and isinstance(hardware, str) and is_catalog_name(model, hardware):
        return _catalog_engine(model, hardware, drafts, tuple(sorted(options.items())))
    return _compiled(model, hardware, drafts, options)


def is_catalog_name(model: str, hardware: str) -> bool:
    """Tell whether both names can only mean rows of the bundled catalogs, which never change while we run."""
    return find(model) is not None and not hardware.strip().lower().endswith(".toml")


@lru_cache(maxsize=1024)
def _catalog_engine(
    model: str, hardware: str, drafts: tuple[str, int | None, float | None], options: tuple[tuple[str, Any], ...]
) -> CompiledEngine:
    return _compiled(model, hardware, drafts, dict(options))


def _compiled(
    model: Any, hardware: Any, drafts: tuple[str, int | None, float | None], options: dict[str, Any]
) -> CompiledEngine:
    base = deployment(model, hardware, **options)
    return compile_engine(with_speculation(base, speculation(base.model, *drafts)))


def fits(question: Scenario, requests: Workload) -> Value:
    """Tell whether requests fit: in the memory of every pool and in the context window; floats or arrays."""
    plan = question.deployment
    whole_context = requests.input_tokens + requests.output_tokens
    roomy = missing_bytes(plan, whole_context) <= 0
    if question.prefill_pool is not None:
        roomy = roomy & (missing_bytes(question.prefill_pool.engine.deployment, requests.input_tokens) <= 0)
    limit = plan.context_limit
    return roomy if limit is None else roomy & (whole_context <= limit)


def _check_pools(gpus: int | None, tp: int | None, prefill_gpus: int | None, decode_gpus: int | None) -> bool:
    if prefill_gpus is None and decode_gpus is None:
        return False
    if prefill_gpus is None or decode_gpus is None:
        missing = "prefill_gpus" if prefill_gpus is None else "decode_gpus"
        raise InputError(
            f"{missing} is missing: a disaggregated deployment needs both pools", field=missing, allowed="1 or more"
        )
    whole("prefill_gpus", prefill_gpus, high=MAX_GPUS)
    whole("decode_gpus", decode_gpus, high=MAX_GPUS)
    if gpus is not None and gpus != prefill_gpus + decode_gpus:
        raise InputError(
            f"prefill_gpus {prefill_gpus} and decode_gpus {decode_gpus} are {prefill_gpus + decode_gpus}, not {gpus}",
            field="gpus",
            value=gpus,
            allowed="leave --gpus away, or make it the sum",
        )
    if tp is not None:
        raise InputError("tp is ambiguous with two pools", field="tp", value=tp, allowed="--prefill-tp and --decode-tp")
    return True


def _instances(field: str, gpus: int, engine: Deployment) -> int:
    count, rest = divmod(gpus, engine.gpus)
    if rest or not count:
        raise InputError(
            f"{field} is {gpus}, and one engine takes {engine.gpus}",
            field=field,
            value=gpus,
            allowed=f"multiples of {engine.gpus}",
        )
    return count


def with_speculation(base: Deployment, guess: Speculation | None) -> Deployment:
    """Return the deployment with a speculation setting, itself without one."""
    from dataclasses import replace

    return base if guess is None else replace(base, speculation=guess)


def gpu_price(machine: Machine, override: float | None = None, tier: str | None = None) -> GpuPrice | None:
    """Return the price of a GPU-hour: the user's, that of a tier, or the machine's default tier.

    None when nothing is known and nothing was asked for.

    Raises
    ------
    UnknownNameError
        For a tier that the machine has no price in.
    """
    if override is not None:
        return GpuPrice(finite("price_per_gpu_hour", override, unit="$"), "yours", "option --price-per-gpu-hour")
    for price in machine.prices:
        if tier is None or price.tier == tier:
            note = f" ({price.provenance.note})" if price.provenance.note else ""
            return GpuPrice(price.usd, price.tier, f"{price.provenance.source}{note}")
    if tier is not None:
        tiers = [price.tier for price in machine.prices]
        raise unknown_name(
            f"price tier of {machine.id}",
            tier,
            tiers,
            field="price_tier",
            hint=f"known: {', '.join(tiers) or 'none'}; or --price-per-gpu-hour",
        )
    return None


def _assumptions(
    plan: Deployment,
    acceptance: float | None,
    price: GpuPrice | None,
    utilization: float,
    engine: str,
) -> list[str]:
    guess = plan.speculation
    said = [f"weights {plan.weights.label}, KV cache {plan.kv.id}, {plan.engine.name} profile"]
    if engine == "generic":
        said.append("no engine named: constants between those of vLLM, SGLang and TensorRT-LLM")
    if price is None:
        said.append("no GPU-hour price is known for this machine: costs are left out; give --price-per-gpu-hour")
    else:
        said.append(f"${price.usd_per_hour:g} a GPU-hour, tier {price.tier}: {price.source}")
    said.append(f"GPUs are paid for while they serve {utilization:.0%} of the time")
    if guess is not None and acceptance is None:
        said.append(f"{guess.method}: {guess.acceptance:.0%} of draft tokens accepted (typical; set --acceptance)")
    if plan.machine.power_per_gpu_w:
        said.append(
            f"power is what the machine is rated for, {plan.machine.power_per_gpu_w:,.0f} W a GPU, whatever the load"
        )
    return [*said, *cautions(plan.machine), *plan.model.notes]
