"""Stage 5's question: the same request on a smaller model, and on the better silicon for each phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from infer_cost.errors import InferCostError
from infer_cost.hardware_specs.catalog import hardware as find_hardware
from infer_cost.model_specs.catalog import model as find_model
from infer_cost.model_specs.weights import weight_formats
from infer_cost.serving.deployment import Parallelism, check_context
from infer_cost.serving.estimate import prefill_share, state_of
from infer_cost.serving.fit import fewest_gpus, require_fit
from infer_cost.serving.scenario import Scenario, gpu_price
from infer_cost.stages.totals import HostShare, Totals, totals, variant
from infer_cost.stages.types import Alternative

SMALLER_MODEL = "llama-3.1-8b"
"""What a router sends easy requests to (source documents, stage 5: 70B or 8B)."""

CANDIDATES = ("h100-sxm", "h200-sxm", "b200-sxm", "mi355x")
"""Silicon that a router of a mixed fleet chooses from, each at its own default price."""


def alternatives(
    question: Scenario,
    hosts: Mapping[int, HostShare],
    *,
    smaller: str = SMALLER_MODEL,
    candidates: Iterable[str] = CANDIDATES,
) -> tuple[Alternative, ...]:
    """Return the request's other routes, each whole: times of all stages and the operator's cost.

    Disaggregated deployments have chosen already, so only the smaller model is offered to them.
    """
    return tuple(_routes(question, hosts, smaller, candidates))


def _routes(
    question: Scenario, hosts: Mapping[int, HostShare], smaller: str, candidates: Iterable[str]
) -> Iterator[Alternative]:
    small = _on_smaller_model(question, smaller)
    if small is not None:
        yield _alternative(f"a smaller model, {smaller}", small, totals(small, hosts))
    if question.prefill_pool is not None:
        return
    elsewhere = [found for name in candidates if (found := _on_machine(question, name)) is not None]
    for phase, price_of in (("prefill", _prefill_usd), ("decode", _decode_usd)):
        priced = [(cost, found) for found in elsewhere if (cost := price_of(found)) is not None]
        if priced:
            best = min(priced, key=lambda pair: pair[0])[1]
            yield _alternative(f"the cheapest silicon for {phase}", best, totals(best, hosts))


def _alternative(what: str, question: Scenario, result: Totals) -> Alternative:
    plan = question.deployment
    tpot = result.tpot_s if question.requests.output_tokens > 1 else None
    return Alternative(
        what, plan.model.name, plan.machine.id, question.gpus, result.ttft_s, tpot, result.e2e_s, result.cost_usd
    )


def _on_smaller_model(question: Scenario, name: str) -> Scenario | None:
    """The same request on the smaller model, on as few of these GPUs as hold it; None where that's no choice."""
    model = find_model(name)
    plan = question.deployment
    if model.name == plan.model.name:
        return None
    small = replace(
        plan,
        model=model,
        weights=weight_formats(model, None if plan.weights.name == "checkpoint" else plan.weights.name),
        parallel=Parallelism(),
        speculation=None,
    )
    return _fitted(replace(question, prefill_pool=None, decode_pool=None), lambda _: small)


def _on_machine(question: Scenario, name: str) -> Scenario | None:
    machine = find_hardware(name)
    return _fitted(replace(question, price=gpu_price(machine)), lambda plan: replace(plan, machine=machine))


def _fitted(question: Scenario, change: Callable[..., object]) -> Scenario | None:
    changed = variant(question, change)  # type: ignore[arg-type]
    context = question.requests.input_tokens + question.requests.output_tokens
    try:
        check_context(changed.deployment, question.requests)
        gpus = fewest_gpus(changed.deployment, context) if changed.gpus == 1 else changed.gpus
        if gpus is not None and gpus != changed.gpus:
            changed = variant(changed, lambda plan: replace(plan, parallel=Parallelism(tp=gpus)))
        require_fit(changed.deployment, context)
    except InferCostError:
        return None
    return changed


def _prefill_usd(question: Scenario) -> float | None:
    return _phase_usd(question, prefill=True)


def _decode_usd(question: Scenario) -> float | None:
    return _phase_usd(question, prefill=False)


def _phase_usd(question: Scenario, *, prefill: bool) -> float | None:
    if question.price is None:
        return None
    state = state_of(question)
    share = prefill_share(question, state)
    spent = question.gpus * float(state.residence_s) / question.requests.concurrency * question.price.usd_per_second
    return float(spent * (share if prefill else 1.0 - share))
