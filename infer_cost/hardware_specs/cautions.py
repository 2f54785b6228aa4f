"""What to say beside an answer about a machine: figures that look wrong, that nothing confirms, that stand in."""

from __future__ import annotations

from infer_cost.hardware_specs.types import Machine

_STAND_INS = {
    "architecture": "other chips of its architecture",
    "vendor": "other chips of its vendor",
    "generic": "accelerators in general",
}
_MINOR = ("l2_bytes",)
"""Figures that no answer rests on."""


def cautions(machine: Machine) -> tuple[str, ...]:
    """Return what the reader of an answer should know about the machine's figures, a sentence each.

    >>> from infer_cost.hardware_specs import hardware
    >>> cautions(hardware("h100-sxm"))
    ()
    >>> for line in cautions(hardware("mi210")):
    ...     print(line)
    no kernel timings of mi210 are published: efficiencies of accelerators in general, so the range is wider
    """
    from infer_cost.hardware_specs.efficiency.kernels import kernel_model

    chip = machine.accelerator
    said = list(doubts(machine))
    if chip.peak_flops:
        place = _STAND_INS.get(kernel_model(chip, "gemm", "bf16").level)
        if place:
            said.append(f"no kernel timings of {chip.id} are published: efficiencies of {place}, so the range is wider")
    return tuple(said)


def doubts(machine: Machine) -> tuple[str, ...]:
    """Return what is doubtful about the datasheet figures themselves: a sparse rate, nothing that confirms them.

    >>> from infer_cost.hardware_specs import hardware
    >>> doubts(hardware("h100-sxm")), doubts(hardware("mi210"))
    ((), ())
    """
    chip = machine.accelerator
    said = [f"warning: {warning}" for warning in machine.warnings]
    weak = [name for name in chip.unverified if name not in _MINOR]
    if weak:
        said.append(f"unverified figures of {chip.id}: {', '.join(weak)}")
    if chip.status:
        said.append(f"{chip.id}: {chip.status}")
    return tuple(said)
