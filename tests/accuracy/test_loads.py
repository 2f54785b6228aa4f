"""What any load must do: more users never wait less, and what flows obeys Little's law."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.serving.estimate import Estimate, estimate

LOADS = (1, 4, 16, 64, 256, 1024)


def answer(model: str, engine: str, lengths: tuple[int, int], load: int) -> Estimate:
    return estimate(
        model, "h200-sxm", gpus=8, engine=engine, input_tokens=lengths[0], output_tokens=lengths[1], concurrency=load
    )


@settings(max_examples=12, deadline=None)
@given(
    model=st.sampled_from(["llama-3.1-8b", "deepseek-r1", "gpt-oss-120b"]),
    engine=st.sampled_from(["vllm", "sglang", "trtllm", "llama.cpp", "generic"]),
    lengths=st.tuples(st.integers(16, 8000), st.integers(2, 2000)),
)
def test_latency_grows_with_the_load(model: str, engine: str, lengths: tuple[int, int]) -> None:
    answers = [answer(model, engine, lengths, load) for load in LOADS]
    for less, more in pairwise(answers):
        assert less.tpot_s is not None and more.tpot_s is not None
        assert more.tpot_s.expected >= less.tpot_s.expected * 0.99
        assert more.ttft_s.expected >= less.ttft_s.expected * (1 - 1e-6)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_littles_law(engine: str) -> None:
    found = answer("gpt-oss-120b", engine, (1024, 512), 64)
    rate = found.output_tokens_per_s_per_gpu.expected * found.gpus / 512
    assert found.tpot_s is not None
    latency = found.ttft_s.expected + 511 * found.tpot_s.expected
    assert rate * latency == pytest.approx(64, rel=1e-6)


def test_ranges_widen_with_ignorance() -> None:
    def width(model: str, hardware: str, engine: str) -> float:
        tpot = estimate(model, hardware, engine=engine, concurrency=4).tpot_s
        assert tpot is not None
        return float(tpot.high / tpot.expected)

    known = width("gpt-oss-120b", "h200-sxm", "vllm")
    assert known < width("gpt-oss-120b", "h200-sxm", "generic")
    assert known < width("gpt-oss-120b", "mi300x", "vllm")
    assert known < width("qwen3-30b-a3b", "h200-sxm", "vllm")


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_a_token_more_never_shortens_a_prompt(stages: int) -> None:
    def first(tokens: int) -> float:
        found = estimate(
            "llama-3.1-70b", "h100-sxm", tp=4, pp=stages, engine="vllm", input_tokens=tokens, output_tokens=64
        )
        return float(found.ttft_s.expected)

    # Beyond the budget of 8,192 tokens an engine cuts off a full chunk and a rest, and no two halves.
    assert first(8192) <= first(8193) < 1.05 * first(8192)
    # Long prompts do fill the pipeline: a chunk of eight is waited for in each further stage.
    assert first(8 * 8192) < first(8 * 8192 + 1) < 1.05 * first(8 * 8192)
