"""What a query imports: the heavy libraries stay out until a command needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "sympy", "pydantic", "genai_prices", "rich", "scipy", "altair", "huggingface_hub", "tokenizers")

LINES = [
    "--help",
    "journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8 --json",
    "estimate deepseek-v3 --hardware h200-sxm --gpus 8 --weights fp8-block --concurrency 8",
    "memory llama-3.1-70b --hardware h100-sxm --gpus 2",
    "roofline llama-3.1-70b --hardware h100-sxm --gpus 2",
    "estimate llama-3.1-70b --hardware h100-sxm --gpus 2 --explain --json",
    "compare h100-sxm b200-sxm --explain",
    "catalog hardware show h100-sxm --explain",
    "catalog models show deepseek-v3 --explain",
]

SCRIPT = """
import sys
from infer_cost.cli.main import run
try:
    run(sys.argv[1].split())
except SystemExit:
    pass
print("loaded:", *[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("line", LINES)
def test_a_scalar_query_imports_nothing_heavy(line):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(heavy=HEAVY), line], capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr.strip() == "loaded:"
