from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError
from infer_cost.pricing import Usage

counts = st.integers(0, 10**9)


@given(counts, counts, counts, counts, counts)
def test_the_two_conventions_describe_the_same_call(plain: int, read: int, w5: int, w1: int, out: int) -> None:
    outside = Usage.from_anthropic(
        plain, out, cache_read_input_tokens=read, cache_creation_5m_tokens=w5, cache_creation_1h_tokens=w1
    )
    assert outside.input_tokens == plain + read + w5 + w1
    assert outside.plain_input_tokens == plain
    inside = Usage.from_openai(plain + read + w5, out, cached_tokens=read, cache_write_tokens=w5)
    assert inside.plain_input_tokens == plain


def test_thoughts_add_to_candidates() -> None:
    usage = Usage.from_gemini(324, 1364, thoughts_token_count=495)
    assert (usage.output_tokens, usage.visible_output_tokens) == (1859, 1364)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"input_tokens": -1}, "input_tokens"),
        ({"input_tokens": 1.5}, "input_tokens"),
        ({"input_tokens": True}, "input_tokens"),
        ({"output_tokens": 10**19}, "output_tokens"),
        ({"input_tokens": 10, "cached_tokens": 11}, "input_tokens"),
        ({"input_tokens": 10, "cached_tokens": 6, "cache_write_5m_tokens": 5}, "input_tokens"),
        ({"output_tokens": 10, "reasoning_tokens": 11}, "output_tokens"),
        ({"web_searches": -2}, "web_searches"),
    ],
)
def test_counts_that_cannot_be_are_refused(wrong: dict[str, int], field: str) -> None:
    with pytest.raises(InputError) as caught:
        Usage(**wrong)
    assert caught.value.field == field


def test_a_negative_part_is_refused_under_its_own_name() -> None:
    with pytest.raises(InputError, match="input_tokens is -5"):
        Usage.from_anthropic(-5, 1, cache_read_input_tokens=10)
