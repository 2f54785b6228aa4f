"""Mixed workloads: classes, reasoning, turns, and the source document's batch put right."""

from __future__ import annotations

import pytest

import infer_cost
from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.serving.engine_times import packed_prefill_time, prefill_time, token_time
from infer_cost.serving.mix import RequestClass, estimate_mix, read_mix
from infer_cost.serving.scenario import scenario
from infer_cost.serving.steady import admission_wait, meeting, prefills_ahead
from tests.serving.support import MACHINE, engine, model

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


@pytest.mark.parametrize("lengths", [(100, 20), (100, 1), (500, 2), (9000, 5), (300, 3000)])
@pytest.mark.parametrize("options", [{"concurrency": 200}, {"concurrency": 48, "dp": 2, "tp": 2}])
def test_one_class_is_the_plain_estimate_however_prompts_share_passes(lengths, options):
    mix = _mix(RequestClass("all", 1.0, *lengths), **options)
    plain = infer_cost.estimate(
        "llama-3.1-70b", "h100-sxm", input_tokens=lengths[0], output_tokens=lengths[1], **{**BASE, **options}
    )
    (times,) = mix.classes
    assert times.ttft_s == pytest.approx(plain.ttft_s.expected, rel=1e-9)
    if lengths[1] > 1:
        assert times.tpot_s == pytest.approx(plain.tpot_s.expected, rel=1e-9)
    assert mix.output_tokens_per_s_per_gpu == pytest.approx(plain.output_tokens_per_s_per_gpu.expected, rel=1e-9)


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


@pytest.mark.parametrize("option", ["--input-tokens 5", "--output-tokens 5", "--cached-tokens 5", "--chart"])
def test_what_the_file_says_is_not_said_twice(infer_cost, option):
    line = "estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --workload docs/examples/four-users.toml"
    result = infer_cost(f"{line} {option}")
    assert result.code == 2
    assert option.split()[0] in result.err and "--workload" in result.err
    assert len(result.err.strip().splitlines()) <= 2


# One in four requests reads 2,000 tokens and writes 401, the others read 200 and write 101.
LONG = RequestClass("long", 0.25, 2000, 401)
SHORT = RequestClass("short", 0.75, 200, 101)
MEAN_STEPS = 0.25 * 400 + 0.75 * 100
"""175 tokens after the first; of a hundred sequences that run 4/7 are long, for they stay four times as long."""
RUNNING_CONTEXT = 4 / 7 * (2000 + 200.5) + 3 / 7 * (200 + 50.5)


def profile(**constants):
    return engine(**{"host_request_s": 1e-3, "admission_steps": 1.5, **constants})


def _toy(*classes, **options):
    settings = {"engine": profile(), "concurrency": 8}
    return estimate_mix(model(), MACHINE, classes or (LONG, SHORT), **{**settings, **options})


def compiled(**options):
    return scenario(model(), MACHINE, engine=profile(), must_fit=False, **options).engine


def prefills(**options):
    loop = compiled(**options)
    return [prefill_time(loop, float(n), 0.0) for n in (2000, 200)]


def test_a_step_serves_what_runs():
    token = token_time(compiled(), 8.0, RUNNING_CONTEXT).total_s
    long, short = prefills()
    occupancy = 0.25 * long.occupancy_s + 0.75 * short.occupancy_s
    # Of seven others some have prefilled before, the rest does in the 175 steps that a mean request lives for.
    ahead = prefills_ahead(8.0, MEAN_STEPS, 1000 / 650)
    assert ahead == pytest.approx(meeting(8.0) * 8 / 175)
    found = _toy()
    assert found.tpot_s == pytest.approx(token + (7 - ahead) * occupancy / MEAN_STEPS)
    wait = admission_wait(compiled(), 8.0, token) + ahead * occupancy + 1e-3
    assert wait == pytest.approx(1.5 * token + ahead * occupancy + 1e-3)
    assert found.classes[0].ttft_s == pytest.approx(wait + long.passes.total_s)
    assert found.classes[1].ttft_s == pytest.approx(wait + short.passes.total_s)
    for one, steps in zip(found.classes, (400, 100), strict=True):
        assert one.e2e_s == pytest.approx(one.ttft_s + steps * found.tpot_s)
        assert one.tpot_s == found.tpot_s


def test_data_ranks_meet_fewer_prefills():
    found = _toy(dp=2)
    token = token_time(compiled(dp=2), 8.0, RUNNING_CONTEXT).total_s
    # Two prompts of the mean length, one on each rank, in one pass.
    occupancy = packed_prefill_time(compiled(dp=2), 650.0, 0.0, 1.0, ranks=2)
    assert found.tpot_s == pytest.approx(token + (3 - meeting(4.0) * 4 / 175) * occupancy / MEAN_STEPS)


def test_one_user_meets_nobody():
    found = _toy(concurrency=1)
    assert found.tpot_s == pytest.approx(token_time(compiled(), 1.0, RUNNING_CONTEXT).total_s)


def test_rates_and_money():
    found = _toy(gpus=2, utilization=0.5)
    mean = 0.25 * found.classes[0].e2e_s + 0.75 * found.classes[1].e2e_s
    assert found.requests_per_s == pytest.approx(8 / mean)
    assert found.output_tokens_per_s_per_gpu == pytest.approx(8 / mean * (0.25 * 401 + 0.75 * 101) / 2)
    # A tenth of a cent a GPU-second, two GPUs, eight users, half of the time paid in vain.
    assert found.cost_usd == pytest.approx(0.001 * 2 * mean / 8 / 0.5)
    assert [one.cost_usd / one.e2e_s for one in found.classes] == pytest.approx([0.0005, 0.0005])


