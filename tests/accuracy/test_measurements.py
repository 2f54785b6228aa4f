"""Reading measurements: the published tables, other people's CSV, and what load generators write."""

import json
from pathlib import Path

import pytest

from infer_cost.accuracy.benchmarks import read_benchmark
from infer_cost.accuracy.measurements import Pool, read_measurements
from infer_cost.errors import InputError

DATA = Path(__file__).parents[1] / "data" / "measurements"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "rows"), [("serving", 1080), ("fixed_batch", 379), ("batch_one", 187), ("max_throughput", 390)]
)
def test_every_published_row_is_read(name: str, rows: int) -> None:
    found = read_measurements(DATA / f"{name}.csv")
    assert len(found) == rows
    assert all(row.model and row.hardware and row.metrics for row in found)


def test_units_and_names_are_mapped(tmp_path: Path) -> None:
    text = "model,hardware,metric,value,batch\nllama-3.1-8b,h100-sxm,itl_ms,12.5,max (all queued)\n"
    (row,) = read_measurements(write(tmp_path / "a.csv", text))
    assert row.metrics == {"tpot_s": 0.0125}
    assert row.concurrency is None and not row.static_batch


def test_pools_of_a_disaggregated_row() -> None:
    row = next(r for r in read_measurements(DATA / "serving.csv") if r.prefill is not None and r.decode is not None)
    assert isinstance(row.prefill, Pool) and row.disaggregated
    assert row.decode is not None and row.prefill.gpus + row.decode.gpus == row.gpus


def test_curves_differ_only_in_concurrency(tmp_path: Path) -> None:
    text = "model,hardware,tp,concurrency,input_tokens,output_tokens,tpot_s\n"
    text += "".join(f"m,h,{tp},{c},1000,100,0.01\n" for tp in (1, 2) for c in (4, 8, 16))
    rows = read_measurements(write(tmp_path / "a.csv", text))
    assert len({row.curve for row in rows}) == 2


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("model,tpot_s\nm,1\n", "hardware"),
        ("model,hardware\nm,h\n", "ttft_s"),
        ("model,hardware,tpot_s\nm,h,fast\n", "row 2"),
        ("model,hardware,tpot_s\nm,h,-1\n", "tpot_s"),
        ("model,hardware,tpot_s\nm,h,nan\n", "tpot_s"),
    ],
)
def test_a_broken_table_is_refused_with_the_place(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        read_measurements(write(tmp_path / "a.csv", text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't read"):
        read_measurements(tmp_path / "none.csv")


VLLM = {
    "max_concurrency": 32,
    "completed": 100,
    "total_input_tokens": 102400,
    "total_output_tokens": 12800,
    "mean_ttft_ms": 150.0,
    "mean_tpot_ms": 12.0,
}
SGLANG = {
    "max_concurrency": 8,
    "random_input_len": 1024,
    "random_output_len": 128,
    "mean_ttft_ms": 90.0,
    "mean_tpot_ms": 9.0,
}
GENAI_PERF = {
    "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 4}}},
    "time_to_first_token": {"unit": "ms", "avg": 50.0},
    "inter_token_latency": {"unit": "ms", "avg": 8.0},
    "input_sequence_length": {"avg": 500.0},
    "output_sequence_length": {"avg": 200.0},
}


@pytest.mark.parametrize(
    ("run", "concurrency", "lengths", "tpot"),
    [(VLLM, 32, (1024, 128), 0.012), (SGLANG, 8, (1024, 128), 0.009), (GENAI_PERF, 4, (500, 200), 0.008)],
)
def test_load_generators_are_read(tmp_path: Path, run: dict, concurrency: int, lengths: tuple, tpot: float) -> None:  # type: ignore[type-arg]
    path = write(tmp_path / "run.json", json.dumps(run))
    (row,) = read_benchmark(path, {"model": "llama-3.1-8b", "hardware": "h100-sxm", "engine": "vllm"})
    assert (row.concurrency, (row.input_tokens, row.output_tokens)) == (concurrency, lengths)
    assert row.metrics["tpot_s"] == pytest.approx(tpot)


def test_json_lines_are_several_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", json.dumps(VLLM) + "\n" + json.dumps(SGLANG) + "\n")
    assert len(read_benchmark(path, {"model": "m", "hardware": "h"})) == 2


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"mean_ttft_ms": 3}', "3"])
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_benchmark(write(tmp_path / "run.json", text), {"model": "m", "hardware": "h"})


def test_what_nobody_says_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hardware"):
        read_benchmark(write(tmp_path / "run.json", json.dumps(VLLM)), {"model": "llama-3.1-8b"})
