"""The cheapest deployments that keep a service level under some traffic, prefill and decode together or apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from infer_cost.errors import CannotBeMetError, InputError
from infer_cost.model_specs.architecture import Architecture
from infer_cost.planner.candidates import Choice, find_candidates
from infer_cost.planner.result import Layout, Plan
from infer_cost.planner.search import Search
from infer_cost.planner.traffic import Promise, Traffic
from infer_cost.planner.unit import Shortfall


@dataclass(frozen=True, slots=True)
class Budgets:
    """What a plan may take at most; None for no limit."""

    usd_per_hour: float | None = None
    gpus: int | None = None
    power_w: float | None = None


@dataclass(frozen=True, slots=True)
class Plans:
    """The answer: plans from the cheapest on, each of another kind."""

    best: tuple[Plan, ...]
    looked_at: int
    """Engines that were considered."""
    unpriced: tuple[str, ...]
    again: Callable[[Sequence[Promise]], Plan | None]
    """The cheapest plan under other promises, None when there is none; the engines' times are kept."""


def plans(
    model: Architecture,
    traffic: Traffic,
    promises: Sequence[Promise],
    choice: Choice,
    *,
    budgets: Budgets | None = None,
    spare: int = 0,
    layouts: Sequence[Layout] = ("together", "apart"),
    keep: int = 5,
) -> Plans:
    """Find the cheapest deployments that keep every promise.

    Parameters
    ----------
    model : Architecture
        What is served.
    traffic : Traffic
        The peak that is planned for.
    promises : sequence of Promise
        The service level; without any, the engines are filled and only the rate counts.
    choice : Choice
        Machines, formats and cuts to choose between.
    budgets : Budgets, optional
        Limits of money, GPUs and power.
    spare : int
        Engines beyond those needed, in each pool, for failures.
    layouts : sequence of {"together", "apart"}
        Whether prefill and decode may share engines, or have pools of their own.
    keep : int
        Plans with pools of their own to consider.

    Returns
    -------
    Plans
        From the cheapest on.

    Raises
    ------
    CannotBeMetError
        Naming the promise that fails first and by how much.
    """
    found = find_candidates(model, choice)
    search = Search(traffic, tuple(promises), spare, keep)
    search.compute(found.candidates)
    best = search.best(layouts)
    if not best:
        raise _cannot(search.shortfalls, promises)
    affordable = [plan for plan in best if _within(plan, budgets or Budgets())]
    if not affordable:
        raise _over_budget(min(best, key=lambda plan: plan.usd_per_hour), budgets or Budgets())
    ranked = sorted(affordable, key=_order)
    return Plans(tuple(ranked), found.looked_at, found.unpriced, partial(_again, search, layouts))


def _again(search: Search, layouts: Sequence[Layout], promises: Sequence[Promise]) -> Plan | None:
    return min(search.again(promises).best(layouts), key=_order, default=None)


def _order(plan: Plan) -> tuple[float, int, float]:
    """The cheapest first; at the same cost the simpler one, then the one with more headroom."""
    return round(plan.usd_per_hour, 6), len(plan.pools), -plan.headroom


def _within(plan: Plan, budgets: Budgets) -> bool:
    return (
        (budgets.usd_per_hour is None or plan.usd_per_hour <= budgets.usd_per_hour)
        and (budgets.gpus is None or plan.gpus <= budgets.gpus)
        and (budgets.power_w is None or plan.power_w is None or plan.power_w <= budgets.power_w)
    )


def _over_budget(cheapest: Plan, budgets: Budgets) -> CannotBeMetError:
    for field, limit, needed, unit_name in (
        ("max_cost_per_hour", budgets.usd_per_hour, cheapest.usd_per_hour, "$ an hour"),
        ("max_gpus", budgets.gpus, float(cheapest.gpus), "GPUs"),
        ("max_power", budgets.power_w, cheapest.power_w, "W"),
    ):
        if limit is not None and needed is not None and needed > limit:
            return CannotBeMetError(
                f"the promises can be kept, but not within {limit:,.6g} {unit_name}: the cheapest plan takes "
                f"{needed:,.6g} ({cheapest.label})",
                field=field,
                value=limit,
                hint=f"{needed / limit:.2f} times the budget",
            )
    return CannotBeMetError("no plan is within all budgets together", field="budget")


def _cannot(shortfalls: Sequence[Shortfall], promises: Sequence[Promise]) -> CannotBeMetError:
    """Name what fails on the engine that comes closest."""
    if not shortfalls:
        raise InputError("nothing to choose from", field="hardware")
    # Who fails at the lightest promise by the least came closest; an engine without room for the model never did.
    timed = [short for short in shortfalls if short.unit == "s"]
    nearest = min(timed or shortfalls, key=lambda short: short.excess)
    names = {str(promise).partition(" <")[0]: promise.metric for promise in promises}
    return CannotBeMetError(
        f"no deployment keeps the promise: {nearest}, even for a single request"
        if nearest.unit == "s"
        else f"no deployment can hold it: {nearest}",
        field=names.get(nearest.what, "hardware"),
        hint=f"{nearest.excess:.2f} times what would do; larger --tp, other machines or formats may help",
    )
