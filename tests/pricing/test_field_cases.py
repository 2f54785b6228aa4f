"""Bills from people's bug reports: the right amount, and the wrong one that a product showed."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infer_cost.pricing import Prices, Rates, Tier, Usage, bill

D = Decimal
CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "data/pricing/field_cases.jsonl").read_text("utf-8").splitlines()
    for case in [json.loads(line)]
}


def _d(value: Any) -> Decimal:
    return D(str(value))


def _bill(usage: Usage, prices: Prices, **extra: Any) -> float:
    return float(bill(usage, Rates("vendor", "model", prices, **extra)).cost_usd)


def _close(case: str, value: float, index: int = 0) -> None:
    expected = CASES[case]["expected"]
    wanted = expected[index] if isinstance(expected, list) else expected
    assert value == pytest.approx(wanted, rel=CASES[case]["tolerance_rel"])


def test_r01_long_prompt_mostly_cached_before_and_after_the_price_cut() -> None:
    given = CASES["R01"]["input"]
    rates = given["rates_gt200k"]
    usage = Usage.from_openai(given["prompt"], given["output"], cached_tokens=given["cached"])
    below = Prices(D("1.25"), D(10), D("0.31"))
    for index, cut in enumerate(("cached_2025_09", "cached_2025_12")):
        long = Prices(_d(rates["in"]), _d(rates["out"]), _d(rates[cut]))
        _close("R01", _bill(usage, below, tiers=(Tier(200_000, long),)), index)


def test_r04_cache_read_and_write_and_a_regional_row() -> None:
    given = CASES["R04"]["input"]
    usage = Usage.from_anthropic(
        given["uncached"],
        given["out"],
        cache_read_input_tokens=given["cache_read"],
        cache_creation_5m_tokens=given["cache_write"],
    )
    plain, read, write, out = (_d(rate) for rate in given["rates"])
    _close("R04", _bill(usage, Prices(plain, out, read, write)), 0)
    # The premium of a region is a row of its own, as vendors print it.
    regional = Prices(D("5.5"), D("27.5"), D("0.55"), D("6.875"))
    _close("R04", _bill(usage, regional), 1)


def test_r05_thoughts_add_to_candidates() -> None:
    given = CASES["R05"]["input"]
    usage = Usage.from_gemini(given["prompt"], given["candidates"], thoughts_token_count=given["thoughts"])
    assert usage.input_tokens + usage.output_tokens == given["total"]
    _close("R05", _bill(usage, Prices(_d(given["rates"][0]), _d(given["rates"][1]))))


def test_r06_cached_input_at_its_own_rate() -> None:
    given = CASES["R06"]["input"]
    plain, read, out = (_d(rate) for rate in given["rates"])
    cached = Usage.from_openai(given["in"], given["out"], cached_tokens=given["cached"])
    _close("R06", _bill(cached, Prices(plain, out, read)), 0)
    _close("R06", _bill(Usage.from_openai(given["in"], given["out"]), Prices(plain, out, read)), 1)


@pytest.mark.parametrize("case", ["R08", "R09"])
def test_an_hours_write_has_its_own_rate(case: str) -> None:
    given = CASES[case]["input"]
    base = _d(given["base_in"])
    prices = Prices(base, cache_write_5m=base * D("1.25"), cache_write_1h=base * 2)
    count = given["write_1h"]
    _close(case, _bill(Usage(count, cache_write_1h_tokens=count), prices), 0)
    _close(case, _bill(Usage(count, cache_write_5m_tokens=count), prices), 1)


def test_r13_audio_output_at_the_audio_rate() -> None:
    given = CASES["R13"]["input"]
    usage = Usage(output_tokens=given["text_out"] + given["audio_out"], output_audio_tokens=given["audio_out"])
    text, audio = (_d(rate) for rate in given["rates"])
    _close("R13", _bill(usage, Prices(output=text, output_audio=audio)))
