"""The catalog as rows: totals of systems, filters, sorting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.hardware_specs import hardware
from infer_cost.hardware_specs.summary import (
    COLUMNS,
    PRECISION_COLUMNS,
    accelerator_summaries,
    column,
    sort_rows,
    summary,
    system_summaries,
)


def test_a_system_sums_its_accelerators() -> None:
    rack, chip = summary(hardware("gb200-nvl72")), summary(hardware("gb200"))
    assert rack.gpus == 72 and chip.gpus == 1
    assert rack.memory_bytes == 72 * chip.memory_bytes
    assert rack.memory_bandwidth == pytest.approx(576e12)
    assert rack.peak_flops["bf16"] == pytest.approx(180e15)
    assert rack.power_w == 132e3 and chip.power_w == 1200
    assert rack.ridge_flop_per_byte == chip.ridge_flop_per_byte


def test_scale_up_over_scale_out_is_like_for_like() -> None:
    assert summary(hardware("gb200")).scale_up_over_scale_out == 900 / 50
    assert summary(hardware("gb300")).scale_up_over_scale_out == 900 / 100
    assert summary(hardware("m4-max")).scale_up_over_scale_out is None


def test_filters() -> None:
    rows = accelerator_summaries("nvidia", 140e9)
    assert rows and all(row.vendor == "NVIDIA" and row.memory_bytes >= 140e9 for row in rows)
    assert {row.id for row in system_summaries("AMD")} == {"helios", "mi300x-8", "mi325x-8", "mi355x-8"}
    with pytest.raises(InputError, match="no machine of vendor 'Nvdia'") as caught:
        accelerator_summaries("Nvdia")
    assert caught.value.allowed and "NVIDIA" in caught.value.allowed


@given(st.sampled_from([*COLUMNS, *PRECISION_COLUMNS]), st.booleans())
def test_sorting_keeps_every_row_and_orders_the_filled(name: str, backwards: bool) -> None:
    rows = accelerator_summaries()
    ordered = sort_rows(rows, f"-{name}" if backwards else name)
    assert sorted(row.id for row in ordered) == sorted(row.id for row in rows)
    values = [column(row, name) for row in ordered]
    filled = [value for value in values if value is not None]
    assert values[: len(filled)] == filled, "rows without a value stand last"
    descending = isinstance(filled[0], int | float) != backwards
    assert filled == sorted(filled, reverse=descending)  # type: ignore[type-var]


@pytest.mark.parametrize(("given", "short"), [("memory_bandwidth", "bandwidth"), ("-peak_flops_fp8", "-fp8")])
def test_sorting_takes_the_names_that_json_and_csv_print(given: str, short: str) -> None:
    assert sort_rows(accelerator_summaries(), given) == sort_rows(accelerator_summaries(), short)


def test_unknown_column() -> None:
    with pytest.raises(UnknownNameError, match="unknown column"):
        sort_rows(accelerator_summaries(), "speed")
