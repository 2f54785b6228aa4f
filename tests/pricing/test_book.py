from __future__ import annotations

import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.pricing import Usage, find_rates, list_rows, price
from infer_cost.pricing.book import known_names
from infer_cost.pricing.rates import parse_time
from infer_cost.pricing.rows import overlay_rows
from infer_cost.pricing.schema import PriceFile

D = Decimal
MILLION = Usage(1_000_000, 1_000_000)
USER = """
[[row]]
provider = "acme"
model = "big"
valid_from = 2026-01-01
valid_until = 2026-07-01
prices = { input = 2.5, output = "10" }
source = "offer 4711"
read = 2026-01-15

[[row]]
provider = "openai"
model = "gpt-5.5"
valid_until = 2026-07-01
prices = { input = 1, output = 2 }
source = "our contract"
read = 2026-01-15
"""


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(USER, "utf-8")
    return path


def test_the_layers_go_options_user_file_overlay_upstream(user_file: Path) -> None:
    options = price("openai/gpt-5.5", MILLION, rates={"input": D(7), "output": D(8)}, user_file=user_file)
    assert (options.cost_usd, options.rates.layer) == (D(15), "options")
    own = price("openai/gpt-5.5", MILLION, at="2026-06-30T23:59", user_file=user_file)
    assert (own.cost_usd, own.rates.layer, own.rates.source) == (D(3), "user file", "our contract")
    assert find_rates("deepseek/deepseek-flash", at="2026-11-30").layer == "bundled overlay"
    assert find_rates("openai/gpt-5.5", at="2026-06-30").layer == "upstream package"


def test_a_row_past_its_end_is_refused_not_passed_to_the_layer_below(user_file: Path) -> None:
    with pytest.raises(InputError) as caught:
        price("acme/big", MILLION, at="2026-07-01", user_file=user_file)
    assert "no standard price of acme/big holds at 2026-07-01 00:00 UTC" in str(caught.value)
    assert "from 2026-01-01, until 2026-07-01" in str(caught.value)
    with pytest.raises(InputError, match="holds at 2026-11-30"):
        price("openai/gpt-5.5", MILLION, at="2026-11-30", user_file=user_file)


def test_a_misspelled_service_names_the_right_one() -> None:
    with pytest.raises(UnknownNameError) as caught:
        price("openai/gpt-5.5", MILLION, service="bach")
    assert caught.value.field == "service"
    assert "did you mean batch?" in str(caught.value)


def test_a_service_without_a_row_is_refused_with_what_exists() -> None:
    with pytest.raises(InputError, match="no flex price of google/gemini") as caught:
        price("google/gemini-3.5-flash", MILLION, service="flex", at="2026-11-30")
    assert "batch" in str(caught.value.allowed) and "standard" in str(caught.value.allowed)


def test_a_service_before_its_first_row_is_refused() -> None:
    with pytest.raises(InputError, match="holds at 2026-05-01"):
        price("openai/gpt-5.5", MILLION, service="batch", at="2026-05-01")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("anthropc/claude-sonnet-4-5", "did you mean anthropic?"),
        ("anthropic/claude-sonet-4-5", "claude-sonnet-4-5"),
        ("deepseek/deepseek-flsh", "deepseek-flash"),
        ("nobody/nothing", "price --rows"),
        ("together/llama-3.3-70b", "Llama-3.3-70B-Instruct-Turbo"),
    ],
)
def test_a_misspelled_name_brings_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        price(name, MILLION)
    assert hint in str(caught.value)


def test_names_come_from_every_layer(user_file) -> None:
    assert "acme" in known_names(user_file=user_file) and "acme" not in known_names()
    assert known_names("ACME", user_file=user_file) == ("big",)
    assert known_names("gemini") == known_names("google")
    with pytest.raises(UnknownNameError, match="unknown provider 'acme'"):
        known_names("acme")


def test_a_name_without_a_provider_is_refused() -> None:
    with pytest.raises(InputError, match="doesn't name a provider and a model"):
        price("gpt-5.5", MILLION)


def test_other_names_of_a_provider_are_its_own() -> None:
    assert find_rates("gemini/gemini-2.5-pro", at="2026-11-30").provider == "google"


