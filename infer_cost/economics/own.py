"""Your own price of a token: an estimate's throughput, priced by the GPU-hour, rented or owned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from infer_cost.checks import finite
from infer_cost.checks import utilization as check_utilization
from infer_cost.economics.defaults import value_of
from infer_cost.economics.gpu_hours import GpuHour, gpu_hour
from infer_cost.economics.tokens import cost_per_success, tokens_per_second_per_megawatt
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.hardware_specs.catalog import hardware as find_hardware
from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.estimate import Estimate, estimate_of
from infer_cost.serving.ranges import Range
from infer_cost.serving.scenario import Scenario, scenario

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_MOST_CONCURRENT = 4096


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What tokens cost on machines of one's own, rented or bought."""

    model: str
    hardware: str
    gpus: int
    concurrency: int
    input_tokens: int
    cached_tokens: int
    """Part of the input that a prefix cache holds, here as at an API."""
    output_tokens: int
    gpu_hour: GpuHour
    utilization: float
    failure_share: float
    usd_per_mtok_input: Range
    usd_per_mtok_output: Range
    usd_per_request: Range
    usd_per_successful_request: float
    requests_per_s: float
    """Of the whole deployment at full load."""
    output_tokens_per_s: float
    output_tokens_per_s_per_gpu: Range
    tokens_per_joule: float | None
    output_tokens_per_s_per_watt: float | None
    output_tokens_per_s_per_megawatt: float | None
    """Of the building's power, PUE included."""
    ttft_s: Range
    tpot_s: Range | None
    assumptions: tuple[str, ...]

    @property
    def usd_per_hour(self) -> float:
        """Price of the whole deployment for an hour [USD/h]."""
        return self.gpu_hour.usd * self.gpus


def own_cost(
    model: Any,
    hardware: Any,
    hour: GpuHour | None = None,
    *,
    utilization: float = 1.0,
    failure_share: float = 0.0,
    max_tpot_s: float | None = None,
    **options: Any,
) -> OwnCost:
    """Return what tokens cost on one's own machines.

    Parameters
    ----------
    model, hardware
        As for :func:`infer_cost.serving.estimate.estimate`.
    hour : GpuHour, optional
        The price of a GPU-hour; the machine's first rent by default.
    utilization : float
        Share of the paid capacity that serves [1].
    failure_share : float
        Share of requests that fail after their work and are sent again [1].
    max_tpot_s : float, optional
        Slowest time per output token to allow when a concurrency is looked for [s].
    options
        As for :func:`infer_cost.serving.scenario.scenario`. Without ``gpus`` the cheapest of the three smallest
        numbers that hold the model is taken, without ``concurrency`` the one with the most throughput.

    Raises
    ------
    CannotBeMetError
        If the model fits on no number of GPUs, or no concurrency keeps the time per token.
    """
    check_utilization(utilization)
    finite("failure share", failure_share, high=0.999)
    if max_tpot_s is not None:
        finite("max_tpot", max_tpot_s, low=1e-6, unit="s")
    machine = find_hardware(hardware) if not isinstance(hardware, Machine) else hardware
    hour = hour or gpu_hour(machine)
    options = {**options, "price_per_gpu_hour": hour.usd, "utilization": utilization}
    question, answer, notes = _deployed(model, machine, options, max_tpot_s)
    return _own_cost(question, answer, hour, utilization, failure_share, notes)


def _deployed(
    model: Any, machine: Machine, options: dict[str, Any], max_tpot_s: float | None
) -> tuple[Scenario, Estimate, list[str]]:
    sized = any(options.get(name) is not None for name in ("gpus", "tp", "prefill_gpus", "decode_gpus"))
    if sized:
        question, answer, notes = _loaded(model, machine, options, max_tpot_s)
        return question, answer, notes
    found: list[tuple[Scenario, Estimate, list[str]]] = []
    failure: CannotBeMetError | None = None
    for gpus in _sizes(machine):
        try:
            found.append(_loaded(model, machine, {**options, "gpus": gpus}, max_tpot_s))
        except CannotBeMetError as error:
            failure = error
        except InputError as error:
            # A size that the model's heads can't be cut into is passed over, not refused: nobody asked for it.
            if error.field != "tp":
                raise
        if len(found) == 3:
            break
    if not found:
        raise failure or CannotBeMetError("the model can't be cut into any number of GPUs", field="gpus")
    best = min(found, key=lambda one: one[1].cost_usd or 0.0)
    sizes = ", ".join(str(one[1].gpus) for one in found)
    best[2].append(f"{best[1].gpus} GPUs: the cheapest a request of {sizes}; set --gpus")
    return best


