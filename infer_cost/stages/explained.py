"""From the engine's times and cost to those of the whole request."""

from __future__ import annotations

from infer_cost.serving.ladder import Ladder
from infer_cost.stages.types import Journey
from infer_cost.steps import Chain, Step


def whole_request(trip: Journey, rungs: Ladder) -> Chain:
    """Return the steps from the engine's ladder to the totals of a journey.

    Parameters
    ----------
    trip : Journey
        The request
    rungs : Ladder
        The ladder of the same scenario

    Returns
    -------
    Chain
        Its steps end in the totals that the journey has
    """
    engine = {step.name: step.value for step in (*rungs.ttft, *rungs.outcome) if step.name != "expected"}
    first = next(step.value for step in rungs.ttft if step.name == "expected")
    around = "Σ host-side stages, and a cached prefix's transfer"
    steps = [
        Step("first token, in the engine", "expected, as above", first, "s"),
        Step("first token, around it", around, trip.ttft_s.expected - first, "s"),
        Step("time to first token", "Σ of both", trip.ttft_s.expected, "s"),
    ]
    if trip.tpot_s is not None:
        steps.append(Step("time per output token", "expected, as above", trip.tpot_s.expected, "s"))
    steps.append(Step("end to end", "TTFT + (O − 1)·TPOT + the last bytes and the bill", trip.e2e_s.expected, "s"))
    if trip.cost_usd is not None:
        inside = engine["cost of a request"]
        total = trip.cost_usd.expected
        steps += [
            Step("cost, in the engine", "p / 3600 · GPU-seconds / u, as above", inside, "USD"),
            Step("cost, around it", "host CPU time · its price, and the transfer's GPU time", total - inside, "USD"),
            Step("cost of the request", "Σ of both", total, "USD"),
        ]
    return Chain("the whole request", tuple(steps))