def test_an_announced_price_starts_on_its_day() -> None:
    before = price("google/gemini-4-argon", MILLION, at="2026-11-30T23:59:59Z")
    after = price("google/gemini-4-argon", MILLION, at="2026-12-01")
    assert (before.cost_usd, after.cost_usd) == (D(12), D(24))
    assert before.rates.validity.valid_until == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_batch_row_changes_with_the_standard_one() -> None:
    before = price("google/gemini-4-argon", MILLION, service="batch", at="2026-11-30")
    after = price("google/gemini-4-argon", MILLION, service="batch", at="2026-12-01")
    assert (before.cost_usd, after.cost_usd) == (D(6), D(12))


@pytest.mark.parametrize(
    ("at", "rate"),
    [
        ("2026-11-30T00:59:59", "0.15"),
        ("2026-11-30T01:00", "0.3"),
        ("2026-11-30T04:00", "0.15"),
        ("2026-11-30T14:00+08:00", "0.3"),
        ("2026-11-29T02:00", "0.15"),
        ("2026-10-01T02:00", "0.15"),
        ("2026-10-08T02:00", "0.3"),
    ],
)
def test_peak_hours_weekends_and_holidays(at: str, rate: str) -> None:
    assert find_rates("deepseek/deepseek-flash", at=at).prices.input == D(rate)


@given(st.integers(0, 60 * 24 * 400))
def test_at_every_moment_one_overlay_row_decides(minutes: int) -> None:
    at = datetime(2026, 6, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    for name in ("deepseek-v4-flash", "deepseek-v4-pro"):
        active = [row for row in overlay_rows() if row.model == name and row.validity.active(at)]
        with_hours = [row for row in active if row.validity.hours_utc]
        assert len(with_hours) <= 1
        assert len(active) - len(with_hours) == 1
        assert find_rates(f"deepseek/{name}", at=at) == (with_hours or active)[0]


def test_the_overlay_has_the_form_of_a_price_file() -> None:
    text = (files("infer_cost.pricing") / "data" / "overlay.toml").read_text("utf-8")
    document = PriceFile.model_validate(tomllib.loads(text, parse_float=Decimal))
    assert len(document.row) == len(overlay_rows())
    for row in document.row:
        assert row.source.startswith("https://")
        assert row.confidence in ("two-sources", "one-source", "recalled", "derived")


def test_the_overlay_agrees_with_the_upstream_package_where_that_can_say_it() -> None:
    from infer_cost.pricing.upstream import upstream_rows

    compared = 0
    for row in overlay_rows():
        if row.validity.hours_utc:
            continue
        for other in upstream_rows(row.provider, row.model):
            if (other.service, other.validity) == (row.service, row.validity):
                assert other.prices == row.prices
                compared += 1
    assert compared >= 5


def test_every_row_of_the_upstream_package_can_be_read() -> None:
    from infer_cost.pricing.upstream import model_names, provider_names, upstream_rows

    for provider in provider_names():
        for model in model_names(provider)[:4]:
            for row in upstream_rows(provider, model):
                assert row.source and row.layer == "upstream package"
                assert row.prices.stated() or row.note is not None


def test_listing_leaves_out_what_a_higher_layer_replaces() -> None:
    rows = list_rows("deepseek/deepseek-v4-flash")
    assert {row.layer for row in rows if row.service == "standard"} == {"bundled overlay"}
    services = {row.service for row in list_rows("google/gemini-3.5-flash")}
    assert services == {"standard", "batch"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[row]]\nprovider = 1", "row.0.provider"),
        (USER.replace("input = 2.5", "inptu = 2.5"), "inptu"),
        (USER.replace("input = 2.5", "input = -2.5"), "row.0.prices.input"),
        (USER.replace("2026-07-01\nprices = { input = 2.5", "2025-07-01\nprices = { input = 2.5"), "later than"),
        ("row = [", "isn't TOML"),
    ],
)
def test_a_broken_user_file_names_the_place(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        price("acme/big", MILLION, user_file=path)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 2


def test_a_missing_user_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        price("acme/big", MILLION, user_file=tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "", "0"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="can't read the time"):
        parse_time(text)


def test_an_overlay_answer_does_not_import_the_upstream_package() -> None:
    code = (
        "import sys; from infer_cost.pricing import Usage, price;"
        "price('deepseek/deepseek-flash', Usage(1000, 10), at='2026-11-30');"
        "print([name for name in ('genai_prices', 'pydantic', 'numpy') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
