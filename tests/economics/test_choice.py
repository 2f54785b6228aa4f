from __future__ import annotations

from pathlib import Path

import pytest

from infer_cost.economics.choice import (
    CRITERIA,
    PRESETS,
    Provider,
    Requirements,
    choose,
    choose_from_file,
)
from infer_cost.errors import CannotBeMetError, InputError, UnknownNameError

SCORES = dict.fromkeys(CRITERIA[3:], 5.0)
FAST = Provider("fast", 120, 1.0, 0.6, 0.999, SCORES, frozenset({"soc2"}))
CHEAP = Provider("cheap", 500, 20.0, 0.2, 0.998, SCORES, frozenset({"soc2", "hipaa"}))
# Portability isn't scored: it counts as zero for both.
FILE = """
workload = "voice-agent"

[require]
has = ["soc2"]

[[provider]]
name = "fast"
p99_ttft_ms = 120
p99_itl_ms = 1
usd_per_mtok = 0.6
functional_availability = 0.999
has = ["soc2"]
scores = { throughput = 5, compliance = 5, residency = 5, determinism = 5, coverage = 5, deployment = 5 }

[[provider]]
name = "cheap"
p99_ttft_ms = 500
p99_itl_ms = 20
usd_per_mtok = 0.2
functional_availability = 0.999
has = ["soc2"]
scores = { throughput = 5, compliance = 5, residency = 5, determinism = 5, coverage = 5, deployment = 5 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "providers.toml"
    path.write_text(FILE, "utf-8")
    return path


def test_points_are_relative_to_the_best() -> None:
    found = choose([FAST, CHEAP], {"cost": 1})
    assert [(one.provider.name, one.total) for one in found.ranking] == [
        ("cheap", 10.0),
        ("fast", pytest.approx(10 / 3)),
    ]


def test_reliability_counts_failures_not_uptime() -> None:
    found = choose([FAST, CHEAP], {"reliability": 1})
    assert found.ranking[0].provider.name == "fast"
    assert found.ranking[1].total == pytest.approx(5.0)


def test_the_tail_decides_latency() -> None:
    found = choose([FAST, CHEAP], {"latency": 1}, output_tokens=101)
    assert found.ranking[1].total == pytest.approx(10 * (120 + 100) / (500 + 2000))


def test_a_hard_requirement_filters_and_says_why() -> None:
    found = choose([FAST, CHEAP], {"latency": 1}, Requirements(has=frozenset({"hipaa"})))
    assert [one.provider.name for one in found.ranking] == ["cheap"]
    assert found.excluded == (("fast", "lacks hipaa"),)
    limits = Requirements(max_p99_ttft_ms=200)
    assert choose([FAST, CHEAP], {"cost": 1}, limits).excluded == (("cheap", "p99 TTFT 500 ms, 200 at most"),)


def test_no_provider_left_cannot_be_met() -> None:
    with pytest.raises(CannotBeMetError, match="none of 2") as caught:
        choose([FAST, CHEAP], {"cost": 1}, Requirements(max_usd_per_mtok=0.1))
    assert caught.value.exit_code == 1


def test_at_the_tipping_point_the_two_are_level() -> None:
    weights = {"latency": 3.0, "cost": 1.0}
    found = choose([FAST, CHEAP], weights)
    tip = next(one for one in found.tipping_points if one.criterion == "cost")
    assert tip.new_leader == "cheap"
    level = choose([FAST, CHEAP], {**weights, "cost": tip.leader_at})
    assert level.ranking[0].total == pytest.approx(level.ranking[1].total)
    assert choose([FAST, CHEAP], {**weights, "cost": tip.leader_at * 1.01}).ranking[0].provider.name == "cheap"


def test_presets_weigh_what_their_workload_needs() -> None:
    assert all(len(weights) == len(CRITERIA) for weights in PRESETS.values())
    named = {name: dict(zip(CRITERIA, weights, strict=True)) for name, weights in PRESETS.items()}
    assert max(named["voice-agent"], key=lambda c: named["voice-agent"][c]) == "latency"
    assert max(named["nightly-batch"], key=lambda c: named["nightly-batch"][c]) == "cost"
    assert named["regulated-enterprise"]["compliance"] == max(named["regulated-enterprise"].values())


def test_a_file_and_another_workload(file: Path) -> None:
    assert choose_from_file(file).ranking[0].provider.name == "fast"
    assert choose_from_file(file, "nightly-batch").ranking[0].provider.name == "cheap"
    with pytest.raises(UnknownNameError, match="unknown workload"):
        choose_from_file(file, "voice")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("p99_ttft_ms = 120", "p99_ttft_ms = -1", "provider.0.p99_ttft_ms"),
        ("throughput = 5", "throughput = 11", "scores.throughput"),
        ("usd_per_mtok = 0.6", "usd_per_mtok_ = 0.6", "usd_per_mtok"),
        ('workload = "voice-agent"', "workload = ", "isn't TOML"),
    ],
)
def test_a_broken_file_names_the_place(file: Path, old: str, new: str, words: str) -> None:
    file.write_text(FILE.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError) as caught:
        choose_from_file(file)
    assert words in str(caught.value)


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(InputError, match="all weights are zero"):
        choose([FAST], {})
