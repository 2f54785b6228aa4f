"""From the bare roofline to the expected figure, term by term."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.hardware_specs.readings import datasheet
from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.engine_times import decode_load
from infer_cost.serving.estimate import state_of
from infer_cost.serving.operators import Load
from infer_cost.serving.outcome import outcome
from infer_cost.serving.passes import OperatorTime, PassTime, operator_times
from infer_cost.serving.ranges import spreads
from infer_cost.serving.scenario import Scenario
from infer_cost.serving.static_batch import static_state
from infer_cost.serving.steady import Requests, SteadyState
from infer_cost.steps import Chain, Input, Step


@dataclass(frozen=True, slots=True)
class Ladder:
    """The steps that lead to TTFT and TPOT, what follows from these, and the operators of both kinds of pass."""

    inputs: tuple[Input, ...]
    tpot: tuple[Step, ...]
    ttft: tuple[Step, ...]
    outcome: tuple[Step, ...]
    """From the times to tokens a second and dollars a token."""
    decode_operators: tuple[OperatorTime, ...]
    prefill_operators: tuple[OperatorTime, ...]

    def chains(self, about: str = "") -> tuple[Chain, ...]:
        """Return the ladder as chains; ``about`` names the scenario where there are several."""
        before = f"{about}: " if about else ""
        return (
            Chain(f"{before}decode, operator by operator", _operator_steps(self.decode_operators)),
            Chain(f"{before}time per output token", self.tpot, self.inputs),
            Chain(f"{before}prefill, operator by operator", _operator_steps(self.prefill_operators)),
            Chain(f"{before}time to first token", self.ttft),
            Chain(f"{before}throughput and cost", self.outcome),
        )


def ladder(question: Scenario, *, static: bool = False) -> Ladder:
    """Return the ladder of a scenario; the terms of each add up to the expected value.

    ``static`` is for requests that start together and finish together.
    """
    state = _static(question) if static else state_of(question)
    requests = question.requests
    prefill_engine = question.prefill_pool.engine if question.prefill_pool else question.engine
    instances = question.decode_pool.instances if question.decode_pool else 1
    context = requests.input_tokens + requests.output_tokens / 2.0
    decode = decode_load(question.engine, max(1.0, float(state.running) / instances), context)
    chunk = requests.new_tokens / float(state.chunks)
    before = requests.cached_tokens + chunk * (float(state.chunks) - 1.0) / 2.0
    width = spreads(question, static=static)
    return Ladder(
        inputs=machine_inputs(question.deployment.machine, _rates(question), question.gpus),
        tpot=_closed(_tpot(state), float(state.tpot_s), width.tpot),
        ttft=_closed(_ttft(state), float(state.ttft_s), width.ttft),
        outcome=outcome(question, state),
        decode_operators=tuple(operator_times(question.engine.decode, decode)),
        prefill_operators=tuple(
            operator_times(prefill_engine.prefill, Load(1.0, chunk, before, False, 1, float(requests.cached_tokens)))
        ),
    )


def _static(question: Scenario) -> SteadyState:
    asked = question.requests
    load = Requests(asked.input_tokens, asked.output_tokens, asked.cached_tokens, asked.concurrency)
    return static_state(question.engine, load)


def _rates(question: Scenario) -> dict[str, float]:
    return {op.kernel.rate: op.peak_flops for op in question.engine.decode.operators}


def machine_inputs(machine: Machine, rates: dict[str, float], gpus: int) -> tuple[Input, ...]:
    """Return the datasheet values that a pass depends on, each with its source."""
    found = [datasheet(machine, f"peak_flops.{name}", rate, "FLOP/s") for name, rate in rates.items()]
    found.append(datasheet(machine, "memory_bandwidth", machine.accelerator.memory_bandwidth, "B/s"))
    if machine.scale_up_bandwidth and gpus > 1:
        found.append(datasheet(machine, "scale_up_bandwidth", machine.scale_up_bandwidth, "B/s"))
    return tuple(found)


def _tpot(state: SteadyState) -> list[Step]:
    steps = pass_steps(state.token, float(state.token_bound_s))
    if state.draft_s:
        steps.append(draft_step(float(state.draft_s)))
    others = "(B − 1 − n)·t_prefill / (O − 1)"
    return [*steps, Step("others' prefills", others, float(state.interference_s), "s")]


def _ttft(state: SteadyState) -> list[Step]:
    steps = pass_steps(state.prefill, float(state.prefill_bound_s))
    waiting = "request set up, steps under way, n·t_prefill ahead"
    steps.append(Step("waiting", waiting, float(state.wait_s), "s"))
    if state.capacity_wait_s:
        steps.append(Step("waiting for KV room", "(C − R)/R · residence", float(state.capacity_wait_s), "s"))
    if state.kv_transfer_s:
        steps.append(Step("KV transfer", "hand-over + KV bytes / link", float(state.kv_transfer_s), "s"))
    return steps


def draft_step(seconds: float) -> Step:
    """Return what drafting adds to each token."""
    return Step("drafting", "γ·c·t_step / E[tokens]", seconds, "s")


def pass_steps(passes: PassTime, bound: float) -> list[Step]:
    """Return the terms of a pass from its physical bound; they add up to its whole time."""
    busy = float(passes.compute_s + passes.memory_s)
    return [
        Step("physical bound", "max(ΣF/C, ΣQ/BW, ΣM/link)", bound, "s"),
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


def _operator_steps(shares: tuple[OperatorTime, ...]) -> tuple[Step, ...]:
    equation = "launches·t0 + launches·((tc/ec)^p + (tm/em)^p)^(1/p)"
    return tuple(
        Step(
            share.name,
            equation,
            float(share.floor_s) + float(share.busy_s),
            "s",
            (Input("launches", share.launches, "ratio", f"constants of {share.level}, ± {share.spread:.0%}"),),
        )
        for share in shares
    )
