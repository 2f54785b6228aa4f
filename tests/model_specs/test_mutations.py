"""Damaged configs: an answer or a refusal, nothing else. ``tools/mutate_configs.py`` does ten thousand."""

from __future__ import annotations

from tools.mutate_configs import run


def test_a_sample_of_damaged_configs() -> None:
    outcome = run(400, seed=11)
    assert outcome["answered"] + outcome["refused"] == 400
    assert outcome["answered"] > 80 and outcome["refused"] > 80
    assert outcome["slowest_ms"] < 2000
