"""A sample of random command lines and hostile files; ``python tools/fuzz.py -n 20000`` runs many."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("fuzz", ROOT / "tools" / "fuzz.py")
assert _SPEC is not None and _SPEC.loader is not None
fuzz = importlib.util.module_from_spec(_SPEC)
sys.modules["fuzz"] = fuzz
_SPEC.loader.exec_module(fuzz)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    for name in ("INFER_COST_CONFIG", "HF_HUB_OFFLINE", "COLUMNS"):
        monkeypatch.setenv(name, "none")


@pytest.mark.skipif(not hasattr(fuzz.signal, "setitimer"), reason="no interval timer here")
def test_random_command_lines_keep_the_contract():
    tally = fuzz.fuzz(200, seed=7)
    assert tally.failures == []
    assert tally.codes[0] > 20
    assert tally.codes[2] > 100


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (fuzz.Outcome(0, "an answer", "", 0.1), None),
        (fuzz.Outcome(70, "", "infer-cost: internal error", 0.1), "exit code 70"),
        (fuzz.Outcome(0, "", "", 0.1, raised="KeyError: 'x'"), "raised KeyError"),
        (fuzz.Outcome(2, "half an answer", "infer-cost: no", 0.1), "bad input, and still an answer"),
        (fuzz.Outcome(2, "", "", 0.1), "0 lines"),
        (fuzz.Outcome(2, "", "1\n2\n3", 0.1), "3 lines"),
        (fuzz.Outcome(0, "costs nan dollars", "", 0.1), "NaN or infinity"),
    ],
)
def test_what_breaks_the_contract_is_seen(outcome, said):
    assert (fuzz.verdict(["estimate"], outcome) or "").startswith(said or "")
    assert (fuzz.verdict(["estimate"], outcome) is None) is (said is None)


@pytest.mark.parametrize("text", ["", "{", '{"a": NaN}', '{"a": 1} {"b": 2}'])
def test_what_is_no_document_is_seen(text):
    assert fuzz.verdict(["estimate", "--json"], fuzz.Outcome(0, text, "", 0.1)) is not None
