"""The time of a pass, from operators whose times are round numbers."""

from __future__ import annotations

import pytest

from infer_cost.model_specs.architecture import Mixer
from infer_cost.serving.operators import Attention, Elementwise, GroupedGemm, Load
from infer_cost.serving.passes import PassTime, operator_times, pass_bound, pass_time, transfer_time
from tests.serving.support import kernel, matrix, program, wire

ONE = Load(1.0, 1.0, 0.0, True)
MANY = Load(400.0, 1.0, 0.0, True)
# One token through a matrix: 1 µs for its weights, 4 ns for the token itself, 20 ns of arithmetic.
MEMORY, COMPUTE = 1e-6 + 4e-9, 20e-9


def test_a_pass_is_counted_where_most_of_it_goes():
    few = pass_time(program(matrix(launches=3.0)), ONE)
    assert few.memory_s == pytest.approx(3 * (MEMORY + COMPUTE))
    assert few.compute_s == 0
    # 400 tokens: 8 µs of arithmetic, 1 + 1.6 µs of traffic.
    many = pass_time(program(matrix(launches=3.0)), MANY)
    assert many.compute_s == pytest.approx(3 * (8e-6 + 2.6e-6))
    assert many.memory_s == 0
    assert many.flops == 3 * 2e6 * 400
    assert many.bytes_moved == pytest.approx(3 * (1e6 + 400 * 4000))


def test_efficiencies_stretch_and_decide():
    # Half the rate: 16 µs; an eighth of the bandwidth: 20.8 µs. So memory decides, though arithmetic is more.
    both = pass_time(program(matrix(model=kernel(compute=0.5, memory=0.125))), MANY)
    assert both.memory_s == pytest.approx(16e-6 + 20.8e-6)
    assert both.compute_s == 0


def test_floors_and_launches_stand_apart():
    slow = program(matrix(launches=3.0, model=kernel(floor=5e-6)), floor_share=0.4, launch_s=1e-6, kernel_factor=1.5)
    found = pass_time(slow, ONE)
    assert found.floor_s == pytest.approx(3 * (0.4 * 5e-6 + 1e-6))
    assert found.memory_s == pytest.approx(1.5 * 3 * (MEMORY + COMPUTE))
    assert pass_time(slow, ONE, frozenset({"floors"})).floor_s == 0


def test_operators_add_up():
    both = program(matrix(launches=3.0, model=kernel(floor=5e-6)), matrix(launches=2.0, model=kernel(floor=1e-6)))
    found = pass_time(both, ONE)
    assert found.floor_s == pytest.approx(17e-6)
    assert found.memory_s == pytest.approx(5 * (MEMORY + COMPUTE))
    assert found.flops == 5 * 2e6
    mixed = pass_time(program(matrix(), Elementwise("norm", 1.0, kernel(), 1e14, 500_000.0)), MANY)
    # 400 tokens of a megabyte are 400 µs of memory beside the matrix's arithmetic.
    assert mixed.memory_s == pytest.approx(400e-6)
    assert mixed.compute_s == pytest.approx(10.6e-6)


def test_the_host_takes_a_step_and_its_sequences():
    busy = program(matrix(), host_step_s=1e-3, host_sequence_s=2e-6)
    assert pass_time(busy, MANY).host_s == pytest.approx(1e-3 + 400 * 2e-6)
    assert pass_time(busy, MANY, frozenset({"host"})).host_s == 0
    # Guesses of a verify pass are not sequences.
    assert pass_time(busy, Load(10.0, 4.0, 0.0, True)).host_s == pytest.approx(1e-3 + 10 * 2e-6)


def test_launching_runs_ahead_of_the_kernels():
    def waits(eager):
        return pass_time(program(matrix(), eager_s=eager), MANY).host_s

    busy = 10.6e-6
    assert waits(0.0) == 0
    # Far more launching than running: the pass takes as long as launching.
    assert busy + waits(1e-3) == pytest.approx(1e-3, rel=1e-6)
    assert waits(1e-7) < 1e-3 * busy
    assert 0 < waits(busy) < busy


def test_launching_overlaps_transfers_and_floors_too():
    links = program(matrix(model=kernel(floor=30e-6)), transfers=(wire(),), eager_s=1e-3)
    found = pass_time(links, MANY)
    assert found.total_s == pytest.approx(1e-3, rel=0.01)


