"""Fronts hold what nothing beats, and all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from infer_cost.errors import InputError
from infer_cost.planner import sweep as sweeping
from infer_cost.planner.filters import ascending
from infer_cost.planner.grid import grid
from infer_cost.planner.pareto import VIEWS, front_pair, front_places
from infer_cost.planner.sweep import sweep

SMALL = st.integers(0, 8).map(float) | st.just(float("nan"))


def beats(one: Any, other: Any) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and tuple(one) != tuple(other)


@given(st.integers(1, 40).flatmap(lambda n: arrays(float, (n, 2), elements=SMALL)))
@settings(deadline=None)
def test_the_front_is_what_nothing_beats(points: Any) -> None:
    front = front_places(points[:, 0], points[:, 1]).tolist()
    known = [place for place in range(len(points)) if np.isfinite(points[place]).all()]
    unbeaten = [a for a in known if not any(beats(points[b], points[a]) for b in known)]
    assert {tuple(points[place]) for place in front} == {tuple(points[place]) for place in unbeaten}
    assert len({tuple(points[place]) for place in front}) == len(front)
    assert all(points[front[i], 0] < points[front[i + 1], 0] for i in range(len(front) - 1))


OPTIONS = {
    "model": "llama-3.1-70b",
    "hardware": "h100-sxm,b200-sxm",
    "tp": "2,4,8",
    "weights": "bf16,fp8",
    "concurrency": "1..128",
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("each", ["hardware", "tp", "concurrency", None])
def test_a_sweeps_fronts_are_those_of_all_its_rows(view: str, each: str | None) -> None:
    pair = VIEWS[view]
    everything = sweep(grid(OPTIONS), limit=10_000)
    kept = sweep(grid(OPTIONS), front=pair, each=each)
    sides = [(everything.columns.index(name), 1 if ascending(name) else -1) for name in pair]

    def place(row: Any) -> tuple[float, float]:
        return tuple(sign * row[column] for column, sign in sides)  # type: ignore[return-value]

    def series(row: Any) -> Any:
        return row[everything.columns.index(each)] if each else None

    rows = [row for row in everything.rows if row[sides[0][0]] is not None]
    wanted = {
        (series(a), *place(a))
        for a in rows
        if not any(series(b) == series(a) and beats(place(b), place(a)) for b in rows)
    }
    assert {(series(row), *place(row)) for row in kept.rows} == wanted
    assert len(kept.rows) == len(wanted)


def test_fronts_survive_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_SAVED_EVERY_S", 0.0)
    path = tmp_path / "front.jsonl"
    complete = sweep(grid(OPTIONS), front=VIEWS["speed"])

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(grid(OPTIONS), front=VIEWS["speed"], output=path, progress=stop)
    again = sweep(grid(OPTIONS), front=VIEWS["speed"], output=path)
    assert again.rows == complete.rows
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == len(complete.rows)


@pytest.mark.parametrize("text", ["beauty", "ttft_s", "ttft_s,ttft_s", "ttft_s,tp", "a,b,c", ""])
def test_fronts_that_make_no_sense(text: str) -> None:
    with pytest.raises(InputError):
        front_pair(text)


def test_front_and_top_exclude_each_other() -> None:
    with pytest.raises(InputError, match="exclude"):
        sweep(grid(OPTIONS), front=VIEWS["speed"], top=3)
    with pytest.raises(InputError, match="luck"):
        sweep(grid(OPTIONS), front=VIEWS["speed"], each="luck")
