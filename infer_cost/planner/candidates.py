"""Deployments that a plan chooses from: machines, formats, cuts and speculation that go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from infer_cost.errors import InferCostError, InputError
from infer_cost.hardware_specs.bundled import accelerator_ids, prices
from infer_cost.hardware_specs.types import Machine
from infer_cost.model_specs.architecture import Architecture
from infer_cost.serving.deployment import deployment, legal_tp
from infer_cost.serving.drafts import speculation
from infer_cost.serving.engine_times import CompiledEngine, compile_engine
from infer_cost.serving.scenario import GpuPrice, gpu_price, with_speculation

DEFAULT_TIER = "neocloud-tco"
"""The price tier that most data-centre accelerators have in common, so that their hours compare."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One engine that could serve, with what it takes to ask for it."""

    engine: CompiledEngine
    price: GpuPrice
    settings: tuple[tuple[str, Any], ...]
    """Options of an estimate by name, those that differ from the defaults."""

    @property
    def machine(self) -> Machine:
        """The machine that it runs on."""
        return self.engine.deployment.machine

    @property
    def gpus(self) -> int:
        """GPUs of one engine."""
        return self.engine.deployment.gpus

    @property
    def usd_per_hour(self) -> float:
        """What one engine costs an hour."""
        return self.gpus * self.price.usd_per_hour

    @property
    def label(self) -> str:
        """Machine, format and cut in a few words."""
        parts = dict(self.settings)
        cut = [f"{name} {parts[name]}" for name in ("tp", "pp", "dp", "ep") if parts.get(name, 1) != 1]
        drafts = [str(parts["speculative"])] if "speculative" in parts else []
        weights = self.engine.deployment.weights.label.partition(" ")[0]
        return ", ".join([f"{self.gpus} x {self.machine.id}", weights, *cut, *drafts])


def default_machines() -> tuple[str, ...]:
    """Return the accelerators that have a price in :data:`DEFAULT_TIER`.

    >>> "h100-sxm" in default_machines()
    True
    """
    return tuple(key for key in accelerator_ids() if any(price.tier == DEFAULT_TIER for price in prices(key)))


MOST_COMBINATIONS = 20_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What a plan may choose between; None leaves a choice to the search."""

    machines: tuple[Machine, ...]
    weights: tuple[str, ...] | None = None
    kv: tuple[str, ...] | None = None
    tp: tuple[int, ...] | None = None
    pp: tuple[int, ...] | None = None
    dp: tuple[int, ...] | None = None
    ep: tuple[int, ...] | None = None
    engine: str = "generic"
    speculative: tuple[str, ...] | None = None
    prices: tuple[tuple[str, float], ...] = ()
    """The user's price of a GPU-hour, by machine; of all machines under the empty name."""
    price_tier: str | None = None
    max_model_len: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, and why others aren't among them."""

    candidates: tuple[Candidate, ...]
    looked_at: int
    unpriced: tuple[str, ...]
    refusals: tuple[InferCostError, ...]
    """One for each combination of options that makes no sense."""


def find_candidates(model: Architecture, choice: Choice) -> Found:
    """Return every engine that the options allow.

    Raises
    ------
    InputError
        When nothing is left because no machine has a price, or no combination of options makes sense; when there are
        more combinations than anybody would compare.
    """
    made, refusals, unpriced = [], [], []
    looked_at = 0
    for machine in choice.machines:
        price = _price(machine, choice)
        if price is None:
            unpriced.append(machine.id)
            continue
        for settings in _combinations(model, machine, choice):
            looked_at += 1
            if looked_at > MOST_COMBINATIONS:
                raise InputError(
                    "too many combinations to choose from",
                    field="tp",
                    allowed=f"{MOST_COMBINATIONS:,} in all",
                    hint="name fewer machines, formats or sizes",
                )
            try:
                made.append(_candidate(model, machine, price, settings, choice))
            except InferCostError as error:
                # Without its frames, which would keep alive all that was built on the way.
                refusals.append(error.with_traceback(None))
    if not made:
        if refusals:
            raise refusals[0]
        raise InputError(
            f"no price of a GPU-hour is known for {', '.join(unpriced)}",
            field="price_per_gpu_hour",
            hint="give one: --price-per-gpu-hour 2.50, or --price-per-gpu-hour h100-sxm=2.50",
        )
    return Found(tuple(made), looked_at, tuple(unpriced), tuple(refusals))


def _price(machine: Machine, choice: Choice) -> GpuPrice | None:
    own = dict(choice.prices)
    override = own.get(machine.id, own.get(machine.accelerator.id, own.get("")))
    if override is not None or choice.price_tier is not None:
        return gpu_price(machine, override, choice.price_tier)
    tiers = [price.tier for price in machine.prices]
    return gpu_price(machine, None, DEFAULT_TIER if DEFAULT_TIER in tiers else None)


def _candidate(
    model: Architecture, machine: Machine, price: GpuPrice, settings: dict[str, Any], choice: Choice
) -> Candidate:
    options = {name: value for name, value in settings.items() if name != "speculative"}
    plan = deployment(model, machine, engine=choice.engine, max_model_len=choice.max_model_len, **options)
    guess = speculation(model, settings["speculative"]) if "speculative" in settings else None
    shown = {name: value for name, value in settings.items() if value not in (None, 1)}
    return Candidate(compile_engine(with_speculation(plan, guess)), price, tuple(shown.items()))


def _combinations(model: Architecture, machine: Machine, choice: Choice) -> Iterator[dict[str, Any]]:
    drafts = choice.speculative or ("none", *(["mtp"] if any(part.kind == "mtp" for part in model.components) else []))
    for weights in choice.weights or _weight_options(model, machine):
        for kv in choice.kv or (None,):
            for tp, pp, dp, ep in _cuts(model, machine, choice):
                for draft in drafts:
                    settings: dict[str, Any] = {"weights": weights, "kv": kv, "tp": tp, "pp": pp, "dp": dp, "ep": ep}
                    yield {**settings, **({"speculative": draft} if draft != "none" else {})}


def _weight_options(model: Architecture, machine: Machine) -> Sequence[str | None]:
    """The checkpoint's own format; 8 bits besides for a 16-bit one, where the chip multiplies them."""
    if model.quantization is None and "fp8" in machine.accelerator.peak_flops:
        return (None, "fp8")
    return (None,)


def _cuts(model: Architecture, machine: Machine, choice: Choice) -> Iterator[tuple[int, int, int, int]]:
    """Cuts that stay inside the scale-up domain: tensor ranks, and expert or attention-data ranks for experts."""
    domain = min(machine.scale_up_domain, machine.max_gpus or machine.scale_up_domain, 64)
    experts = any(group.layer.ffn.kind == "moe" for group in model.groups)
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size <= domain]
    for tp in choice.tp or [tp for tp in legal_tp(model, min(domain, 16)) if tp in sizes]:
        for pp in choice.pp or (1,):
            for dp in choice.dp or ([1, *(size for size in sizes if size > 1)] if experts and tp == 1 else [1]):
                ranks = tp * dp
                for ep in choice.ep or (sorted({1, ranks}) if experts and dp == 1 else [ranks if experts else 1]):
                    yield tp, pp, dp, ep