def test_transfers_by_where_they_go():
    # 400 kB, half of which cross between two ranks at 10⁹ B/s.
    links = program(matrix(), transfers=(wire(launches=3.0), wire("scale_out", launches=2.0), wire("scale_out")))
    once = 200e-6
    assert transfer_time(links, MANY) == pytest.approx((3 * once, 3 * once))
    found = pass_time(links, MANY)
    assert (found.scale_up_s, found.scale_out_s) == pytest.approx((3 * once, 3 * once))
    assert transfer_time(links, MANY, frozenset({"scale_up"})) == pytest.approx((0.0, 3 * once))
    assert transfer_time(links, MANY, frozenset({"scale_out"})) == pytest.approx((3 * once, 0.0))


def test_the_bound_overlaps_everything():
    # One token: 1 µs of weights; activations stay on the chip. 400 tokens: 8 µs of arithmetic.
    slow = program(matrix(launches=3.0, model=kernel(5e-6, 0.5, 0.5)), host_step_s=1.0)
    assert pass_bound(slow, ONE) == pytest.approx(3e-6)
    assert pass_bound(slow, MANY) == pytest.approx(24e-6)
    # 1,000 bytes at 10⁹ B/s between two ranks: half a microsecond a token and launch.
    links = program(matrix(), transfers=(wire(launches=3.0), wire("scale_out", launches=2.0)))
    assert pass_bound(links, MANY) == pytest.approx(5 * 200e-6)


def test_the_bound_reads_weights_cache_and_prefix_and_the_fewest_experts():
    # 300 tokens are found and 600 new, 800 bytes each; a head of one element leaves the arithmetic aside.
    core = Attention("attention", 2.0, kernel(), 1e14, Mixer("attention", 1, 1, 1, 0), 1.0, 800.0, 0.0, 0.0)
    prefill = Load(1.0, 600.0, 300.0, False, prefix=300.0)
    assert pass_bound(program(core), prefill) == pytest.approx(2 * 900 * 800 / 1e12)
    # A megabyte of weights comes on top.
    assert pass_bound(program(core, matrix(launches=3.0)), Load(1.0, 1.0, 899.0, True)) == pytest.approx(
        2 * 900 * 800 / 1e12 + 3e-6
    )
    # Two of eight experts of a megabyte, however many tokens.
    experts = GroupedGemm("experts", 1.0, kernel(), 1e20, 8, 2, 1e6, 1000.0, 500.0, 8.0, 1)
    assert pass_bound(program(experts), MANY) == pytest.approx(2e-6)
    assert pass_time(program(experts), MANY).bytes_moved > 7e6


def test_sums_of_operators_bound_a_pass_not_single_ones():
    # Arithmetic of one and traffic of the other may overlap: 8 + 8 µs of arithmetic, 1 + 1 µs of weights.
    assert pass_bound(program(matrix(), matrix()), MANY) == pytest.approx(16e-6)


def test_the_shares_of_operators_are_the_pass():
    slow = program(matrix("a", launches=3.0, model=kernel(floor=5e-6)), matrix("b"), floor_share=0.4, kernel_factor=1.5)
    for load in (ONE, MANY):
        shares = operator_times(slow, load)
        found = pass_time(slow, load)
        assert [share.name for share in shares] == ["a", "b"]
        assert [share.launches for share in shares] == [3.0, 1.0]
        assert sum(share.floor_s for share in shares) == pytest.approx(found.floor_s)
        assert sum(share.busy_s for share in shares) == pytest.approx(found.compute_s + found.memory_s)
        assert all(share.compute_bound == (load is MANY) for share in shares)
    (alone,) = operator_times(program(matrix(launches=2.0, model=kernel(floor=5e-6)), floor_share=0.5), ONE)
    assert alone.floor_s == pytest.approx(5e-6)
    assert alone.busy_s == pytest.approx(2 * (MEMORY + COMPUTE))


def test_passes_add_and_repeat():
    one = PassTime(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    assert one.total_s == 21
    assert one.times(2.0) == PassTime(2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
    assert one.plus(one) == one.times(2.0)
    assert one.times(0.5).total_s == 10.5
