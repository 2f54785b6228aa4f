"""From the bare roofline to the expected figure, term by term."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.engine_times import decode_load
from infer_cost.serving.estimate import state_of
from infer_cost.serving.operators import Load
from infer_cost.serving.passes import OperatorTime, PassTime, operator_times
from infer_cost.serving.ranges import spreads
from infer_cost.serving.scenario import Scenario
from infer_cost.serving.steady import SteadyState
from infer_cost.serving.steps import Input, Step, datasheet


@dataclass(frozen=True, slots=True)
class Ladder:
    """The steps that lead to TTFT and TPOT, and the operators of a decode and a prefill pass."""

    inputs: tuple[Input, ...]
    tpot: tuple[Step, ...]
    ttft: tuple[Step, ...]
    decode_operators: tuple[OperatorTime, ...]
    prefill_operators: tuple[OperatorTime, ...]


def ladder(question: Scenario) -> Ladder:
    """Return the ladder of a scenario; the terms of each add up to the expected value."""
    state = state_of(question)
    requests = question.requests
    prefill_engine = question.prefill_pool.engine if question.prefill_pool else question.engine
    instances = question.decode_pool.instances if question.decode_pool else 1
    context = requests.input_tokens + requests.output_tokens / 2.0
    decode = decode_load(question.engine, max(1.0, float(state.running) / instances), context)
    chunk = requests.new_tokens / float(state.chunks)
    before = requests.cached_tokens + chunk * (float(state.chunks) - 1.0) / 2.0
    return Ladder(
        inputs=_inputs(question),
        tpot=_tpot(question, state),
        ttft=_ttft(question, state),
        decode_operators=tuple(operator_times(question.engine.decode, decode)),
        prefill_operators=tuple(
            operator_times(prefill_engine.prefill, Load(1.0, chunk, before, False, 1, float(requests.cached_tokens)))
        ),
    )


def _inputs(question: Scenario) -> tuple[Input, ...]:
    machine: Machine = question.deployment.machine
    chip = machine.accelerator
    rates = {op.kernel.rate: op.peak_flops for op in question.engine.decode.operators}
    found = [datasheet(machine, f"peak_flops.{name}", rate, "FLOP/s") for name, rate in rates.items()]
    found.append(datasheet(machine, "memory_bandwidth", chip.memory_bandwidth, "B/s"))
    if machine.scale_up_bandwidth and question.gpus > 1:
        found.append(datasheet(machine, "scale_up_bandwidth", machine.scale_up_bandwidth, "B/s"))
    if question.price is not None:
        found.append(Input("price_per_gpu_hour", question.price.usd_per_hour, "USD/h", question.price.source))
    return tuple(found)


def _tpot(question: Scenario, state: SteadyState) -> tuple[Step, ...]:
    steps = [_bound(float(state.token_bound_s)), *_terms(state.token, float(state.token_bound_s))]
    if state.draft_s:
        steps.append(Step("drafting", "γ·c·t_step / E[tokens]", float(state.draft_s), "s"))
    others = "(B − 1)·t_prefill / (O − 1)"
    steps.append(Step("others' prefills", others, float(state.interference_s), "s"))
    return _closed(steps, float(state.tpot_s), spreads(question).tpot)


def _ttft(question: Scenario, state: SteadyState) -> tuple[Step, ...]:
    steps = [_bound(float(state.prefill_bound_s)), *_terms(state.prefill, float(state.prefill_bound_s))]
    waiting = "admission, half a step, prefills ahead"
    steps.append(Step("waiting", waiting, float(state.wait_s), "s"))
    if state.capacity_wait_s:
        steps.append(Step("waiting for KV room", "(C − R)/R · residence", float(state.capacity_wait_s), "s"))
    if state.kv_transfer_s:
        steps.append(Step("KV transfer", "KV bytes / link", float(state.kv_transfer_s), "s"))
    return _closed(steps, float(state.ttft_s), spreads(question).ttft)


def _bound(seconds: float) -> Step:
    return Step("physical bound", "max(ΣF/C, ΣQ/BW, ΣM/link)", seconds, "s")


def _terms(passes: PassTime, bound: float) -> list[Step]:
    busy = float(passes.compute_s + passes.memory_s)
    return [
        Step("efficiency, overlap, experts hit", "Σ((tc/ec)^p + (tm/em)^p)^(1/p) − bound", busy - bound, "s"),
        Step("kernel floors", "Σ launches · t0", float(passes.floor_s), "s"),
        Step("scale-up network", "Σ launches · (α + bytes/(e·B))", float(passes.scale_up_s), "s"),
        Step("scale-out network", "Σ launches · (α + bytes/(e·B))", float(passes.scale_out_s), "s"),
        Step("host", "a step and its sequences", float(passes.host_s), "s"),
    ]


def _closed(steps: list[Step], total: float, spread: float) -> tuple[Step, ...]:
    steps.append(Step("expected", "sum of the above", total, "s"))
    steps.append(Step("range holds 80 % of measurements", "expected ÷ and × (1 + spread)", 1.0 + spread, "ratio"))
    return tuple(steps)
