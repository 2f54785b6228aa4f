"""The time of one forward pass: expected, by cause, and its lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infer_cost.hardware_specs.efficiency.kernels import kernel_time
from infer_cost.roofline.dispatch import Value, maximum, where
from infer_cost.serving.operators import Load, Operator
from infer_cost.serving.program import Program

Cause = Literal["cache", "prefix", "floors", "scale_up", "scale_out", "host"]
"""Work that a stage of the request stands for and that can be left out to see what it exposes."""

NOTHING: frozenset[Cause] = frozenset()

_SHARP = 4
"""How sharply launching and running blend where they take equally long."""


@dataclass(frozen=True, slots=True)
class PassTime:
    """Seconds of one pass on the slowest GPU, by what takes them, and the work done on one GPU."""

    compute_s: Value = 0.0
    memory_s: Value = 0.0
    floor_s: Value = 0.0
    scale_up_s: Value = 0.0
    scale_out_s: Value = 0.0
    host_s: Value = 0.0
    flops: Value = 0.0
    bytes_moved: Value = 0.0

    @property
    def total_s(self) -> Value:
        """The whole pass."""
        return self.compute_s + self.memory_s + self.floor_s + self.scale_up_s + self.scale_out_s + self.host_s

    def times(self, factor: Value) -> PassTime:
        """Return the time and work of ``factor`` such passes."""
        return PassTime(*(getattr(self, name) * factor for name in self.__slots__))

    def plus(self, other: PassTime) -> PassTime:
        """Return both passes one after the other."""
        return PassTime(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """One operator's share of a pass, for explanations."""

    name: str
    launches: float
    floor_s: Value
    busy_s: Value
    compute_bound: Value
    level: str
    spread: float


def pass_time(program: Program, load: Load, without: frozenset[Cause] = NOTHING) -> PassTime:
    """Time of a pass from its operators, transfers and the host, each by its measured constants.

    Parameters
    ----------
    program : Program
        The deployment's operators in this phase
    load : Load
        Sequences, new and cached tokens; floats or arrays
    without : set of causes
        Work to leave out: cache traffic, a cached prefix's, kernel floors, transfers inside or beyond the domain, host

    Returns
    -------
    PassTime
        Seconds by cause
    """
    compute: Value = 0.0
    memory: Value = 0.0
    floor: Value = 0.0
    flops: Value = 0.0
    moved: Value = 0.0
    for operator in program.operators:
        op_flops, op_bytes = _work(operator, load, without)
        t_compute = op_flops / operator.peak_flops
        t_memory = op_bytes / program.memory_bandwidth
        alone = kernel_time(t_compute, t_memory, operator.kernel) - operator.kernel.floor_s
        busy = alone * program.kernel_factor * operator.launches
        bound = _compute_bound(operator, t_compute, t_memory)
        compute = compute + where(bound, busy, 0.0)
        memory = memory + where(bound, 0.0, busy)
        flops = flops + op_flops * operator.launches
        moved = moved + op_bytes * operator.launches
        if "floors" not in without:
            floor = floor + (operator.kernel.floor_s * program.floor_share + program.launch_s) * operator.launches
    up, out = transfer_time(program, load, without)
    host: Value = 0.0
    if "host" not in without:
        host = program.host_step_s + program.host_sequence_s * load.sequences
        if program.eager_s:
            host = host + _launch_wait(compute + memory + floor + up + out, program.eager_s)
    return PassTime(compute, memory, floor, up, out, host, flops, moved)


def _launch_wait(busy: Value, launching: float) -> Value:
    """Time that the GPU waits for kernels to be launched: launching runs ahead of it, so the longer one decides."""
    return (busy**_SHARP + launching**_SHARP) ** (1.0 / _SHARP) - busy


def _work(operator: Operator, load: Load, without: frozenset[Cause]) -> tuple[Value, Value]:
    traffic = operator.traffic(load)
    cache = 0.0 if "cache" in without else traffic.cache
    prefix = 0.0 if "prefix" in without else traffic.prefix
    return operator.flops(load), traffic.weights + cache + prefix + traffic.activations


def _compute_bound(operator: Operator, t_compute: Value, t_memory: Value) -> Value:
    kernel = operator.kernel
    return t_compute / kernel.compute_efficiency > t_memory / kernel.memory_efficiency


def transfer_time(program: Program, load: Load, without: frozenset[Cause] = NOTHING) -> tuple[Value, Value]:
    """Time of a pass's transfers inside the scale-up domain and beyond it."""
    up: Value = 0.0
    out: Value = 0.0
    for transfer in program.transfers:
        if transfer.scope in without:
            continue
        time = transfer.time(load) * transfer.launches
        if transfer.scope == "scale_up":
            up = up + time
        else:
            out = out + time
    return up, out


def pass_bound(program: Program, load: Load) -> Value:
    """Time that no engine can beat: arithmetic, traffic and transfers at full datasheet rates, ideally overlapped.

    .. math:: T \\ge \\max\\left(\\sum F/C,\\ \\sum Q/BW,\\ \\sum M/LINK\\right)

    The fewest experts are hit (every token routed alike), activations stay on the chip, and nothing has latency.
    """
    arithmetic: Value = 0.0
    traffic: Value = 0.0
    wire: Value = 0.0
    for operator in program.operators:
        moved = operator.traffic(load, fewest=True)
        arithmetic = arithmetic + operator.flops(load) / operator.peak_flops * operator.launches
        traffic = traffic + (moved.weights + moved.cache + moved.prefix) / program.memory_bandwidth * operator.launches
    for transfer in program.transfers:
        wire = wire + transfer.wire_time(load) * transfer.launches
    return maximum(arithmetic, traffic, wire)


def operator_times(program: Program, load: Load) -> list[OperatorTime]:
    """Every operator's share of a pass, in program order."""
    shares = []
    for operator in program.operators:
        op_flops, op_bytes = _work(operator, load, NOTHING)
        t_compute = op_flops / operator.peak_flops
        t_memory = op_bytes / program.memory_bandwidth
        whole = kernel_time(t_compute, t_memory, operator.kernel)
        shares.append(
            OperatorTime(
                operator.name,
                operator.launches,
                operator.kernel.floor_s * program.floor_share * operator.launches,
                (whole - operator.kernel.floor_s) * program.kernel_factor * operator.launches,
                _compute_bound(operator, t_compute, t_memory),
                operator.kernel.level,
                operator.kernel.spread,
            )
        )
    return shares
