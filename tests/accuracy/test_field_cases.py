"""Cases from people's reports: what an engine showed, and what a naive model would have said."""

import pytest

from infer_cost.roofline import attention_flops_causal, decode_throughput, speculative_expected_tokens, t_mem


def test_a_mixture_reads_its_active_experts_only() -> None:
    """AlexsJones/llmfit#474: 1.1 of 13 GB active at 512 GB/s ran at 77.6 tokens/s, above the bound of the total."""
    measured = 77.6
    assert decode_throughput(1, t_mem(1.1e9, 0.0, 512e9)) == pytest.approx(465, rel=0.002)
    assert decode_throughput(1, t_mem(13e9, 0.0, 512e9)) < measured < decode_throughput(1, t_mem(1.1e9, 0.0, 512e9))


def test_bytes_read_are_fewer_than_bytes_resident() -> None:
    """ashalliants/ninfer-3090#36, #50: 36.15 tokens/s at 623 of 936.2 GB/s are 17.23 GB a token, 66.5 %."""
    read = 623e9 / 36.15
    assert read == pytest.approx(17.23e9, rel=1e-3)
    assert t_mem(read, 0.0, 936.2e9) * 36.15 == pytest.approx(0.665, rel=1e-3)


def test_time_to_first_token_is_not_linear() -> None:
    """kekzl/imp#1004, a 14.8B model: 0.68 s at 8k and 1.5 s at 16k give 3.68 s at 32k and 10.1 s at 64k.

    Two rates, one for the matrices and one for attention, follow from the first two points.
    """
    layers, heads, head_dim, parameters = 40, 40, 128, 14.768e9

    def work(tokens: int) -> tuple[float, float]:
        return 2 * parameters * tokens, attention_flops_causal(layers, heads, head_dim, tokens, 0)

    (g8, a8), (g16, a16) = work(8192), work(16384)
    attention = (1.5 - 0.68 * g16 / g8) / (a16 - a8 * g16 / g8)
    matrices = (0.68 - attention * a8) / g8

    def time(tokens: int) -> float:
        flops, attending = work(tokens)
        return matrices * flops + attention * attending

    assert time(32768) == pytest.approx(3.68, rel=0.1)
    assert time(65536) == pytest.approx(10.1, rel=0.1)
    assert 0.68 * 8 < 0.6 * 10.1, "linear extrapolation is far off"
    # The measured 0.68 s is rounded, and the share hangs on its last digit.
    assert attention * work(32768)[1] / time(32768) == pytest.approx(0.364, rel=0.15)


def test_accepted_length_of_a_verify() -> None:
    """ggml-org/llama.cpp#24536: 167 of 259 drafts in 87 verifies, 2.92 tokens each.

    The aggregate rate 167/259 in the geometric formula gives 2.33; the rate at each position given the ones before,
    80.5, 78.5 and 76.4 %, is what the formula wants.
    """
    per_position = (0.805, 0.632, 0.483)
    assert pytest.approx(2.92, rel=1e-3) == 1 + 167 / 87
    assert 1 + sum(per_position) == pytest.approx(2.92, rel=1e-3)
    conditional = (per_position[2]) ** (1 / 3)
    assert speculative_expected_tokens(conditional, 3) == pytest.approx(2.92, rel=0.02)
    assert speculative_expected_tokens(167 / 259, 3) == pytest.approx(2.33, rel=0.01)
