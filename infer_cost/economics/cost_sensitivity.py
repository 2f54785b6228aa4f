"""Which input moves one's own cost of a request most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from infer_cost.economics.gpu_hours import LABELS
from infer_cost.economics.own import OwnCost
from infer_cost.economics.ownership import ownership_cost
from infer_cost.economics.sensitivity import Swing, tornado
from infer_cost.economics.tokens import cost_per_success

_MOVED = ("purchase_usd", "years", "power_w", "pue", "usd_per_kwh", "financing_rate", "network_share")


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
    if owned is None:
        base["GPU-hour price"] = cost.gpu_hour.usd
    else:
        base.update({LABELS[name]: getattr(owned, name) for name in _MOVED if getattr(owned, name)})

    def answer(inputs: Mapping[str, float]) -> float:
        if owned is None:
            hour = inputs["GPU-hour price"]
        else:
            changed = {name: inputs[LABELS[name]] for name in _MOVED if LABELS[name] in inputs}
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
