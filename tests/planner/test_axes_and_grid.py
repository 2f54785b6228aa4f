"""Axes as people type them, and the grid that they span."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.planner.axes import MAX_VALUES, axis
from infer_cost.planner.grid import LOADS, grid, grid_file


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8", [8]),
        ("1,2, 4", [1, 2, 4]),
        ("1..4", [1, 2, 3, 4]),
        ("8..32+8", [8, 16, 24, 32]),
        ("128..1024*2", [128, 256, 512, 1024]),
        ("100..1000*3", [100, 300, 900]),
        ("1..3,8,2", [1, 2, 3, 8]),
        ([1, 2, "4..8*2"], [1, 2, 4, 8]),
        (16, [16]),
        ("1_000", [1000]),
        ("1..3*1.5", [1, 2]),
    ],
)
def test_whole_numbers(text: object, values: list[int]) -> None:
    assert list(axis("tp", text, "int")) == values


def test_other_kinds() -> None:
    assert axis("utilization", "0.5,1", "float") == (0.5, 1.0)
    assert axis("utilization", "0.2..0.4+0.1", "float") == pytest.approx((0.2, 0.3, 0.4))
    assert axis("utilization", "70%,1", "float") == pytest.approx((0.7, 1.0))
    assert axis("price_per_gpu_hour", "$2.50/h,3", "float") == (2.5, 3.0)
    assert axis("hardware", "h100-sxm,b200-sxm", "str") == ("h100-sxm", "b200-sxm")
    assert axis("weights_everywhere", [True, False], "bool") == (True, False)


@pytest.mark.parametrize(
    "text",
    ["", "a", "4..1", "1..8*1", "0..8*2", "1..8+0", "1.5", "1..", [], "1..100000000", "1..5000000,1..9999999", True],
)
def test_refused_with_the_axis_named(text: object) -> None:
    with pytest.raises(InputError) as error:
        axis("tp", text, "int")
    assert error.value.field == "tp"


@pytest.mark.parametrize("text", ["3 GB", "nan", "inf", "much"])
def test_a_share_is_no_other_quantity(text: str) -> None:
    with pytest.raises(InputError) as error:
        axis("utilization", text, "float")
    assert error.value.field == "utilization"


def test_a_long_range_takes_no_memory() -> None:
    assert isinstance(axis("concurrency", f"1..{MAX_VALUES}", "int"), range)


@given(
    st.lists(st.integers(1, 6), min_size=4, max_size=4),
    st.integers(1, 40),
)
@settings(deadline=None)
def test_chunks_make_up_the_grid_in_order(sizes: list[int], size: int) -> None:
    options = {name: list(range(1, count + 1)) for name, count in zip(LOADS, sizes, strict=True)}
    made = grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", "tp": "1,2", **options})
    rows = []
    for number, chunk in enumerate(made.chunks(size)):
        assert chunk.number == number
        assert chunk.rows <= size
        rows += [(dict(chunk.settings)["tp"], *loads) for loads in product(*chunk.loads)]
    assert rows == list(product([1, 2], *options.values()))
    assert len(rows) == made.rows


def test_a_grid_of_hundreds_of_millions_is_made_at_once() -> None:
    made = grid(
        {"model": "llama-3.1-8b", "hardware": "h100-sxm", "input_tokens": "1..100000", "concurrency": "1..10000"}
    )
    assert made.rows == 10**9
    assert next(made.chunks()).rows <= 32_768


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"hardware": "h100-smx"}, "hardware"),
        ({"model": "llama-9"}, "model"),
        ({"weights": "fp7"}, "weights"),
        ({"engine": "vlm"}, "engine"),
        ({"tps": 3}, "tps"),
    ],
)
def test_a_misspelt_name_is_refused_before_the_sweep(options: dict[str, object], field: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", **options})
    assert error.value.field in (field, "format")


@pytest.mark.parametrize("options", [{"concurrency": "0..4"}, {"input_tokens": 0}, {"hardware": None}])
def test_impossible_loads_and_missing_names_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        grid({"model": "llama-3.1-8b", "hardware": "h100-sxm", **options})


def test_a_toml_file_sets_axes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "grid.toml"
    file.write_text(
        'model = "llama-3.1-8b"\nhardware = ["h100-sxm", "b200-sxm"]\ntp = [1, 2]\nconcurrency = "1..64*2"\n'
    )
    assert grid(grid_file(file)).rows == 2 * 2 * 7
    file.write_text("tp = [1,")
    with pytest.raises(InputError):
        grid_file(file)
