"""What a report gathers is what the library says, and stays so at any price and load."""

from __future__ import annotations

import pytest

from infer_cost.report import Content, gather
from infer_cost.report.values import State, first_state, values
from infer_cost.serving.roofline_report import roofline_report
from infer_cost.stages.journey import journey


def test_the_first_state_shows_what_was_asked_about(content: Content) -> None:
    shown = values(content, first_state(content))
    assert shown["concurrency"][0] == content.trip.concurrency
    assert shown["ttft.expected"][0] == content.trip.ttft_s.expected
    assert shown["e2e.high"][0] == content.trip.e2e_s.high
    if content.trip.cost_usd is None:
        assert shown["cost.expected"][0] is None
    else:
        assert shown["cost.expected"][0] == pytest.approx(content.trip.cost_usd.expected, rel=1e-9)
        assert shown["cost.low"][0] == pytest.approx(content.trip.cost_usd.low, rel=1e-9)


def test_stages_add_up_at_every_load(content: Content) -> None:
    first = first_state(content)
    for place in range(len(content.loads)):
        state = State(place, 3.0, 0.5, first.batch, first.context)
        shown = values(content, state)
        for total, part in (("e2e.expected", "e2e"), ("ttft.expected", "ttft"), ("cost.expected", "cost")):
            parts = [shown[f"stage.{number}.{part}"][0] for number in range(1, 16)]
            assert sum(float(value or 0) for value in parts) == pytest.approx(float(shown[total][0] or 0), rel=1e-9)


@pytest.mark.parametrize(("price", "utilization"), [(0.5, 1.0), (4.0, 0.25), (12.0, 0.6)])
def test_costs_at_another_price_are_the_librarys(price: float, utilization: float) -> None:
    options = {"gpus": 8, "weights": "fp8", "input_tokens": 3000, "output_tokens": 300}
    content = gather("llama-3.1-70b", "h100-sxm", **options)
    place = [load.concurrency for load in content.loads].index(16)
    first = first_state(content)
    shown = values(content, State(place, price, utilization, first.batch, first.context))
    trip = journey(
        "llama-3.1-70b",
        "h100-sxm",
        route=False,
        concurrency=16,
        price_per_gpu_hour=price,
        utilization=utilization,
        **options,
    )
    assert trip.cost_usd is not None
    for part in ("bound", "expected", "low", "high"):
        assert shown[f"cost.{part}"][0] == pytest.approx(getattr(trip.cost_usd, part), rel=1e-9)
    assert shown["stage.10.cost"][0] == pytest.approx(trip.stages[9].cost_usd, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "hardware", "options"),
    [
        ("llama-3.1-70b", "h100-sxm", {"gpus": 8, "weights": "fp8"}),
        ("deepseek-v3", "h200-sxm", {"gpus": 8}),
        ("gpt-oss-120b", "h100-sxm", {}),
    ],
)
@pytest.mark.parametrize(("batch", "context"), [(1, 128), (64, 2048), (1024, 16384)])
def test_roofline_is_that_of_the_roofline_command(
    model: str, hardware: str, options: dict[str, object], batch: int, context: int
) -> None:
    content = gather(model, hardware, **options)
    roofs = content.roofs
    state = State(0, None, 1.0, roofs.batches.index(batch), roofs.contexts.index(context))
    shown = values(content, state)
    report = roofline_report(model, hardware, batch=batch, context=context, **options)
    assert shown["roof.compute"][0] == pytest.approx(report.t_compute_s, rel=1e-9)
    assert shown["roof.memory"][0] == pytest.approx(report.t_mem_s, rel=1e-9)
    assert shown["roof.limit"][0] == report.limited_by
    assert shown["roof.intensity"][0] == pytest.approx(report.arithmetic_intensity, rel=1e-9)
    assert shown["roof.tokens"][0] == pytest.approx(report.tokens_per_s_bound, rel=1e-9)


def test_memory_parts_fill_what_is_usable(content: Content) -> None:
    parts = sum(size for _, size in content.memory.parts)
    assert parts == pytest.approx(content.memory.usable_bytes, rel=1e-6)
    assert all(size >= 0 for _, size in content.memory.parts)


def test_sensitivities_are_sorted_and_mean_what_they_say(dense: Content) -> None:
    widths = [swing.width for swing in dense.time_swings]
    assert widths == sorted(widths, reverse=True)
    moved = {swing.name: swing for swing in dense.time_swings}
    assert moved["memory bandwidth"].at_low > dense.answer.e2e_s.expected > moved["memory bandwidth"].at_high
    assert moved["output tokens"].at_low < dense.answer.e2e_s.expected < moved["output tokens"].at_high
    price = next(swing for swing in dense.cost_swings if swing.name == "price of a GPU-hour")
    assert price.at_high / price.at_low == pytest.approx(1.5)


def test_without_a_price_there_is_no_cost_sensitivity() -> None:
    content = gather("llama-3.1-8b", "m1-ultra", weights="q4_k_m")
    assert content.usd_per_gpu_hour is None and not content.cost_swings


def test_sources_name_where_figures_were_read(dense: Content) -> None:
    named = {row.what: row for row in dense.sources}
    bandwidth = named["h100-sxm: memory bandwidth"]
    assert bandwidth.value == "3.35 TB/s" and bandwidth.source and bandwidth.confidence == "two-sources"
    assert any("price of a GPU-hour" in what for what in named)
