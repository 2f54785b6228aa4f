"""The market's figures carry sources, and its functions agree with each other and with the documents' figures."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer_cost.economics import market
from infer_cost.errors import InputError

factors = st.floats(1e-3, 1e3)


def test_every_figure_has_a_source_a_date_and_a_confidence() -> None:
    for figure in market.market_figures().values():
        assert figure.value is not None or (figure.low is not None and figure.high is not None)
        assert figure.provenance.source and re.fullmatch(r"\d{4}-\d\d-\d\d", figure.provenance.read)
        assert figure.provenance.confidence in ("two-sources", "one-source", "recalled", "derived")
        if figure.value is not None and figure.low is not None and figure.high is not None:
            assert figure.low <= figure.value <= figure.high


def test_derived_growth_is_that_of_its_figures() -> None:
    before, after = (market.market_figure(f"google-tokens-{year}").value or 0.0 for year in (2025, 2026))
    assert market.market_figure("usage-growth").value == pytest.approx(market.growth_factor(before, after), rel=1e-3)


def test_published_capital_expenditure_fits_its_published_growth() -> None:
    before = market.start_of_growth(market.market_figure("capex-2026").value or 0.0, 0.77)
    assert before == pytest.approx(market.market_figure("capex-2025").value, rel=0.01)


@given(factors, factors, st.floats(0.5, 120))
def test_yearly_growth_compounds_back(before: float, growth: float, months: float) -> None:
    assert market.yearly_growth(before, before * growth, months) ** (months / 12) == pytest.approx(growth, rel=1e-6)


@given(st.floats(1e9, 1e14), st.floats(0.01, 0.99))
def test_lifetime_share_turns_around(trained: float, share: float) -> None:
    served = market.served_tokens_for_share(trained, share)
    assert market.lifetime_inference_share(trained, served) == pytest.approx(share)


@given(st.integers(1, 50), st.floats(1, 1e5), st.floats(1, 1e4), st.floats(0, 1e4))
def test_agent_tokens_are_the_sum_of_its_calls(steps: int, context: float, output: float, tool: float) -> None:
    calls = sum(context + step * (output + tool) + output for step in range(steps))
    assert market.agent_tokens(steps, context, output, tool) == pytest.approx(calls)


def test_agent_tokens_are_those_that_the_bill_counts() -> None:
    from decimal import Decimal

    from infer_cost.pricing.rates import Prices, Rates
    from infer_cost.pricing.tasks import AgentTask, task_cost

    rates = Rates("any", "any", Prices(Decimal(1), Decimal(5)))
    billed = task_cost(AgentTask(3000, 12, 250, 700, cached=False), rates)
    assert market.agent_tokens(12, 3000, 250, 700) == billed.task_tokens
    assert market.agent_multiplier(12, 3000, 250, 700) == pytest.approx(float(billed.token_ratio))


def test_a_single_call_is_one() -> None:
    assert market.agent_multiplier(1, 3000, 300, 500) == 1.0


@pytest.mark.parametrize("year", [2022, 2027])
def test_shares_are_not_extrapolated(year: float) -> None:
    with pytest.raises(InputError, match="no share is published"):
        market.inference_share(year)


def test_shares_grow_from_year_to_year() -> None:
    shares = [market.inference_share(year) for year in (2023, 2024, 2025, 2026)]
    assert shares == sorted(shares)


@pytest.mark.parametrize(
    "call",
    [
        lambda: market.growth_factor(0.0, 1.0),
        lambda: market.growth_factor(-1.0, 1.0),
        lambda: market.yearly_growth(1.0, 2.0, 0.0),
        lambda: market.yearly_growth(1.0, 2.0, 1e-6),
        lambda: market.gpus_for_tokens(1e15, 0.0),
        lambda: market.gpus_for_tokens(1e15, 1e3, 1.5),
        lambda: market.served_tokens_for_share(1e12, 1.0),
        lambda: market.downtime_hours(1.1, 730),
        lambda: market.implied_electricity_price(5000, 0.0),
        lambda: market.facilities_spend(1e9, 1.2),
        lambda: market.agent_tokens(0, 10, 10),
        lambda: market.start_of_growth(float("nan"), 0.1),
    ],
)
def test_impossible_inputs_are_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(InputError):
        call()


def test_an_unknown_figure_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean capex-2026"):
        market.market_figure("capex-26")
