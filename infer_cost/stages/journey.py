"""One request through the fifteen stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from infer_cost.checks import known_options, whole
from infer_cost.errors import unknown_name
from infer_cost.serving.estimate import Estimate, estimate_of, state_of
from infer_cost.serving.ranges import Range
from infer_cost.serving.scenario import Scenario, scenario
from infer_cost.serving.steady import SteadyState
from infer_cost.stages.counterfactuals import counterfactuals
from infer_cost.stages.engine_shares import Share, engine_shares
from infer_cost.stages.host_times import HostTime, host_times
from infer_cost.stages.notes import stage_notes
from infer_cost.stages.numbering import NAMES, article
from infer_cost.stages.prefix_tiers import PrefixMove, prefix_move
from infer_cost.stages.routing import alternatives
from infer_cost.stages.totals import HostShare, host_shares, usd_per_residence_second
from infer_cost.stages.types import Journey, Stage, StageLimit, Without

NUMBERINGS = ("digest", "article")


@dataclass(frozen=True, slots=True)
class _Parts:
    """Everything that the stages are made from."""

    question: Scenario
    estimate: Estimate
    state: SteadyState
    shares: dict[int, Share]
    hosts: dict[int, HostShare]
    times: dict[str, HostTime]
    move: PrefixMove
    without: dict[int, Without]


def journey(
    model: Any,
    hardware: Any,
    *,
    numbering: str = "digest",
    provider: str | None = None,
    service: str = "standard",
    replicas: int = 1,
    cache_tier: str = "hbm",
    latencies: Mapping[str, float] | None = None,
    route: bool = True,
    **options: Any,
) -> Journey:
    """Take one request through the fifteen stages: what each adds to latency and cost, and why.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names or files.
    numbering : {"digest", "article"}
        Which of the two source documents' numberings to use; totals are the same.
    provider : str, optional
        ``PROVIDER/MODEL`` whose price list the bill is made from.
    replicas : int
        Copies of the deployment behind the load balancer.
    cache_tier : {"hbm", "dram", "flash", "remote"}
        Where the cached prefix lies.
    latencies : mapping, optional
        Your own seconds for host-side steps (``router``, ``gateway``, ...).
    route : bool
        Whether to work out the router's alternatives.
    options
        See :func:`infer_cost.serving.scenario.scenario`.

    Returns
    -------
    Journey
        Stages whose expected values add up to the totals.

    Raises
    ------
    InputError
        For anything unknown, out of range or contradictory.
    CannotBeMetError
        When the model doesn't fit or the request is longer than the context window.

    Examples
    --------
    >>> trip = journey("llama-3.1-70b", "h100-sxm", gpus=8, weights="fp8", input_tokens=12022, output_tokens=500)
    >>> len(trip.stages), sum(stage.ttft_s for stage in trip.stages) == trip.ttft_s.expected
    (15, True)
    """
    if numbering not in NUMBERINGS:
        raise unknown_name("numbering", numbering, NUMBERINGS, field="numbering", hint=", ".join(NUMBERINGS))
    whole("replicas", replicas, high=1_000_000)
    known_options(scenario, options, *(journey.__kwdefaults__ or ()))
    question = scenario(model, hardware, **options)
    times = host_times(latencies)
    hosts = host_shares(times, lambda time: time.typical, question)
    parts = _Parts(
        question=question,
        estimate=estimate_of(question),
        state=state_of(question),
        shares=engine_shares(question),
        hosts=hosts,
        times=times,
        move=prefix_move(question, cache_tier),
        without=counterfactuals(question, hosts, replicas),
    )
    bill = _bill(provider, service, question)
    stages = tuple(_stage(number, parts, replicas) for number in range(1, 16))
    shown = article(stages, _wire_share(parts)) if numbering == "article" else stages
    return _compose(shown, parts, numbering, bill, alternatives(question, hosts) if route else ())


def _stage(number: int, parts: _Parts, replicas: int) -> Stage:
    engine = parts.shares.get(number, Share())
    host = parts.hosts.get(number, HostShare())
    moved = parts.move.seconds if number == 8 else 0.0
    steps = parts.question.requests.output_tokens - 1
    ttft = engine.ttft_s + host.ttft_s + moved
    rate = usd_per_residence_second(parts.question)
    cost = None if rate is None else (engine.residence_s + moved) * rate + host.cost_usd
    return Stage(
        number=number,
        name=NAMES[number],
        ttft_s=ttft,
        tpot_s=engine.tpot_s,
        e2e_s=ttft + steps * engine.tpot_s + host.tail_s,
        cost_usd=cost,
        limited_by=_limit(number, parts, ttft + steps * engine.tpot_s),
        without=parts.without.get(number),
        assumptions=stage_notes(number, parts.question, parts.times, parts.move, replicas),
    )


def _limit(number: int, parts: _Parts, seconds: float) -> StageLimit:
    if number == 3:
        return "price"
    if number == 4 and parts.state.capacity_wait_s > 0:
        return "queue"
    if seconds == 0.0:
        return "none"
    fixed: dict[int, StageLimit] = {7: "memory", 8: "memory", 11: "host", 12: "memory", 13: "network", 14: "network"}
    if number in fixed:
        return fixed[number]
    if number == 6:
        queued = parts.state.wait_s + parts.state.interference_s * (parts.question.requests.output_tokens - 1)
        return "queue" if queued > seconds / 2 and parts.question.requests.concurrency > 1 else "host"
    if number == 10:
        return _compute_or_memory(parts)
    return "host"


def _compute_or_memory(parts: _Parts) -> StageLimit:
    steps = parts.question.requests.output_tokens - 1
    compute = parts.state.prefill.compute_s + steps * parts.state.token.compute_s
    memory = parts.state.prefill.memory_s + steps * parts.state.token.memory_s
    return "compute" if compute > memory else "memory"


def _wire_share(parts: _Parts) -> float:
    """Share of the scale-out time that is bytes on the wire rather than latency."""
    from infer_cost.serving.engine_times import decode_load

    engine = parts.question.engine
    requests = parts.question.requests
    load = decode_load(engine, float(requests.concurrency), float(requests.input_tokens))
    beyond = [transfer for transfer in engine.decode.transfers if transfer.scope == "scale_out"]
    whole_time = sum(float(transfer.time(load)) * transfer.launches for transfer in beyond)
    if not whole_time:
        return 1.0
    wire = sum(float(transfer.wire_time(load)) * transfer.launches for transfer in beyond)
    return min(1.0, wire / whole_time)


def _bill(provider: str | None, service: str, question: Scenario) -> Any:
    if provider is None:
        return None
    from infer_cost.pricing import Usage, price

    requests = question.requests
    usage = Usage(
        input_tokens=requests.input_tokens,
        cached_tokens=requests.cached_tokens,
        output_tokens=requests.output_tokens,
    )
    return price(provider, usage, service=service)


def _compose(stages: tuple[Stage, ...], parts: _Parts, numbering: str, bill: Any, routes: tuple[Any, ...]) -> Journey:
    question, answer = parts.question, parts.estimate
    requests = question.requests
    steps = requests.output_tokens - 1
    low = host_shares(parts.times, lambda time: time.low, question)
    high = host_shares(parts.times, lambda time: time.high, question)

    def host_ttft(shares: Mapping[int, HostShare]) -> float:
        return sum(share.ttft_s for share in shares.values())

    def host_tail(shares: Mapping[int, HostShare]) -> float:
        return sum(share.tail_s for share in shares.values())

    moved = parts.move.seconds
    ttft = Range(
        answer.ttft_s.bound,
        sum(stage.ttft_s for stage in stages),
        answer.ttft_s.low + host_ttft(low) + moved,
        answer.ttft_s.high + host_ttft(high) + moved,
    )
    tpot = None
    if answer.tpot_s is not None:
        tpot = Range(answer.tpot_s.bound, sum(stage.tpot_s for stage in stages), answer.tpot_s.low, answer.tpot_s.high)
    ends = [(getattr(ttft, name) + (steps * getattr(tpot, name) if tpot else 0.0)) for name in ("bound", "low", "high")]
    e2e = Range(ends[0], sum(stage.e2e_s for stage in stages), ends[1] + host_tail(low), ends[2] + host_tail(high))
    return Journey(
        model=answer.model,
        hardware=answer.hardware,
        gpus=answer.gpus,
        input_tokens=requests.input_tokens,
        output_tokens=requests.output_tokens,
        cached_tokens=requests.cached_tokens,
        concurrency=requests.concurrency,
        numbering="article" if numbering == "article" else "digest",
        stages=stages,
        ttft_s=_ordered(ttft),
        tpot_s=_ordered(tpot) if tpot else None,
        e2e_s=_ordered(e2e),
        cost_usd=_cost(stages, parts),
        bill_usd=None if bill is None else str(bill.cost_usd),
        limited_by=max(stages, key=lambda stage: stage.e2e_s).limited_by,
        bottleneck=max(stages, key=lambda stage: stage.e2e_s).number,
        routing=routes,
        assumptions=question.assumptions,
    )


def _ordered(figure: Range) -> Range:
    """Keep ``bound <= low <= expected <= high`` where rounding would break it by the last digit."""
    low = min(figure.low, figure.expected)
    return Range(min(figure.bound, low), figure.expected, low, max(figure.high, figure.expected))


def _cost(stages: tuple[Stage, ...], parts: _Parts) -> Range | None:
    rate = usd_per_residence_second(parts.question)
    if rate is None:
        return None
    expected = sum(stage.cost_usd or 0.0 for stage in stages)
    answer = parts.estimate.e2e_s
    # The GPUs' part varies as the time in the engine does.
    engine = float(parts.state.residence_s) * rate
    rest = expected - engine
    return _ordered(
        Range(
            engine * answer.bound / answer.expected,
            expected,
            rest + engine * answer.low / answer.expected,
            rest + engine * answer.high / answer.expected,
        )
    )


NumberingName = Literal["digest", "article"]
