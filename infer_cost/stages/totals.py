"""The whole request in four numbers, for any scenario: what stages are shares of and counterfactuals compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from infer_cost.serving.deployment import Deployment
from infer_cost.serving.engine_times import compile_engine
from infer_cost.serving.estimate import state_of
from infer_cost.serving.scenario import Pool, Scenario
from infer_cost.stages.host_times import HostTime

VCPU_USD_PER_HOUR = 0.04
"""Price of one CPU thread for an hour: recalled from list prices of cloud virtual machines, not checked."""

REJECTED_SHARE = 0.05
"""Share of the traffic that the gateway turns away before it costs (source documents, stage 2)."""


@dataclass(frozen=True, slots=True)
class Totals:
    """A request's times and the operator's cost."""

    ttft_s: float
    tpot_s: float
    e2e_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class HostShare:
    """What a host-side stage adds."""

    ttft_s: float = 0.0
    tail_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def cost_usd(self) -> float:
        """Its CPU time at the price of a thread."""
        return self.cpu_s * VCPU_USD_PER_HOUR / 3600.0


def host_shares(
    times: Mapping[str, HostTime], pick: Callable[[HostTime], float], question: Scenario
) -> dict[int, HostShare]:
    """Return what each host-side stage adds, with the low, typical or high times that ``pick`` chooses.

    The tail after the last token is its detokenizing and sending, and closing the bill; the way back through the
    network delays every token alike, so it counts once, in the time to first token.
    """
    at = {name: pick(time) for name, time in times.items()}
    requests = question.requests
    tokenizing = at["tokenize_per_token"] * requests.input_tokens
    emitting = at["detokenize_per_token"] + at["stream_per_token"]
    turned_away = 1.0 / (1.0 - REJECTED_SHARE)
    return {
        1: HostShare(tokenizing, cpu_s=tokenizing),
        2: HostShare(at["gateway"], cpu_s=at["gateway"] * turned_away),
        3: HostShare(at["authentication"], cpu_s=at["authentication"]),
        4: HostShare(at["load_balancer"], cpu_s=at["load_balancer"]),
        5: HostShare(at["router"], cpu_s=at["router"]),
        15: HostShare(
            emitting + at["network_return"],
            emitting + at["billing"],
            emitting * requests.output_tokens + at["billing"],
        ),
    }


def usd_per_residence_second(question: Scenario) -> float | None:
    """Dollars that a second in the engine costs a request: its share of all GPUs, at the utilization."""
    if question.price is None:
        return None
    share = question.gpus / question.requests.concurrency
    return question.price.usd_per_second * share / question.utilization


def totals(question: Scenario, hosts: Mapping[int, HostShare], *, extra_ttft_s: float = 0.0) -> Totals:
    """Return the request's totals in a scenario behind the given host stages."""
    state = state_of(question)
    steps = question.requests.output_tokens - 1
    ttft = float(state.ttft_s) + extra_ttft_s + sum(share.ttft_s for share in hosts.values())
    tpot = float(state.tpot_s) if steps else 0.0
    e2e = ttft + steps * tpot + sum(share.tail_s for share in hosts.values())
    rate = usd_per_residence_second(question)
    residence = float(state.residence_s) + extra_ttft_s
    cost = None if rate is None else residence * rate + sum(share.cost_usd for share in hosts.values())
    return Totals(ttft, tpot, e2e, cost)


def variant(question: Scenario, change: Callable[[Deployment], Deployment]) -> Scenario:
    """Return the scenario with every engine's deployment changed."""
    engine = compile_engine(change(question.engine.deployment))
    if question.prefill_pool is None or question.decode_pool is None:
        return replace(question, engine=engine)
    front = compile_engine(change(question.prefill_pool.engine.deployment))
    return replace(
        question,
        engine=engine,
        prefill_pool=Pool(front, question.prefill_pool.instances),
        decode_pool=Pool(engine, question.decode_pool.instances),
    )
