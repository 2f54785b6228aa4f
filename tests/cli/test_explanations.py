"""``--explain`` on every command: the chain ends in the answer, and the formulas that it names exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infer_cost.roofline.registry import formula_names

Run = Callable[[str], Any]

BENCHMARK = Path(__file__).parents[2] / "docs" / "examples" / "my-benchmark.csv"
USERS = Path(__file__).parents[2] / "docs" / "examples" / "four-users.toml"

ESTIMATE = "estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 32"
APART = (
    "estimate llama-3.1-70b --hardware h100-sxm --weights fp8 --prefill-gpus 2 --prefill-tp 2 --decode-gpus 4 "
    "--decode-tp 4"
)
JOURNEY = "journey llama-3.1-8b --hardware h100-sxm --input-tokens 2000 --output-tokens 200"
MEMORY = "memory llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8"
ROOFLINE = "roofline llama-3.1-8b --hardware h100-sxm --batch 16"
COST = "cost llama-3.1-70b --hardware h100-sxm --weights fp8"
COMPARE = "compare h100-sxm b200-sxm --model llama-3.1-8b --concurrency 8"
SWEEP = "sweep llama-3.1-8b --hardware h100-sxm,b200-sxm --tp 1,2 --concurrency 1..32 --top 3"
PLAN = "plan llama-3.1-70b --hardware h100-sxm,h200-sxm --requests 10/s --ttft p99=500ms --tpot 30ms"
SOLVE = 'solve ridge_point --for memory_bandwidth peak_flops="989 TFLOP/s" ridge_point=295'

EVERY = [
    ESTIMATE,
    f"{ESTIMATE} --workload {USERS}",
    JOURNEY,
    MEMORY,
    ROOFLINE,
    COST,
    f"{COST} --hardware b200-sxm",
    COMPARE,
    "compare fp8 nvfp4 --model llama-3.1-8b --hardware b200-sxm",
    "compare h100-sxm dgx-h100",
    SWEEP,
    PLAN,
    f"{PLAN} --layout apart --spare 1",
    "plan llama-3.1-8b --hardware h100-sxm --requests 10/s",
    f"validate {BENCHMARK}",
    f"calibrate {BENCHMARK}",
    SOLVE,
    "catalog hardware --vendor Google",
    "catalog hardware show gb200-nvl72",
    "catalog models --like gpt-oss",
    "catalog models show deepseek-v3",
    "catalog formats",
    "catalog formats show nvfp4",
    "catalog prices",
    "catalog prices show h200-sxm",
    "catalog prices show purchase",
]


def chains(run: Run, line: str) -> dict[str, dict[str, float]]:
    """Return the value of every step, by what its chain is about."""
    document = run(f"{line} --explain --json").json
    return {
        chain["about"]: {step["name"]: step["value"] for step in chain["steps"]} for chain in document["explanation"]
    }


def inputs_of(explanation: list[Any]) -> Iterator[Any]:
    for chain in explanation:
        yield from chain["inputs"]
        for step in chain["steps"]:
            yield from step["inputs"]


@pytest.mark.parametrize("line", EVERY)
def test_the_document_is_one_and_names_formulas_and_sources(infer_cost: Run, line: str) -> None:
    answer = infer_cost(f"{line} --explain --json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json["explanation"]
    assert told
    for chain in told:
        assert chain["about"] and (chain["steps"] or chain["inputs"])
        assert all(step["equation"] for step in chain["steps"])
    named = {step["formula"] for chain in told for step in chain["steps"]} - {None}
    assert named <= set(formula_names())
    assert all(item["source"] and "None" not in item["source"] for item in inputs_of(told))


@pytest.mark.parametrize("line", EVERY)
def test_readers_get_the_answer_first_and_then_the_chain(infer_cost: Run, line: str) -> None:
    plain, told = infer_cost(line), infer_cost(f"{line} --explain")
    assert (told.code, told.err) == (0, "")
    assert "explanation" not in infer_cost(f"{line} --json").out
    if line == COST:  # its arithmetic stands before what was assumed
        assert "How it was worked out" in told.out
        return
    assert told.out.startswith(plain.out.rstrip("\n"))
    if line.startswith("catalog prices show"):  # every price stands there with its source as it is
        return
    assert len(told.out) > len(plain.out) + 40


@pytest.mark.parametrize("line", [ESTIMATE, APART, f"{ESTIMATE} --concurrency 3000", f"{ESTIMATE} --pp 2 --tp 2"])
def test_an_estimate(infer_cost: Run, line: str) -> None:
    answer = infer_cost(f"{line} --json").json
    told = chains(infer_cost, line)
    for name, figure in (("time per output token", "tpot_s"), ("time to first token", "ttft_s")):
        terms = dict(told[name])
        terms.pop("range holds 80 % of measurements")
        assert terms.pop("expected") == answer[figure]["expected"]
        assert sum(terms.values()) == pytest.approx(answer[figure]["expected"], rel=1e-9)
        assert terms["physical bound"] == answer[figure]["bound"]
    outcome = told["throughput and cost"]
    assert outcome["end to end"] == pytest.approx(answer["e2e_s"]["expected"])
    assert outcome["output tokens a user"] == answer["output_tokens_per_s_per_user"]["expected"]
    assert outcome["output tokens a GPU"] == answer["output_tokens_per_s_per_gpu"]["expected"]
    assert outcome["cost of a request"] == answer["cost_usd"]
    assert outcome["a million input tokens"] == answer["cost_per_million_input_tokens_usd"]
    assert outcome["a million output tokens"] == answer["cost_per_million_output_tokens_usd"]


def test_an_estimate_without_a_price_ends_in_a_rate(infer_cost: Run) -> None:
    line = "estimate llama-3.1-8b --hardware tpu-v7"
    assert infer_cost(f"{line} --json").json["cost_usd"] is None
    assert list(chains(infer_cost, line)["throughput and cost"])[-1] == "output tokens a GPU"


def test_a_mixed_workload(infer_cost: Run) -> None:
    line = f"estimate llama-3.1-8b --hardware h100-sxm --concurrency 16 --workload {USERS}"
    answer = infer_cost(f"{line} --json").json
    told = chains(infer_cost, line)
    for one in answer["classes"]:
        assert told[one["name"]]["end to end"] == one["e2e_s"]
        assert told[one["name"]]["cost of a request"] == one["cost_usd"]
    assert told["all classes"]["cost of a mean request"] == answer["cost_usd"]


@pytest.mark.parametrize(
    "options", ["", " --concurrency 16", " --output-tokens 1", " --cached-tokens 1000 --cache-tier flash"]
)
def test_a_journey(infer_cost: Run, options: str) -> None:
    trip = infer_cost(f"{JOURNEY}{options} --json").json
    whole = chains(infer_cost, JOURNEY + options)["the whole request"]
    assert whole["time to first token"] == trip["ttft_s"]["expected"]
    assert whole["first token, in the engine"] + whole["first token, around it"] == whole["time to first token"]
    assert 0 < whole["first token, around it"] < whole["time to first token"]
    assert whole["end to end"] == trip["e2e_s"]["expected"]
    assert whole["cost of the request"] == trip["cost_usd"]["expected"]
    assert whole["cost, around it"] >= 0


def test_memory(infer_cost: Run) -> None:
    plan = infer_cost(f"{MEMORY} --json").json
    fit = chains(infer_cost, MEMORY)["what fits"]
    assert fit["weights"] == plan["weight_bytes"]
    assert fit["sequences"] == plan["max_concurrent_sequences"]


def test_what_does_not_fit_is_still_explained(infer_cost: Run) -> None:
    answer = infer_cost("memory llama-3.1-70b --hardware h100-sxm --explain --json")
    assert answer.code == 1
    assert answer.json["error"]["field"] == "gpus" and answer.json["explanation"]


def test_own_cost(infer_cost: Run) -> None:
    cost = infer_cost(f"{COST} --failure-share 0.1 --own --json").json
    told = chains(infer_cost, f"{COST} --failure-share 0.1 --own")
    steps = told[f"{cost['gpus']} x h100-sxm"]
    assert steps["GPU-hour p"] == cost["gpu_hour"]["usd"]
    parts = [value for name, value in steps.items() if name.startswith("GPU-hour: ")]
    assert sum(parts) == pytest.approx(steps["GPU-hour p"])
    assert steps["a request"] == cost["usd_per_request"]["expected"]
    assert steps["a million output tokens"] == cost["usd_per_mtok_output"]["expected"]
    assert steps["a successful request"] == cost["usd_per_successful_request"] > steps["a request"]


def test_compared_machines(infer_cost: Run) -> None:
    answer = infer_cost(f"{COMPARE} --json").json["compared"]
    told = chains(infer_cost, COMPARE)
    for column in answer:
        sheet, steps = column["datasheet"], told[column["name"]]
        assert steps["ridge bf16"] == sheet["ridge_flop_per_byte"]["bf16"]
        assert steps["$/h per PFLOP/s fp8"] == sheet["usd_per_hour_per_pflops"]["fp8"]
        assert steps["$/h per 100 GB"] == sheet["usd_per_hour_per_100_gb"]
        assert steps["W per PFLOP/s bf16"] == sheet["watts_per_pflops"]["bf16"]
        assert steps["power with its share of the box"] == sheet["all_in_power_w"]
        outcome = told[f"{column['name']}: throughput and cost"]
        assert outcome["a million output tokens"] == column["estimate"]["cost_per_million_output_tokens_usd"]


def test_a_column_that_cannot_be_met_has_no_ladder(infer_cost: Run) -> None:
    told = chains(infer_cost, "compare h100-sxm b300-sxm --model llama-3.1-70b --gpus 1")
    assert "h100-sxm" in told and "h100-sxm: time per output token" not in told
    assert "b300-sxm: time per output token" in told


def test_replaced_values_of_a_machine_are_explained(infer_cost: Run) -> None:
    line = "compare h100-sxm h200-sxm --set memory_bandwidth='4 TB/s' --explain --json"
    told = infer_cost(line).json["explanation"]
    bandwidths = [item for item in told[0]["inputs"] if item["name"] == "memory_bandwidth"]
    assert [item["value"] for item in bandwidths] == [4e12]
    assert "set by the user" in bandwidths[0]["source"]


@pytest.mark.parametrize(
    "line",
    [SWEEP, f"{SWEEP} --by ttft_s --set memory_bandwidth='4 TB/s'", "sweep llama-3.1-8b --hardware h100-sxm --tp 1,2"],
)
def test_the_first_row_of_a_sweep(infer_cost: Run, line: str) -> None:
    answer = infer_cost(f"{line} --json").json
    told, best = chains(infer_cost, line), answer["rows"][0]
    assert told["rows"]["combinations"] == answer["combinations"]
    assert told["rows"]["kept"] == answer["rows_kept"]
    assert told["first row: time to first token"]["expected"] == pytest.approx(best["ttft_s"], rel=1e-9)
    assert told["first row: time per output token"]["expected"] == pytest.approx(best["tpot_s"], rel=1e-9)
    last = told["first row: throughput and cost"]["a million output tokens"]
    assert last == pytest.approx(best["cost_per_million_output_tokens_usd"], rel=1e-9)


def test_a_sweep_explains_the_first_row_that_fits(infer_cost: Run) -> None:
    told = infer_cost("sweep llama-3.1-70b --hardware h100-sxm --tp 1,2 --explain").out
    assert "The first row: llama-3.1-70b, hardware h100-sxm, tp 2" in " ".join(told.split())


def test_a_sweep_to_a_file_keeps_no_row_to_explain(infer_cost: Run, tmp_path: Path) -> None:
    told = infer_cost(f"sweep llama-3.1-8b --hardware h100-sxm --tp 1,2 -o {tmp_path}/rows.csv --explain").out
    assert told.rstrip().endswith("--top 1 keeps the best.")


@pytest.mark.parametrize(
    "options", ["", " --layout apart --spare 1", " --price-per-gpu-hour 2.50 --input-variation 0.7"]
)
def test_a_plan(infer_cost: Run, options: str) -> None:
    best = infer_cost(f"{PLAN}{options} --json").json["plans"][0]
    told = chains(infer_cost, PLAN + options)
    assert told["the plan"]["cost"] == best["usd_per_hour"]
    assert list(told["the plan"].values())[-1] == best["cost_per_million_output_tokens_usd"]
    assert told["the plan"]["headroom"] == best["headroom"]
    sizes = [steps for about, steps in told.items() if about.endswith("engines")]
    assert sum(steps["cost of the pool"] for steps in sizes) == pytest.approx(best["usd_per_hour"])
    reached = {name: value for steps in told.values() for name, value in steps.items() if " p99" in name}
    assert list(reached.values()) == [item["seconds"] for item in best["percentiles"]]
    for pool, steps in zip(best["pools"], sizes, strict=True):
        assert steps["engines"] == pool["engines"]
        assert steps["rate of each"] == pytest.approx(pool["requests_per_s_per_engine"])
        assert steps["busy"] == pool["busy"]
        price = steps["cost of the pool"] / pool["engines"] / pool["gpus_per_engine"]
        assert price == pytest.approx(pool["price_per_gpu_hour_usd"])
    tokens = [steps for about, steps in told.items() if about.endswith("an output token on average")]
    (pool,) = [pool for pool in best["pools"] if pool["role"] != "prefill"]
    assert tokens[0]["output token on average"] == pool["tpot_mean_s"]
    assert tokens[0]["at a batch of L + 1"] == pytest.approx(tokens[0]["the same, t_d"], rel=0.02)


def test_a_fleet(infer_cost: Run, tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    row = '[[service]]\nname = "{}"\nmodel = "llama-3.1-8b"\nrequests = "{}/s"\ntpot = "p99=40ms"\n'
    path.write_text(row.format("chat", 5) + row.format("batch", 3))
    line = f"plan --fleet {path} --hardware h100-sxm"
    answer = infer_cost(f"{line} --json").json
    told = chains(infer_cost, line)
    assert told["the fleet"]["cost"] == answer["usd_per_hour"]
    for part in answer["parts"]:
        steps = told[f"{' + '.join(part['services'])}: the plan"]
        assert steps["a million output tokens"] == part["cost_per_million_output_tokens_usd"]


def test_a_validation(infer_cost: Run) -> None:
    report = infer_cost(f"validate {BENCHMARK} --json").json
    line = infer_cost(f"validate {BENCHMARK} --explain --json").json["explanation"]
    told = chains(infer_cost, f"validate {BENCHMARK}")
    for group in report["summary"]:
        name = f"{group['group']}, {group['metric']}"
        assert told["errors"][f"{name}: median"] == group["median_ape"]
        assert told["errors"][f"{name}: bias"] == group["bias"]
        assert told["errors"][f"{name}: in range"] == group["inside_range"]
    first = report["rows"][0]
    (row,) = [steps for about, steps in told.items() if about.startswith(f"row {first['id']}")]
    assert row[f"{first['metric']} predicted"] == first["predicted"]
    assert row[f"its error e, {first['metric']}"] == pytest.approx(first["predicted"] / first["measured"] - 1)
    ladder = {"ttft_s": "time to first token", "tpot_s": "time per output token"}[first["metric"]]
    # The rows of this file are of a published run that begins with all users at once.
    added = row[f"{first['metric']}: what the run adds"]
    assert added > 0
    assert told[f"the first row: {ladder}"]["expected"] + added == pytest.approx(first["predicted"], rel=1e-12)
    used = {item["name"]: item["value"] for item in line[0]["inputs"]}
    fitted = [c for c in report["fitted_constants"] if c["shared_by"].endswith("vllm on hopper")]
    assert used == {f"{c['name']} of vllm": c["value"] for c in fitted}


def test_a_validation_of_nothing_that_is_predicted(infer_cost: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    head, row, *_ = BENCHMARK.read_text().splitlines()
    path.write_text(f"{head}\n{row.replace('llama-3.1-70b', 'no-such-model')}\n")
    answer = infer_cost(f"validate {path} --explain")
    assert answer.code == 0 and "1 unanswered" in answer.out


def test_a_calibration(infer_cost: Run) -> None:
    found = infer_cost(f"calibrate {BENCHMARK} --json").json
    told = chains(infer_cost, f"calibrate {BENCHMARK}")
    for one in found["constants"]:
        assert told["constants"][one["name"]] == one["after"]
        assert told["constants"][f"{one['name']}: still uncertain"] == one["left"]
    assert told["errors"]["TPOT after"] == found["tpot_error_after"]


def test_a_report_says_the_ladder(infer_cost: Run, tmp_path: Path) -> None:
    line = f"report llama-3.1-8b --hardware h100-sxm -o {tmp_path}/page.html"
    bill = infer_cost("estimate llama-3.1-8b --hardware h100-sxm --json").json
    told = chains(infer_cost, line)["throughput and cost"]
    assert told["a million output tokens"] == bill["cost_per_million_output_tokens_usd"]
    assert "From the roofline" in infer_cost(f"{line} --explain").out
    assert "--explain" not in (tmp_path / "page.html").read_text()
    refused = infer_cost("report llama-3.1-8b --hardware h100-sxm -o - --explain")
    assert refused.code == 2 and not refused.out


def test_a_solution(infer_cost: Run) -> None:
    told = infer_cost(f"{SOLVE} --explain --json").json
    (step,) = told["explanation"][0]["steps"]
    assert step["value"] == told["value"] and step["formula"] == "ridge_point"
    assert {item["name"] for item in step["inputs"]} == {"peak_flops", "ridge_point"}
    assert "Williams" in infer_cost(f"{SOLVE} --explain").out


@pytest.mark.parametrize("name", ["h100-sxm", "dgx-h100", "gb200-nvl72", "tpu-v7", "l40s"])
def test_a_machine_of_the_catalog(infer_cost: Run, name: str) -> None:
    row = infer_cost(f"catalog hardware show {name} --json").json
    told = infer_cost(f"catalog hardware show {name} --explain --json").json["explanation"][0]
    steps = {step["name"]: step["value"] for step in told["steps"]}
    if "bf16" in row["peak_flops"]:
        assert steps["ridge bf16"] == row["ridge_flop_per_byte"]
    if row["gpus"] > 1:
        assert steps["bandwidth"] == row["memory_bandwidth"] and steps["bf16"] == row["peak_flops"]["bf16"]
    read = {item["name"]: item["source"] for item in told["inputs"]}
    for origin in row["sources"]:
        assert origin["read"] in read[origin["field"]] and origin["confidence"] in read[origin["field"]]


@pytest.mark.parametrize(
    "name", ["deepseek-v3", "gpt-oss-120b", "llama-3.1-8b", "deepseek-v4-flash", "qwen3-next-80b-a3b"]
)
def test_a_model_of_the_catalog(infer_cost: Run, name: str) -> None:
    document = infer_cost(f"catalog models show {name} --json").json
    parameters, weights, cache = infer_cost(f"catalog models show {name} --explain --json").json["explanation"]
    names = [step["name"] for step in parameters["steps"]]
    total = names.index("parameters")
    assert parameters["steps"][total]["value"] == document["parameters_total"]
    assert sum(step["value"] for step in parameters["steps"][:total]) == document["parameters_total"]
    assert parameters["steps"][names.index("active")]["value"] == document["parameters_active"]
    assert {step["name"]: step["value"] for step in weights["steps"]}["nvfp4"] == document["weight_bytes"]["nvfp4"]
    assert cache["steps"][-1]["value"] == document["kv_bytes_per_token"]
    assert document["catalog"]["read"] in parameters["inputs"][0]["source"]


def test_equations_of_plain_matrices_give_their_values(infer_cost: Run) -> None:
    parameters, _, cache = infer_cost("catalog models show llama-3.1-8b --explain --json").json["explanation"]
    for step in parameters["steps"][: [s["name"] for s in parameters["steps"]].index("parameters")]:
        numbers = step["equation"].replace(" layers", "").replace(",", "").split(" · ")
        product = 1
        for number in numbers:
            product *= int(number)
        assert product == step["value"], step
    assert cache["steps"][0]["equation"] == "32 layers · 8 KV heads · (128 + 128) · 2 B"
    assert cache["steps"][0]["value"] == 32 * 8 * 256 * 2


def test_one_s_own_model_has_its_file_as_source(infer_cost: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, '
        '"num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100}'
    )
    told = infer_cost(f"catalog models show {path} --explain --json").json["explanation"]
    assert told[0]["inputs"][0]["source"] == str(path)


def test_every_format_is_bits_and_scales(infer_cost: Run) -> None:
    document = infer_cost("catalog formats --explain --json").json
    bits = {one["id"]: one["bits_per_weight"] for one in document["formats"]}
    for chain in document["explanation"]:
        (step,) = chain["steps"]
        given = {item["name"]: item["value"] for item in step["inputs"]}
        assert step["value"] == bits[chain["about"]]
        assert given["bits"] + given["scale_bits"] / given["block_size"] == pytest.approx(step["value"], rel=1e-9)


def test_prices_with_their_sources(infer_cost: Run) -> None:
    document = infer_cost("catalog prices show h200-sxm --explain --json").json
    told = document["explanation"][0]["inputs"]
    assert [item["value"] for item in told] == [price["usd"] for price in document["gpu_hours"]]
    assert all("(one-source)" in item["source"] or "(" in item["source"] for item in told)
    text = infer_cost("catalog prices --explain").out
    assert "price_per_gpu_hour, neocloud-tco = $1.69/h" in text


def test_bare_claims_say_the_calculations_too(infer_cost: Run) -> None:
    plain, told = infer_cost("claims").out, infer_cost("claims --explain").out
    assert "holds" not in plain and "fails" not in plain
    assert "attainable_flops(" in told and told.count("fails") > 10


@pytest.mark.parametrize("line", [COMPARE, SWEEP, f"validate {BENCHMARK}", "catalog models --like gpt-oss", ESTIMATE])
def test_a_table_for_other_programs_stays_as_it_is(infer_cost: Run, line: str) -> None:
    assert infer_cost(f"{line} --output csv --explain").out == infer_cost(f"{line} --output csv").out


@pytest.mark.parametrize(
    "line",
    [
        "compare h100-sxm",
        "sweep llama-3.1-8b",
        "plan llama-3.1-8b",
        "validate nowhere.csv",
        "catalog hardware show h100-smx",
        "catalog models show no-such-model",
        "estimate llama-3.1-70b --hardware h100-sxm",
    ],
)
def test_errors_stay_as_they_are(infer_cost: Run, line: str) -> None:
    plain, told = infer_cost(line), infer_cost(f"{line} --explain")
    assert plain.code in (1, 2)
    assert (told.code, told.out, told.err) == (plain.code, plain.out, plain.err)
