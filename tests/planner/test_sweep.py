"""A sweep says what a single estimate says, in any number of processes, after any interruption."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.errors import CannotBeMetError, InputError, UnknownNameError
from infer_cost.planner import sweep as sweeping
from infer_cost.planner.evaluate import evaluate_chunk
from infer_cost.planner.grid import grid
from infer_cost.planner.rows import columns_of, row_values
from infer_cost.planner.sweep import sweep
from infer_cost.serving.estimate import estimate

DEPLOYMENTS: list[dict[str, Any]] = [
    {"model": "llama-3.1-8b", "hardware": "h100-sxm"},
    {"model": "llama-3.1-70b", "hardware": "h100-sxm", "tp": 8, "weights": "fp8", "engine": "vllm"},
    {"model": "llama-3.1-70b", "hardware": "b200-sxm", "tp": 2, "pp": 2, "weights": "fp8", "kv": "fp8"},
    {"model": "deepseek-v3", "hardware": "h200-sxm", "tp": 8, "ep": 8, "weights": "fp8", "engine": "sglang"},
    {"model": "deepseek-v3", "hardware": "b200-sxm", "tp": 1, "dp": 16, "ep": 16, "weights": "fp8"},
    {"model": "gpt-oss-120b", "hardware": "h100-sxm", "tp": 2, "engine": "trtllm"},
    {"model": "llama-3.1-70b", "hardware": "h200-sxm", "tp": 4, "speculative": "eagle", "draft_tokens": 3},
    {
        "model": "llama-3.1-70b",
        "hardware": "h100-sxm",
        "weights": "fp8",
        "prefill_gpus": 4,
        "prefill_tp": 2,
        "decode_gpus": 8,
        "decode_tp": 4,
    },
]


def _rows(options: dict[str, Any]) -> list[dict[str, Any]]:
    made = grid(options)
    columns = columns_of(made)
    blocks = [evaluate_chunk(chunk) for chunk in made.chunks()]
    return [dict(zip(columns, row, strict=True)) for block in blocks for row in row_values(block, columns)]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda options: "-".join(map(str, options.values())))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_every_row_is_what_estimate_says(deployment: dict[str, Any], data: st.DataObject) -> None:
    some = lambda low, high: st.lists(st.integers(low, high), min_size=1, max_size=3, unique=True)  # noqa: E731
    loads = {
        "input_tokens": data.draw(some(2, 60_000)),
        "output_tokens": data.draw(some(1, 4_000)),
        "cached_tokens": data.draw(some(0, 20_000)),
        "concurrency": data.draw(some(1, 3_000)),
    }
    rows = _rows({**deployment, **loads})
    valid = sum(cached < given for cached in loads["cached_tokens"] for given in loads["input_tokens"])
    assert len(rows) == valid * len(loads["output_tokens"]) * len(loads["concurrency"])
    for row in rows:
        options = {**deployment, **{name: row[name] for name in loads}}
        try:
            single = estimate(options.pop("model"), options.pop("hardware"), **options)
        except CannotBeMetError:
            assert not row["fits"] and row["ttft_s"] is None and row["limited_by"] is None
            continue
        assert row["fits"]
        assert row["gpus"] == single.gpus
        expected = {
            "ttft_s": single.ttft_s.expected,
            "tpot_s": single.tpot_s.expected if single.tpot_s else math.nan,
            "e2e_s": single.e2e_s.expected,
            "output_tokens_per_s_per_user": single.output_tokens_per_s_per_user.expected,
            "output_tokens_per_s_per_gpu": single.output_tokens_per_s_per_gpu.expected,
            "cost_per_million_output_tokens_usd": single.cost_per_million_output_tokens_usd,
            "cost_usd": single.cost_usd,
        }
        found = {name: math.nan if row[name] is None else row[name] for name in expected}
        assert found == pytest.approx(expected, rel=1e-9, nan_ok=True)
        assert row["limited_by"] == single.limited_by
        assert row["running"] == single.running


BASE = {"model": "llama-3.1-8b", "hardware": "h100-sxm,mi300x", "tp": "1,2,3", "concurrency": "1..40"}


def test_combinations_without_sense_are_counted_with_the_reason() -> None:
    answer = sweep(grid(BASE))
    assert answer.total == 240 and answer.invalid == 80 and answer.kept == 160
    assert answer.reasons == {"tp 3 doesn't divide the heads and widths of llama-3.1-8b": 80}
    with pytest.raises(InputError, match="none of the"):
        sweep(grid({**BASE, "tp": "3,5"}))


def test_cached_tokens_beyond_the_input_are_counted_too() -> None:
    answer = sweep(grid({**BASE, "tp": 1, "input_tokens": "100,200", "cached_tokens": "0,150"}))
    assert answer.invalid == 80 and answer.kept == 240


def test_what_does_not_fit_keeps_its_row() -> None:
    answer = sweep(grid({"model": "llama-3.1-70b", "hardware": "h100-sxm", "tp": "1,8"}))
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    assert [row["fits"] for row in rows] == [False, True]
    assert answer.fitting == 1


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("tpot_s < 8 ms", lambda row: row["tpot_s"] < 8e-3),
        ("tp == 2 and concurrency>=10", lambda row: row["tp"] == 2 and row["concurrency"] >= 10),
        ("hardware = mi300x", lambda row: row["hardware"] == "mi300x"),
        ("hardware != mi300x", lambda row: row["hardware"] != "mi300x"),
        ("limited_by != memory", lambda row: row["limited_by"] != "memory"),
        ("cost_usd < $0.0001", lambda row: row["cost_usd"] < 1e-4),
        ("not fits", lambda row: not row["fits"]),
    ],
)
def test_conditions(where: str, holds: Any) -> None:
    everything = [dict(zip(a.columns, row, strict=True)) for a in [sweep(grid(BASE))] for row in a.rows]
    answer = sweep(grid(BASE), where=[where])
    assert [dict(zip(answer.columns, row, strict=True)) for row in answer.rows] == [r for r in everything if holds(r)]


@pytest.mark.parametrize("where", ["tpot_s", "tpot_s < fast", "speed > 3", "tpot_s < 3 GB", "limited_by == luck", ""])
def test_conditions_that_make_no_sense(where: str) -> None:
    with pytest.raises(InputError):
        sweep(grid(BASE), where=[where])


def test_the_best_rows() -> None:
    everything = sweep(grid(BASE)).rows
    columns = columns_of(grid(BASE))
    for by, sign in (("tpot_s", 1), ("output_tokens_per_s_per_gpu", -1)):
        place = columns.index(by)
        wanted = sorted(everything, key=lambda row: sign * row[place])[:7]
        assert list(sweep(grid(BASE), top=7, by=by).rows) == wanted
    with pytest.raises(UnknownNameError):
        sweep(grid(BASE), top=3, by="luck")


def test_files_agree_with_each_other(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    options = {**BASE, "model": "llama-3.1-70b", "output_tokens": "1,64"}
    answer = sweep(grid(options))
    for ending in ("csv", "jsonl", "parquet"):
        assert sweep(grid(options), output=tmp_path / f"rows.{ending}").rows == ()
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    with (tmp_path / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    columns = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert len(lines) == len(table) == len(columns) == len(answer.rows)
    for row, line, text, column in zip(answer.rows, lines, table, columns, strict=True):
        for name, value in zip(answer.columns, row, strict=True):
            if isinstance(value, float):
                assert column[name] == value
                assert line[name] == pytest.approx(value, rel=1e-9) == float(text[name])
            else:
                assert line[name] == column[name] == value
                assert text[name] == (
                    "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                )
    assert not list(tmp_path.glob("*.progress")) and not list(tmp_path.glob("*.parts"))


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format"):
        sweep(grid(BASE), output=tmp_path / "rows.xlsx")


class _Stop(Exception):
    pass


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("top", [None, 5])
def test_an_interrupted_sweep_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, top: int | None
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(sweeping, "_SAVED_EVERY_S", 0.0)
    options = {**BASE, "tp": "1,2", "pp": "1,2,3"}
    whole, broken = tmp_path / f"whole.{ending}", tmp_path / f"broken.{ending}"
    complete = sweep(grid(options), output=whole, top=top)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        if len(seen) == 5:
            raise _Stop
        seen.append(done)

    with pytest.raises(_Stop):
        sweep(grid(options), output=broken, top=top, progress=stop)
    # The record of one sweep means nothing to another one that writes to the same file.
    other, fresh = tmp_path / f"other.{ending}", tmp_path / f"fresh.{ending}"
    shutil.copy(f"{broken}.progress", f"{other}.progress")
    sweep(grid({**options, "concurrency": "1..20"}), output=other, top=top)
    sweep(grid({**options, "concurrency": "1..20"}), output=fresh, top=top)
    assert other.read_bytes() == fresh.read_bytes()
    assert not broken.exists(), "what is incomplete doesn't bear the name"
    if ending != "parquet" and top is None:
        with broken.with_name(f"{broken.name}.part").open("ab") as file:
            file.write(b"half a li")
    later: list[int] = []
    assert sweep(grid(options), output=broken, top=top, progress=lambda done, total: later.append(done)) == complete
    assert later[0] > seen[0], "it starts where it was, not from the beginning"
    assert broken.read_bytes() == whole.read_bytes()


def test_several_processes_give_the_same_file(tmp_path: Path) -> None:
    options = {**BASE, "input_tokens": "100..4000+100", "output_tokens": "10..200+10"}
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert sweep(grid(options), output=one) == sweep(grid(options), output=two, workers=2)
    assert one.read_bytes() == two.read_bytes()


def test_dask_can_map_the_chunks() -> None:
    bag = pytest.importorskip("dask.bag")
    made = grid({**BASE, "tp": "1,2"})
    blocks = bag.from_sequence(made.chunks(), npartitions=2).map(evaluate_chunk).compute(scheduler="threads")
    costs = np.concatenate([block.columns["cost_usd"] for block in blocks])
    here = np.concatenate([evaluate_chunk(chunk).columns["cost_usd"] for chunk in made.chunks()])
    assert np.array_equal(costs, here) and math.isfinite(costs.sum())


def test_a_datasheet_value_can_be_replaced() -> None:
    options = {"model": "llama-3.1-8b", "hardware": "h100-sxm"}
    plain, faster = sweep(grid(options)), sweep(grid(options, {"memory_bandwidth": "6.7 TB/s"}))
    place = plain.columns.index("tpot_s")
    assert faster.rows[0][place] < plain.rows[0][place]


def test_memory_does_not_grow_with_the_grid() -> None:
    import tracemalloc

    peaks = []
    for last in (200, 2_000):
        made = grid(
            {"model": "llama-3.1-8b", "hardware": "h100-sxm", "input_tokens": f"1..{last}", "concurrency": "1..512"}
        )
        tracemalloc.start()
        sweep(made, top=10)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] < 100e6
