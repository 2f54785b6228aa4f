"""The documents that ``--json`` prints: the names that others build on."""

from __future__ import annotations

import pytest

JOURNEY = (
    "journey llama-3.1-70b --hardware h100-sxm --gpus 8 --tp 8 --weights fp8 --input-tokens 12022 --output-tokens 500"
)
RANGE = {"bound", "expected", "low", "high"}


def test_journey(infer_cost):
    trip = infer_cost(f"{JOURNEY} --json").json
    assert [stage["number"] for stage in trip["stages"]] == list(range(1, 16))
    names = {"number", "name", "ttft_s", "tpot_s", "e2e_s", "cost_usd", "limited_by", "without", "assumptions"}
    limits = {"compute", "memory", "network", "host", "queue", "price", "none"}
    for stage in trip["stages"]:
        assert set(stage) == names
        assert stage["limited_by"] in limits
        assert stage["without"] is None or set(stage["without"]) == {"what", "ttft_s", "tpot_s", "e2e_s", "cost_usd"}
    for total in ("ttft_s", "tpot_s", "e2e_s", "cost_usd"):
        assert set(trip[total]) == RANGE
        assert sum(stage[total] for stage in trip["stages"]) == trip[total]["expected"]
    assert trip["bill_usd"] is None


def test_the_main_job_is_near_what_the_sources_compose(infer_cost):
    trip = infer_cost(f"{JOURNEY} --json").json
    assert 0.2 < trip["ttft_s"]["expected"] < 0.6
    assert 0.006 < trip["tpot_s"]["expected"] < 0.0105
    assert 3.0 < trip["e2e_s"]["expected"] < 6.0


def test_bill_of_a_provider(infer_cost):
    trip = infer_cost(f"{JOURNEY} --provider openai/gpt-5.5 --json").json
    assert trip["bill_usd"] == "0.07511"  # 12,022 at $5 and 500 at $30 a million tokens


def test_estimate(infer_cost):
    answer = infer_cost(
        "estimate llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8 --concurrency 16 --json"
    ).json
    for name in ("ttft_s", "tpot_s", "output_tokens_per_s_per_user", "output_tokens_per_s_per_gpu"):
        assert set(answer[name]) == RANGE
    plain = {
        "limited_by",
        "mfu",
        "mbu",
        "kv_occupancy",
        "optimal_batch",
        "critical_context_tokens",
        "cost_per_million_input_tokens_usd",
        "cost_per_million_output_tokens_usd",
        "power_w",
        "tokens_per_joule",
        "fits",
    }
    assert plain <= set(answer)
    assert answer["fits"] is True
    assert 0 < answer["mfu"] < 1
    assert 0 < answer["mbu"] < 1


def test_memory(infer_cost):
    plan = infer_cost("memory llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --context 32768 --json").json
    assert plan["parameters_total"] == 70_553_706_496
    assert round(plan["weight_bytes"] / 1e9, 1) == 72.7
    assert plan["kv_bytes_per_token"] == 327_680
    assert plan["kv_bytes_per_sequence"] == 327_680 * 32_768
    assert plan["state_bytes_per_sequence"] == 0
    assert plan["fits"] is True
    assert plan["max_concurrent_sequences"] == plan["kv_budget_bytes"] // plan["kv_bytes_per_sequence"]


@pytest.mark.parametrize(
    ("options", "gigabytes"),
    [
        ("--weights bf16", 141.1),
        ("--weights fp8 --weights-everywhere", 70.6),
        ("--weights nvfp4 --weights-everywhere", 39.7),
        ("--weights fp8", 72.7),
        ("--weights nvfp4", 42.7),
    ],
)
def test_weights_of_a_70b_model(infer_cost, options, gigabytes):
    plan = infer_cost(f"memory llama-3.1-70b {options} --json").json
    assert round(plan["weight_bytes"] / 1e9, 1) == gigabytes


def test_latent_cache(infer_cost):
    assert infer_cost("memory deepseek-v3 --kv bf16 --json").json["kv_bytes_per_token"] == 70_272


@pytest.mark.parametrize(("weights", "ridge"), [("bf16", 295), ("fp8", 591)])
def test_ridge_point_of_h100(infer_cost, weights, ridge):
    report = infer_cost(f"roofline llama-3.1-70b --hardware h100-sxm --weights {weights} --json").json
    assert round(report["ridge_point"]) == ridge


def test_critical_context_depends_on_attention(infer_cost):
    h100 = infer_cost("roofline deepseek-v3 --hardware h100-sxm --weights fp8 --kv bf16 --json").json
    h200 = infer_cost("roofline deepseek-v3 --hardware h200-sxm --weights fp8 --kv bf16 --json").json
    assert h100["critical_context_tokens"] == pytest.approx(9_800, rel=0.02)
    assert h200["critical_context_tokens"] is None


def test_one_output_token_has_no_time_per_token(infer_cost):
    line = "journey llama-3.1-8b --hardware h100-sxm --input-tokens 100 --output-tokens 1 --json"
    trip = infer_cost(line).json
    assert trip["tpot_s"] is None
    assert all(stage["tpot_s"] == 0 for stage in trip["stages"])


def test_article_numbering_keeps_the_totals(infer_cost):
    digest = infer_cost(f"{JOURNEY} --concurrency 8 --json").json
    article = infer_cost(f"{JOURNEY} --concurrency 8 --numbering article --json").json
    assert [stage["number"] for stage in article["stages"]] == list(range(1, 16))
    for total in ("ttft_s", "tpot_s", "e2e_s", "cost_usd"):
        assert article[total]["expected"] == pytest.approx(digest[total]["expected"], rel=1e-12)


def test_output_is_one_document_without_colour(infer_cost):
    result = infer_cost(f"{JOURNEY} --json")
    assert result.err == ""
    assert result.out.startswith("{")
    text = infer_cost(JOURNEY).out
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 100
