"""What a report says, gathered from the library: one request, its load, roofs, memory, sensitivities, sources.

What the page lets a reader change is gathered too: the journey at several concurrencies, each cost split into a part
that is fixed and a part that is proportional to the price of a GPU-hour, and the bytes of a decode step by batch and
context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infer_cost.economics.sensitivity import Swing, tornado
from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.budget import budget, sequence_bytes_per_gpu, sequences_that_run
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.estimate import Estimate, estimate
from infer_cost.serving.ranges import Range
from infer_cost.serving.scenario import Scenario, scenario
from infer_cost.stages.journey import journey
from infer_cost.stages.types import Journey

_PRICE_OPTIONS = ("price_per_gpu_hour", "price_tier", "utilization")
_MOST_CONCURRENCY = 1024
_SPREAD = 0.2
_DATASHEET = (
    ("memory_bytes", "B", "memory"),
    ("memory_bandwidth", "B/s", "memory bandwidth"),
    ("scale_up_bandwidth", "B/s", "scale-up bandwidth, one way"),
    ("power_w", "W", "power"),
)
"""Figures of a datasheet whose sources are shown: field, unit, name."""


@dataclass(frozen=True, slots=True)
class Linear:
    """An amount that depends on the price of a GPU-hour: ``fixed + slope · price / utilization``, in dollars."""

    fixed: float
    slope: float

    def at(self, usd_per_hour: float) -> float:
        """Return the amount at a price over utilization [USD/h]."""
        return self.fixed + self.slope * usd_per_hour


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """The request at one concurrency; costs as functions of the price."""

    trip: Journey
    answer: Estimate
    """At one dollar a GPU-hour, always busy."""
    stage_costs: tuple[Linear, ...]
    cost: tuple[Linear, Linear, Linear, Linear]
    """Bound, expected, low, high."""

    @property
    def concurrency(self) -> int:
        """Requests in flight."""
        return self.trip.concurrency


@dataclass(frozen=True, slots=True)
class Roofs:
    """What the two roofs need: a decode step's arithmetic by formula, its bytes by batch and by context."""

    gpus: int
    precision: str
    peak_flops: float
    memory_bandwidth: float
    attention_peak_flops: float
    active_parameters: float
    attention_flops: float
    batches: tuple[int, ...]
    weight_bytes_by_batch: tuple[float, ...]
    contexts: tuple[int, ...]
    kv_bytes_by_context: tuple[float, ...]
    """Of one sequence."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One GPU's memory, and how many sequences fit the deployment."""

    usable_bytes: float
    parts: tuple[tuple[str, float], ...]
    sequences: int
    context: int
    sequence_bytes_per_gpu: float


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A figure that the report rests on, and where it was read."""

    what: str
    value: str
    source: str
    read: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Content:
    """Everything in a report."""

    command: str
    """The command line that repeats it."""
    trip: Journey
    answer: Estimate
    usd_per_gpu_hour: float | None
    utilization: float
    loads: tuple[LoadPoint, ...]
    roofs: Roofs
    memory: Memory
    time_swings: tuple[Swing, ...]
    cost_swings: tuple[Swing, ...]
    sources: tuple[SourceRow, ...]


def gather(model: Any, hardware: Any, *, command: str = "", provider: str | None = None, **options: Any) -> Content:
    """Gather a report's content.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names or files.
    command : str
        The command line that asked, shown so that a reader can repeat it.
    provider : str, optional
        ``PROVIDER/MODEL`` whose bill for the request is shown.
    options
        See :func:`infer_cost.serving.scenario.scenario`.

    Returns
    -------
    Content

    Raises
    ------
    InputError
        For anything unknown, out of range or contradictory.
    CannotBeMetError
        When the model doesn't fit or the request is longer than the context window.

    Examples
    --------
    >>> content = gather("llama-3.1-8b", "h100-sxm", weights="fp8", input_tokens=2000, output_tokens=200)
    >>> content.trip.e2e_s.expected > content.answer.e2e_s.expected > 0
    True
    """
    question = scenario(model, hardware, **options)
    trip = journey(model, hardware, provider=provider, **options)
    unpriced = {name: value for name, value in options.items() if name not in _PRICE_OPTIONS}
    time_swings, cost_swings = _swings(model, question, options)
    return Content(
        command=command,
        trip=trip,
        answer=estimate(model, hardware, **options),
        usd_per_gpu_hour=question.price.usd_per_hour if question.price else None,
        utilization=question.utilization,
        loads=tuple(_load(model, hardware, unpriced | {"concurrency": n}) for n in _concurrencies(question)),
        roofs=_roofs(question.deployment, question.requests.input_tokens + question.requests.output_tokens),
        memory=_memory(question),
        time_swings=time_swings,
        cost_swings=cost_swings,
        sources=_sources(question),
    )


def load_curve(model: Any, hardware: Any, **options: Any) -> tuple[Estimate, ...]:
    """Estimate a deployment at powers of two of concurrency up to what runs at once, and at the one asked for.

    Parameters are those of :func:`infer_cost.serving.estimate.estimate`.

    >>> curve = load_curve("llama-3.1-8b", "h100-sxm", weights="fp8", concurrency=3)
    >>> [answer.concurrency for answer in curve][:4]
    [1, 2, 3, 4]
    """
    numbers = _concurrencies(scenario(model, hardware, **options))
    return tuple(estimate(model, hardware, **options | {"concurrency": number}) for number in numbers)


def _concurrencies(question: Scenario) -> list[int]:
    """Powers of two up to what runs at once, and the one that was asked for."""
    tokens = question.requests.input_tokens + question.requests.output_tokens
    most = min(_MOST_CONCURRENCY, int(sequences_that_run(question.deployment, float(tokens))))
    powers = [2**power for power in range(11) if 2**power <= most]
    return sorted({*powers, question.requests.concurrency})


def _load(model: Any, hardware: Any, options: Mapping[str, Any]) -> LoadPoint:
    trip, dearer = (journey(model, hardware, route=False, price_per_gpu_hour=price, **options) for price in (1.0, 2.0))
    assert trip.cost_usd is not None and dearer.cost_usd is not None
    pairs = ((getattr(trip.cost_usd, name), getattr(dearer.cost_usd, name)) for name in Range.__slots__)
    bound, expected, low, high = (_linear(*pair) for pair in pairs)
    return LoadPoint(
        trip=trip,
        answer=estimate(model, hardware, price_per_gpu_hour=1.0, **options),
        stage_costs=tuple(
            _linear(a.cost_usd or 0.0, b.cost_usd or 0.0) for a, b in zip(trip.stages, dearer.stages, strict=True)
        ),
        cost=(bound, expected, low, high),
    )


def _linear(at_one: float, at_two: float) -> Linear:
    return Linear(2.0 * at_one - at_two, at_two - at_one)


def _roofs(plan: Deployment, tokens: int) -> Roofs:
    from infer_cost.hardware_specs.formats import number_format
    from infer_cost.hardware_specs.rates import peak_rate
    from infer_cost.model_specs.kv import element_bytes, kv_bytes_per_sequence
    from infer_cost.serving.limits import main_format, relation, weights_read

    symbols = relation(plan)
    limit = plan.context_limit or 131_072
    batches = tuple(sorted({round(2 ** (step / 2)) for step in range(27)}))
    contexts = tuple(sorted({*(2**power for power in range(7, 21) if 2**power <= limit), min(tokens, limit)}))
    width = element_bytes(plan.kv.id)
    return Roofs(
        gpus=plan.gpus,
        precision=peak_rate(plan.machine.accelerator, number_format(main_format(plan)))[1],
        peak_flops=symbols["peak_flops"],
        memory_bandwidth=symbols["memory_bandwidth"],
        attention_peak_flops=symbols["attention_peak_flops"],
        active_parameters=symbols["active_parameters"],
        attention_flops=symbols["attention_flops"],
        batches=batches,
        weight_bytes_by_batch=tuple(weights_read(plan, float(batch)) for batch in batches),
        contexts=contexts,
        kv_bytes_by_context=tuple(
            float(kv_bytes_per_sequence(plan.model, float(context), width)) for context in contexts
        ),
    )


def _memory(question: Scenario) -> Memory:
    plan = question.deployment
    share = budget(plan)
    tokens = question.requests.input_tokens + question.requests.output_tokens
    held = float(sequence_bytes_per_gpu(plan, float(tokens)))
    used = min(share.kv, held * question.requests.concurrency / plan.parallel.dp)
    parts = (
        ("weights", share.weights),
        ("activations", share.activations),
        ("runtime", share.runtime),
        ("KV cache in use", used),
        ("KV cache free", max(0.0, share.kv - used)),
    )
    return Memory(share.usable, parts, int(sequences_that_run(plan, float(tokens))), tokens, held)


def _swings(model: Any, question: Scenario, options: Mapping[str, Any]) -> tuple[tuple[Swing, ...], tuple[Swing, ...]]:
    """Swings of the end-to-end time and of the cost when one input moves by a fifth."""
    inputs, asked = _inputs(question), _asker(model, question.deployment.machine, options)
    times = tornado(lambda changed: asked(changed).e2e_s.expected, inputs, spread=_SPREAD)
    if question.price is None:
        return times, ()
    priced = {**inputs, "price of a GPU-hour": question.price.usd_per_hour}
    return times, tornado(lambda changed: asked(changed).cost_usd or 0.0, priced, spread=_SPREAD)


def _inputs(question: Scenario) -> dict[str, float]:
    """The inputs that are moved, with their values; the link only where there is traffic on it."""
    chip = question.deployment.machine.accelerator
    inputs = {
        "memory bandwidth": chip.memory_bandwidth,
        "arithmetic rates": 1.0,
        "input tokens": float(question.requests.input_tokens),
        "output tokens": float(question.requests.output_tokens),
    }
    link = question.deployment.machine.scale_up_bandwidth
    if link and question.deployment.gpus > 1:
        inputs["link bandwidth"] = link
    return inputs


def _asker(model: Any, machine: Machine, options: Mapping[str, Any]) -> Callable[[Mapping[str, float]], Estimate]:
    from infer_cost.hardware_specs.overrides import with_overrides

    known: dict[tuple[tuple[str, float], ...], Estimate] = {}

    def ask(changed: Mapping[str, float]) -> Estimate:
        key = tuple(changed.items())
        if key not in known:
            fields = {"memory_bandwidth": f"{changed['memory bandwidth']} B/s"}
            for precision, rate in machine.accelerator.peak_flops.items():
                fields[f"peak_flops.{precision}"] = f"{rate * changed['arithmetic rates']} FLOP/s"
            if "link bandwidth" in changed:
                fields["scale_up_bandwidth"] = f"{changed['link bandwidth']} B/s"
            asked = dict(options)
            asked["input_tokens"] = max(1, round(changed["input tokens"]))
            asked["output_tokens"] = max(1, round(changed["output tokens"]))
            asked["cached_tokens"] = min(int(options.get("cached_tokens", 0)), asked["input_tokens"] - 1)
            if "price of a GPU-hour" in changed:
                asked["price_per_gpu_hour"] = changed["price of a GPU-hour"]
            known[key] = estimate(model, with_overrides(machine, fields), **asked)
        return known[key]

    return ask


def _sources(question: Scenario) -> tuple[SourceRow, ...]:
    """Figures of the datasheet, the model and the price, with their provenance."""
    from infer_cost.hardware_specs.formats import number_format
    from infer_cost.hardware_specs.rates import peak_rate
    from infer_cost.serving.limits import main_format
    from infer_cost.units import format_quantity

    plan = question.deployment
    chip = plan.machine.accelerator
    rows = [SourceRow(f"{plan.model.name}: architecture", f"{plan.model.layers} layers", plan.model.source, "", "")]
    used = {peak_rate(chip, number_format(name))[1] for name in (main_format(plan), "bf16")}
    figures = [(name, getattr(chip, name), unit, label) for name, unit, label in _DATASHEET]
    figures += [
        (f"peak_flops.{name}", chip.peak_flops[name], "FLOP/s", f"dense rate in {name}") for name in sorted(used)
    ]
    for name, value, unit, label in figures:
        origin = chip.provenance.get(name)
        if value is not None and origin is not None:
            shown = format_quantity(value, unit)
            rows.append(SourceRow(f"{chip.id}: {label}", shown, origin.source, origin.read, origin.confidence))
    if question.price is not None:
        shown = f"${question.price.usd_per_hour:g}/h ({question.price.tier})"
        rows.append(SourceRow(f"{chip.id}: price of a GPU-hour", shown, question.price.source, "", ""))
    return tuple(rows)
