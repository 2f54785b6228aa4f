"""Your own price of a token: an estimate's throughput, priced by the GPU-hour, rented or owned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from infer_cost.checks import finite
from infer_cost.economics.defaults import default, purchase, value_of
from infer_cost.economics.ownership import Ownership, OwnershipCost, ownership_cost
from infer_cost.economics.sensitivity import Swing, tornado
from infer_cost.economics.tokens import cost_per_success, tokens_per_second_per_megawatt
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.hardware_specs.catalog import hardware as find_hardware
from infer_cost.hardware_specs.infrastructure import Figure
from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.estimate import Estimate, estimate_of
from infer_cost.serving.ranges import Range
from infer_cost.serving.scenario import Scenario, gpu_price, scenario

_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_MOST_CONCURRENT = 4096
_DEFAULTED = (
    "years",
    "pue",
    "usd_per_kwh",
    "facility_usd_per_kw_month",
    "network_share",
    "optics_share",
    "financing_rate",
    "maintenance_share",
)


@dataclass(frozen=True, slots=True)
class GpuHour:
    """What a GPU-hour costs here, and how that was found."""

    usd: float
    source: str
    tier: str
    owned: Ownership | None = None
    cost: OwnershipCost | None = None
    assumptions: tuple[str, ...] = ()
    """What was assumed of ownership, with source and confidence."""


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


def gpu_hour(
    machine: Machine,
    *,
    price_per_gpu_hour: float | None = None,
    price_tier: str | None = None,
    owned: bool = False,
    ownership: Mapping[str, float] | None = None,
) -> GpuHour:
    """Return what a GPU-hour costs: rented at a price or tier, or owned.

    Parameters
    ----------
    machine : Machine
        The machine.
    price_per_gpu_hour, price_tier
        A rent [USD/h] or the name of one; the machine's first tier by default.
    owned : bool
        Whether to work out ownership instead.
    ownership : mapping, optional
        Fields of :class:`Ownership` that replace the assumptions.

    Raises
    ------
    InputError
        If the machine has no price, or rent and ownership are both asked for.
    """
    if not owned:
        found = gpu_price(machine, price_per_gpu_hour, price_tier)
        if found is None:
            raise InputError(
                f"no GPU-hour price of {machine.id} is known",
                field="price_per_gpu_hour",
                hint="give --price-per-gpu-hour, or --own with --purchase-price",
            )
        return GpuHour(found.usd_per_hour, found.source, found.tier)
    if price_per_gpu_hour is not None or price_tier is not None:
        raise InputError(
            "a GPU-hour is either rented or owned",
            field="own",
            allowed="--own, or --price-per-gpu-hour or --price-tier",
        )
    given = ownership or {}
    mine = owned_gpu(machine, given)
    cost = ownership_cost(mine)
    return GpuHour(
        cost.usd_per_gpu_hour,
        "purchase and running costs",
        "owned",
        mine,
        cost,
        tuple(_ownership_assumptions(machine, given)),
    )


def _ownership_assumptions(machine: Machine, given: Mapping[str, float]) -> Iterator[str]:
    if "purchase_usd" not in given:
        yield _told("purchase price", purchase(machine))
    if "power_w" not in given:
        yield f"power {machine.power_per_gpu_w or 0:,.0f} W for a GPU with its share of the rack"
    for name in _DEFAULTED:
        if name not in given:
            yield _told(_label(name), default(name))


def _told(name: str, figure: Figure) -> str:
    unit = "" if figure.unit in ("1", "ratio", "years") else f" {figure.unit}"
    origin = figure.provenance
    said = origin.note if origin.confidence == "derived" and origin.note else origin.source
    return f"{name} {figure.value:g}{unit} ({origin.confidence}): {said}"


def owned_gpu(machine: Machine, given: Mapping[str, float]) -> Ownership:
    """Return what owning one GPU of a machine takes; what isn't given is the catalog's or an assumption."""
    fields: dict[str, float] = dict(given)
    if "purchase_usd" not in fields:
        price = purchase(machine).value
        assert price is not None
        fields["purchase_usd"] = price
    if "power_w" not in fields:
        power = machine.power_per_gpu_w
        if power is None:
            raise InputError(f"no power of {machine.id} is known", field="power", hint="give --power-per-gpu, in watts")
        fields["power_w"] = power
    for name in _DEFAULTED:
        fields.setdefault(name, value_of(name))
    return Ownership(**fields)


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
    finite("utilization", utilization, low=1e-6, high=1.0)
    finite("failure share", failure_share, high=0.999)
    machine = find_hardware(hardware) if not isinstance(hardware, Machine) else hardware
    hour = hour or gpu_hour(machine)
    options = {**options, "price_per_gpu_hour": hour.usd, "utilization": utilization}
    question, answer, notes = _deployed(model, machine, options, max_tpot_s)
    return _own_cost(question, answer, hour, utilization, failure_share, notes)


def _deployed(
    model: Any, machine: Machine, options: dict[str, Any], max_tpot_s: float | None
) -> tuple[Scenario, Estimate, list[str]]:
    sized = any(options.get(name) for name in ("gpus", "tp", "prefill_gpus", "decode_gpus"))
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
    if options.get("concurrency"):
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


def cost_sensitivity(cost: OwnCost, *, spread: float = 0.2) -> tuple[Swing, ...]:
    """Return which input moves the cost of a successful request most.

    Parameters
    ----------
    cost : OwnCost
        The answer to take apart. Its throughput is moved over its own range, the rest by the spread.
    spread : float
        How far the other inputs are moved either way, as a share [1].

    Returns
    -------
    tuple of Swing
        The widest first; ``at_low`` and ``at_high`` are dollars a successful request.
    """
    throughput = cost.output_tokens_per_s_per_gpu
    base: dict[str, float] = {
        "throughput": throughput.expected,
        "utilization": cost.utilization,
    }
    if cost.failure_share:
        base["failure share"] = cost.failure_share
    owned = cost.gpu_hour.owned
    names = ("purchase_usd", "years", "power_w", "pue", "usd_per_kwh", "financing_rate", "network_share")
    if owned is None:
        base["GPU-hour price"] = cost.gpu_hour.usd
    else:
        base.update({_label(name): getattr(owned, name) for name in names if getattr(owned, name)})

    def answer(inputs: Mapping[str, float]) -> float:
        if owned is None:
            hour = inputs["GPU-hour price"]
        else:
            changed = {name: inputs[_label(name)] for name in names if _label(name) in inputs}
            hour = ownership_cost(replace(owned, **changed)).usd_per_gpu_hour
        seconds = cost.output_tokens / inputs["throughput"]
        return cost_per_success(hour / 3600.0 * seconds / inputs["utilization"], inputs.get("failure share", 0.0))

    low_use = cost.utilization * (1.0 - spread)
    ranges = {
        "throughput": (throughput.low, throughput.high),
        "utilization": (low_use, min(1.0, cost.utilization * (1.0 + spread))),
    }
    if owned is not None:
        ranges["PUE"] = (max(1.0, owned.pue * (1.0 - spread)), owned.pue * (1.0 + spread))
    return tuple(swing for swing in tornado(answer, base, spread=spread, ranges=ranges) if swing.width > 0)


_LABELS = {
    "purchase_usd": "purchase price",
    "years": "years of use",
    "power_w": "power",
    "pue": "PUE",
    "usd_per_kwh": "electricity price",
    "financing_rate": "financing rate",
    "network_share": "network share",
    "optics_share": "optics share of the network",
    "facility_usd_per_kw_month": "facility",
    "maintenance_share": "maintenance a year",
}


def _label(name: str) -> str:
    return _LABELS[name]
