from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infer_cost.cli.main import run

SONNET = "anthropic/claude-sonnet-4-5"
AT = ["--at", "2026-11-30T12:00"]
FIVE = [SONNET, "openai/gpt-5.5", "google/gemini-2.5-pro", "deepseek/deepseek-flash", "groq/openai/gpt-oss-120b"]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        run(["price", *arguments])
    captured = capsys.readouterr()
    return int(left.value.code or 0), captured.out, captured.err


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, _ = _run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_a_call_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(
        capsys, SONNET, "--input-tokens", "12022", "--cached-tokens", "12000", "--output-tokens", "500", *AT
    )
    assert document["cost_usd"] == "0.011166"
    assert document["rates"]["cache_read"] == "0.3"
    assert document["source"]["layer"] == "upstream package"
    assert document["formula"] == "(22*3 + 12000*0.3 + 500*15)/1e6 = 0.011166"


def test_all_kinds_of_input_and_a_service(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--input-tokens", "12100", "--cached-tokens", "8000", "--cache-write-5m-tokens", "1000"]
    more = ["--cache-write-1h-tokens", "3000", "--output-tokens", "700"]
    assert _json(capsys, SONNET, *options, *more, *AT)["cost_usd"] == "0.03495"
    batch = _json(capsys, SONNET, *options, *more, "--service", "batch", *AT)
    assert batch["cost_usd"] == "0.017475"
    assert batch["service"] == "batch"


def test_searches_and_a_model_with_a_slash(capsys: pytest.CaptureFixture[str]) -> None:
    search = ["perplexity/sonar-deep-research", "--input-tokens", "1000", "--output-tokens", "9000"]
    document = _json(capsys, *search, "--reasoning-tokens", "6000", "--web-searches", "10", "--at", "2026-09-01")
    assert document["cost_usd"] == "0.094"
    assert _json(capsys, FIVE[4], "--input-tokens", "1000000", *AT)["model"] == "openai/gpt-oss-120b"


def test_a_tier_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, FIVE[2], "--input-tokens", "200001", "--output-tokens", "1000", *AT)
    assert (document["cost_usd"], document["tier_above_tokens"]) == ("0.5150025", 200_000)
    assert document["rates"]["input"] == "2.5"
    _, out, _ = _run(capsys, FIVE[2], "--input-tokens", "200001", "--output-tokens", "1000", *AT)
    assert "more than 200,000 tokens move the whole request" in out


def test_the_document_asked_ten_questions_at_five_providers(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--input-tokens", "12022", "--prefix-tokens", "12000", "--output-tokens", "500", "--questions", "10"]
    offers = _json(capsys, *FIVE, *asked, *AT)["offers"]
    costs = {offer["provider"]: (offer["with_cache_usd"], offer["without_cache_usd"]) for offer in offers}
    assert costs["anthropic"] == ("0.15306", "0.43566")
    assert costs["groq"] == ("0.012933", "0.021033")
    assert [offer["provider"] for offer in offers] == ["deepseek", "groq", "google", "anthropic", "openai"]
    code, out, _ = _run(capsys, *FIVE, *asked, *AT, "--explain")
    assert code == 0 and "█" in out and "(22*3 + 12000*3.75 + 500*15)/1e6 = 0.052566" in out


def test_side_by_side_sorts_and_tells_who_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, *FIVE, "--input-tokens", "1000", "--output-tokens", "1000", "--service", "batch", *AT)
    costs = [float(offer["cost_usd"]) for offer in document["offers"]]
    assert costs == sorted(costs) and len(costs) == 4
    assert [one["name"] for one in document["refused"]] == ["deepseek/deepseek-flash"]


def test_an_agents_task(capsys: pytest.CaptureFixture[str]) -> None:
    task = ["--agent-steps", "20", "--input-tokens", "3000", "--output-tokens", "300", "--tool-tokens", "500"]
    document = _json(capsys, SONNET, *task, *AT)
    assert document["task_usd"] == "0.21639"
    assert document["calls"] == 20


def test_a_blend(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, SONNET, "--blend", "3:1", "--hit-rate", "80%", "--write-share", "0.1", *AT)
    assert (document["usd_per_mtok"], document["usd_per_mtok_exact"]) == ("4.43625", "3549/800")
    batch = _json(capsys, "openai/gpt-5.5", "--blend", "3:1", "--hit-rate", "4/5", "--batch-share", "1", *AT)
    assert batch["usd_per_mtok"] == "4.275"


