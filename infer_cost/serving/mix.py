"""Requests of several classes in one batch: chat beside code beside search, reasoning, conversations of many turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from infer_cost.checks import MAX_TOKENS, finite, whole
from infer_cost.errors import InputError, shorten, unknown_name
from infer_cost.roofline import padded_tokens, padding_waste
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import prefill_time, token_time
from infer_cost.serving.fit import require_fit
from infer_cost.serving.scenario import Scenario, scenario
from infer_cost.serving.steady import Requests, admission_wait, packing, prefills_ahead

MAX_TURNS = 1000


@dataclass(frozen=True, slots=True)
class RequestClass:
    """Requests that are alike, and their share of all requests.

    ``reasoning_tokens`` are generated before the visible answer and count beside ``output_tokens``. With ``turns``,
    each turn sends ``input_tokens`` of its own after all that was said before, which is found cached.
    """

    name: str
    share: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    turns: int = 1

    def requests(self) -> Iterator[RequestClass]:
        """Yield the class turn by turn, as requests that stand alone."""
        before = 0
        for turn in range(self.turns):
            name = self.name if self.turns == 1 else f"{self.name}, turn {turn + 1}"
            # The last token of a turn is never put through the model, so the next one computes it.
            cached = self.cached_tokens if turn == 0 else before - 1
            yield replace(
                self,
                name=name,
                share=self.share / self.turns,
                input_tokens=before + self.input_tokens,
                cached_tokens=cached,
                turns=1,
            )
            # Reasoning isn't sent back with the next turn.
            before += self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ClassTimes:
    """What a request of one class meets."""

    name: str
    share: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    ttft_s: float
    """To the first token generated."""
    visible_ttft_s: float
    """To the first token after the reasoning."""
    tpot_s: float
    e2e_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class MixEstimate:
    """A mixed workload in steady state; expected values."""

    model: str
    hardware: str
    gpus: int
    concurrency: int
    running: int
    classes: tuple[ClassTimes, ...]
    tpot_s: float
    requests_per_s: float
    output_tokens_per_s_per_gpu: float
    cost_usd: float | None
    """Of a mean request."""
    flattened_tokens: int
    """Prompt tokens of one request of each class, one after the other."""
    padded_tokens: int
    """The same, each padded to the longest."""
    padding_waste: float
    assumptions: tuple[str, ...]


def read_mix(path: str | Path) -> tuple[RequestClass, ...]:
    """Read the classes of a workload from a TOML file: ``[[class]]`` tables with the fields of :class:`RequestClass`.

    Shares are normalised to add up to 1; a missing share counts 1.

    Raises
    ------
    InputError
        For a file that can't be read, isn't TOML, or holds a field or value that can't be.
    """
    from infer_cost.files import read_toml

    rows = read_toml(path, field="workload", what="a workload in TOML").get("class")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{shorten(str(path))} has no [[class]]", field="workload", allowed="one [[class]] or more")
    classes = [_class(row, number) for number, row in enumerate(rows, start=1)]
    total = sum(one.share for one in classes)
    if not total:
        raise InputError("all shares are 0", field="share", allowed="a positive share somewhere")
    return tuple(replace(one, share=one.share / total) for one in classes)


def _class(row: Any, number: int) -> RequestClass:
    if not isinstance(row, Mapping):
        raise InputError(f"class {number} is no table", field="workload", allowed="[[class]]")
    fields = {"name", "share", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "turns"}
    for key in row:
        if key not in fields:
            raise unknown_name(f"field of class {number}", str(key), fields, field="workload")
    missing = [name for name in ("input_tokens", "output_tokens") if name not in row]
    if missing:
        raise InputError(
            f"class {number} lacks {' and '.join(missing)}", field=missing[0], allowed="a number of tokens"
        )
    one = RequestClass(
        name=str(row.get("name", f"class {number}")),
        share=finite("share", row.get("share", 1.0)),
        input_tokens=whole("input_tokens", row["input_tokens"]),
        output_tokens=whole("output_tokens", row["output_tokens"]),
        cached_tokens=whole("cached_tokens", row.get("cached_tokens", 0), low=0),
        reasoning_tokens=whole("reasoning_tokens", row.get("reasoning_tokens", 0), low=0),
        turns=whole("turns", row.get("turns", 1), high=MAX_TURNS),
    )
    if one.cached_tokens >= one.input_tokens:
        raise InputError(
            f"{one.name}: cached_tokens is {one.cached_tokens:,} of {one.input_tokens:,}",
            field="cached_tokens",
            value=one.cached_tokens,
            allowed=f"0 to {one.input_tokens - 1:,}",
        )
    return one


def estimate_mix(model: Any, hardware: Any, classes: tuple[RequestClass, ...], **options: Any) -> MixEstimate:
    """Estimate a workload of several classes in one batch.

    All classes decode in the same steps, so a token takes them equally long; each waits for the same prefills and
    then for its own. The step's context is the mean over what runs, the interference that of a mean prefill.

    Parameters
    ----------
    model, hardware : str, path or object
        Catalog names or files
    classes : tuple of RequestClass
        See :func:`read_mix`
    options
        As for :func:`infer_cost.serving.scenario.scenario`, lengths left away; one engine, not two pools

    Returns
    -------
    MixEstimate
        By class and for all together

    Raises
    ------
    InputError
        For pools, or anything unknown or out of range.
    CannotBeMetError
        When a class is longer than the context window or doesn't fit.

    Examples
    --------
    Three users of 50,000, 1 and 10,000 tokens in one batch are 60,001 tokens, not the 150,000 of padding:

    >>> users = [RequestClass(name, 1 / 3, tokens, 10) for name, tokens in (("A", 50000), ("B", 1), ("C", 10000))]
    >>> mix = estimate_mix("llama-3.1-8b", "h100-sxm", tuple(users), concurrency=3)
    >>> mix.flattened_tokens, mix.padded_tokens, round(mix.padding_waste, 2)
    (60001, 150000, 0.6)
    """
    if options.get("prefill_gpus") is not None or options.get("decode_gpus") is not None:
        raise InputError("a workload of classes needs one engine, not two pools", field="prefill_gpus")
    requests = tuple(request for one in classes for request in one.requests())
    longest = max(requests, key=lambda one: one.input_tokens + _generated(one))
    lengths = {"input_tokens": longest.input_tokens, "output_tokens": min(_generated(longest), MAX_TOKENS)}
    question = scenario(model, hardware, **{**options, **lengths, "cached_tokens": 0})
    require_fit(question.deployment, longest.input_tokens + _generated(longest))
    return _estimate(question, classes, requests)


def _generated(one: RequestClass) -> int:
    return one.output_tokens + one.reasoning_tokens


def _estimate(question: Scenario, classes: tuple[RequestClass, ...], requests: tuple[RequestClass, ...]) -> MixEstimate:
    engine, plan = question.engine, question.deployment
    concurrency = question.requests.concurrency
    shares = [one.share for one in requests]
    prefills = [
        prefill_time(engine, float(one.input_tokens - one.cached_tokens), float(one.cached_tokens)) for one in requests
    ]
    steps = [_generated(one) - 1 for one in requests]
    mean_steps = max(_mean(shares, steps), 1e-9)
    # A sequence weighs as long as it decodes; one that emits a single token weighs nothing.
    weights = [share * step / mean_steps for share, step in zip(shares, steps, strict=True)]
    contexts = [one.input_tokens + _generated(one) / 2.0 for one in requests]
    context = _mean(weights, contexts) or _mean(shares, contexts)
    # What a sequence holds while it runs: its input, and its output as far as the engine sets it aside.
    held = [one.input_tokens + _generated(one) * plan.engine.output_reserve for one in requests]
    capacity = float(sequences_that_run(plan, _mean(weights, held) or _mean(shares, held)))
    running = max(1.0, min(float(concurrency), capacity))
    token = float(token_time(engine, running, context).total_s)
    occupancy = _mean(shares, [float(one.occupancy_s) for one in prefills])
    wait, interference = _queue(question, requests, running, token, occupancy)
    tpot = token + interference
    alive = [wait + float(p.passes.total_s) + step * tpot for p, step in zip(prefills, steps, strict=True)]
    surplus = max(concurrency - running, 0.0) / running
    queued = _mean(shares, alive) * surplus
    rate = concurrency / (_mean(shares, alive) + queued)
    paid = _usd_per_second_in_engine(question, concurrency)
    times = [
        _class_times(
            one, queued + wait + float(p.passes.total_s), tpot, None if paid is None else paid * (whole_time + queued)
        )
        for one, p, whole_time in zip(requests, prefills, alive, strict=True)
    ]
    flattened = sum(one.input_tokens for one in classes)
    longest = max(one.input_tokens for one in classes)
    return MixEstimate(
        model=plan.model.name,
        hardware=plan.machine.id,
        gpus=question.gpus,
        concurrency=concurrency,
        running=int(running),
        classes=tuple(times),
        tpot_s=tpot,
        requests_per_s=rate,
        output_tokens_per_s_per_gpu=rate * _mean(shares, [_generated(one) for one in requests]) / question.gpus,
        cost_usd=None if paid is None else paid * (_mean(shares, alive) + queued),
        flattened_tokens=flattened,
        padded_tokens=int(padded_tokens(len(classes), longest)),
        padding_waste=float(padding_waste(flattened / len(classes), longest)),
        assumptions=question.assumptions,
    )


def _queue(
    question: Scenario, requests: tuple[RequestClass, ...], running: float, token: float, occupancy: float
) -> tuple[float, float]:
    """Return the wait before a request's prefill and what others' prefills add to each token, alike in all classes."""
    plan = question.deployment
    shares = [one.share for one in requests]
    mean_steps = _mean(shares, [_generated(one) - 1 for one in requests])
    steps, sequences = max(mean_steps, 1.0), running / plan.parallel.dp
    # Prompts share passes by their mean lengths.
    mean = Requests(
        _mean(shares, [one.input_tokens for one in requests]),
        mean_steps + 1.0,
        _mean(shares, [one.cached_tokens for one in requests]),
        question.requests.concurrency,
    )
    ahead = prefills_ahead(sequences, mean_steps, plan.max_batched_tokens / mean.new_tokens)
    shared = packing(question.engine, mean, occupancy, running, ahead)
    admission = admission_wait(question.engine, sequences, token * min(mean_steps, 1.0))
    wait = admission + shared.ahead_s + max(shared.longer_s, 0.0) + plan.engine.host_request_s
    later = max(max(sequences, 1.0) - 1.0 - ahead - shared.beside, 0.0)
    return float(wait), float(later * shared.occupancy_s / steps) if mean_steps else 0.0


def _mean(shares: list[float], values: list[Any]) -> float:
    return float(sum(share * value for share, value in zip(shares, values, strict=True)))


def _usd_per_second_in_engine(question: Scenario, concurrency: int) -> float | None:
    if question.price is None:
        return None
    return question.price.usd_per_second * question.gpus / concurrency / question.utilization


def _class_times(one: RequestClass, ttft: float, tpot: float, cost: float | None) -> ClassTimes:
    return ClassTimes(
        name=one.name,
        share=one.share,
        input_tokens=one.input_tokens,
        output_tokens=_generated(one),
        cached_tokens=one.cached_tokens,
        ttft_s=ttft,
        visible_ttft_s=ttft + one.reasoning_tokens * tpot,
        tpot_s=tpot,
        e2e_s=ttft + (_generated(one) - 1) * tpot,
        cost_usd=cost,
    )
