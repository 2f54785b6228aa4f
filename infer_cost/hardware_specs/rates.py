"""Which rate a chip multiplies a number format at."""

from __future__ import annotations

from infer_cost.errors import InputError
from infer_cost.hardware_specs.types import Accelerator, NumberFormat

_SIXTEEN_BIT = ("bf16", "fp16")


def peak_rate(accelerator: Accelerator, number_format: NumberFormat) -> tuple[float, str, bool]:
    """Return the dense rate that an accelerator multiplies weights of a format at.

    The format's precisions are tried in their order and the first that the datasheet states is taken. Where
    the chip lacks the narrow one, kernels widen the weights while loading them and multiply in 16 bits; the
    same where the narrow rate is the slower one (B300 kept almost no INT8).

    Parameters
    ----------
    accelerator : Accelerator
    number_format : NumberFormat

    Returns
    -------
    flops_per_s : float
        Dense peak [FLOP/s]; a multiply-add is two.
    precision : str
        The key of ``accelerator.peak_flops`` that was taken.
    weight_only : bool
        The weights are narrower than the numbers multiplied, so only their traffic shrinks.

    Raises
    ------
    InputError
        The accelerator states no rate for any of the format's precisions.

    Examples
    --------
    H100 multiplies FP8 itself but widens INT4 to BF16:

    >>> from infer_cost.hardware_specs import hardware, number_format
    >>> h100 = hardware("h100-sxm").accelerator
    >>> peak_rate(h100, number_format("fp8"))
    (1978900000000000.0, 'fp8', False)
    >>> peak_rate(h100, number_format("int4-g128"))
    (989400000000000.0, 'bf16', True)
    """
    stated = [p for p in number_format.compute if p in accelerator.peak_flops]
    if not stated:
        raise InputError(
            f"{accelerator.id} states no rate that multiplies {number_format.id}",
            field="weights",
            value=number_format.id,
            allowed=f"a format for {', '.join(accelerator.peak_flops) or 'a rate that you give'}",
            hint=f'give one, such as --set peak_flops.{number_format.compute[0]}="100 TFLOP/s"',
        )
    best = stated[0]
    wide = next((p for p in stated if p in _SIXTEEN_BIT), best)
    if accelerator.peak_flops[wide] > accelerator.peak_flops[best]:
        best = wide
    return accelerator.peak_flops[best], best, _width(best) > number_format.bits


def _width(precision: str) -> int:
    return int(precision.lstrip("bfpint"))
