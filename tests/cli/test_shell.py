"""Habits of the shell: completion, defaults from a file, formats of the output, narrow terminals, colour."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infer_cost.cli import completion
from infer_cost.cli.commands import COMMANDS, installed

H100 = "--hardware h100-sxm"
ESTIMATE = f"estimate llama-3.1-8b {H100}"


@pytest.fixture(autouse=True)
def _nothing_of_the_developers(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("INFER_COST_CONFIG", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_alone_it_names_three_commands_that_work(infer_cost):
    result = infer_cost("")
    lines = [line.strip() for line in result.out.splitlines() if line.startswith("    infer-cost ")]
    assert result.code == 0
    assert [line.split()[1] for line in lines] == ["memory", "estimate", "journey"]
    for line in lines:
        assert infer_cost(line.removeprefix("infer-cost ")).code == 0


def test_help_lists_every_command_that_there_is(infer_cost):
    listed = infer_cost("--help").out
    assert infer_cost("-h").out == listed
    for name in installed():
        assert f"  {name} " in listed
        assert COMMANDS[name].split()[0] in listed


@pytest.mark.parametrize("name", installed())
def test_every_command_has_help_with_an_example(infer_cost, name):
    result = infer_cost(f"{name} --help")
    assert result.code == 0
    assert "Example: " in result.out


def test_help_says_what_an_argument_is(infer_cost):
    assert "FILE.csv" in infer_cost("validate --help").out
    assert "Measurements" in infer_cost("validate --help").out
    assert "A catalog name" in infer_cost("memory --help").out
    assert "Show one instead of listing all" in infer_cost("catalog formats --help").out


# completion


def words(line: str) -> list[str]:
    *before, last = line.split(" ")
    return [item.value for item in completion.completions(before, last)]


def test_names_are_completed():
    assert words("jo") == ["journey"]
    assert {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"} <= set(words("journey llama-3.1"))
    assert "h100-sxm" in words("journey llama-3.1-8b --hardware H100")
    assert "gb200-nvl72" in words("estimate x --hardware gb")
    assert "--hardware" in words("memory llama-3.1-8b --har")
    assert {"fp8", "fp8-block"} <= set(words("estimate x --weights fp"))
    assert "vllm" in words("estimate x --engine v")
    assert "h100-sxm,h200-sxm" in words("sweep x --hardware h100-sxm,h200")
    assert words("estimate x --output c") == ["csv"]
    assert words("completion z") == ["zsh"]
    assert "h100-sxm" in words("catalog hardware show h100")


def test_an_unknown_word_may_be_a_file():
    assert [(item.value, item.type) for item in completion.completions(["journey"], "./my")] == [("./my", "file")]
    assert words("frobnicate x") == []


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_scripts_ask_infer_cost_itself(infer_cost, shell):
    script = infer_cost(f"completion {shell}").out
    assert f"_INFER_COST_COMPLETE={shell}_complete" in script
    assert "infer-cost" in script


def test_completion_as_bash_does_it(tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    program = tmp_path / "infer-cost"
    program.write_text(f"#!{sys.executable}\nfrom infer_cost.cli.main import run\nrun()\n")
    program.chmod(0o755)
    script = (
        'eval "$(infer-cost completion bash)"; COMP_WORDS=(infer-cost memory llama-3.1-7); COMP_CWORD=2; '
        '_infer_cost_completion infer-cost; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["llama-3.1-70b"]
    assert done.stderr == ""


def test_an_unknown_shell(infer_cost):
    result = infer_cost("completion tcsh")
    assert (result.code, result.out) == (2, "")


# defaults from a file


def test_defaults_are_used_and_named(infer_cost):
    Path("infer-cost.toml").write_text('hardware = "h100-sxm"\ngpus = 8\nweights = "fp8"\n[roofline]\nbatch = 64\n')
    assert infer_cost("memory llama-3.1-70b --json").json["gpus"] == 8
    answer = infer_cost("estimate llama-3.1-70b --json")
    assert answer.json["hardware"] == "h100-sxm"
    assert answer.err == "infer-cost: from infer-cost.toml: --hardware h100-sxm, --gpus 8, --weights fp8\n"
    assert infer_cost("roofline llama-3.1-70b --json").json["batch"] == 64


def test_the_command_line_comes_first(infer_cost):
    Path("infer-cost.toml").write_text('hardware = "h100-sxm"\ngpus = 8\n')
    answer = infer_cost("estimate llama-3.1-8b --hardware h200-sxm --gpus 1 --json")
    assert answer.json["hardware"] == "h200-sxm"
    assert answer.err == ""


def test_the_working_directory_comes_before_the_user(infer_cost, tmp_path):
    user = tmp_path / "user" / "infer-cost" / "infer-cost.toml"
    user.parent.mkdir(parents=True)
    user.write_text('hardware = "h200-sxm"\nprice-per-gpu-hour = 2.5\n')
    Path("infer-cost.toml").write_text('hardware = "h100-sxm"\n')
    answer = infer_cost("estimate llama-3.1-8b --json")
    assert answer.json["hardware"] == "h100-sxm"
    assert answer.err.splitlines() == [
        "infer-cost: from infer-cost.toml: --hardware h100-sxm",
        f"infer-cost: from {user}: --price-per-gpu-hour 2.5",
    ]


def test_the_file_can_be_named_or_left_unread(infer_cost, monkeypatch, tmp_path):
    Path("infer-cost.toml").write_text('hardware = "h100-sxm"\n')
    monkeypatch.setenv("INFER_COST_CONFIG", "none")
    assert infer_cost("estimate llama-3.1-8b").code == 2
    monkeypatch.setenv("INFER_COST_CONFIG", str(tmp_path / "missing.toml"))
    assert "missing.toml" in infer_cost(ESTIMATE).err
    (tmp_path / "other.toml").write_text('hardware = "b200-sxm"\n')
    monkeypatch.setenv("INFER_COST_CONFIG", str(tmp_path / "other.toml"))
    assert infer_cost("estimate llama-3.1-8b --json").json["hardware"] == "b200-sxm"


WRONG = {
    "not TOML": ("hardware = ", "isn't TOML"),
    "binary": ("\x00\x01", "isn't TOML"),
    "unknown option": ('hardwar = "h100-sxm"', "hardware"),
    "unknown table": ("[journy]\ngpus = 1", "journey"),
    "unknown option of a table": ("[estimate]\nbatch = 1", "batch"),
    "a date": ("gpus = 2026-11-30", "gpus"),
    "a list for one": ('weights = ["fp8", "bf16"]', "weights"),
    "true for a number": ("gpus = true", "gpus"),
    "text for a flag": ('weights-everywhere = "yes"', "true or false"),
    "half a GPU": ("gpus = 2.5", "it stands in infer-cost.toml"),
    "infinitely many": ("gpus = inf", "inf"),
    "a word for a number": ('gpus = "many"', "many"),
    "too deep": ("gpus = " + "[" * 5000, "infer-cost.toml"),
}


@pytest.mark.parametrize(("text", "named"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_in_the_file_is_named(infer_cost, text, named):
    Path("infer-cost.toml").write_text(text)
    result = infer_cost(ESTIMATE)
    assert (result.code, result.out) == (2, "")
    assert named in result.err
    assert len(result.err.splitlines()) <= 2
    assert infer_cost("estimate --help").code == 0


def test_a_loop_or_a_directory_in_the_files_place(infer_cost):
    Path("infer-cost.toml").symlink_to("infer-cost.toml")
    assert infer_cost(ESTIMATE).code == 2
    Path("infer-cost.toml").unlink()
    Path("infer-cost.toml").mkdir()
    assert infer_cost(ESTIMATE).code == 2


def test_an_option_of_another_command_is_no_mistake(infer_cost):
    Path("infer-cost.toml").write_text('provider = "openai/gpt-5.5"\n')
    assert infer_cost(ESTIMATE).code == 0


# formats of the output


def test_csv_holds_what_json_holds(infer_cost):
    line = f"journey llama-3.1-8b {H100}"
    stages = infer_cost(f"{line} --json").json["stages"]
    rows = list(csv.DictReader(io.StringIO(infer_cost(f"{line} --output csv").out)))
    assert [float(row["e2e_s"]) for row in rows] == [stage["e2e_s"] for stage in stages]
    assert [row["name"] for row in rows] == [stage["name"] for stage in stages]


def test_csv_of_one_answer_is_one_row(infer_cost):
    answer = infer_cost(f"{ESTIMATE} --json").json
    (row,) = csv.DictReader(io.StringIO(infer_cost(f"{ESTIMATE} --output csv").out))
    assert float(row["ttft_s.expected"]) == answer["ttft_s"]["expected"]
    assert row["fits"] == "true"


def test_markdown_is_a_table(infer_cost):
    lines = infer_cost(f"{ESTIMATE} --output markdown").out.splitlines()
    assert lines[:2] == ["| name | value |", "| --- | --- |"]
    assert "| model | llama-3.1-8b |" in lines
    assert all(line.count("|") - line.count("\\|") == 3 for line in lines)


def test_output_json_is_json(infer_cost):
    assert infer_cost(f"{ESTIMATE} --output json").out == infer_cost(f"{ESTIMATE} --json").out
    assert "error" in infer_cost(f"{ESTIMATE} --gpus 3 --tp 3 --output json").json


def test_an_unknown_format(infer_cost):
    result = infer_cost(f"{ESTIMATE} --output xml")
    assert result.code == 2
    assert "markdown" in result.err


# narrow terminals, colour, streams that fail

LINES = [
    f"journey llama-3.1-8b {H100}",
    ESTIMATE,
    f"roofline llama-3.1-8b {H100}",
    f"memory llama-3.1-8b {H100}",
]


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("line", LINES)
def test_tables_fit_the_terminal(infer_cost, monkeypatch, line, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = infer_cost(line).out
    broad = [text for text in printed.splitlines() if len(text) > columns and "  " in text.strip()]
    assert not broad


def test_every_figure_is_still_there_on_a_narrow_terminal(infer_cost, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    wide = infer_cost(f"estimate llama-3.1-8b {H100}").out
    monkeypatch.setenv("COLUMNS", "40")
    narrow = infer_cost(f"estimate llama-3.1-8b {H100}").out
    figures = {word for word in wide.split("Assumed")[0].split() if any(letter.isdigit() for letter in word)}
    assert len(figures) > 20
    assert figures <= set(narrow.split())


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from infer_cost.cli.main import run; run()", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("line", [ESTIMATE, f"{ESTIMATE} --json", "--help", "catalog models"])
def test_a_full_disk_is_said(line):
    with Path("/dev/full").open("w") as full:
        done = run(*line.split(), stdout=full)
    assert done.returncode == 2
    assert done.stderr == "infer-cost: cannot read or write the output: No space left on device\n"


def test_a_reader_that_leaves_is_no_error():
    command = [sys.executable, "-c", "from infer_cost.cli.main import run; run()", "catalog", "models", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None and started.stderr is not None
        started.stdout.read(10)
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(60) == 0


def test_an_interrupt_ends_quietly(infer_cost, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("infer_cost.serving.estimate.estimate", interrupted)
    result = infer_cost(ESTIMATE)
    assert (result.code, result.out, result.err) == (130, "", "")


def test_colour_only_on_a_terminal(infer_cost, monkeypatch):
    from infer_cost.cli import output

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.bold("x") == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.bold("x") == "x"


def test_a_missing_option_says_where_the_names_are(infer_cost):
    assert "catalog hardware" in infer_cost("estimate llama-3.1-8b").err
    assert "catalog models" in infer_cost(f"estimate {H100}").err
    assert json.loads(infer_cost("estimate llama-3.1-8b --json").out)["error"]["field"] == "hardware"
