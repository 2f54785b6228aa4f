"""The two numberings of the fifteen stages: the longer digest's, and the article's, which regroups the same terms."""

from __future__ import annotations

from dataclasses import replace

from infer_cost.stages.types import Stage

NAMES = {
    1: "tokenizer",
    2: "API gateway",
    3: "authentication and billing",
    4: "load balancing",
    5: "inference router",
    6: "scheduler, continuous batching",
    7: "KV cache, paged attention",
    8: "prefix caching",
    9: "quantization",
    10: "prefill and decode",
    11: "kernel fusion",
    12: "speculative decoding",
    13: "scale-up network",
    14: "scale-out network",
    15: "detokenize and close the bill",
}

ARTICLE_NAMES = {
    7: "KV cache and prefix caching",
    8: "quantization",
    9: "prefill and decode",
    10: "kernel fusion and speculative decoding",
    11: "scale-up network",
    12: "scale-out: switches",
    13: "scale-out: NIC and DPU",
    14: "scale-out: Ethernet and optics",
}

_REGROUPED = {7: (7, 8), 8: (9,), 9: (10,), 10: (11, 12), 11: (13,)}

SWITCH_SHARE_OF_LATENCY = 0.3
"""Share of a message's latency that switches take: 0.9 of 3.7 µs across leaves, against 2.8 µs under one leaf
(InfiniBand, arXiv:2505.09343, table 5)."""


def article(stages: tuple[Stage, ...], wire_share: float) -> tuple[Stage, ...]:
    """Return the stages as the article numbers them; the sums stay the same.

    Parameters
    ----------
    stages : tuple of Stage
        In the longer digest's numbering
    wire_share : float
        Share of the scale-out time that bytes spend on the wire; the rest is latency of switches and NICs

    Returns
    -------
    tuple of Stage
        Fifteen stages
    """
    by_number = {stage.number: stage for stage in stages}
    rows = [by_number[number] for number in range(1, 7)]
    rows += [_merged(number, [by_number[old] for old in olds]) for number, olds in _REGROUPED.items()]
    rows += _scale_out(by_number[14], wire_share)
    rows.append(by_number[15])
    return tuple(rows)


def _merged(number: int, parts: list[Stage]) -> Stage:
    largest = max(parts, key=lambda stage: stage.e2e_s)
    without = [part.without for part in parts if part.without is not None]
    return Stage(
        number=number,
        name=ARTICLE_NAMES[number],
        ttft_s=sum(part.ttft_s for part in parts),
        tpot_s=sum(part.tpot_s for part in parts),
        e2e_s=sum(part.e2e_s for part in parts),
        cost_usd=None if parts[0].cost_usd is None else sum(part.cost_usd or 0.0 for part in parts),
        limited_by=largest.limited_by,
        without=without[0] if without else None,
        assumptions=tuple(line for part in parts for line in part.assumptions),
    )


def _scale_out(stage: Stage, wire_share: float) -> list[Stage]:
    latency = 1.0 - wire_share
    switches, nics = latency * SWITCH_SHARE_OF_LATENCY, latency * (1.0 - SWITCH_SHARE_OF_LATENCY)
    # The last part is what the others leave, so that the three add up exactly.
    first, second = _part(stage, 12, switches), _part(stage, 13, nics)
    third = replace(
        stage,
        number=14,
        name=ARTICLE_NAMES[14],
        ttft_s=stage.ttft_s - first.ttft_s - second.ttft_s,
        tpot_s=stage.tpot_s - first.tpot_s - second.tpot_s,
        e2e_s=stage.e2e_s - first.e2e_s - second.e2e_s,
        cost_usd=None
        if stage.cost_usd is None
        else stage.cost_usd - (first.cost_usd or 0.0) - (second.cost_usd or 0.0),
    )
    return [first, second, third]


def _part(stage: Stage, number: int, share: float) -> Stage:
    return replace(
        stage,
        number=number,
        name=ARTICLE_NAMES[number],
        ttft_s=stage.ttft_s * share,
        tpot_s=stage.tpot_s * share,
        e2e_s=stage.e2e_s * share,
        cost_usd=None if stage.cost_usd is None else stage.cost_usd * share,
        without=None,
        assumptions=(),
    )
