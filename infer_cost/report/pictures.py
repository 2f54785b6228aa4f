"""The charts of a report by name, for the page and as files of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infer_cost.report import svg
from infer_cost.report.words import amount
from infer_cost.roofline import arithmetic_intensity, attainable_flops, t_attention, t_compute

if TYPE_CHECKING:
    from infer_cost.economics.sensitivity import Swing
    from infer_cost.report.content import Content, Roofs


def pictures(content: Content, *, style: bool = True) -> Mapping[str, str]:
    """Draw every chart of a report.

    Parameters
    ----------
    content : Content
        What :func:`infer_cost.report.content.gather` returned.
    style : bool
        Whether each carries its own style sheet, as a file must.

    Returns
    -------
    mapping of str to str
        ``stages``, ``load``, ``roofline``, ``memory``, ``time-sensitivity`` and, with a price, ``cost-sensitivity``.
    """
    trip, answer = content.trip, content.answer
    drawn = {
        "stages": svg.waterfall(
            [(f"{stage.number} {stage.name}", stage.e2e_s, amount(stage.e2e_s, "s")) for stage in trip.stages],
            "Time of each stage",
            style=style,
        ),
        "load": _load(content, style),
        "roofline": _roofline(content.roofs, trip.concurrency, content.memory.context, style),
        "memory": svg.memory(
            [(name, size, amount(size, "B")) for name, size in content.memory.parts], "Memory of one GPU", style=style
        ),
        "time-sensitivity": _tornado(content.time_swings, answer.e2e_s.expected, "s", "End-to-end time", style),
    }
    if content.cost_swings and answer.cost_usd is not None:
        drawn["cost-sensitivity"] = _tornado(content.cost_swings, answer.cost_usd, "USD", "Cost of the request", style)
    return drawn


def operating_point(roofs: Roofs, batch: int, context: int) -> tuple[float, float]:
    """Return intensity [FLOP/B] and bound rate [FLOP/s] of one GPU in a decode step of a batch and context."""
    place, length = roofs.batches.index(batch), roofs.contexts.index(context)
    read = roofs.weight_bytes_by_batch[place] + batch * roofs.kv_bytes_by_context[length]
    seconds = t_compute(batch, roofs.active_parameters, roofs.peak_flops)
    seconds += t_attention(batch, context, roofs.attention_flops, roofs.attention_peak_flops)
    intensity = arithmetic_intensity(seconds * roofs.peak_flops, read)
    return intensity, attainable_flops(intensity, roofs.peak_flops, roofs.memory_bandwidth)


def nearest(values: Sequence[int], wanted: float) -> int:
    """Return the value nearest to a wanted one.

    >>> nearest((1, 8, 64), 50)
    64
    """
    return min(values, key=lambda value: abs(value - wanted))


def _roofline(roofs: Roofs, batch: int, context: int, style: bool) -> str:
    shown = nearest(roofs.batches, batch)
    length = nearest(roofs.contexts, context)
    points = [(f"batch {size}", *operating_point(roofs, size, length)) for size in (1, 1024)]
    points.append((f"batch {shown}", *operating_point(roofs, shown, length)))
    return svg.roofline(roofs.peak_flops, roofs.memory_bandwidth, points, "Roofline of one GPU", style=style)


def _load(content: Content, style: bool) -> str:
    points = [
        (
            str(load.concurrency),
            load.answer.output_tokens_per_s_per_user.expected,
            load.answer.output_tokens_per_s_per_gpu.expected,
        )
        for load in content.loads
    ]
    chosen = [load.concurrency for load in content.loads].index(content.trip.concurrency)
    names = "tokens a second for one user", "tokens a second from one GPU"
    return svg.pareto(points, chosen, *names, "Speed against throughput", style=style)


def _tornado(swings: Sequence[Swing], middle: float, unit: str, name: str, style: bool) -> str:
    rows = [
        (swing.name, swing.at_low, swing.at_high, f"{amount(swing.at_low, unit)} | {amount(swing.at_high, unit)}")
        for swing in swings
    ]
    return svg.tornado(rows, middle, name, "input 20 % lower | higher", style=style)
