"""Mixed workloads: classes, reasoning, turns, and the source document's batch put right."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.serving.mix import RequestClass, estimate_mix, read_mix

BASE = {"gpus": 4, "weights": "fp8", "concurrency": 16}


def _mix(*classes, **options):
    return estimate_mix("llama-3.1-70b", "h100-sxm", classes, **{**BASE, **options})


def test_one_class_is_the_plain_estimate():
    mix = _mix(RequestClass("all", 1.0, 2000, 300))
    plain = infer_cost.estimate("llama-3.1-70b", "h100-sxm", input_tokens=2000, output_tokens=300, **BASE)
    (times,) = mix.classes
    assert times.ttft_s == pytest.approx(plain.ttft_s.expected, rel=1e-9)
    assert times.tpot_s == pytest.approx(plain.tpot_s.expected, rel=1e-9)
    assert mix.output_tokens_per_s_per_gpu == pytest.approx(plain.output_tokens_per_s_per_gpu.expected, rel=1e-9)
    assert times.cost_usd == pytest.approx(plain.cost_usd, rel=1e-9)


def test_flattened_and_padded():
    mix = _mix(*(RequestClass(name, 1.0 / 3, n, 10) for name, n in (("A", 50_000), ("B", 1), ("C", 10_000))))
    assert mix.flattened_tokens == 60_001  # printed as 56,001 in the source document
    assert mix.padded_tokens == 150_000
    assert mix.padding_waste == pytest.approx(1 - 60_001 / 150_000)


def test_a_long_prompt_slows_everybody_s_tokens():
    chat = RequestClass("chat", 1.0, 100, 200)
    code = RequestClass("code", 0.2, 50_000, 200)
    alone = _mix(chat)
    beside = _mix(RequestClass("chat", 0.8, 100, 200), code)
    assert beside.tpot_s > alone.tpot_s * 1.2
    assert beside.classes[0].ttft_s < beside.classes[1].ttft_s


def test_reasoning_comes_before_the_answer():
    (times,) = _mix(RequestClass("think", 1.0, 500, 100, reasoning_tokens=900)).classes
    assert times.output_tokens == 1000
    assert times.visible_ttft_s == pytest.approx(times.ttft_s + 900 * times.tpot_s)


def test_turns_find_what_was_said_before():
    turns = list(RequestClass("talk", 1.0, 200, 100, turns=3).requests())
    assert [turn.input_tokens for turn in turns] == [200, 500, 800]
    assert [turn.cached_tokens for turn in turns] == [0, 299, 599]
    assert sum(turn.share for turn in turns) == pytest.approx(1.0)


def test_little_s_law():
    mix = _mix(RequestClass("a", 0.5, 1000, 100), RequestClass("b", 0.5, 5000, 300))
    mean_time = sum(one.share * one.e2e_s for one in mix.classes)
    assert mix.requests_per_s * mean_time == pytest.approx(BASE["concurrency"], rel=1e-9)


def test_a_class_beyond_the_window_is_refused():
    with pytest.raises(CannotBeMetError, match="context window"):
        _mix(RequestClass("long", 1.0, 131_072, 10))


BAD = {
    "no classes": "concurrency = 3",
    "not TOML": "class = [",
    "a typo": "[[class]]\ninput_token = 3\noutput_tokens = 3",
    "a length missing": "[[class]]\ninput_tokens = 3",
    "negative": "[[class]]\ninput_tokens = -3\noutput_tokens = 3",
    "a text": '[[class]]\ninput_tokens = "many"\noutput_tokens = 3',
    "NaN share": "[[class]]\ninput_tokens = 3\noutput_tokens = 3\nshare = nan",
    "all cached": "[[class]]\ninput_tokens = 3\noutput_tokens = 3\ncached_tokens = 3",
    "no shares": "[[class]]\ninput_tokens = 3\noutput_tokens = 3\nshare = 0",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_files(tmp_path, infer_cost, text):
    path = tmp_path / "mix.toml"
    path.write_text(text)
    with pytest.raises(InputError):
        read_mix(path)
    result = infer_cost(f"estimate llama-3.1-8b --hardware h100-sxm --workload {path}")
    assert result.code == 2
    assert len(result.err.strip().splitlines()) <= 2


def test_the_command(infer_cost):
    line = "estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 16"
    shown = infer_cost(f"{line} --workload docs/examples/four-users.toml --json").json
    assert [one["name"] for one in shown["classes"]][:3] == ["chat", "code", "analysis"]
    assert "flat batch" in infer_cost(f"{line} --workload docs/examples/four-users.toml").out
