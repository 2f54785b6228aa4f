"""The wait of a closed loop against a simulation of it, request by request."""

from __future__ import annotations

from statistics import fmean

import pytest

from infer_cost.accuracy.run_effects import start_ahead, synchronised_ahead
from infer_cost.serving.steady import prefills_ahead
from tools.closed_loop import Loop, simulate, waited

PREFILL = 0.05


def loop(users: int, inputs: int, outputs: int, step: float = 0.01, **settings: float) -> Loop:
    """A prompt takes 50 ms, a step 10 ms."""
    return Loop(users, inputs, outputs, PREFILL / (0.9 * inputs), step, **settings)  # type: ignore[arg-type]


def test_one_user_waits_for_nobody() -> None:
    found = simulate(Loop(1, 1000, 100, 1e-5, 0.01, shortest=1.0, rounds=3))
    assert found.waits() == pytest.approx([0.01, 0.01, 0.01])
    assert [end - first for first, end in zip(found.first, found.ended, strict=True)] == pytest.approx([0.99] * 3)


def test_nobody_is_lost() -> None:
    found = simulate(loop(16, 1024, 256))
    assert all(a < b < c for a, b, c in zip(found.arrived, found.first, found.ended, strict=True))


@pytest.mark.parametrize(
    ("users", "inputs", "outputs"),
    [
        (2, 8192, 8),
        (4, 8192, 15),
        (16, 8192, 30),
        (64, 8192, 119),
        (16, 8192, 1024),
        (64, 8192, 1024),
        (64, 1024, 1024),
        (64, 1024, 256),
    ],
)
def test_prefills_ahead(users: int, inputs: int, outputs: int) -> None:
    predicted = float(prefills_ahead(float(users), 0.9 * outputs, 8192 / (0.9 * inputs)))
    assert predicted == pytest.approx(
        waited(loop(users, inputs, outputs, rounds=max(12, 600 // users))), rel=0.45, abs=0.25
    )


def test_where_more_arrive_than_a_step_takes_in() -> None:
    # One prompt a step, 40 tokens each: of 256 users some 40 decode and the others wait.
    crowded = loop(256, 8192, 40, 1e-3, shortest=0.95)
    assert float(prefills_ahead(256.0, 39.0, 1.0)) == pytest.approx(216)
    assert waited(crowded) == pytest.approx(216, rel=0.1)


def test_the_start_of_a_run() -> None:
    ten = loop(64, 8192, 1024, 1e-3, rounds=10)
    first = fmean(simulate(ten).waits()[:64]) / PREFILL
    # The mean over all rounds has a tenth of what the first one waits.
    assert float(start_ahead(64.0, 8192 / (0.9 * 8192), 10.0)) == pytest.approx((first - 1) / 10, rel=0.15)


def test_equal_lengths_keep_in_step() -> None:
    equal = loop(32, 4096, 1024, shortest=1.0, rounds=10)
    prefill = equal.token_s * 4096
    later = fmean(simulate(equal).waits(64)) / prefill
    assert float(synchronised_ahead(32.0)) == pytest.approx(later - 1, abs=1.0)
    assert later - 1 > 3 * float(prefills_ahead(32.0, 1023.0, 2.0))