def test_reveal_on_a_tiered_list(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, FIVE[2], "--reveal", "--hardware", "h200-sxm", "--active-parameters", "50e9..100e9", *AT)
    first = document["inferences"][0]
    assert first["name"] == "KV bytes a token behind the long-context tier"
    assert 0 < first["low"] < first["high"]
    code, out, _ = _run(capsys, FIVE[2], "--reveal", *AT)
    assert code == 0 and "if the tier starts where" in out and "Assumed" in out


def test_rows_show_past_and_announced_prices(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _run(capsys, "google/gemini-4-argon", "--rows")
    assert "until 2026-12-01" in out and "from 2026-12-01" in out


def test_own_rates_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--input-tokens", "1000000", "--rate", "input=2.5"]
    assert _json(capsys, "acme/big", *options)["source"]["layer"] == "options"
    path = tmp_path / "prices.toml"
    path.write_text(
        '[[row]]\nprovider = "acme"\nmodel = "big"\nprices = { input = 2 }\nsource = "offer"\nread = 2026-01-01\n'
    )
    document = _json(capsys, "acme/big", "--input-tokens", "1000000", "--prices", str(path))
    assert (document["cost_usd"], document["source"]["layer"]) == ("2", "user file")


def test_rows_lists_providers_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    providers = _json(capsys, "--rows")
    assert {"anthropic", "openai"} <= set(providers) and providers == sorted(providers)
    assert "claude-sonnet-4-5" in _run(capsys, "anthropic", "--rows")[1].splitlines()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([SONNET, "--input-tokens", "10", "--service", "bach"], "did you mean batch?"),
        ([SONNET, "--input-tokens", "-1"], "input_tokens is -1"),
        ([SONNET, "--input-tokens", "10", "--cached-tokens", "11"], "more than input_tokens 10"),
        ([FIVE[1], "--input-tokens", "10", "--cache-write-1h-tokens", "5"], "no price for cache_write_1h"),
        ([FIVE[3], "--input-tokens", "10", "--at", "2026-05-01"], "no standard price of deepseek/deepseek-flash holds"),
        ([SONNET, "--input-tokens", "10", "--at", "soon"], "can't read the time 'soon'"),
        (["anthropc/claude-sonnet-4-5", "--input-tokens", "10"], "did you mean anthropic?"),
        (["claude-sonnet-4-5", "--input-tokens", "10"], "PROVIDER/MODEL"),
        ([], "which provider?"),
        ([SONNET], "the call uses nothing"),
        ([SONNET, "--input-tokens", "10", "--rate", "input"], "NAME=USD"),
        ([SONNET, "--input-tokens", "10", "--questions", "3"], "prefix-tokens is 0 of 10"),
        ([SONNET, "--input-tokens", "10", "--prefix-tokens", "5", "--questions", "3", "--ttl", "2h"], "5m or 1h"),
        (
            [SONNET, "--input-tokens", "10", "--cached-tokens", "5", "--agent-steps", "3"],
            "follow from the conversation",
        ),
        ([SONNET, "--blend", "3:x"], "can't read blend"),
        ([SONNET, "--blend", "3"], "can't read blend"),
        ([SONNET, "--input-tokens", "10", "--agent-steps", "3", "--tool-tokens", "-4"], "tool_tokens is -4"),
        ([SONNET, "--input-tokens", "10", "--rate", "input=1e400"], "from 0 to 1e+06"),
        ([SONNET, "--reveal", "--active-parameters", "1e9..inf"], "both above 0 and finite"),
        ([SONNET, "--blend", "3:1", "--hit-rate", "1.2"], "cache hit is 1.2"),
        ([SONNET, "--reveal", "--active-parameters", "a..b"], "LOW..HIGH"),
        (["--choose", "missing.toml"], "No such file"),
    ],
)
def test_bad_input_is_refused_in_two_lines(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, out, err = _run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.strip().splitlines()) <= 2
    code, out, _ = _run(capsys, *arguments, "--json")
    assert code == 2 and json.loads(out)["error"]["message"]


def _cpu_seconds(code: list[str]) -> float:
    before = os.times()
    subprocess.run([sys.executable, *code], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_price_starts_within_twice_the_time_of_the_upstream_import() -> None:
    call = "from infer_cost.cli.main import run; run(['price', 'openai/gpt-5.5', '--input-tokens', '1000', '--json'])"
    price = min(_cpu_seconds(["-c", call]) for _ in range(3))
    alone = min(_cpu_seconds(["-c", "import genai_prices"]) for _ in range(3))
    assert price <= 2 * alone


def test_other_commands_do_not_import_the_upstream_package() -> None:
    code = (
        "import sys\nfrom infer_cost.cli.main import run\n"
        "try: run(['memory', 'llama-3.1-70b', '--weights', 'fp8'])\nexcept SystemExit as left: assert not left.code\n"
        "print('genai_prices' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().splitlines()[-1] == "False"