def _sizes(machine: Machine) -> list[int]:
    limit = machine.max_gpus or 10**9
    return [size for size in _SIZES if size <= limit]


def _loaded(
    model: Any, machine: Machine, options: dict[str, Any], max_tpot_s: float | None
) -> tuple[Scenario, Estimate, list[str]]:
    """Return the scenario at its concurrency, looked for when none is given."""
    if options.get("concurrency") is not None:
        question = scenario(model, machine, **options)
        return question, estimate_of(question), []
    base = scenario(model, machine, **{**options, "concurrency": 1})
    best: tuple[Scenario, Estimate] | None = None
    concurrency = 1
    while concurrency <= _MOST_CONCURRENT:
        question = replace(base, requests=replace(base.requests, concurrency=concurrency))
        answer = estimate_of(question)
        too_slow = max_tpot_s and answer.tpot_s and answer.tpot_s.expected > max_tpot_s
        if too_slow or answer.running < concurrency:
            break
        if best is None or _rate(answer) > _rate(best[1]):
            best = question, answer
        concurrency *= 2
    if best is None:
        raise CannotBeMetError(
            f"{answer.gpus} GPUs don't keep {(max_tpot_s or 0) * 1e3:g} ms a token even alone",
            field="max_tpot",
            hint="more GPUs, or a lower-precision format",
        )
    note = f"{best[1].concurrency} requests at once: the most throughput of 1, 2, 4 ... that fit"
    return *best, [f"{note}{f' within {max_tpot_s * 1e3:g} ms a token' if max_tpot_s else ''}; set --concurrency"]


def _rate(answer: Estimate) -> float:
    return float(answer.output_tokens_per_s_per_gpu.expected)


def _own_cost(
    question: Scenario,
    answer: Estimate,
    hour: GpuHour,
    utilization: float,
    failure_share: float,
    notes: list[str],
) -> OwnCost:
    requests = question.requests
    per_gpu = answer.output_tokens_per_s_per_gpu
    rate = _rate(answer) * answer.gpus
    request = answer.cost_usd or 0.0
    pue = hour.owned.pue if hour.owned else value_of("pue")
    power = answer.power_w
    return OwnCost(
        model=answer.model,
        hardware=answer.hardware,
        gpus=answer.gpus,
        concurrency=answer.concurrency,
        input_tokens=requests.input_tokens,
        cached_tokens=requests.cached_tokens,
        output_tokens=requests.output_tokens,
        gpu_hour=hour,
        utilization=utilization,
        failure_share=failure_share,
        usd_per_mtok_input=_as_cost(answer.cost_per_million_input_tokens_usd or 0.0, per_gpu),
        usd_per_mtok_output=_as_cost(answer.cost_per_million_output_tokens_usd or 0.0, per_gpu),
        usd_per_request=_as_cost(request, per_gpu),
        usd_per_successful_request=cost_per_success(request, failure_share),
        requests_per_s=rate / requests.output_tokens,
        output_tokens_per_s=rate,
        output_tokens_per_s_per_gpu=per_gpu,
        tokens_per_joule=answer.tokens_per_joule,
        output_tokens_per_s_per_watt=rate / power if power else None,
        output_tokens_per_s_per_megawatt=tokens_per_second_per_megawatt(rate, power, pue) if power else None,
        ttft_s=answer.ttft_s,
        tpot_s=answer.tpot_s,
        # The GPU-hour is told in full elsewhere in the answer.
        assumptions=(
            *hour.assumptions,
            *notes,
            *(line for line in answer.assumptions if "a GPU-hour, tier" not in line),
        ),
    )


def _as_cost(expected: float, rate: Range) -> Range:
    """Turn the range of a throughput into that of a cost: what's made faster is cheaper."""
    return Range(
        bound=expected * rate.expected / rate.bound,
        expected=expected,
        low=expected * rate.expected / rate.high,
        high=expected * rate.expected / rate.low,
    )
