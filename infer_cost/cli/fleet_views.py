"""How the plan of a fleet is printed, and its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import bold, count, dollars, seconds, table, three_digits

if TYPE_CHECKING:
    from infer_cost.planner.fleet import FleetPlan, Share


def print_fleet(answer: FleetPlan) -> None:
    """Print a row for each part of the fleet, and the whole."""
    print(bold(f"{count(answer.gpus)} GPUs: {dollars(answer.usd_per_hour)} an hour") + "\n")
    header = ["services", "model", "engines", "requests/s", "GPUs", "$/hour", "$/M output", "promised"]
    print(table(header, [_row(share) for share in answer.shares], left=(0, 1, 2, 7)))
    print()
    if answer.unrouted_usd_per_hour is not None:
        saved = 1.0 - answer.usd_per_hour / answer.unrouted_usd_per_hour
        print(f"Without the router: {dollars(answer.unrouted_usd_per_hour)} an hour; routing saves {saved:.0%}.")
    power, per_megawatt = answer.power_w, answer.tokens_per_s_per_megawatt
    if power and per_megawatt:
        print(f"Power: {power / 1e3:,.1f} kW, {count(per_megawatt)} output tokens/s a megawatt.")


def _row(share: Share) -> list[str]:
    plan = share.plan
    rate = sum(service.traffic.rate for service in share.services)
    kept = [
        f"{line.metric.upper()} p{line.percentile:g} {seconds(value)}"
        for line, value in zip(plan.promised, plan.percentiles_s, strict=True)
    ]
    return [
        " + ".join(service.name for service in share.services),
        share.services[0].model,
        plan.label,
        three_digits(rate),
        count(plan.gpus),
        three_digits(plan.usd_per_hour),
        three_digits(plan.usd_per_million_output_tokens),
        ", ".join(kept) or "-",
    ]


def document(answer: FleetPlan) -> dict[str, Any]:
    """Return the answer as what JSON knows."""
    return {
        "gpus": answer.gpus,
        "usd_per_hour": answer.usd_per_hour,
        "usd_per_hour_without_router": answer.unrouted_usd_per_hour,
        "power_w": answer.power_w,
        "output_tokens_per_s_per_megawatt": answer.tokens_per_s_per_megawatt,
        "parts": [
            {
                "services": [service.name for service in share.services],
                "model": share.services[0].model,
                "label": share.plan.label,
                "requests_per_s": sum(service.traffic.rate for service in share.services),
                "gpus": share.plan.gpus,
                "usd_per_hour": share.plan.usd_per_hour,
                "cost_per_million_output_tokens_usd": share.plan.usd_per_million_output_tokens,
                "percentiles": [
                    {"metric": line.metric, "percentile": line.percentile, "seconds": value, "limit_s": line.limit_s}
                    for line, value in zip(share.plan.promised, share.plan.percentiles_s, strict=True)
                ],
            }
            for share in answer.shares
        ],
    }
