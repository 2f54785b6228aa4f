"""What ``infer-cost cost`` prints: text for people, one JSON document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from infer_cost.cli.explanation import emit_explained, print_chains
from infer_cost.cli.output import bar, bold, count, dollars, plain, seconds, table, three_digits, wrap
from infer_cost.cli.price_views import Show

if TYPE_CHECKING:
    from infer_cost.economics.against import Against
    from infer_cost.economics.gpu_hours import GpuHour
    from infer_cost.economics.own import OwnCost
    from infer_cost.serving.ranges import Range
    from infer_cost.steps import Chain


def show_costs(costs: Sequence[OwnCost], found: Sequence[Sequence[Against]], sensitivity: bool, show: Show) -> None:
    """Print the cost on each machine, and each API beside it."""
    if show.as_json:
        documents = [_document(cost, apis, sensitivity) for cost, apis in zip(costs, found, strict=True)]
        told = _chains(costs) if show.explain else None
        emit_explained(documents[0] if len(documents) == 1 else {"machines": documents}, told)
        return
    if len(costs) == 1:
        _print_one(costs[0], show)
    else:
        _print_side_by_side(costs)
        if show.explain:
            print_chains(_chains(costs))
    for cost, apis in zip(costs, found, strict=True):
        if apis:
            _print_apis(cost, apis)
    if any(found):
        print(
            wrap(
                f"A replica is planned at {costs[0].utilization:.0%} of its full throughput, and its load is a share "
                "of that; 'for good' counts the steps that new replicas make.",
                indent="",
            )
        )
    if sensitivity:
        for cost in costs:
            _print_sensitivity(cost)


def _chains(costs: Sequence[OwnCost]) -> list[Chain]:
    from infer_cost.economics.explained import own_cost_chain

    return [own_cost_chain(cost) for cost in costs]


def _print_one(cost: OwnCost, show: Show) -> None:
    print(bold(_title(cost)) + "\n")
    rows = [
        _row("$ a million input tokens", cost.usd_per_mtok_input),
        _row("$ a million output tokens", cost.usd_per_mtok_output),
        _row("$ a request", cost.usd_per_request),
    ]
    print(table(["", "expected", "low", "high", "physical bound"], rows))
    print()
    facts = [
        ("$ a successful request", dollars(cost.usd_per_successful_request)),
        ("requests/s, all GPUs", three_digits(cost.requests_per_s)),
        ("output tokens a joule", three_digits(cost.tokens_per_joule) if cost.tokens_per_joule else "-"),
        (
            "output tokens/s a megawatt",
            count(cost.output_tokens_per_s_per_megawatt) if cost.output_tokens_per_s_per_megawatt else "-",
        ),
    ]
    for name, value in facts:
        print(f"{name:<28}{value}")
    print()
    print_hour(cost.gpu_hour)
    if show.explain:
        _print_arithmetic(cost)
    print_assumptions(cost.assumptions)


def _print_side_by_side(costs: Sequence[OwnCost]) -> None:
    print(
        bold(f"{costs[0].model}, {count(costs[0].input_tokens)} tokens in, {count(costs[0].output_tokens)} out") + "\n"
    )
    rows = [
        [
            f"{cost.gpus} x {cost.hardware}",
            count(cost.concurrency),
            f"${cost.gpu_hour.usd:.2f} {cost.gpu_hour.tier}",
            dollars(cost.usd_per_mtok_input.expected),
            dollars(cost.usd_per_mtok_output.expected),
            f"{dollars(cost.usd_per_mtok_output.low)}..{dollars(cost.usd_per_mtok_output.high)}",
            dollars(cost.usd_per_successful_request),
            seconds(cost.tpot_s.expected) if cost.tpot_s else "-",
        ]
        for cost in costs
    ]
    header = ["machine", "at once", "GPU-hour", "$/Mtok in", "$/Mtok out", "range", "$/request", "TPOT"]
    print(table(header, rows))


def _print_apis(cost: OwnCost, apis: Sequence[Against]) -> None:
    print(f"\nAgainst an API, {cost.gpus} x {cost.hardware} a replica:")
    rows = []
    for one in apis:
        point = one.break_even
        rows.append(
            [
                f"{one.api.rates.provider}/{one.api.rates.model}",
                dollars(one.api_usd_per_success),
                f"{one.margin_if_sold_at_api_price:.0%}",
                f"{point.utilization:.0%}" if point.utilization <= 1 else "never",
                "never" if point.first_requests is None else three_digits(point.first_requests),
                "-" if point.always_requests is None else three_digits(point.always_requests),
            ]
        )
    header = ["API", "$/request", "margin", "pays from load", "from requests a month", "for good from"]
    print(table(header, rows))
    for one in apis:
        if one.month:
            _print_month(one)


def _print_month(one: Against) -> None:
    month = one.month
    assert month is not None
    own = month.own
    print(
        f"\n{count(month.requests)} requests a month: {one.api.rates.provider} {dollars(month.api_usd)}, "
        f"own {dollars(own.total_usd)}"
    )
    print(
        f"  {own.replicas_at_peak} replicas at the peak, {own.replicas_reserved} of them reserved, "
        f"{count(own.replica_hours)} replica-hours, {own.utilization:.0%} of what they can carry"
    )
    for way, amount in (("commitment", month.api_committed_usd), ("provisioned units", month.api_provisioned_usd)):
        if amount is not None:
            print(f"  {one.api.rates.provider} with {way}: {dollars(amount)}")
    print(f"  machines {dollars(own.machines_usd)}, people {dollars(own.people_usd)}")
    verb = "saves" if month.saving_usd >= 0 else "costs more by"
    print(f"  own {verb} {dollars(abs(month.saving_usd))} a month", end="")
    print(f", bought machines pay back in {month.payback_months:.1f} months" if month.payback_months else "")


def _print_sensitivity(cost: OwnCost) -> None:
    swings = _swings(cost)
    print(f"\nWhat moves $ a successful request most ({cost.gpus} x {cost.hardware}; one input at a time):")
    widest = swings[0].width if swings else 1.0
    rows = [
        [
            swing.name,
            f"{_amount(swing.low_input)}..{_amount(swing.high_input)}",
            dollars(swing.at_low),
            dollars(swing.at_high),
            bar(swing.width / widest),
        ]
        for swing in swings
    ]
    print(table(["input", "from..to", "at low", "at high", ""], rows, left=(0, 4)))


def print_hour(hour: GpuHour) -> None:
    """Print the price of a GPU-hour, and its parts where it is owned."""
    print(wrap(f"GPU-hour ${hour.usd:.4g}, {hour.tier}: {hour.source}", indent=""))
    if hour.cost is None:
        return
    for name, amount in hour.cost.parts().items():
        if amount > 1e-9:
            print(f"  {name:<14}${amount:.4f}  {bar(amount / hour.usd)}")
    if hour.cost.optics_usd_per_hour:
        print(f"  (of the network, optics ${hour.cost.optics_usd_per_hour:.4f})")


def _print_arithmetic(cost: OwnCost) -> None:
    print("\nHow it was worked out:")
    print(
        f"  a request = {cost.gpus} GPUs x ${cost.gpu_hour.usd:.6g}/h / 3600 / {cost.requests_per_s:.6g} requests/s "
        f"/ {cost.utilization:g} = ${cost.usd_per_request.expected:.6g}"
    )
    prompt = cost.usd_per_mtok_input.expected * cost.input_tokens / 1e6
    print(
        f"  of it prefill ${prompt:.6g} for {count(cost.input_tokens)} tokens, "
        f"decode ${cost.usd_per_request.expected - prompt:.6g} for {count(cost.output_tokens)}"
    )
    if cost.failure_share:
        print(f"  a success = a request x (1 + {cost.failure_share:g} / (1 - {cost.failure_share:g}))")
    hour = cost.gpu_hour
    if hour.owned:
        owned = hour.owned
        print(f"  machine = ${owned.purchase_usd:,.0f} x (1 - {owned.residual_share:g}) / {owned.years:g} years")
        print(f"  network = ${owned.network_usd:,.0f}, {owned.network_share:.0%} of machine and network, over the same")
        print(f"  electricity = {owned.power_w:,.0f} W x PUE {owned.pue:g} x ${owned.usd_per_kwh:g}/kWh")
        print(f"  financing at {owned.financing_rate:.1%} a year by the capital recovery factor")


def print_assumptions(lines: Sequence[str]) -> None:
    """Print what was assumed."""
    print("\nAssumed:")
    for line in lines:
        print(wrap(f"- {line}"))


def _document(cost: OwnCost, apis: Sequence[Against], sensitivity: bool) -> dict[str, Any]:
    document: dict[str, Any] = plain(cost)
    document["against"] = [_api_document(one) for one in apis]
    if sensitivity:
        document["sensitivity"] = plain(_swings(cost))
    return document


def _api_document(one: Against) -> dict[str, Any]:
    from infer_cost.pricing.billing import plain as digits

    return {
        "provider": one.api.rates.provider,
        "model": one.api.rates.model,
        "api_usd_per_request": digits(one.api.cost_usd),
        "api_usd_per_success": one.api_usd_per_success,
        "row": one.api.rates.row,
        "margin_if_sold_at_api_price": one.margin_if_sold_at_api_price,
        "break_even": plain(one.break_even),
        "month": plain(one.month),
    }


def _swings(cost: OwnCost) -> Any:
    from infer_cost.economics.cost_sensitivity import cost_sensitivity

    return cost_sensitivity(cost)


def _title(cost: OwnCost) -> str:
    gpus = f"{cost.gpus} x {cost.hardware}" if cost.gpus > 1 else cost.hardware
    return (
        f"{cost.model} on {gpus}, {count(cost.concurrency)} at once, "
        f"{count(cost.input_tokens)} tokens in, {count(cost.output_tokens)} out"
    )


def _row(name: str, figure: Range) -> list[str]:
    return [name, *(dollars(getattr(figure, part)) for part in ("expected", "low", "high", "bound"))]


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
