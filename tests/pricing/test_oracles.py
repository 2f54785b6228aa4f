"""Bills worked out by hand from vendors' price lists, to the last decimal."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from infer_cost.pricing import Usage, price

DATA = Path(__file__).parents[1] / "data" / "pricing"


def _rows() -> list[dict[str, str]]:
    with (DATA / "price_oracles.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _usage(row: dict[str, str]) -> Usage:
    parts = {name: int(row[name]) for name in ("cache_read", "cache_write_5m", "cache_write_1h")}
    return Usage(
        input_tokens=int(row["uncached_in"]) + sum(parts.values()),
        cached_tokens=parts["cache_read"],
        cache_write_5m_tokens=parts["cache_write_5m"],
        cache_write_1h_tokens=parts["cache_write_1h"],
        output_tokens=int(row["output_incl_reasoning"]),
        reasoning_tokens=int(row["of_which_reasoning"]),
        web_searches=int(row["web_searches"]),
    )


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["id"])
def test_bill_equals_hand_calculation(row: dict[str, str]) -> None:
    service = row["context"].partition("=")[2] or "standard"
    result = price(f"{row['provider']}/{row['model']}", _usage(row), service=service, at=row["utc_time"])
    assert result.cost_usd == Decimal(row["cost_usd"])


def test_the_oracles_include_rows_that_the_upstream_package_gets_wrong() -> None:
    wrong = [row for row in _rows() if row["agrees"] == "NO"]
    assert len(wrong) == 4
    for row in wrong:
        service = row["context"].partition("=")[2] or "standard"
        result = price(f"{row['provider']}/{row['model']}", _usage(row), service=service, at=row["utc_time"])
        assert result.rates.layer == "bundled overlay"
        assert result.cost_usd != Decimal(row["genai_prices_0_2_3"])
