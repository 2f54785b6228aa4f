"""What would take the machine's memory is refused before it does."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("sizes", ["--tp 1..9000000", "--tp 1..64 --pp 1..64 --dp 1..64 --ep 1..64"])
def test_more_combinations_than_anybody_compares(infer_cost, sizes):
    result = infer_cost(f"plan deepseek-v3 --hardware h200-sxm --requests 20/s {sizes} --json")
    assert result.code == 2
    assert result.json["error"]["allowed"] == "20,000 in all"


@pytest.mark.parametrize("output", ["/", "..", "rows.xlsx"])
def test_an_output_of_no_known_format(infer_cost, output):
    result = infer_cost(f"sweep llama-3.1-8b --hardware h100-sxm --concurrency 1..2 -o {output}")
    assert (result.code, result.out) == (2, "")
    assert ".csv, .jsonl, .parquet" in result.err
