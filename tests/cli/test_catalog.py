"""``infer-cost catalog`` and ``compare`` as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infer_cost.cli.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line in this process; its exit code, what it printed and what it complained of."""
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = call(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_list_fits_the_page_and_says_what_its_marks_mean(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "catalog", "hardware")
    assert (code, err) == (0, "")
    assert all(len(line) <= 104 for line in out.splitlines())
    assert "unverified" in out
    assert "\x1b" not in out
    for name in ("h100-sxm", "mi355x", "tpu-v7", "m4-max", "gb300-nvl72", "helios"):
        assert name in out


def test_json_has_the_agreed_fields(capsys: pytest.CaptureFixture[str]) -> None:
    listed = answer(capsys, "catalog", "hardware")
    assert set(listed) == {"accelerators", "systems"}
    agreed = {"id", "name", "vendor", "memory_bytes", "memory_bandwidth", "peak_flops", "sources", "unverified"}
    for row in (*listed["accelerators"], *listed["systems"]):
        assert agreed <= set(row)
        assert all(item["source"] and item["read"] and item["confidence"] for item in row["sources"])
    chip = next(row for row in listed["accelerators"] if row["id"] == "h100-sxm")
    assert chip["peak_flops"]["bf16"] == 989.4e12
    assert chip["memory_bytes"] == 80e9


def test_csv_is_in_base_units(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "catalog", "hardware", "--csv", "--vendor", "Google", "--sort", "-memory")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    chips = [row for row in rows if row["gpus"] == "1"]
    assert chips[0]["id"] == "tpu-v5e"
    assert float(chips[0]["memory_bandwidth"]) == 819e9


@pytest.mark.parametrize(
    "name", ["H100", "B200", "gb300-nvl72", "MI355X", "tpu-v7", "RTX 5090", "M4 Max", "l4", "nv-lp30"]
)
def test_show_cites_every_figure(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, err = call(capsys, "catalog", "hardware", "show", name)
    assert (code, err) == (0, "")
    assert all(len(line) <= 108 for line in out.splitlines())
    figures, _, sources = out.partition("\nSources\n")
    cited = {int(mark) for part in figures.split("[")[1:] for mark in part.split("]")[0].split(":")[-1].split(",")}
    numbered = [int(number) for number in re.findall(r"^ *(\d+)\. ", sources, re.MULTILINE)]
    assert cited == set(numbered) == set(range(1, len(numbered) + 1))


def test_show_tells_what_is_contested(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "catalog", "hardware", "show", "b300-sxm")
    assert "contested: 14 PFLOP/s (AIConfigurator)" in out
    assert "int8 as bf16 (weight-only)" in out
    assert "placeholder" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["hardware", "show", "h1000"], "did you mean"),
        (["hardware", "show", "A100"], "a100-sxm-80gb"),
        (["hardware", "show"], "show needs a name"),
        (["hardware", "list"], "don't know 'list'"),
        (["hardware", "--sort", "speed"], "columns: "),
        (["hardware", "--vendor", "Nvdia"], "NVIDIA"),
        (["hardware", "--min-memory", "80 Gb"], "bits"),
        (["hardware", "--min-memory", "80"], "no unit"),
        (["formats", "show", "fp5"], "did you mean"),
        (["prices", "show", "h1000"], "did you mean"),
    ],
)
def test_mistakes_leave_with_2_and_two_lines(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    code, out, err = call(capsys, "catalog", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) <= 2


def test_formats_and_prices(capsys: pytest.CaptureFixture[str]) -> None:
    listed = answer(capsys, "catalog", "formats")["formats"]
    assert {row["id"]: row["bits_per_weight"] for row in listed}["nvfp4"] == 4.5
    assert answer(capsys, "catalog", "formats", "show", "awq")["id"] == "int4-g128"
    money = answer(capsys, "catalog", "prices")
    assert money["gpu_hours"]["h100-sxm"][0]["tier"] == "neocloud-tco"
    assert money["figures"]["pue"]["default"]["value"] == 1.25
    assert answer(capsys, "catalog", "prices", "show", "H200")["gpu_hours"][0]["usd"] == 1.74
    for arguments in (["formats"], ["prices"], ["prices", "show", "purchase"], ["formats", "show", "mxfp4"]):
        code, out, _ = call(capsys, "catalog", *arguments)
        assert code == 0 and out


def test_template_and_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = call(capsys, "catalog", "hardware", "--template")
    path = tmp_path / "mine.toml"
    path.write_text(out, encoding="utf-8")
    shown = answer(capsys, "catalog", "hardware", "show", str(path))
    assert shown["name"] == "My accelerator"
    code, schema, _ = call(capsys, "catalog", "hardware", "--schema")
    assert code == 0
    assert json.loads(schema)["title"] == "UserMachine"


def test_machines_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "compare", "h100-sxm", "mi355x")["compared"]
    first = rows[0]["datasheet"]
    assert first["usd_per_hour_per_tbs"] == pytest.approx(1.69 / 3.35)
    assert first["usd_per_hour_per_pflops"]["fp8"] == pytest.approx(1.69 / 1.9789)
    assert first["ridge_flop_per_byte"]["bf16"] == pytest.approx(295.3, abs=0.1)
    assert first["all_in_power_w"] == 1275
    code, out, _ = call(capsys, "compare", "h100-sxm", "mi355x", "m4-max")
    assert code == 0
    assert "$/h per TB/s" in out


WORKLOAD = ["--model", "llama-3.1-70b", "--weights", "fp8", "--concurrency", "4"]


def test_machines_on_a_workload_and_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(capsys, "compare", "h200-sxm", "rtx-4090", "b200-sxm", *WORKLOAD)["compared"]
    assert [row["estimate"] is None for row in rows] == [False, True, False]
    assert rows[1]["cannot_be_met"]
    assert rows[2]["estimate"]["tpot_s"]["expected"] < rows[0]["estimate"]["tpot_s"]["expected"]
    code, out, _ = call(capsys, "compare", "h200-sxm", "rtx-4090", *WORKLOAD)
    assert code == 0
    assert "rtx-4090: " in out


def test_formats_and_models_on_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    on = ["--model", "llama-3.1-8b", "--hardware", "b200-sxm"]
    rows = answer(capsys, "compare", "bf16", "nvfp4", *on)["compared"]
    assert rows[1]["estimate"]["tpot_s"]["expected"] < rows[0]["estimate"]["tpot_s"]["expected"]
    kinds = answer(capsys, "compare", "llama-3.1-8b", "qwen3-32b", "--hardware", "h200-sxm")
    assert kinds["kind"] == "model"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["h100-sxm"], "two names"),
        (["h100-sxm", "fp8"], "one kind"),
        (["fp8", "bf16"], "--model is missing"),
        (["llama-3.1-8b", "llama-3.1-70b"], "--hardware is missing"),
        (["A100", "h100-sxm"], "a100-sxm-80gb"),
        (["h1000", "b200-sxm"], "no machine, model or number format"),
        (["missing.toml", "b200-sxm"], "there is no file"),
    ],
)
def test_comparisons_that_make_no_sense(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    code, out, err = call(capsys, "compare", *arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_the_catalog_loads_nothing_heavy() -> None:
    program = (
        "import sys; from infer_cost.cli.main import run\n"
        "try: run(['catalog', 'hardware', 'show', 'h100-sxm'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('pydantic', 'numpy', 'sympy', 'rich', 'tomllib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
