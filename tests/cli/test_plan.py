"""``infer-cost plan`` as a user types it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[[str], Any]

CHAT = (
    "plan llama-3.1-70b --hardware h100-sxm,h200-sxm --requests 10/s --input-tokens 1k --output-tokens 250 "
    "--ttft p99=500ms --tpot 30ms"
)


def test_a_chat_service(infer_cost: Run) -> None:
    answer = infer_cost(CHAT)
    assert answer.code == 0 and answer.err == ""
    assert "Why:" in answer.out and "binds on" in answer.out and "runner-up" in answer.out
    assert "What would change the choice:" in answer.out
    assert "vllm serve meta-llama/" in answer.out
    assert "infer-cost estimate llama-3.1-70b" in infer_cost(f"{CHAT} --layout together").out


def test_its_document(infer_cost: Run) -> None:
    document = infer_cost(f"{CHAT} --json --flags vllm,sglang,trtllm --top 2").json
    best = document["plans"][0]
    assert len(document["plans"]) == 2
    assert {
        item["metric"]: item["seconds"] <= limit for item, limit in zip(best["percentiles"], (0.5, 0.03), strict=True)
    }
    assert best["percentiles"][1]["percentile"] == 99
    assert best["usd_per_hour"] <= document["plans"][1]["usd_per_hour"]
    engines = [command["engine"] for command in document["commands"]]
    assert set(engines) == {"vllm", "sglang", "trtllm"}


ONE_PROMISE = "plan llama-3.1-70b --hardware h100-sxm,h200-sxm --requests 10/s"


@pytest.mark.parametrize(
    ("promise", "open_"), [("--tpot 50ms", "first token"), ("--ttft 2s", "tokens after the first")]
)
def test_what_nothing_is_promised_about_is_said(infer_cost: Run, promise: str, open_: str) -> None:
    assumed = " ".join(infer_cost(f"{ONE_PROMISE} {promise}").out.partition("Assumed:")[2].split())
    assert f"nothing is promised about the {open_}" in assumed


def test_how_far_to_trust_two_pools_is_said(infer_cost: Run) -> None:
    said = "first tokens of published runs"
    assert said in " ".join(infer_cost(f"{CHAT} --layout apart").out.split())
    assert said not in " ".join(infer_cost(f"{CHAT} --layout together").out.split())


def test_plans_of_two_pools_are_told_apart_on_a_narrow_terminal(infer_cost: Run) -> None:
    rows = infer_cost(f"{ONE_PROMISE} --tpot 20ms --layout apart").out.splitlines()[2:13]
    assert sum(row.startswith("  + decode: ") for row in rows) == 5
    assert not any("…" in row for row in rows)


def test_the_estimate_that_it_names_agrees(infer_cost: Run) -> None:
    answer = infer_cost(f"{CHAT} --layout together")
    line = next(line.strip() for line in answer.out.splitlines() if line.strip().startswith("infer-cost estimate"))
    single = infer_cost(f"{line.removeprefix('infer-cost ')} --json").json
    planned = infer_cost(f"{CHAT} --layout together --json").json["plans"][0]["pools"][0]
    assert planned["tpot_mean_s"] == pytest.approx(single["tpot_s"]["expected"], rel=0.03)
    assert planned["in_flight"] == single["concurrency"]
    assert shlex.split(line)


def test_a_batch_by_the_morning(infer_cost: Run) -> None:
    document = infer_cost("plan llama-3.1-8b --hardware l40s,h100-sxm --requests 2M --within 8h --json").json
    assert document["promises"] == [] and document["requests_per_s"] == pytest.approx(2e6 / 28800)


def test_what_cannot_be_met_leaves_with_1(infer_cost: Run) -> None:
    answer = infer_cost(CHAT.replace("30ms", "1ms"))
    assert answer.code == 1 and "TPOT p99" in answer.err and len(answer.err.splitlines()) <= 2
    answer = infer_cost(f"{CHAT} --max-gpus 1 --json")
    assert answer.code == 1 and answer.json["error"]["field"] == "max_gpus"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("--requests none", "requests"),
        ("--output-rate 1B/d", "one way"),
        ("--ttft p100=1s", "p1 to p99.99"),
        ("--layout beside", "unknown layout"),
        ("--flags tgi", "unknown engine"),
        ("--prefix-reuse 200%", "reuse"),
        ("--tp 3", "doesn't divide"),
        ("--burstiness 0", "burstiness"),
        ("--hardware gaudi3 --hardware h100-smx", "did you mean"),
        ("--price-per-gpu-hour nochip=3", "unknown hardware"),
        ("--max-power 3GB", "max_power"),
        ("--top 0", "top"),
        ("--spare -1", "spare"),
        ("--engine vlm", "did you mean"),
    ],
)
def test_bad_input_leaves_with_2_and_a_line_or_two(infer_cost: Run, change: str, says: str) -> None:
    answer = infer_cost(f"{CHAT} {change}")
    assert answer.code == 2
    assert says in answer.err and len(answer.err.splitlines()) <= 2 and answer.out == ""


def test_sessions_and_a_days_swing(infer_cost: Run) -> None:
    line = (
        "plan llama-3.1-70b --hardware h200-sxm --requests 60/s --input-tokens 400 --output-tokens 250 --turns 10 "
        "--ttft p99=800ms --tpot 40ms --daily-swing 4 --weights-from dram"
    )
    answer = infer_cost(line)
    assert answer.code == 0
    assert "of the prompt is found cached" in answer.out and "engines that follow the day" in answer.out
    document = infer_cost(f"{line} --json").json
    assert document["cached_share"] > document["other_placement"]["cached_share"]
    assert document["following_the_day"]["usd_per_day"] <= document["following_the_day"]["fixed_usd_per_day"]


def test_a_fleet(infer_cost: Run, tmp_path: Any) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(
        '[[service]]\nname = "chat"\nmodel = "llama-3.1-70b"\nrequests = "20/s"\nttft = "p99=1s"\n'
        'small_model = "llama-3.1-8b"\nsmall_share = "50%"\n'
    )
    answer = infer_cost(f"plan --fleet {path} --hardware h200-sxm")
    assert answer.code == 0 and "Without the router" in answer.out and "a megawatt" in answer.out
    assert len(infer_cost(f"plan --fleet {path} --hardware h200-sxm --json").json["parts"]) == 2
    assert infer_cost(f"plan llama-3.1-8b --fleet {path}").code == 2
    assert infer_cost("plan").code == 2
    assert infer_cost("plan --fleet nowhere.toml").code == 2
