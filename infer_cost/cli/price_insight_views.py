"""What ``infer-cost price`` prints about providers themselves: what a list reveals, whom to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infer_cost.cli.output import emit_json, table, wrap
from infer_cost.cli.price_views import Show, name_of, print_source, source_document
from infer_cost.errors import InputError
from infer_cost.pricing.rates import Rates

if TYPE_CHECKING:
    from infer_cost.economics.reveal import Inference


def show_reveal(row: Rates, hardware: str | None, active_parameters: str | None, show: Show) -> None:
    """Print what a price list gives away."""
    from infer_cost.economics.reveal import assumptions_of, reveal
    from infer_cost.hardware_specs.catalog import hardware as find_hardware

    given = assumptions_of(find_hardware(hardware or "h100-sxm"), _bracket(active_parameters))
    found = reveal(row, given)
    if show.as_json:
        emit_json(
            {
                "provider": row.provider,
                "model": row.model,
                "assumptions": given,
                "inferences": found,
                "source": source_document(row),
            }
        )
        return
    print(f"What the price list of {name_of(row)} suggests, if the model ran on {given.machine}\n")
    for one in found:
        print(f"{one.name}: {_span(one)}")
        print(wrap(one.reading))
        print(wrap(f"= {one.formula}"))
    low, high = given.active_parameters
    print(
        wrap(
            f"Assumed: {low / 1e9:g} to {high / 1e9:g} billion active parameters, total over active "
            f"{given.total_over_active[0]:g} to {given.total_over_active[1]:g}, prefill at "
            f"{given.prefill_efficiency[0]:.0%} to {given.prefill_efficiency[1]:.0%} of the peak.",
            indent="",
        )
    )
    print()
    print_source(row)


def show_choice(path: str, workload: str | None, show: Show) -> None:
    """Print a ranking of providers and what would change it."""
    from infer_cost.economics.choice import CRITERIA, choose_from_file

    found = choose_from_file(path, workload)
    if show.as_json:
        emit_json(found)
        return
    rows = [
        [one.provider.name, f"{one.total:.2f}", *(f"{one.points[name]:.1f}" for name in CRITERIA)]
        for one in found.ranking
    ]
    weights = ["weight", "", *(f"{found.weights[name]:g}" for name in CRITERIA)]
    short = [name[:7] for name in CRITERIA]
    print(table(["provider", "total", *short], [weights, *rows]))
    for name, reason in found.excluded:
        print(f"{name} is out: {reason}")
    for tip in found.tipping_points[:3]:
        print(f"{tip.new_leader} leads once {tip.criterion} weighs {tip.leader_at:.3g} instead of {tip.weight:g}")


def _bracket(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition("..")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise InputError(
            f"can't read {text[:40]!r}", field="active_parameters", value=text, allowed="LOW..HIGH, such as 20e9..200e9"
        ) from None


def _span(one: Inference) -> str:
    if one.unit == "1":
        return f"{one.low:.1%} to {one.high:.1%}"
    texts = [f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}" for value in (one.low, one.high)]
    return f"{texts[0]} to {texts[1]} {one.unit}"
