"""Whether it fits, what would, and how long a context may be, with 3,200 bytes a token and 1 GB a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infer_cost.errors import CannotBeMetError
from infer_cost.serving.budget import budget, missing_bytes
from infer_cost.serving.fit import fewest_gpus, longest_context, remedies, require_fit
from tests.serving.support import MACHINE, engine, model, plan

LONG = replace(model(), context_length=1_000_000)


def tight(**fields):
    """33.4 MB of cache beside the weights: 652 blocks of 16 tokens."""
    return plan(LONG, memory_utilization=0.32, **fields)


def test_the_longest_context_fills_the_room_by_blocks():
    room = 0.32e9 - 1e8 - 34.56e6 - 2 * (76e6 + 9000)
    assert budget(tight()).kv == pytest.approx(room)
    assert longest_context(tight(), 1) == room // (16 * 3200) * 16 == 10_432
    # Ten sequences have 65 blocks each.
    assert longest_context(tight(), 10) == 65 * 16
    assert longest_context(tight(), 10_000) == 0
    assert longest_context(plan(LONG, memory_utilization=0.2), 1) == 0


def test_not_a_token_more():
    # The last token before a block too many, wherever the halving starts.
    for users in range(1, 40):
        found = longest_context(tight(), users)
        assert users * found * 3200 <= budget(tight()).kv < users * (found + 16) * 3200
        assert found % 16 == 0


def test_room_that_is_filled_to_the_byte():
    spare = 9e8 - 2 * 76_009_000 - 34.56e6
    exact = plan(LONG, profile=engine(runtime_reserve_bytes=spare - 100 * 16 * 3200))
    assert budget(exact).kv == 100 * 16 * 3200
    assert longest_context(exact, 1) == 1600
    assert missing_bytes(exact, 1600) == 0


def test_sequences_are_divided_over_data_ranks():
    assert longest_context(tight(dp=2), 20) == 65 * 16
    # Of 21 one rank has eleven.
    assert longest_context(tight(dp=2), 21) == longest_context(tight(), 11)


def test_at_most_the_window():
    assert longest_context(plan(memory_utilization=0.32), 1) == 4096
    assert longest_context(plan(memory_utilization=0.32, max_model_len=100), 1) == 100
    # A model that states no window, on a GPU without end.
    endless = replace(MACHINE, accelerator=replace(MACHINE.accelerator, usable_memory_bytes=1e18))
    assert longest_context(plan(replace(model(), context_length=None), machine=endless), 1) == 100_000_000


def test_the_last_token_that_fits():
    require_fit(tight(), 10_432)
    with pytest.raises(CannotBeMetError):
        require_fit(tight(), 10_433)


def test_fewest_gpus():
    # Weights alone take 152 MB of a GPU.
    assert fewest_gpus(plan(), 1000) == 1
    assert fewest_gpus(tight(), 10_433) == 2
    # Ranks beyond the two KV heads free weights only: 76 MB, then 38.
    assert fewest_gpus(plan(LONG, memory_utilization=0.2), 16) == 2
    assert fewest_gpus(plan(LONG, memory_utilization=0.05), 16) is None
    small = replace(MACHINE, max_gpus=1)
    assert fewest_gpus(tight(machine=small), 10_433) is None
    assert fewest_gpus(tight(machine=replace(MACHINE, max_gpus=2)), 10_433) == 2


def test_remedies_are_more_gpus_or_narrower_weights():
    assert remedies(tight(), 10_433) == ["--gpus 2", "--weights fp8"]
    # In 8 bits 56 MB are saved: 17,500 tokens; 4.125 bits save 27 more.
    assert remedies(tight(), 27_000) == ["--gpus 2", "--weights fp8"]
    assert remedies(tight(), 30_000) == ["--gpus 2", "--weights int4-g128"]
    assert remedies(plan(LONG, memory_utilization=0.05), 16) == []


def test_weights_that_are_narrow_already_are_no_remedy():
    deployment = plan(LONG, weights="fp8", memory_utilization=0.26)
    assert missing_bytes(deployment, 16_000) > 0
    assert "--weights fp8" not in remedies(deployment, 16_000)


def test_what_is_said():
    with pytest.raises(CannotBeMetError) as caught:
        require_fit(plan(LONG, memory_utilization=0.9, tp=2), 1_000_000)
    # 3.2 GB of cache go on two GPUs, 1.6 each; 0.9 usable less 76 MB of weights, 0.1 GB of runtime, 21.28 MB are free.
    assert (
        "on 2 x Chip: 0.9 GB short on each GPU (weights 0.1 GB, 0.9 GB usable, 0.1 GB activations and runtime)"
        in str(caught.value)
    )
    assert (caught.value.field, caught.value.value) == ("gpus", 2)
    with pytest.raises(CannotBeMetError, match="on one Chip: ") as caught:
        require_fit(tight(), 10_433)
    assert caught.value.hint == "would fit: --gpus 2; --weights fp8"
