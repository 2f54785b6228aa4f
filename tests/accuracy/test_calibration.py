"""Calibration: it finds constants that made the data, leaves alone what rows can't tell, and says what it gains."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infer_cost.accuracy.calibration import calibrate
from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.accuracy.predictions import predict
from infer_cost.accuracy.questions import question_of
from infer_cost.accuracy.reduced import FITTED, Table, determined, errors, features_of, fit
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.serving.engines import engine_profile
from infer_cost.serving.engines.constants import constants_by_engine
from infer_cost.serving.estimate import estimate

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "measurements"


@pytest.fixture(scope="module")
def llama() -> list[Measurement]:
    """Llama-3.1-70B in FP8 by vLLM on H200: 43 rows at five sizes."""
    rows = read_measurements(DATA / "serving.csv")
    return [r for r in rows if (r.model, r.hardware, r.engine) == ("llama-3.1-70b", "h200-sxm", "vllm")]


def constants_of(row: Measurement) -> np.ndarray:  # type: ignore[type-arg]
    engine = question_of(row).deployment.engine
    return np.array([getattr(engine, name) for name in FITTED])


@pytest.mark.parametrize("engine", ["vllm", "trtllm", "sglang"])
def test_the_reduced_model_is_the_full_one(engine: str) -> None:
    rows = [
        row
        for row in read_measurements(DATA / "serving.csv")
        if row.engine == engine and not row.disaggregated and row.speculative == "none" and row.hardware == "h200-sxm"
    ][::4]
    table = Table(rows, [features_of(row) for row in rows])
    tpot, ttft = errors(constants_of(rows[0]), table)
    for row, e_tpot, e_ttft in zip(rows, tpot, ttft, strict=True):
        full = {p.metric: np.log(p.predicted / p.measured) for p in predict(row)[0]}
        assert full["tpot_s"] == pytest.approx(e_tpot, abs=0.03)
        if np.isfinite(e_ttft):
            assert full["ttft_s"] == pytest.approx(e_ttft, abs=0.03)


def test_a_fit_finds_the_constants_that_made_the_data(llama: list[Measurement]) -> None:
    features = [features_of(row) for row in llama]
    truth = constants_of(llama[0])
    truth[FITTED.index("floor_share")] *= 1.4
    truth[FITTED.index("prefill_factor")] *= 1.25
    from infer_cost.accuracy.reduced import predict as reduced

    tpot, ttft = reduced(truth, Table(llama, features))
    made = [
        replace(row, metrics={"tpot_s": float(a), "ttft_s": float(b)})
        for row, a, b in zip(llama, tpot, ttft, strict=True)
    ]
    found = fit(Table(made, features), constants_of(llama[0]))
    assert found[FITTED.index("floor_share")] == pytest.approx(truth[FITTED.index("floor_share")], rel=0.1)
    assert found[FITTED.index("prefill_factor")] == pytest.approx(truth[FITTED.index("prefill_factor")], rel=0.05)


def test_rows_of_a_dense_model_say_nothing_of_experts(llama: list[Measurement]) -> None:
    left = determined(constants_of(llama[0]), Table(llama, [features_of(row) for row in llama]))
    assert left[FITTED.index("expert_prefill_factor")] > 0.99
    assert left[FITTED.index("latent_kernels_per_layer")] > 0.99
    assert left[FITTED.index("prefill_factor")] < 0.8


def test_calibrating_a_slower_engine_pays(tmp_path: Path) -> None:
    """The same runs with every token taking 3 ms longer: host time that the profile doesn't know."""
    lines = (DATA / "serving.csv").read_text().splitlines()
    head = lines[0].split(",")
    place = head.index("tpot_s")
    kept = [line.split(",") for line in lines[1:] if ",llama-3.1-70b,h200-sxm," in line and ",vllm," in line]
    for cells in kept:
        cells[place] = str(float(cells[place]) + 0.003)
    file = tmp_path / "mine.csv"
    file.write_text("\n".join([lines[0], *(",".join(cells) for cells in kept)]))
    found = calibrate([file])
    assert found.worthwhile
    assert found.tpot_error_before is not None and found.tpot_error_after is not None
    assert found.tpot_error_after < 0.7 * found.tpot_error_before
    written = tmp_path / "mine.toml"
    written.write_text(found.toml("mine.csv"))
    before = estimate("llama-3.1-70b", "h200-sxm", gpus=8, weights="fp8", engine="vllm", concurrency=16)
    after = estimate("llama-3.1-70b", "h200-sxm", gpus=8, weights="fp8", engine=str(written), concurrency=16)
    assert before.tpot_s and after.tpot_s and after.tpot_s.expected > 1.1 * before.tpot_s.expected


def test_too_few_rows_and_too_many_engines_are_refused(tmp_path: Path) -> None:
    head = "model,hardware,engine,concurrency,input_tokens,output_tokens,tpot_s\n"
    few = tmp_path / "few.csv"
    few.write_text(head + "llama-3.1-8b,h100-sxm,vllm,4,1000,100,0.008\n")
    with pytest.raises(CannotBeMetError, match="rows to fit on"):
        calibrate([few])
    mixed = tmp_path / "mixed.csv"
    mixed.write_text(head + "".join(f"llama-3.1-8b,h100-sxm,{e},4,1000,100,0.008\n" for e in ("vllm", "sglang") * 2))
    with pytest.raises(InputError, match="2 engines"):
        calibrate([mixed])


@pytest.mark.parametrize(
    "text",
    ['base = "vllm"\n', "[constants]\nfloor_share = -1\n", "[constants]\nspeed = 2\n", "not toml", 'base = "x"\n'],
)
def test_a_broken_engine_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "engine.toml"
    path.write_text(text)
    with pytest.raises(InputError):
        engine_profile(str(path))


def test_at_most_ten_constants_an_engine_and_generation() -> None:
    assert all(set(found) == set(FITTED) and len(found) <= 10 for found in constants_by_engine().values())


def test_a_refit_gives_the_stored_constants() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "fit_engines.py"))
    rows = [
        row
        for row in read_measurements(DATA / "serving.csv")
        if row.engine == "sglang" and row.hardware == "b200-sxm" and not row.disaggregated and row.speculative == "none"
    ]
    table = Table(rows, [features_of(row) for row in rows])
    found = tool["fit_all"](table, np.ones(len(rows), dtype=bool))["sglang", "blackwell"]
    stored = constants_by_engine()["sglang", "blackwell"]
    for name, value in zip(FITTED, found, strict=True):
        assert value == pytest.approx(stored[name], rel=0.02)
