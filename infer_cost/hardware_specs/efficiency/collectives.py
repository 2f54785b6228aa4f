"""Time of a collective: a latency that grows with the ranks, plus the bytes that cross each link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from infer_cost.errors import unknown_name
from infer_cost.hardware_specs.efficiency._scopes import Level, engine_order, read_rows, scopes
from infer_cost.hardware_specs.types import Accelerator
from infer_cost.roofline.dispatch import minimum, where

OPS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "dispatch", "combine", "send")
"""``dispatch`` and ``combine`` are the exchanges of an expert-parallel layer by the engine's kernels; ``send``
goes from one rank to another, timed as an all-to-all of two."""

_STAND_INS = {"dispatch": "all_to_all", "combine": "all_to_all", "send": "all_to_all"}


@dataclass(frozen=True, slots=True)
class CollectiveModel:
    """Constants of one collective; ``spread`` is the relative error that 80 % of timings stay within."""

    op: str
    latency_s: float
    latency_growth_s: float
    """Added for each square root of a rank beyond the first."""
    bandwidth_efficiency: float
    level: Level
    spread: float


def collective_time(message_bytes: Any, ranks: Any, bandwidth: Any, model: CollectiveModel) -> Any:
    """Time of one collective by latency and bandwidth.

    .. math:: t = \\alpha_0 + \\alpha_1 \\sqrt{n-1} + f(n) \\cdot b / (e \\cdot B)

    Parameters
    ----------
    message_bytes : float or array
        Bytes of the result of an all-reduce or all-gather, of the input of a reduce-scatter, of everything
        that one rank sends in an exchange of experts, its own share included, b [B]
    ranks : int or array
        Participants, n
    bandwidth : float
        Bytes/s one way from one participant, B
    model : CollectiveModel
        The constants

    Returns
    -------
    float or array
        Time [s]; 0 with one rank

    Notes
    -----
    f is (n − 1)/n, 1 for a send, and 2(n − 1)/n for an all-reduce. A small all-reduce goes in one shot
    instead: every rank reads all the others' whole messages, f = n − 1, and one synchronisation is saved. The
    cheaper way is taken.

    Examples
    --------
    One token's hidden state of 8192 16-bit values over eight H200:

    >>> reduce = CollectiveModel("all_reduce", 2.5e-6, 0.4e-6, 0.68, "chip", 0.2)
    >>> round(collective_time(16384, 8, 450e9, reduce) * 1e6, 2)
    3.93

    References
    ----------
    .. [1] Timings in aiconfigurator-core 0.12.0 (Apache-2.0), read 2026-11-30; see ``fits/README.md``.
    """
    others = ranks - 1
    latency = model.latency_s + model.latency_growth_s * others**0.5
    unit = message_bytes / (model.bandwidth_efficiency * bandwidth)
    if model.op == "send":
        return model.latency_s + unit
    if model.op != "all_reduce":
        time = latency + others / ranks * unit
    else:
        one_shot = others * unit
        two_shot = latency + 2 * others / ranks * unit
        time = latency + minimum(one_shot, two_shot)
    return where(others > 0, time, 0.0)


def collective_model(
    accelerator: Accelerator, op: str, ranks: int = 2, engine: str = "generic", *, across_nodes: bool = False
) -> CollectiveModel:
    """Return the constants of a collective: this chip's, or the nearest known ones.

    Parameters
    ----------
    accelerator : Accelerator
        The chip
    op : str
        One of :data:`OPS`
    ranks : int
        Participants; at most 1 has no time whatever the constants
    engine : str
        ``trtllm``, ``vllm``, ``sglang``; anything else means NCCL's kernels
    across_nodes : bool
        The message leaves the scale-up domain: pass the scale-out bandwidth to :func:`collective_time` then

    Returns
    -------
    CollectiveModel
        The constants, with the level that they come from

    Raises
    ------
    UnknownNameError
        The operation doesn't exist
    """
    if op not in OPS:
        raise unknown_name("collective operation", op, OPS, field="op")
    if across_nodes:
        return replace(_table()["across", "", "all_to_all" if op == "send" else op, "generic"], op=op)
    return _lookup(scopes(accelerator), op, engine)


@cache
def _lookup(places: tuple[tuple[Level, str], ...], op: str, engine: str) -> CollectiveModel:
    table = _table()
    for name in (op, _STAND_INS.get(op, op)):
        for level, key in places:
            for kernels_of in engine_order(engine):
                model = table.get((level, key, name, kernels_of))
                if model is not None:
                    return replace(model, op=op)
    raise AssertionError(f"no generic constants for {op}")  # the table's tests keep this from happening


@cache
def _table() -> dict[tuple[str, str, str, str], CollectiveModel]:
    return {
        (row["level"], row["key"], row["op"], row["engine"]): CollectiveModel(
            row["op"],
            float(row["latency_us"]) * 1e-6,
            float(row["latency_growth_us"]) * 1e-6,
            float(row["bandwidth_efficiency"]),
            "generic" if row["level"] == "across" else row["level"],  # type: ignore[arg-type]
            float(row["spread"]),
        )
        for row in read_rows("collectives.csv")
    }
