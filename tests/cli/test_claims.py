"""``infer-cost claims``: counts, one claim in full, filters, JSON."""

from __future__ import annotations

import json

import pytest

from infer_cost.cli.claims import figure
from infer_cost.cli.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        run(["claims", *arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_overview_counts_and_lists_contradictions(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys)
    assert code == 0
    assert out.splitlines()[0].split()[:3] == ["document", "reproduces", "inconsistent"]
    assert any(line.startswith("C136") for line in out.splitlines())
    assert max(map(len, out.splitlines())) <= 100


def test_overview_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call(capsys)
    assert all(len(line) <= 80 for line in out.splitlines() if line.startswith("C1"))


def test_one_claim_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "c054")
    assert code == 0
    assert "ridge_point(" in out and "fails" in out and "412" in out


def test_filtered_list_ends_with_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "--stage", "14", "--document", "digest", "--verdict", "inconsistent")
    assert out.rstrip().endswith("0 reproduces, 4 inconsistent, 0 external fact, 0 qualitative")


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "--json", "--stage", "10")
    answer = json.loads(out)
    keys = {"id", "statement", "document", "stage", "given", "ours", "unit", "verdict", "why", "formula", "inputs"}
    assert all(keys <= set(row) for row in answer["claims"])
    assert sum(answer["counts"].values()) == len(answer["claims"])


@pytest.mark.parametrize("wrong", [["--stage", "99"], ["--verdict", "x"], ["--document", "x"], ["C000"]])
def test_bad_filters_leave_with_two(capsys: pytest.CaptureFixture[str], wrong: list[str]) -> None:
    code, out, err = call(capsys, *wrong)
    assert code == 2 and not out and len(err.splitlines()) <= 2


@pytest.mark.parametrize(
    ("value", "text"), [(2.0, "2"), (0.0, "0"), (1e18, "1e+18"), (0.9529, "0.953"), (None, "-"), ("bf16", "bf16")]
)
def test_figures(value: object, text: str) -> None:
    assert figure(value) == text
