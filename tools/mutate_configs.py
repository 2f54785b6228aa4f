"""Damage real configs at random and see that each gets an answer or a clear refusal.

``python tools/mutate_configs.py 10000`` takes about half a minute; the tests run a sample.
"""

from __future__ import annotations

import copy
import json
import math
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.checkpoint import checkpoint_size
from infer_cost.model_specs.config_file import parse_json
from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_sequence, kv_bytes_per_token, state_bytes_per_sequence
from infer_cost.model_specs.readers.registry import read_config
from infer_cost.model_specs.weights import weight_bytes, weight_formats

CONFIGS = Path(__file__).resolve().parent.parent / "tests" / "data" / "models" / "configs"
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 2**31, 10**30, 10**400, 1.5, 4096.0, 1e308, math.nan, math.inf),
    *("", "x", "4096", "é" * 500, [], [1], [None], ["a"], [[1]], {}, {"a": 1}, {"model_type": "llama"}),
)


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with one of its keys, the first few of a list."""
    keys = list(node) if isinstance(node, dict) else range(min(len(node), 4)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from places(node[key])


def mutated(config: dict[str, Any], chance: random.Random) -> bytes:
    """Return a config as a file would hold it, damaged in one to three places."""
    config = copy.deepcopy(config)
    for _ in range(chance.randint(1, 3)):
        spots = list(places(config))
        if not spots:
            break
        node, key = chance.choice(spots)
        if chance.random() < 0.3:
            del node[key]
        else:
            node[key] = copy.deepcopy(chance.choice(VALUES))
    text = json.dumps(config).encode()
    damage = chance.random()
    if damage < 0.05:
        return text[: chance.randrange(len(text))]
    if damage < 0.08:
        return b'{"text_config": ' * chance.choice((5, 60, 100_000)) + text
    if damage < 0.10:
        return text.replace(b'"', bytes([chance.randrange(256)]), 3)
    return text


def answer(raw: bytes) -> None:
    """Read a config and compute everything from it; InputError is the only error allowed."""
    built = read_config(parse_json(raw, "config.json"))
    numbers = counts(built)
    sizes = [numbers.total, numbers.active, numbers.stored, checkpoint_size(built).total_bytes]
    sizes += [weight_bytes(built, weight_formats(built, name)) for name in (None, "nvfp4", "q4_k_m")]
    sizes += [kv_bytes_per_token(built), state_bytes_per_sequence(built), *_caches(built)]
    assert all(math.isfinite(size) and size >= 0 for size in sizes), sizes
    assert 0 < numbers.active <= numbers.total


def _caches(built: Architecture) -> Iterator[float]:
    for allocator in ("exact", "paged", "unified"):
        yield float(kv_bytes_per_sequence(built, 131_072, tp=16, allocator=allocator))  # type: ignore[arg-type]


def run(number: int, seed: int = 1) -> Counter[str]:
    """Damage ``number`` configs; raises at the first that gets neither an answer nor a refusal."""
    chance = random.Random(seed)
    configs = [json.loads(path.read_bytes()) for path in sorted(CONFIGS.iterdir())]
    outcome: Counter[str] = Counter()
    for _ in range(number):
        raw = mutated(chance.choice(configs), chance)
        start = time.perf_counter()
        try:
            answer(raw)
            outcome["answered"] += 1
        except InputError as error:
            assert len(str(error)) < 500 and str(error).count("\n") <= 1, str(error)
            outcome["refused"] += 1
        outcome["slowest_ms"] = max(outcome["slowest_ms"], round((time.perf_counter() - start) * 1e3))
    return outcome


if __name__ == "__main__":
    result = run(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{dict(result)}, peak memory {peak:.0f} MB\n")
