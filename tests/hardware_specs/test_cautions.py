"""What is said beside an answer about a machine."""

from __future__ import annotations

import pytest

from infer_cost.hardware_specs import hardware
from infer_cost.hardware_specs.cautions import cautions, doubts
from infer_cost.hardware_specs.overrides import with_overrides


def test_a_chip_that_was_timed_and_confirmed_needs_none() -> None:
    assert cautions(hardware("h200-sxm")) == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("rtx-3080", "unverified figures of rtx-3080: peak_flops.bf16, peak_flops.fp16, peak_flops.int8"),
        ("rubin-r200", "specs preliminary"),
        ("gaudi3", "accelerators in general"),
        ("h800-sxm", "other chips of its architecture"),
    ],
)
def test_weak_figures_are_named(name: str, says: str) -> None:
    assert any(says in line for line in cautions(hardware(name)))


def test_warnings_come_first() -> None:
    machine = with_overrides(hardware("gaudi3"), {"peak_flops.bf16": "3670 TFLOP/s"})
    assert cautions(machine)[0].startswith("warning: bf16 of 3670 TFLOP/s is the rate with sparsity")
    assert doubts(machine) == cautions(machine)[: len(doubts(machine))]


def test_a_chip_without_rates_is_left_to_the_error() -> None:
    assert cautions(hardware("nv-lp30")) == (
        "nv-lp30: announced as a decode co-processor for the third quarter of 2026",
    )
