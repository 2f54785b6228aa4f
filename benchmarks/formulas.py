"""What a formula costs over the bare expression, on a million points, and how long one scalar call takes.

``python benchmarks/formulas.py`` prints both and fails when a formula takes more than three times the bare numpy
expression that does the same arithmetic in the same order.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from infer_cost import roofline as r
from infer_cost.roofline.registry import example_inputs, formulas

POINTS = 1_000_000
LIMIT = 3.0
GENERATOR = np.random.default_rng(1)


def column(low: float, high: float) -> Any:
    """A million values between two limits."""
    return GENERATOR.uniform(low, high, POINTS)


B, N, C, BW, W, K = (column(1, 2) for _ in range(6))
A = column(0.1, 0.2)
G = column(2, 8)
n = column(2, 64)

PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "ridge_point": (lambda: r.ridge_point(C, BW), lambda: C / BW),
    "t_mem": (lambda: r.t_mem(W, K, BW), lambda: (W + K) / BW),
    "t_compute": (lambda: r.t_compute(B, N, C), lambda: 2 * B * N / C),
    "step_time_max": (lambda: r.step_time_max(B, N), lambda: np.maximum(B, N)),
    "optimal_batch": (lambda: r.optimal_batch(C, BW, B, N, K), lambda: C / BW * B / 2 * N / K),
    "critical_context": (
        lambda: r.critical_context(N, C, BW, K, A, C),
        lambda: np.where(K / BW - A / C > 0, (2 * N / C) / (K / BW - A / C), np.inf),
    ),
    "experts_hit": (lambda: r.experts_hit(n + 8, 8, B), lambda: (n + 8) * (1 - (1 - 8 / (n + 8)) ** B)),
    "kv_blocks": (lambda: r.kv_blocks(W, K), lambda: np.ceil(W / K)),
    "kernel_time": (
        lambda: r.kernel_time(B, N, A, A, A, 3.0),
        lambda: A + ((B / A) ** 3.0 + (N / A) ** 3.0) ** (1 / 3.0),
    ),
    "speculative_expected_tokens": (
        lambda: r.speculative_expected_tokens(A, G),
        lambda: (1 - A ** (G + 1)) / (1 - A),
    ),
    "all_reduce_time_ring": (lambda: r.all_reduce_time_ring(W, n, BW, A), lambda: 2 * (n - 1) * (A + W / (n * BW))),
    "all_reduce_time_tree": (
        lambda: r.all_reduce_time_tree(W, n, BW, A),
        lambda: 2 * np.ceil(np.log2(n)) * A + 2 * W / BW,
    ),
    "mm1_wait": (
        lambda: r.mm1_wait(A, B),
        lambda: np.where(A * B < 1, A * B**2 / (1 - A * B), np.inf),
    ),
    "kingman_wait": (
        lambda: r.kingman_wait(A, B, N, C),
        lambda: np.where(A < 1, A / (1 - A), np.inf) * (B + N) / 2 * C,
    ),
    "cost_per_token": (lambda: r.cost_per_token(W, K, B), lambda: W * K / B),
}


def best(action: Callable[[], Any]) -> float:
    """Shortest of several runs, in seconds."""
    return min(timeit.repeat(action, number=1, repeat=7))


def main() -> int:
    """Print the table; the exit code says whether every ratio keeps within the limit."""
    print(f"{'formula':<30}{'formula ms':>12}{'bare ms':>10}{'ratio':>8}")
    worst = 0.0
    for name, (formula, bare) in PAIRS.items():
        np.testing.assert_allclose(formula(), bare(), rtol=1e-9)
        ours, theirs = best(formula), best(bare)
        worst = max(worst, ours / theirs)
        print(f"{name:<30}{ours * 1e3:>12.2f}{theirs * 1e3:>10.2f}{ours / theirs:>8.2f}")
    print(f"worst ratio {worst:.2f}, limit {LIMIT}")

    slowest = sorted(
        (timeit.timeit(lambda f=f, x=tuple(example_inputs(f).values()): f.function(*x), number=2000) / 2000, f.name)
        for f in formulas()
    )[::-1]
    print("\nscalar call, slowest first: " + ", ".join(f"{name} {time * 1e6:.2f} us" for time, name in slowest[:5]))
    print(f"median {slowest[len(slowest) // 2][0] * 1e6:.2f} us")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
