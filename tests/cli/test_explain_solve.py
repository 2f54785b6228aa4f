"""``infer-cost explain`` and ``solve`` as a user types them."""

from __future__ import annotations

import json

import pytest

from infer_cost.cli.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line in this process; its exit code, what it printed and what it complained of."""
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    printed = capsys.readouterr()
    return int(left.value.code or 0), printed.out, printed.err


DEEPSEEK_H200 = [
    "active_parameters=37B",
    "peak_flops=1979 TFLOP/s",
    "memory_bandwidth=4.8 TB/s",
    "kv_bytes_per_token=70272 B",
    "attention_flops=16990208",
    "attention_peak_flops=989 TFLOP/s",
]


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "explain", "optimal_batch")
    assert (code, err) == (0, "")
    assert "B_opt = (C / BW)·(b / 2)·(N_total / N_active)" in out
    assert "peak_flops" in out
    assert "[FLOP/s]" in out
    assert "Range:" in out
    assert "Sources:" in out
    assert "Try: infer-cost explain optimal_batch peak_flops=600e12" in out
    assert "\x1b" not in out
    assert all(len(line) <= 120 for line in out.splitlines())


def test_explain_latex(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "explain", "ridge_point", "--latex")
    assert r"I_{ridge} = \frac{C}{BW}" in out


def test_explain_with_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain", "ridge_point", "peak_flops=989 TFLOP/s", "BW=3.35TB/s")
    assert code == 0
    assert "I_ridge = 989e12 / 3.35e12" in out
    assert "ridge_point = 295 FLOP/B" in out
    assert "Try:" not in out


def test_explain_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "explain", "ridge_point", "peak_flops=989 TFLOP/s", "BW=3.35TB/s", "--json")
    told = json.loads(out)
    assert told["name"] == "ridge_point"
    assert told["equation"] == "I_ridge = C / BW"
    assert told["value"] == pytest.approx(295.22, abs=0.01)
    assert told["unit"] == "FLOP/B"
    assert told["inputs"] == {"peak_flops": 989e12, "memory_bandwidth": 3.35e12}
    assert [symbol["name"] for symbol in told["symbols"]] == ["ridge_point", "peak_flops", "memory_bandwidth"]
    assert told["references"]
    _, out, _ = call(capsys, "explain", "ridge_point", "--json")
    assert json.loads(out)["value"] is None


def test_explain_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "explain")
    assert code == 0
    assert "ridge_point" in out
    assert "queueing servers" in out
    _, out, _ = call(capsys, "explain", "--json")
    listed = json.loads(out)
    assert {"name": "t_mem", "equation": "T_mem = (W + K) / BW"}.items() <= listed[7].items()
    assert len(listed) > 120


def test_solve(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(
        capsys, "solve", "ridge_point", "--for", "memory_bandwidth", "peak_flops=989 TFLOP/s", "ridge_point=295"
    )
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "memory_bandwidth = 3.35 TB/s (3.35254e12 B/s)"
    assert "BW = C/I_ridge" in out
    assert "with  peak_flops = 989 TFLOP/s, ridge_point = 295 FLOP/B" in out


def test_solve_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(
        capsys, "solve", "ridge_point", "--for", "BW", "peak_flops=989 TFLOP/s", "ridge_point=295", "--json"
    )
    found = json.loads(out)
    assert found["value"] == pytest.approx(3.35254e12, rel=1e-5)
    assert (found["unit"], found["for"], found["name"]) == ("B/s", "memory_bandwidth", "ridge_point")
    assert (found["closed_form"], found["method"]) == ("BW = C/I_ridge", "closed form")
    assert found["inputs"] == {"peak_flops": 989e12, "ridge_point": 295.0}


def test_solve_by_other_ways(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(
        capsys,
        "solve",
        "speculative_expected_tokens",
        "--for",
        "acceptance",
        "gamma=3",
        "speculative_expected_tokens=2.5",
    )
    assert "by bisection" in out
    _, out, _ = call(capsys, "solve", "t_mem", "--for", "t_mem", "W=70.55 GB", "K=0", "BW=3.35 TB/s")
    assert out.startswith("t_mem = 21.1 ms")
    assert "as it stands" in out


def test_no_critical_context(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "solve", "critical_context", "--for", "critical_context", *DEEPSEEK_H200)
    assert (code, out) == (1, "")
    assert err == "infer-cost: no critical context: attention's arithmetic grows faster than its traffic\n"
    code, out, _ = call(capsys, "explain", "critical_context", *DEEPSEEK_H200, "--json")
    assert code == 1
    assert json.loads(out)["error"]["field"] == "critical_context"


def test_hyphens_are_as_good_as_underscores(capsys):
    assert call(capsys, "explain", "optimal-batch") == call(capsys, "explain", "optimal_batch")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "ridgepoint"], "did you mean ridge_point?"),
        (["explain", "optimal-batc"], "did you mean optimal_batch"),
        (["explain", "ridge_point", "989"], "'989' isn't name=value"),
        (["explain", "ridge_point", "=989"], "isn't name=value"),
        (["explain", "ridge_point", "BW=1", "BW=2"], "BW is given twice"),
        (["explain", "ridge_point", "BW=1", "memory_bandwidth=2"], "memory_bandwidth is given twice"),
        (["explain", "ridge_point", "peak_flops=1"], "needs memory_bandwidth"),
        (["explain", "ridge_point", "peak_flops=80 GB", "BW=1"], "is of another kind (B)"),
        (["explain", "t_mem", "W=80 Gb", "K=0", "BW=1"], "is in bits, bytes are meant"),
        (["solve", "ridge_point", "--for", "nothing", "peak_flops=1"], "unknown symbol 'nothing'"),
        (["solve", "ridge_point", "peak_flops=1"], "--for"),
        (["explain", "t_mem", "W=1", "K=1", "BW=0"], "has no value with memory_bandwidth = 0"),
    ],
)
def test_errors_are_a_line_or_two(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) <= 2
