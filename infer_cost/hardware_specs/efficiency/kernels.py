"""Time of one kernel: a launch floor plus compute and memory time, each at a measured efficiency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from infer_cost.errors import unknown_name
from infer_cost.hardware_specs.efficiency._scopes import Level, engine_order, read_rows, scopes
from infer_cost.hardware_specs.types import Accelerator
from infer_cost.roofline.dispatch import maximum, minimum

FAMILIES = (
    "gemm",
    "grouped_gemm",
    "prefill_attention",
    "decode_attention",
    "mla_prefill",
    "mla_decode",
    "elementwise",
)
"""Operator families. What each counts as FLOPs and bytes (the fit counts them so):

``gemm``
    ``2·n·k·m`` FLOPs; the weights in their format, the activations read and written in 16 bits.
``grouped_gemm``
    All experts of a layer on one rank, permutation to reduction: ``6·hidden·width`` FLOPs a routed row; the
    weights of the experts hit, and ``3·(2·hidden + 3·width)`` 16-bit elements a routed row.
``prefill_attention``
    ``2·heads·head_dim·tokens²`` FLOPs (causal) a sequence; q, k, v read, the cache and the output written.
``decode_attention``
    ``4·heads·head_dim·context`` FLOPs a sequence; the cache, q and the output. Time counted in 16-bit rates.
``mla_prefill``
    ``heads·(score_dim + value_dim)·tokens²`` FLOPs; k and v of every head, q and the output in 16 bits.
``mla_decode``
    ``2·heads·context·(decode_score_dim + decode_value_dim)`` FLOPs; the latent cache once, q and the output.
``elementwise``
    Norms, activations, residuals, sampling: the bytes that they read and write.
"""


@dataclass(frozen=True, slots=True)
class KernelModel:
    """Constants of one operator family in one format on one accelerator.

    ``level`` says where they come from, ``spread`` is the relative error that 80 % of the timings stay
    within.
    ``rate`` names the precision of ``Accelerator.peak_flops`` that ``compute_efficiency`` refers to.
    """

    floor_s: float
    compute_efficiency: float
    memory_efficiency: float
    sharpness: float
    level: Level
    spread: float
    rate: str


def kernel_time(t_compute: Any, t_memory: Any, model: KernelModel) -> Any:
    """Time of a kernel from the times that its arithmetic and its traffic would take at full datasheet rates.

    .. math:: t = t_0 + \\left((t_c/e_c)^p + (t_m/e_m)^p\\right)^{1/p}

    Parameters
    ----------
    t_compute : float or array
        FLOPs over the peak rate named by ``model.rate`` [s]
    t_memory : float or array
        Bytes over the memory bandwidth [s]
    model : KernelModel
        The constants

    Returns
    -------
    float or array
        Time [s]

    Notes
    -----
    The floor is paid once a kernel. As the sharpness p grows, the sum becomes the maximum: perfect overlap.
    Published timings stay within 5 to 15 % of this at the median where the bare roofline is 30 to 80 % off.

    Examples
    --------
    One token through a 8192 × 8192 matrix in 16 bits on H100, 40 µs at full bandwidth:

    >>> bf16 = KernelModel(4e-6, 0.8, 0.83, 4.0, "chip", 0.1, "bf16")
    >>> round(kernel_time(0.14e-6, 40e-6, bf16) * 1e6, 1)
    52.2

    References
    ----------
    .. [1] Kernel timings in aiconfigurator-core 0.12.0 (Apache-2.0), read 2026-11-30; see ``fits/README.md``.
    """
    compute, memory = t_compute / model.compute_efficiency, t_memory / model.memory_efficiency
    return model.floor_s + _overlapped(compute, memory, model.sharpness)


def _overlapped(compute: Any, memory: Any, p: float) -> Any:
    """The p-norm of two times; with the greater one taken out, it costs a power less and can't underflow."""
    if p == 1.0:
        return compute + memory
    greater = maximum(compute, memory)
    ratio = minimum(compute, memory) / maximum(greater, 1e-300)
    return greater * (1.0 + ratio**p) ** (1.0 / p)


def kernel_model(accelerator: Accelerator, family: str, precision: str, engine: str = "generic") -> KernelModel:
    """Return the constants of an operator family: this chip's, or the nearest known ones.

    Looks for the chip, then its architecture, its vendor, then any accelerator; at each of them for the
    engine's kernels, then for those of all engines together; and at each for the format, then for the
    nearest one that the chip can multiply (a chip without FP8 runs FP8 weights through 16-bit arithmetic).

    Parameters
    ----------
    accelerator : Accelerator
        The chip
    family : str
        One of :data:`FAMILIES`
    precision : str
        Format of the weights, or of the KV cache for attention (``bf16``, ``fp8``, ``nvfp4``, ``int4-g128``,
        ...)
    engine : str
        ``trtllm``, ``vllm``, ``sglang``; anything else means ``generic``

    Returns
    -------
    KernelModel
        The constants, with the level that they come from

    Raises
    ------
    UnknownNameError
        The family doesn't exist
    """
    if family not in FAMILIES:
        raise unknown_name("operator family", family, FAMILIES, field="family")
    rates = frozenset(accelerator.peak_flops)
    return _lookup(scopes(accelerator), rates, family, precision, engine)


@cache
def _lookup(
    places: tuple[tuple[Level, str], ...], rates: frozenset[str], family: str, precision: str, engine: str
) -> KernelModel:
    table = _table()
    formats = _format_order(family, precision, engine)
    for level, key in places:
        for name in formats:
            for kernels_of in engine_order(engine):
                model = table.get((level, key, family, name, kernels_of))
                if model is not None and (model.rate in rates or name == formats[-1]):
                    return model
    raise AssertionError(f"no generic constants for {family}")  # the table's tests keep this from happening


def _format_order(family: str, precision: str, engine: str) -> tuple[str, ...]:
    """Return the fitted formats that may stand for ``precision``, nearest first; the last is always known."""
    if family in ("prefill_attention", "decode_attention", "mla_prefill", "mla_decode"):
        if precision in ("bf16", "fp16", "fp32", "tf32"):
            return ("bf16",)
        # vLLM attends in 16 bits over an 8-bit cache in prefill; the others attend in FP8 where the chip can.
        return ("fp8-a16", "fp8", "bf16") if engine == "vllm" else ("fp8", "fp8-a16", "bf16")
    if family == "elementwise":
        return ("bf16",)
    weight_only = ("int4-g128", "mxfp4-a16", "bf16")
    if precision.startswith("fp8"):
        return (*(("fp8-block", "fp8") if precision == "fp8-block" else ("fp8", "fp8-block")), "int8", "bf16")
    if precision == "nvfp4":
        return ("nvfp4", *weight_only)
    if precision == "mxfp4":
        return ("mxfp4-a8", "mxfp4-a16", "nvfp4", *weight_only)
    if precision == "int8":
        return ("int8", "bf16")
    return ("bf16",) if precision in ("bf16", "fp16", "fp32", "tf32") else weight_only


@cache
def _table() -> dict[tuple[str, str, str, str, str], KernelModel]:
    return {
        (row["level"], row["key"], row["family"], row["format"], row["engine"]): KernelModel(
            float(row["floor_us"]) * 1e-6,
            float(row["compute_efficiency"]),
            float(row["memory_efficiency"]),
            float(row["sharpness"]),
            row["level"],  # type: ignore[arg-type]
            float(row["spread"]),
            row["rate"],
        )
        for row in read_rows("kernels.csv")
    }
