"""Where a constant may come from: the same chip, its architecture, its vendor, or any accelerator."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from infer_cost.hardware_specs.generations import architecture_group
from infer_cost.hardware_specs.types import Accelerator

Level = Literal["chip", "architecture", "vendor", "generic"]

ENGINES = ("trtllm", "vllm", "sglang", "generic")


def scopes(accelerator: Accelerator) -> tuple[tuple[Level, str], ...]:
    """Return where to look for a constant of ``accelerator``, nearest first."""
    return (
        ("chip", accelerator.id),
        ("architecture", architecture_group(accelerator.architecture)),
        ("vendor", accelerator.vendor.lower()),
        ("generic", ""),
    )


def read_rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a data file that lies beside this module."""
    with (Path(__file__).parent / name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def engine_order(engine: str) -> tuple[str, ...]:
    """Return the engines whose kernels may stand for those of ``engine``, nearest first."""
    return (engine, "generic") if engine in ENGINES and engine != "generic" else ("generic",)
