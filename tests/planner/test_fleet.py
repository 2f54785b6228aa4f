"""Sessions, placement, a day's swing, and services that share a fleet."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.model_specs.catalog import model
from infer_cost.planner.candidates import Choice
from infer_cost.planner.fleet import merged, plan_fleet, read_fleet
from infer_cost.planner.placement import placed
from infer_cost.planner.plan import Plans, plans
from infer_cost.planner.scaling import cold_start, follow, mean_share
from infer_cost.planner.sessions import session, session_traffic
from infer_cost.planner.traffic import Traffic, promise, traffic

MACHINES = (hardware("h200-sxm"),)
LEVEL = (promise("ttft", "p99=800ms"), promise("tpot", "p99=40ms"))


def planned(asked: Traffic, name: str = "llama-3.1-70b") -> Plans:
    return plans(model(name), asked, LEVEL, Choice(MACHINES), layouts=("together",))


@given(st.integers(1, 50), st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0, 1), st.integers(1, 64))
@settings(deadline=None)
def test_the_mean_request_of_a_session(turns: int, prompt: float, answer: float, reuse: float, engines: int) -> None:
    one = traffic(2.0, prompt, answer, reuse=reuse)
    whole = session_traffic(one, session(turns), engines)
    prompts = [prompt + turn * (prompt + answer) for turn in range(turns)]
    cached = [reuse * prompt + turn * (prompt + answer) for turn in range(turns)]
    assert whole.inputs.mean == pytest.approx(sum(prompts) / turns)
    assert whole.rate == one.rate and whole.outputs.mean == one.outputs.mean
    kept = session_traffic(one, session(turns), 1)
    assert kept.reuse == pytest.approx(sum(cached) / sum(prompts))
    assert whole.reuse <= kept.reuse * (1 + 1e-9)
    square = sum(value**2 for value in prompts) / turns
    assert whole.inputs.mean**2 * (1 + whole.inputs.variation**2) == pytest.approx(square, rel=1e-6)


def test_reasoning_is_generated_and_not_sent_back() -> None:
    plain = session_traffic(traffic(1.0, 500, 200), session(4))
    thinking = session_traffic(traffic(1.0, 500, 200), session(4, 1000))
    assert thinking.inputs == plain.inputs and thinking.outputs.mean == plain.outputs.mean + 1000


def test_sessions_spread_at_random_find_less_and_cost_no_less() -> None:
    one, kind = traffic(120.0, 400, 250), session(12)
    kept, traffic_kept = placed(planned, one, kind, "cache-aware")
    spread, traffic_spread = placed(planned, one, kind, "random")
    assert traffic_spread.reuse < traffic_kept.reuse
    assert spread.best[0].usd_per_hour >= kept.best[0].usd_per_hour
    pool = spread.best[0].pools[0]
    assert pool.engines > 1
    # Planned for at least as many engines as it ends with.
    assert traffic_spread.reuse <= session_traffic(one, kind, pool.engines).reuse * (1 + 1e-9)


def test_engines_that_follow_the_day() -> None:
    plan = planned(traffic(100.0, 1000, 250)).best[0]
    steady, swinging = follow(plan, 1.0, "disk"), follow(plan, 4.0, "disk")
    assert steady.saving == pytest.approx(0.0, abs=1e-9) and steady.fewest == steady.most == plan.pools[0].engines
    assert 0.2 < swinging.saving < 1.0 - mean_share(4.0) + 0.05
    assert swinging.fewest < swinging.most == plan.pools[0].engines
    slow = follow(plan, 4.0, "disk", start_s=7200.0)
    assert slow.usd_per_day > swinging.usd_per_day, "slow starts have to be paid for ahead"
    assert slow.usd_per_day <= slow.fixed_usd_per_day


def test_cold_starts_by_where_the_weights_are() -> None:
    candidate = planned(traffic(5.0, 1000, 250)).best[0].pools[0].candidate
    starts = {place: cold_start(candidate, place) for place in ("disk", "dram", "peer")}  # type: ignore[arg-type]
    assert starts["disk"].load_s > starts["peer"].load_s > starts["dram"].load_s > 0
    # 70 GB in FP8 over a drive of 14 GB/s, however many GPUs share it.
    assert starts["disk"].load_s == pytest.approx(72.7e9 / 14e9, rel=0.1)


def test_merged_streams_keep_rates_tokens_and_squares() -> None:
    parts = [traffic(1.0, 1000, 100, input_variation=0.5, reuse=0.5), traffic(4.0, 200, 50, output_variation=1.0)]
    both = merged(parts)
    assert both.rate == 5.0
    assert both.inputs.mean * both.rate == pytest.approx(sum(part.inputs.mean * part.rate for part in parts))
    assert both.output_tokens_per_s == pytest.approx(sum(part.output_tokens_per_s for part in parts))
    assert both.reuse * both.inputs.mean * both.rate == pytest.approx(500.0)
    assert merged(parts[:1]) == parts[0]


FLEET = """
[[service]]
name = "chat"
model = "llama-3.1-70b"
requests = "60/s"
input_tokens = 800
output_tokens = 250
ttft = "p99=800ms"
tpot = ["p99=40ms", "p50=35ms"]
small_model = "llama-3.1-8b"
small_share = "60%"

[[service]]
name = "summaries"
model = "llama-3.1-70b"
requests = "100k/d"
input_tokens = 4000
output_tokens = 300
"""


def test_a_fleet(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET)
    routed, whole = read_fleet(path)
    assert [(service.name, service.model) for service in routed] == [
        ("chat", "llama-3.1-70b"),
        ("chat, routed", "llama-3.1-8b"),
        ("summaries", "llama-3.1-70b"),
    ]
    assert [service.traffic.rate for service in routed[:2]] == pytest.approx([24.0, 36.0])
    answer = plan_fleet(routed, Choice(MACHINES), whole=whole)
    assert answer.unrouted_usd_per_hour is not None and answer.usd_per_hour < answer.unrouted_usd_per_hour
    names = [service.name for share in answer.shares for service in share.services]
    assert sorted(names) == ["chat", "chat, routed", "summaries"]
    big = [share for share in answer.shares if share.services[0].model == "llama-3.1-70b"]
    alone = plan_fleet([s for s in routed if s.name == "chat"], Choice(MACHINES)).usd_per_hour
    assert sum(share.plan.usd_per_hour for share in big) >= alone
    assert answer.tokens_per_s_per_megawatt is not None and answer.tokens_per_s_per_megawatt > 0
    assert answer.gpus == sum(share.plan.gpus for share in answer.shares)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("name =", "title ="), UnknownNameError),
        (('requests = "60/s"\n', ""), InputError),
        (('"60/s"', '"often"'), InputError),
        (('"60%"', '"160%"'), InputError),
        (("[[service]]", "[[services]]"), InputError),
        (("p99=800ms", "p99=fast"), InputError),
        ((FLEET, "service = 3"), InputError),
        ((FLEET, "service = [3]"), InputError),
        ((FLEET, "service = ["), InputError),
    ],
)
def test_a_fleet_that_makes_no_sense(tmp_path: Path, change: tuple[str, str], error: type[Exception]) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET.replace(*change))
    with pytest.raises(error):
        read_fleet(path)


@pytest.mark.parametrize(("turns", "reasoning"), [(0, 0.0), (2000, 0.0), (1, -1.0)])
def test_sessions_that_make_no_sense(turns: int, reasoning: float) -> None:
    with pytest.raises(InputError):
        session(turns, reasoning)
