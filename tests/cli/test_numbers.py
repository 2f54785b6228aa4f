"""Numbers as people type them, in every option that takes one."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.cli.numbers import Count, LimitedCount, Number, accept_spellings


@pytest.mark.parametrize(
    ("typed", "meant"), [("16384", 16384), ("16,384", 16384), ("16k", 16_000), ("1.5k", 1500), ("1M", 1_000_000)]
)
def test_counts(typed, meant):
    count = Count().convert(typed, None, None)
    assert count == meant and isinstance(count, int)


@pytest.mark.parametrize("typed", ["16.5", "16GB", "50%", "100%", "k", "", "nan", "1e400", "16 ms", "1,6"])
def test_what_is_no_count_is_refused(typed):
    with pytest.raises(click.BadParameter, match="is not a valid integer"):
        Count().convert(typed, None, None)


@pytest.mark.parametrize(("typed", "meant"), [("0.4", 0.4), ("40%", 0.4), ("6M", 6e6), ("1,000.5", 1000.5)])
def test_numbers(typed, meant):
    assert Number().convert(typed, None, None) == pytest.approx(meant, rel=1e-12)


@pytest.mark.parametrize("typed", ["20 ms", "half", "$5"])
def test_what_is_no_number_is_refused(typed):
    with pytest.raises(click.BadParameter, match="is not a valid float"):
        Number().convert(typed, None, None)


@given(st.integers(-(10**12), 10**12))
def test_plain_counts_stay_what_they_are(value):
    assert Count().convert(str(value), None, None) == value
    assert Count().convert(f"{value:,}", None, None) == value


def test_limits_hold_in_every_spelling():
    option = click.Option(["--n"], type=click.IntRange(min=0, max=2000))
    accept_spellings(option)
    assert isinstance(option.type, LimitedCount)
    assert option.type.convert("2k", None, None) == 2000
    with pytest.raises(click.BadParameter, match="range"):
        option.type.convert("3k", None, None)


def test_the_command_line_reads_them(infer_cost):
    plain = infer_cost("memory llama-3.1-8b --context 16000 --json")
    assert infer_cost("memory llama-3.1-8b --context 16k --json").out == plain.out
    shares = [infer_cost(f"estimate llama-3.1-8b --hardware l40s --utilization {u} --json").out for u in ("0.4", "40%")]
    assert shares[0] == shares[1]


@pytest.mark.parametrize(("theirs", "ours"), [("--quantization", "--weights"), ("--batch-size", "--concurrency")])
def test_other_tools_words_are_answered_with_ours(infer_cost, theirs, ours):
    answer = infer_cost(f"estimate llama-3.1-8b --hardware l40s {theirs} 8")
    assert answer.code == 2
    assert f"did you mean {ours}?" in answer.err