def test_who_finds_no_room_waits_as_long_whatever_its_class():
    found, free = _toy(concurrency=24, max_num_seqs=8), _toy(concurrency=8, max_num_seqs=8)
    assert found.running == 8
    mean = 0.25 * free.classes[0].e2e_s + 0.75 * free.classes[1].e2e_s
    # Sixteen of 24 wait, twice as long as a mean request runs.
    for one, alone in zip(found.classes, free.classes, strict=True):
        assert one.ttft_s == pytest.approx(alone.ttft_s + 2 * mean)
    assert found.requests_per_s == pytest.approx(free.requests_per_s)
    # Three times as many users pay for the same GPUs three times as long.
    assert found.cost_usd == pytest.approx(free.cost_usd)
    assert found.classes[0].cost_usd == pytest.approx(0.001 / 24 * found.classes[0].e2e_s)


def test_room_is_for_what_the_running_hold():
    # 33.4 MB are 10,442 tokens. Those that run hold 4/7 · (2,000 + 200.5) + 3/7 · (200 + 50.5) = 1,364.8 on average,
    # 86 blocks of 16 each: seven find room.
    assert _toy(memory_utilization=0.32).running == 7
    # With all of the output set aside it is 1,501, 94 blocks: six.
    assert _toy(memory_utilization=0.32, engine=profile(output_reserve=1.0)).running == 6


def test_a_class_of_one_token_weighs_nothing_in_the_steps():
    scoring = RequestClass("scoring", 0.5, 3000, 1)
    chat = RequestClass("chat", 0.5, 200, 101)
    found = _toy(scoring, chat, concurrency=1)
    assert found.tpot_s == pytest.approx(token_time(compiled(), 1.0, 250.5).total_s)
    only = _toy(RequestClass("scoring", 1.0, 3000, 1))
    assert only.tpot_s == pytest.approx(token_time(compiled(), 8.0, 3000.5).total_s)
    assert only.classes[0].e2e_s == only.classes[0].ttft_s


def test_reasoning_is_generated_and_not_seen():
    thinking = _toy(RequestClass("think", 1.0, 200, 101, reasoning_tokens=300))
    plain = _toy(RequestClass("plain", 1.0, 200, 401))
    assert thinking.classes[0].e2e_s == pytest.approx(plain.classes[0].e2e_s)
    assert thinking.output_tokens_per_s_per_gpu == pytest.approx(plain.output_tokens_per_s_per_gpu)
    (one,) = thinking.classes
    assert one.visible_ttft_s == pytest.approx(one.ttft_s + 300 * one.tpot_s)
    assert plain.classes[0].visible_ttft_s == plain.classes[0].ttft_s


def test_turns_are_classes_of_their_own():
    found = _toy(RequestClass("talk", 1.0, 200, 101, turns=2), RequestClass("other", 1.0, 300, 101))
    assert [one.name for one in found.classes] == ["talk, turn 1", "talk, turn 2", "other"]
    assert [one.input_tokens for one in found.classes] == [200, 501, 300]
    # 301 tokens were said; the last of them was never put through the model.
    assert [one.cached_tokens for one in found.classes] == [0, 300, 0]
    assert [one.share for one in found.classes] == [0.5, 0.5, 1.0]
    # The flat batch is of what users sent.
    assert (found.flattened_tokens, found.padded_tokens) == (500, 600)
    assert found.padding_waste == pytest.approx(1 / 6)
    cached = list(RequestClass("talk", 1.0, 200, 100, cached_tokens=50, turns=2).requests())
    assert [one.cached_tokens for one in cached] == [50, 299]


def test_the_longest_class_decides_what_fits():
    with pytest.raises(CannotBeMetError, match="context window"):
        _toy(SHORT, RequestClass("long", 0.1, 3996, 50, reasoning_tokens=51))
    assert _toy(SHORT, RequestClass("long", 0.1, 3996, 50, reasoning_tokens=50)).classes
    with pytest.raises(CannotBeMetError, match="context window"):
        _toy(RequestClass("out", 0.1, 10, 4087), SHORT)
    assert _toy(RequestClass("one", 1.0, 1, 10)).classes[0].input_tokens == 1
    with pytest.raises(CannotBeMetError, match="doesn't fit"):
        _toy(memory_utilization=0.289)
    for pool in ("prefill_gpus", "decode_gpus"):
        with pytest.raises(InputError, match="two pools"):
            _toy(**{pool: 1})


def test_files(tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text(
        "[[class]]\nname = 'a'\nshare = 3\ninput_tokens = 100\noutput_tokens = 10\ncached_tokens = 99\n"
        "reasoning_tokens = 5\nturns = 1000\n[[class]]\ninput_tokens = 1\noutput_tokens = 1\n"
    )
    first, second = read_mix(path)
    assert first == RequestClass("a", 0.75, 100, 10, 99, 5, 1000)
    assert second == RequestClass("class 2", 0.25, 1, 1, 0, 0, 1)


WRONG = {
    "turns = 1001": "1 to 1,000",
    "turns = 0": "1 to 1,000",
    "cached_tokens = 100": "0 to 99",
    "reasoning_tokens = -1": "0 to 100,000,000",
    "share = -1": "0 or more",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_in_a_file(tmp_path, line):
    path = tmp_path / "mix.toml"
    path.write_text(f"[[class]]\ninput_tokens = 100\noutput_tokens = 10\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_mix(path)
    assert caught.value.allowed == WRONG[line]


def test_a_class_that_is_no_table(tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text("class = [3]\n")
    with pytest.raises(InputError, match="class 1 is no table"):
        read_mix(path)
    path.write_text("[[class]]\n")
    with pytest.raises(InputError, match="class 1 lacks input_tokens and output_tokens"):
        read_mix(path)
