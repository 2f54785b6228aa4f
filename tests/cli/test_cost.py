from __future__ import annotations

import json
from typing import Any

import pytest

from infer_cost.cli.main import run

LLAMA = ["llama-3.1-70b", "--weights", "fp8", "--input-tokens", "3000", "--output-tokens", "500"]
H100 = ["--hardware", "h100-sxm"]
GROQ = ["--provider", "groq/llama-3.3-70b-versatile", "--at", "2026-11-30T12:00"]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        run(["cost", *arguments])
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = _run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_one_machine(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, *LLAMA, *H100, "--gpus", "4", "--concurrency", "16", "--price-per-gpu-hour", "2.5")
    assert document["gpu_hour"]["usd"] == 2.5
    output = document["usd_per_mtok_output"]
    assert output["bound"] <= output["low"] <= output["expected"] <= output["high"]
    code, out, _ = _run(capsys, *LLAMA, *H100, "--explain")
    assert code == 0
    for words in ("$ a million output tokens", "physical bound", "Assumed:", "a request ="):
        assert words in out


def test_three_machines_and_two_apis(capsys: pytest.CaptureFixture[str]) -> None:
    machines = ["--hardware", "h100-sxm", "--hardware", "h200-sxm", "--hardware", "b200-sxm"]
    apis = [*GROQ, "--provider", "deepseek/deepseek-flash"]
    document = _json(capsys, *LLAMA, *machines, *apis, "--utilization", "0.6")
    assert [one["hardware"] for one in document["machines"]] == ["h100-sxm", "h200-sxm", "b200-sxm"]
    for machine in document["machines"]:
        groq = machine["against"][0]
        assert groq["break_even"]["first_requests"] <= groq["break_even"]["always_requests"]
    code, out, _ = _run(capsys, *LLAMA, *machines, *apis, "--utilization", "0.6")
    assert code == 0 and out.count("Against an API") == 3


def test_owning_and_a_month(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--own", "--purchase-price", "40000", "--requests-per-month", "5e6", "--day", "office"]
    more = [
        "--people-usd-per-month",
        "10000",
        "--spares",
        "1",
        "--commitment",
        "5000:0.2",
        "--provisioned",
        "100000:900",
    ]
    document = _json(capsys, *LLAMA, *H100, "--gpus", "4", *GROQ, *options, *more)
    assert document["gpu_hour"]["owned"]["purchase_usd"] == 40000
    month = document["against"][0]["month"]
    assert month["own"]["people_usd"] == 10000
    assert month["payback_months"] is None or month["payback_months"] > 0
    assert month["api_committed_usd"] and month["api_provisioned_usd"]
    code, out, _ = _run(capsys, *LLAMA, *H100, "--gpus", "4", *GROQ, *options, *more)
    assert code == 0 and "replicas at the peak" in out and "with commitment" in out


def test_a_replaced_datasheet_value(capsys: pytest.CaptureFixture[str]) -> None:
    options = [*LLAMA, *H100, "--gpus", "4", "--concurrency", "16"]
    plain = _json(capsys, *options)
    faster = _json(capsys, *options, "--set", "memory_bandwidth=8 TB/s")
    assert faster["usd_per_mtok_output"]["expected"] < plain["usd_per_mtok_output"]["expected"]


def test_sensitivity(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, *LLAMA, *H100, "--gpus", "4", "--own", "--sensitivity")
    widths = [abs(swing["at_high"] - swing["at_low"]) for swing in document["sensitivity"]]
    assert widths == sorted(widths, reverse=True)


def test_the_gb300_of_the_source_document(capsys: pytest.CaptureFixture[str]) -> None:
    nothing_else = ["--power-per-gpu", "0", "--network-share", "0", "--financing-rate", "0", "--maintenance-share", "0"]
    owned = ["--own", "--purchase-price", "30000", "--years", "3", "--other-usd-per-year", "5000", *nothing_else]
    document = _json(capsys, "--hardware", "gb300", *owned, "--tokens-per-second", "1666.67")
    assert document["usd_per_year"] == pytest.approx(15_000)
    assert document["tokens_per_year"] == pytest.approx(5.26e10, rel=1e-3)
    assert document["usd_per_mtok"] == pytest.approx(0.285, abs=1e-3)


def test_memory_tiers(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["llama-3.1-70b", "--weights", "fp8", *H100, "--gpus", "4", "--kv-tiers", "--input-tokens", "12022"]
    document = _json(capsys, *options)
    assert [span["place"]["name"] for span in document["spans"]] == ["HBM", "DRAM", "flash", "recompute"]
    assert document["spans"][-1]["until_s"] is None
    code, out, _ = _run(capsys, *options)
    assert code == 0 and "a 5-minute cache corresponds to" in out


def test_a_cluster_and_growth(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, "--hardware", "gb300", "--cluster-gpus", "100000")
    assert document["optics_usd"] / document["capital_usd"] == pytest.approx(0.09)
    assert _json(capsys, "--growth", "200:7")["spend_factor_per_year"] == pytest.approx(0.035)
    code, out, _ = _run(capsys, *LLAMA, *H100, "--gpus", "4", "--cluster-gpus", "1000")
    assert code == 0 and "purchase a million tokens" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([*LLAMA], 2, "which machine?"),
        ([*H100], 2, "which model?"),
        ([*LLAMA, "--hardware", "h100-smx"], 2, "did you mean"),
        ([*LLAMA, *H100, "--purchase-price", "30000"], 2, "together with --own"),
        ([*LLAMA, *H100, "--own", "--price-per-gpu-hour", "2"], 2, "rented or owned"),
        ([*LLAMA, *H100, "--own", "--pue", "0.5"], 2, "pue is 0.5"),
        ([*LLAMA, *H100, "--utilization", "1.5"], 2, "utilization is 1.5"),
        ([*LLAMA, *H100, *GROQ, "--day", "weekend"], 2, "known: flat, office"),
        ([*LLAMA, *H100, *GROQ, "--commitment", "many"], 2, "two numbers"),
        ([*LLAMA, *H100, "--gpus", "1"], 1, "fit"),
        ([*LLAMA, *H100, "--max-tpot-ms", "0.5"], 1, "0.5 ms a token"),
        (["--growth", "0:7"], 2, "price fall"),
        (["--growth", "200"], 2, "can't read growth"),
        (["--growth", "1e400:7"], 2, "can't read growth"),
        ([*LLAMA, *H100, "--max-tpot-ms", "nan"], 2, "max_tpot is nan"),
        ([*LLAMA, *H100, "--concurrency", "0"], 2, "concurrency is 0"),
        ([*LLAMA, *H100, "--gpus", "0"], 2, "gpus is 0"),
        ([*LLAMA, *H100, *GROQ, "--on-demand-factor", "nan"], 2, "on-demand factor is nan"),
        ([*LLAMA, *H100, *GROQ, "--requests-per-month", "inf"], 2, "traffic is inf"),
        ([*LLAMA, *H100, "--own", "--years", "nan"], 2, "years is nan"),
        (["--hardware", "h100-sxm", "--tokens-per-second", "0"], 2, "tokens per second"),
    ],
)
def test_bad_input_and_what_cannot_be(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    left, out, err = _run(capsys, *arguments)
    assert (left, out) == (code, "")
    assert words in err
    assert len(err.strip().splitlines()) <= 2
