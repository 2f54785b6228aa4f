"""How long it takes to read a model's config and answer: at most 20 ms after start.

``python benchmarks/read_configs.py [FILE ...]`` prints the median and the worst of the files (all test configs when
none is given), each read, counted and sized as a command does it.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from infer_cost.errors import InputError
from infer_cost.model_specs.catalog import from_file
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_sequence
from infer_cost.model_specs.weights import weight_bytes, weight_formats

CONFIGS = Path(__file__).resolve().parent.parent / "tests" / "data" / "models" / "configs"
LIMIT_MS = 20.0


def milliseconds(path: Path) -> float:
    """Time of one answer, the best of five [ms]."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        built = from_file(path)
        counts(built)
        weight_bytes(built, weight_formats(built))
        kv_bytes_per_sequence(built, 131_072)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def main() -> int:
    """Print the times; 1 when one is over the limit."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(CONFIGS.iterdir())
    times = {}
    for path in paths:
        try:
            times[path.name] = milliseconds(path)
        except InputError:
            continue
    slowest = max(times, key=lambda name: times[name])
    print(f"{len(times)} configs: median {statistics.median(times.values()):.2f} ms")
    print(f"worst {times[slowest]:.2f} ms ({slowest}); limit {LIMIT_MS:g} ms")
    return int(times[slowest] > LIMIT_MS)


if __name__ == "__main__":
    raise SystemExit(main())
