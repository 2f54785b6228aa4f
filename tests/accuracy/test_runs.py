"""How published benchmarks were run: which rows an entry stands for, and what a start adds to the times."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.accuracy.questions import profile_of, question_of
from infer_cost.accuracy.run_effects import (
    TOKENIZE_S,
    Effects,
    effects_of,
    mean_over_median,
    start_ahead,
    synchronised_ahead,
)
from infer_cost.accuracy.runs import Run, drafts_of, run_of, split_of
from infer_cost.serving.estimate import state_of

ROOT = Path(__file__).parents[2]
TABLES = tomllib.loads((ROOT / "infer_cost" / "accuracy" / "benchmark_runs.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def rows() -> list[Measurement]:
    return read_measurements(ROOT / "tests" / "data" / "measurements" / "serving.csv")


def where(rows: list[Measurement], source: str, **fields: object) -> list[Measurement]:
    """Return the rows of a source with these fields."""
    return [
        row for row in rows if row.source.startswith(source) and all(getattr(row, k) == v for k, v in fields.items())
    ]


def run(row: Measurement) -> Run:
    return run_of(row, profile_of(row).id)


def test_every_entry_says_where_it_was_read() -> None:
    entries = [*TABLES["client"].values(), *TABLES["server"], *TABLES["pools"], *TABLES["drafts"]]
    assert len(entries) > 15
    assert all(len(entry["source"]) > 10 for entry in entries)


def test_every_entry_stands_for_rows(rows: list[Measurement]) -> None:
    found = {id(run(row).server) for row in rows if run(row).server.engine}
    assert len(found) == len(TABLES["server"])
    drafted = [row for row in rows if row.speculative]
    assert {drafts_of(row, profile_of(row).id) for row in drafted} == {1, 2, 3}
    assert {(s.prefill_gpus, s.decode_gpus) for s in map(split_of, rows) if s} == {(2, 6), (4, 4), (6, 2)}


def test_a_table_that_states_the_longest_lengths(rows: list[Measurement]) -> None:
    # The same runs as InferenceX's, whose own table gives the means: lengths are uniform from 0.8 to 1.
    taken_over = next(
        r for r in where(rows, "AIC", model="gpt-oss-120b") if (r.input_tokens, r.output_tokens) == (1024, 8192)
    )
    assert run(taken_over).length_share == pytest.approx(0.9)
    question = question_of(taken_over)
    assert (question.requests.input_tokens, question.requests.output_tokens) == (922, 7373)
    own = where(rows, "InferenceX")[0]
    assert run(own).length_share == 1
    assert question_of(own).requests.input_tokens == own.input_tokens
    # Rows without a date, or of other lengths, were run with the stated ones.
    assert run(replace(taken_over, date="")).length_share == 1
    assert run(replace(taken_over, date="")).synchronised
    assert not run(taken_over).synchronised


def test_what_a_client_measures(rows: list[Measurement]) -> None:
    assert run(where(rows, "DSTACK")[0]).requests == 500
    assert run(where(rows, "NIM")[0]) == Run()
    static = where(rows, "LMD")[0]
    assert not run(static).served


def test_settings_of_the_scripts(rows: list[Measurement]) -> None:
    llama = where(
        rows, "AIC", model="llama-3.1-70b", hardware="h200-sxm", engine="trtllm", input_tokens=1024, output_tokens=1024
    )
    dated = [row for row in llama if row.date]
    assert {run(row).server.admission_steps for row in dated if row.tp < 8} == {20}
    assert {run(row).server.admission_steps for row in dated if row.tp == 8} <= {0}
    deepseek = where(rows, "InferenceX", engine="sglang", hardware="b200-sxm", disaggregated=False)
    assert {run(r).server.admission_steps for r in deepseek if r.concurrency < 16} == {5}
    assert {run(r).server.admission_steps for r in deepseek if r.concurrency >= 16} == {15}
    # Pools are run by other scripts.
    apart = where(rows, "InferenceX", disaggregated=True)[0]
    assert run(apart).server.engine == ""


def test_the_first_round_waits_for_half_of_the_others() -> None:
    # 64 prompts at once, one after another: 31.5 ahead in one of ten rounds.
    assert start_ahead(64.0, 1.0, 10.0) == pytest.approx(3.15)
    # With four a pass everybody also waits for the end of its own: 1.5 prompts more.
    assert start_ahead(64.0, 4.0, 10.0) == pytest.approx(3.3)
    assert start_ahead(1.0, 8.0, 10.0) == 0


def test_equal_requests_queue_with_their_neighbours() -> None:
    assert synchronised_ahead(5.0) == synchronised_ahead(500.0) == pytest.approx(2.4)
    assert synchronised_ahead(3.0) == pytest.approx(1.2)
    assert synchronised_ahead(1.0) == 0


def test_half_meet_nobody_where_few_arrive() -> None:
    assert mean_over_median(0.3, 1e-9) == pytest.approx(0.3)
    assert mean_over_median(0.3, 0.07) == pytest.approx(0.15)
    assert mean_over_median(0.3, 1e9) == pytest.approx(0.0, abs=1e-6)


def test_a_start_takes_from_the_tokens_what_it_adds_to_the_first(rows: list[Measurement]) -> None:
    row = next(r for r in where(rows, "AIC", model="gpt-oss-120b", engine="vllm") if (r.concurrency or 0) >= 32)
    question = question_of(row)
    state = state_of(question)
    steps = question.requests.output_tokens - 1
    tokenizing = TOKENIZE_S * question.requests.input_tokens
    mean = effects_of(run(row), question, state, median=False)
    assert mean.ttft_s > tokenizing
    assert mean.tpot_s * steps == pytest.approx(tokenizing - mean.ttft_s)
    median = effects_of(run(row), question, state, median=True)
    assert median.ttft_s < tokenizing and median.tpot_s == 0
    # Nothing is known of any other run's start.
    assert effects_of(Run(), question, state, median=False) == Effects(tokenizing)
    assert effects_of(Run(served=False), question, state, median=False) == Effects(0.0)


def test_tokenizing_costs_what_the_first_stage_says() -> None:
    stages = (ROOT / "infer_cost" / "stages" / "data" / "host_times.toml").read_text(encoding="utf-8")
    assert tomllib.loads(stages)["tokenize_per_token"]["typical"] == TOKENIZE_S
