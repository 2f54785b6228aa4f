"""A mixed workload explained: the times of each class, and those of all together."""

from __future__ import annotations

from collections.abc import Iterator

from infer_cost.serving.mix import ClassTimes, MixEstimate
from infer_cost.steps import Chain, Input, Step

_SOURCE = "the workload's file"


def mix_chains(answer: MixEstimate) -> tuple[Chain, ...]:
    """Return how the times and costs of each class come about, then the rates of all classes."""
    classes = (Chain(one.name, tuple(_class(one)), tuple(_lengths(one))) for one in answer.classes)
    return (*classes, Chain("all classes", tuple(_whole(answer))))


def _lengths(one: ClassTimes) -> Iterator[Input]:
    yield Input(f"share of {one.name}", one.share, "ratio", f"{_SOURCE}, of the requests")
    yield Input(f"input tokens of {one.name}", one.input_tokens, "token", f"{_SOURCE}, turns included")
    yield Input(f"output tokens O of {one.name}", one.output_tokens, "token", f"{_SOURCE}, reasoning included")


def _class(one: ClassTimes) -> Iterator[Step]:
    token = "a decode step at the mean batch and context + others' prefills, alike in all classes"
    yield Step("time to first token", "room in the cache + wait, alike + its own prefill", one.ttft_s, "s")
    yield Step("time per output token", token, one.tpot_s, "s")
    yield Step("to the first visible token", "TTFT + reasoning tokens · TPOT", one.visible_ttft_s, "s")
    yield Step("end to end", "TTFT + (O − 1)·TPOT", one.e2e_s, "s")
    if one.cost_usd is not None:
        yield Step("cost of a request", "GPUs · p / 3600 · end to end / C / u", one.cost_usd, "USD")


def _whole(answer: MixEstimate) -> Iterator[Step]:
    yield Step("requests a second", "C / mean of the ends to end, by share", answer.requests_per_s, "request/s")
    per_gpu = answer.output_tokens_per_s_per_gpu
    yield Step("output tokens a GPU", "requests a second · mean O / GPUs", per_gpu, "token/s")
    padding = "1 − flat / padded to the longest"
    yield Step("padding", padding, answer.padding_waste, "ratio", (), "padding_waste")
    if answer.cost_usd is not None:
        yield Step("cost of a mean request", "mean of the costs, by share", answer.cost_usd, "USD")
