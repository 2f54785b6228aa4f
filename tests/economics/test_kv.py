from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.economics.gpu_hours import gpu_hour
from infer_cost.economics.kv_placement import kv_placement
from infer_cost.economics.kv_tiers import (
    Place,
    capacity_price,
    cheapest_at,
    cheapest_spans,
    hbm_price,
    meeting_time,
    move,
    recompute,
)
from infer_cost.errors import InputError
from infer_cost.hardware_specs.catalog import hardware

places = st.lists(st.builds(Place, st.text(min_size=1), st.floats(0, 1), st.floats(0, 1), st.just(0.0)), min_size=1)


@given(places, st.floats(0, 1e6))
def test_the_spans_name_the_cheapest_place_at_every_time(all_places: list[Place], idle: float) -> None:
    spans = cheapest_spans(all_places)
    assert spans[0].from_s == 0.0 and spans[-1].until_s == math.inf
    assert all(one.until_s == other.from_s for one, other in pairwise(spans))
    span = next(span for span in spans if span.from_s <= idle <= span.until_s)
    assert span.place.cost(idle) == pytest.approx(cheapest_at(all_places, idle).cost(idle), rel=1e-6, abs=1e-9)


def test_lines_meet_where_they_cost_the_same() -> None:
    hbm, dram = Place("HBM", 0.0, 1e-4, 0.0), Place("DRAM", 2e-3, 1e-6, 0.1)
    time = meeting_time(hbm, dram)
    assert hbm.cost(time) == pytest.approx(dram.cost(time))
    assert meeting_time(hbm, hbm) == math.inf


def test_prices_of_space() -> None:
    year = 365 * 86400
    assert capacity_price(8.0, 5.0) * year * 5 == pytest.approx(8.0)
    assert hbm_price(3.6, 1.0) == pytest.approx(0.001)
    with pytest.raises(InputError):
        hbm_price(1.0, 0.0)


def test_moving_costs_the_way_back_and_the_wear() -> None:
    place = move("flash", 10.0, 0.0, 10e9, 0.5, gpu_share_blocked=0.2, usd_per_gb_written=0.01)
    assert place.return_s == 1.0
    assert place.cost(1e9) == pytest.approx(10 * 0.01 + 0.2 * 0.5)
    assert recompute(4.0, 0.5, 1.0).cost(1e9) == 2.0


def test_a_models_cache_goes_down_the_tiers_as_it_idles() -> None:
    machine = hardware("h100-sxm")
    found = kv_placement("llama-3.1-70b", machine, gpu_hour(machine), 12_022, gpus=4, weights="fp8")
    # 80 layers, 8 heads of 128, keys and values in 16 bits: 327,680 bytes a token.
    assert found.kv_bytes == pytest.approx(12_022 * 327_680)
    assert [span.place.name for span in found.spans] == ["HBM", "DRAM", "flash", "recompute"]
    assert set(found.cheapest_by_ttl) == {"5-minute cache", "1-hour cache"}


def test_copies_of_a_latent_cache_are_kept_once_outside_the_gpus() -> None:
    machine = hardware("h200-sxm")
    found = kv_placement("deepseek-v3", machine, gpu_hour(machine), 12_800, gpus=8)
    assert found.kv_bytes_in_hbm == pytest.approx(8 * found.kv_bytes)
