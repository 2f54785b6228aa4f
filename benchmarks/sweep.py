"""Speed of a sweep on one core, against the stated limits and against a bare roofline on the same arrays.

Run: python benchmarks/sweep.py [--memory]

``--memory`` also sweeps a grid of 10^8 combinations (a minute or two) and measures the memory that it took.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from infer_cost.planner.evaluate import evaluate_chunk
from infer_cost.planner.grid import Grid, grid
from infer_cost.planner.sweep import sweep

LOADS = {"input_tokens": "256..16384*2", "output_tokens": "64..512+64", "concurrency": "1..1024"}
CASES = {
    "dense": ({"model": "llama-3.1-70b", "hardware": "h100-sxm,h200-sxm,b200-sxm,mi300x", "tp": "4,8"}, 1_000_000),
    "MoE with MLA": ({"model": "deepseek-v3", "hardware": "h200-sxm,b200-sxm", "tp": "8", "ep": "1,8"}, 300_000),
}
MOST_ROOFLINES = 60.0
MOST_MEGABYTES = 500.0


def bare_roofline(
    input_tokens: np.ndarray, output_tokens: np.ndarray, concurrency: np.ndarray
) -> tuple[np.ndarray, ...]:
    """What a spreadsheet would do for every combination: two roofs for prefill, two for decode, rate and cost."""
    parameters, weights, kv, flops, bandwidth, capacity = 70e9, 70e9, 327680.0, 8 * 1.979e15, 8 * 3.35e12, 500e9
    context = input_tokens + output_tokens / 2.0
    running = np.minimum(concurrency, np.floor(capacity / (kv * (input_tokens + output_tokens))))
    ttft = np.maximum(2.0 * parameters * input_tokens / flops, weights / bandwidth)
    tpot = np.maximum(2.0 * parameters * running / flops, (weights + running * context * kv) / bandwidth)
    e2e = ttft + (output_tokens - 1.0) * tpot
    rate = running * output_tokens / e2e
    cost = 8 * 2.0 / 3600.0 / rate * 1e6
    fits = running >= 1.0
    return ttft, tpot, e2e, rate, cost, fits


def best_of(rounds: int, action: object) -> float:
    """Least seconds of one core of several rounds: the machine's other work only ever adds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()  # type: ignore[operator]
        times.append(time.process_time() - start)
    return min(times)


def evaluate_all(made: Grid) -> None:
    for chunk in made.chunks():
        evaluate_chunk(chunk)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    axes = np.meshgrid(2.0 ** np.arange(8, 15), np.arange(64.0, 513.0, 64.0), np.arange(1.0, 1025.0), indexing="ij")
    flat = [np.tile(values.reshape(-1), 8) for values in axes]
    bare = len(flat[0]) / best_of(5, lambda: bare_roofline(*flat))
    print(f"{'bare numpy roofline':<22}{bare:>14,.0f} configurations/s")
    missed = False
    for name, (options, least) in CASES.items():
        made = grid({**options, "weights": "fp8", **LOADS})
        evaluate_all(made)
        rate = made.rows / best_of(3, lambda: evaluate_all(made))  # noqa: B023
        ratio = bare / rate
        good = rate >= least and ratio <= MOST_ROOFLINES
        missed |= not good
        print(
            f"{name:<22}{rate:>14,.0f} configurations/s (at least {least:,}), "
            f"{ratio:.0f} bare rooflines (at most {MOST_ROOFLINES:.0f}){'' if good else '  MISSED'}"
        )
    if arguments.memory:
        made = grid(
            {
                "model": "llama-3.1-70b",
                "hardware": "h100-sxm",
                "tp": 8,
                "weights": "fp8",
                "input_tokens": "10..10000+10",
                "output_tokens": "1..1000",
                "concurrency": "1..100",
            }
        )
        start = time.perf_counter()
        sweep(made, top=10)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        missed |= used > MOST_MEGABYTES
        print(f"{made.rows:,} combinations in {time.perf_counter() - start:.0f} s, {used:.0f} MB (at most 500)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
