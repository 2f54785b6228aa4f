"""Quantities as people write them, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost import units
from infer_cost.errors import InferCostError, UnitError
from infer_cost.units import format_quantity, parse, unit


@pytest.mark.parametrize(
    ("text", "stated", "expected"),
    [
        ("3.35 TB/s", "B/s", 3.35e12),
        ("3350GB/s", "B/s", 3.35e12),
        ("80 GB", "B", 80e9),
        ("80GiB", "B", 80 * 2**30),
        ("1 TiB", "B", 2**40),
        ("989 TFLOP/s", "FLOP/s", 989e12),
        ("989 TFLOPS", "FLOP/s", 989e12),
        ("1979 TOPS", "FLOP/s", 1979e12),
        ("20 ms", "s", 0.02),
        ("20ms", "s", 0.02),
        ("5 µs", "s", 5e-6),
        ("5 us", "s", 5e-6),
        ("3 min", "s", 180),
        ("2 h", "s", 7200),
        ("1 day", "s", 86400),
        ("$2.50/h", "USD/h", 2.5),
        ("2.50 $/h", "USD/h", 2.5),
        ("$2.50/hour", "USD/h", 2.5),
        ("$3600/h", "USD/s", 1.0),
        ("$0.55/Mtok", "USD/Mtok", 0.55),
        ("$0.55 per M tokens", "USD/Mtok", 0.55),
        ("$1,234.50", "USD", 1234.5),
        ("700 W", "W", 700),
        ("10.2 kW", "W", 10200),
        ("1 kWh", "J", 3.6e6),
        ("$0.08/kWh", "USD/kWh", 0.08),
        ("12,022", "token", 12022),
        ("12k", "token", 12000),
        ("12k tokens", "token", 12000),
        ("70B", "parameter", 70e9),
        ("8 GPUs", "GPU", 8),
        ("671 billion", "parameter", 671e9),
        ("80%", "fraction", 0.8),
        ("4.5 bit", "bit", 4.5),
        ("400 Gb/s", "bit/s", 400e9),
        ("400 Gbps", "bit/s", 400e9),
        ("70272 B", "B/token", 70272),
        ("70272 B/token", "B/token", 70272),
        ("1.59 GHz", "Hz", 1.59e9),
        ("60 m", "m", 60),
        ("2e8 m/s", "m/s", 2e8),
        ("1_000", "token", 1000),
        ("1e3", "B", 1000),
        (" 5 ", "s", 5),
        ("+5", "s", 5),
        (".5 s", "s", 0.5),
        (3, "s", 3),
        (2.5, "USD/h", 2.5),
        ("5 USD/(GB*h)", "USD/(B*s)", 5 / 1e9 / 3600),
    ],
)
def test_read(text: str | float, stated: str, expected: float) -> None:
    assert parse(text, stated) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "stated", "words"),
    [
        ("400 Gb/s", "B/s", r"is in bits, bytes are meant; allowed: a quantity in B/s\n400 Gb/s are 50 GB/s"),
        ("80 Gb", "B", r"is in bits, bytes are meant.*\n80 Gb are 10 GB"),
        ("2 B", "bit", r"is in bytes, bits are meant.*\n2 B are 16 bit"),
        ("80 GB", "B/s", r"is of another kind \(B\); allowed: a quantity in B/s"),
        ("20 ms", "B", r"is of another kind \(s\)"),
        ("$2.50", "USD/h", r"is of another kind \(USD\)"),
        ("$0.55", "USD/Mtok", "is of another kind"),
        ("$5/h", "USD", r"is of another kind \(USD/s\)"),
        ("5 1/(s*B)", "s", "isn't a number|of another kind|unknown"),
        ("8 GPUs", "s", r"is of another kind \(no unit\)"),
        ("989 TFLOPs", "FLOP/s", r"is of another kind \(FLOP\)"),
        ("80gb", "B", r"unknown unit in '80gb'.*\nwrite GB for bytes or Gb for bits"),
        ("5 mB", "B", "unknown unit"),
        ("5 Kis", "s", "unknown unit"),
        ("5 kitchen", "s", "unknown unit"),
        ("5 GB/s)", "B/s", "unknown unit"),
        ("5 (GB/s", "B/s", "unknown unit"),
        ("5 kGPU", "GPU", "unknown unit"),
        ("1,5 s", "s", "comma where no thousands end"),
        ("12,02", "token", "comma where no thousands end"),
        ("1.2.3 s", "s", "isn't a number with a unit"),
        ("", "s", "isn't a number with a unit"),
        ("$", "USD", "isn't a number with a unit"),
        ("fast", "s", "isn't a number with a unit"),
        ("9" * 81, "s", "is too long"),
        ("nan", "s", "isn't a finite number"),
        ("-inf", "s", "isn't a finite number"),
        ("1e400", "s", "isn't a finite number"),
        (math.nan, "s", "isn't a finite number"),
        ("-3 ms", "s", "is below 0"),
        (-1, "s", "is below 0"),
    ],
)
def test_refused(text: str | float, stated: str, words: str) -> None:
    with pytest.raises(UnitError, match=r"(?s)^the_field: .*" + words) as caught:
        parse(text, stated, field="the_field")
    assert caught.value.field == "the_field"
    assert caught.value.value is text


def test_limits() -> None:
    assert parse(-1, "s", minimum=None) == -1
    assert parse(0, "s") == 0
    assert parse(1, "fraction", maximum=1.0) == 1
    with pytest.raises(UnitError, match="is above 1"):
        parse("150%", "fraction", maximum=1.0)
    with pytest.raises(UnitError, match="is below 2"):
        parse(1, "s", minimum=2.0)


def test_bits_are_turned_into_bytes_where_they_are_welcome() -> None:
    assert parse("400 Gb/s", "B/s", bits=True) == 50e9
    assert parse("8 bit", "B", bits=True) == 1
    assert units.parse_bandwidth("400 Gb/s") == 50e9
    with pytest.raises(UnitError, match="another kind"):
        units.parse_bandwidth("80 GB")


def test_readers_of_a_kind() -> None:
    assert units.parse_bytes("80 GB") == 80e9
    assert units.parse_flops("989 TFLOP/s") == 989e12
    assert units.parse_power("700 W") == 700
    assert units.parse_duration("20 ms") == 0.02
    with pytest.raises(UnitError, match="size: '80 Gb' is in bits"):
        units.parse_bytes("80 Gb")
    with pytest.raises(UnitError, match="l2: "):
        units.parse_bytes("80 s", field="l2")


def test_a_unit_taken_apart() -> None:
    assert unit("USD/(B*s)").dimension == {"USD": 1, "B": -1, "s": -1}
    assert unit("FLOP*h/(s*USD)").dimension == {"FLOP": 1, "USD": -1}
    assert unit("FLOP*h/(s*USD)").factor == 3600
    assert unit("B/B").dimension == {}
    assert unit("1/s").dimension == {"s": -1}
    assert unit("J·s").dimension == {"J": 1, "s": 1}
    assert unit("layer").dimension == {}
    with pytest.raises(UnitError, match="unknown unit 'furlong'"):
        unit("furlong")


@pytest.mark.parametrize(
    ("value", "stated", "text"),
    [
        (3.35e12, "B/s", "3.35 TB/s"),
        (999.9e9, "B", "1 TB"),
        (0.0211, "s", "21.1 ms"),
        (1.5e-6, "s", "1.5 µs"),
        (90, "s", "90 s"),
        (0, "s", "0 s"),
        (3e-9, "s", "3 ns"),
        (70272, "B/token", "70.3 kB/token"),
        (0.5, "B", "0.5 B"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (700, "W", "700 W"),
        (3017.6, "token", "3,018 tokens"),
        (295.2, "FLOP/B", "295 FLOP/B"),
        (70.6e9, "parameter", "70.6 billion parameters"),
        (12e6, "token", "12 million tokens"),
        (15e12, "token", "15 trillion tokens"),
        (1, "GPU", "1 GPU"),
        (14, "server", "14 servers"),
        (2, "switch", "2 switches"),
        (3, "batch", "3 batches"),
        (9.5, "erlang", "9.5 erlang"),
        (2.5, "USD/h", "$2.5/h"),
        (87072, "USD", "$87,072"),
        (-3, "USD", "-$3"),
        (2.39e-7, "USD/token", "$0.239/Mtok"),
        (0.81234, "fraction", "0.812"),
        (1234.4, "ratio", "1,234"),
        (1e-7, "ratio", "1e-07"),
        (1.5e10, "ratio", "1.5e+10"),
        (240, "request/s", "240 request/s"),
        (4.5, "bit", "4.5 bit"),
    ],
)
def test_written(value: float, stated: str, text: str) -> None:
    assert format_quantity(value, stated) == text


def test_more_digits() -> None:
    assert format_quantity(1979e12, "FLOP/s", digits=5) == "1.979 PFLOP/s"
    assert format_quantity(70.55e9, "parameter", digits=4) == "70.55 billion parameters"
    assert format_quantity(0.2393, "USD", digits=4) == "$0.2393"


@given(st.floats(1e-9, 1e20), st.sampled_from(["B/s", "B", "s", "FLOP/s", "USD/h", "USD/Mtok", "W", "FLOP/B", "USD"]))
def test_what_is_written_reads_back(value: float, stated: str) -> None:
    assert parse(format_quantity(value, stated), stated) == pytest.approx(value, rel=6e-3)


@given(st.text(max_size=100), st.sampled_from(["B/s", "USD/h", "token", "fraction", "s"]))
def test_any_text_is_a_finite_number_or_a_clear_error(text: str, stated: str) -> None:
    try:
        assert 0 <= parse(text, stated) < math.inf
    except InferCostError as error:
        assert len(str(error).splitlines()) <= 2


@pytest.mark.parametrize("text", ["1" * 79, "1," * 39, "(" * 79, "1" + "/" * 78, "1e" + "9" * 77, "." * 79, "1 " * 39])
def test_nothing_takes_long(text: str) -> None:
    def taken(line: str) -> float:
        start = time.process_time()
        with pytest.raises(InferCostError):
            parse(line + "x", "B/s")
        return time.process_time() - start

    # Backtracking would make the whole take thousands of times as long as its first half.
    half = min(taken(text[: len(text) // 2]) for _ in range(3))
    assert min(taken(text) for _ in range(3)) < 50 * max(half, 1e-5)


def test_imports_nothing_heavy() -> None:
    code = "import sys, infer_cost.units; print(sorted({'numpy', 'sympy', 'pydantic', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
