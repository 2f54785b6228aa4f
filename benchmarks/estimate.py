"""One warm estimate: the time of a scalar query, beside a bare roofline of the same deployment in numpy.

``python benchmarks/estimate.py``. Warm means that the modules are loaded and the engine has been asked for before.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from infer_cost import estimate, model
from infer_cost.model_specs.counts import counts

CASES = (
    ("llama-3.1-70b", "h100-sxm", {"gpus": 8, "weights": "fp8"}),
    ("deepseek-v3", "h200-sxm", {"gpus": 8, "weights": "fp8-block"}),
)
LOAD = {"input_tokens": 12022, "output_tokens": 500, "concurrency": 16}
RUNS = 300


def seconds(action: Callable[[], object]) -> float:
    """Median CPU time of one call, after one that isn't counted."""
    action()
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return float(np.median(taken))


def bare_roofline(parameters: float) -> float:
    """TTFT and TPOT of one deployment as the roofline alone has them, as a numpy user would write it."""
    work = np.array([2.0 * parameters * LOAD["input_tokens"], 2.0 * parameters * LOAD["concurrency"]])
    traffic = np.array([parameters, parameters])
    return float(np.maximum(work / (8 * 1979e12), traffic / (8 * 3.35e12)).sum())


def main() -> None:
    """Print milliseconds and the ratio to the bare roofline."""
    for name, machine, options in CASES:
        asked = seconds(lambda name=name, machine=machine, options=options: estimate(name, machine, **options, **LOAD))
        parameters = float(counts(model(name)).active)
        bare = seconds(lambda parameters=parameters: bare_roofline(parameters))
        print(f"{name:<16}{asked * 1e3:6.2f} ms, {asked / bare:,.0f} times a bare roofline in numpy")


if __name__ == "__main__":
    main()
