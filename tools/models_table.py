"""Write the table of docs/models.md: every config as found, with the error of each count.

Run ``python tools/models_table.py`` after changing a reader; a test says when it was forgotten.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

from infer_cost.errors import InputError
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_token, kv_growth_bytes_per_token
from infer_cost.model_specs.readers.registry import read_config
from infer_cost.model_specs.weights import weight_bytes, weight_formats

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "models.md"
DATA = ROOT / "tests" / "data" / "models"
BEGIN, END = "<!-- table: python tools/models_table.py -->\n", "<!-- end of table -->\n"
FORMATS = ("bf16", "fp8-block", "int4-g128", "nvfp4")
HEADER = (
    "config",
    "type",
    "known by",
    "parameters",
    "error",
    "stored beside",
    "error",
    "KV B/token",
    "growing",
    *FORMATS,
)


def row(fact: dict[str, str]) -> list[str]:
    """Return the cells of one config."""
    name = fact["file"].removesuffix(".json").replace("__", "/", 1)
    data = json.loads((DATA / "configs" / fact["file"]).read_bytes())
    try:
        built = read_config(data)
    except InputError:
        return [name, str(data["model_type"]), fact["evidence"], "refused", *[""] * (len(HEADER) - 4)]
    found = counts(built)
    published = fact["safetensors_total"]
    return [
        name,
        built.model_type,
        fact["evidence"],
        f"{found.total:,}",
        f"{found.total - int(fact['oracle_total']):,}",
        f"{found.stored - found.total:,}",
        f"{found.stored - int(published):,}" if published else "?",
        f"{kv_bytes_per_token(built):,.0f}",
        f"{kv_growth_bytes_per_token(built):,.0f}",
        *(f"{weight_bytes(built, weight_formats(built, one)) / 1e9:,.2f}" for one in FORMATS),
    ]


def table() -> str:
    """Return the table as Markdown."""
    with (DATA / "facts.csv").open(encoding="utf-8", newline="") as file:
        rows = [row(fact) for fact in csv.DictReader(file)]
    lines = ["| " + " | ".join(cells) + " |" for cells in (HEADER, ["---"] * 3 + ["---:"] * (len(HEADER) - 3), *rows)]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the page with a fresh table."""
    start, rest = text.split(BEGIN)
    _, end = rest.split(END)
    return start + BEGIN + "\n" + table() + "\n" + END + end


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
