"""What ``infer-cost cost`` prints beside a model's cost: a measured rate, memory tiers, clusters, growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infer_cost.cli.cost_views import print_assumptions, print_hour
from infer_cost.cli.output import bold, count, dollars, emit_json, plain, seconds, table, three_digits
from infer_cost.cli.price_views import Show

if TYPE_CHECKING:
    from infer_cost.economics.gpu_hours import GpuHour
    from infer_cost.economics.kv_placement import KvPlacement
    from infer_cost.economics.ownership import Ownership
    from infer_cost.hardware_specs.types import Machine


def show_measured(machine: Machine, hour: GpuHour, rate: float, utilization: float, show: Show) -> None:
    """Print the cost of a token at a throughput that the user states."""
    from infer_cost.economics.tokens import cost_per_million_from_gpu_seconds

    cost = cost_per_million_from_gpu_seconds(hour.usd, 1.0 / _positive(rate), utilization)
    yearly = rate * utilization * 8760 * 3600
    if show.as_json:
        emit_json(
            {
                "hardware": machine.id,
                "gpu_hour": hour,
                "tokens_per_s": rate,
                "utilization": utilization,
                "usd_per_mtok": cost,
                "tokens_per_year": yearly,
                "usd_per_year": hour.usd * 8760,
            }
        )
        return
    print(bold(f"{machine.id} at {three_digits(rate)} tokens/s, {utilization:.0%} of the time") + "\n")
    print_hour(hour)
    print(f"\n{'a year':<28}{dollars(hour.usd * 8760)}, {yearly:.3g} tokens")
    print(f"{'$ a million tokens':<28}{dollars(cost)}")
    if hour.assumptions:
        print_assumptions(hour.assumptions)
    if show.explain:
        print(f"\n1e6 x {hour.usd:.6g} / 3600 / {rate:g} / {utilization:g} = {cost:.6g}")


def show_kv(found: KvPlacement, show: Show) -> None:
    """Print where an idle KV cache should wait."""
    from infer_cost.economics.kv_placement import IDLE_TIMES

    if show.as_json:
        costs = {place.name: {name: place.cost(t) for name, t in IDLE_TIMES.items()} for place in found.places}
        emit_json({**plain(found), "cost_usd_by_idle_time": costs})
        return
    print(
        bold(f"{found.model} on {found.gpus} x {found.hardware}: {count(found.tokens)} tokens, ")
        + f"{found.kv_bytes / 1e9:.2f} GB of KV cache, {found.kv_bytes_in_hbm / 1e9:.2f} GB in HBM\n"
    )
    rows = [
        [place.name, *(dollars(place.cost(t)) for t in IDLE_TIMES.values()), seconds(place.return_s)]
        for place in found.places
    ]
    print(table(["idle for", *IDLE_TIMES, "back in"], rows))
    print("\nCheapest:")
    for span in found.spans:
        until = "" if span.until_s == float("inf") else f" until {_duration(span.until_s)}"
        print(f"  {span.place.name:<10} from {_duration(span.from_s)}{until}")
    print()
    for name, place in found.cheapest_by_ttl.items():
        print(f"a {name} corresponds to {place}")
    print_assumptions(found.assumptions)


def show_cluster(owned: Ownership, gpus: int, links: float, rate: float | None, show: Show) -> None:
    """Print purchase and power of a cluster."""
    from infer_cost.economics.clusters import cluster

    found = cluster(owned, gpus, links, rate)
    if show.as_json:
        emit_json({**plain(found), "capital_usd": found.capital_usd, "optics_saved_w": found.optics.saved_w})
        return
    print(bold(f"{count(gpus)} GPUs") + "\n")
    share = found.network_usd / found.capital_usd if found.capital_usd else 0.0
    optics = found.optics_usd / found.capital_usd if found.capital_usd else 0.0
    facts = [
        ("purchase", f"${found.capital_usd / 1e9:,.3g} billion"),
        ("  of it network", f"${found.network_usd / 1e9:,.3g} billion, {share:.0%}"),
        ("  of it optics", f"${found.optics_usd / 1e9:,.3g} billion, {optics:.1%}"),
        ("machines", f"{found.machines_w / 1e6:,.1f} MW"),
        ("pluggable optics", f"{found.optics.pluggable_w / 1e6:,.2f} MW"),
        ("co-packaged optics", f"{found.optics.co_packaged_w / 1e6:,.2f} MW, {found.optics.saved_w / 1e6:,.2f} less"),
        ("site", f"{found.site_w / 1e6:,.1f} MW"),
    ]
    if found.tokens_per_s_per_megawatt and found.capital_usd_per_mtok:
        facts.append(("output tokens/s a megawatt", count(found.tokens_per_s_per_megawatt)))
        facts.append(("purchase a million tokens", dollars(found.capital_usd_per_mtok)))
    for name, value in facts:
        print(f"{name:<28}{value}")
    print_assumptions([f"{links:g} optical ends a GPU, 1.6T each, at 30 W pluggable and 9 W co-packaged (NVIDIA)"])


def show_growth(text: str, show: Show) -> None:
    """Print what spend does when prices fall and use grows."""
    from infer_cost.economics.clusters import elasticity, spend_growth, spend_path
    from infer_cost.pricing.blending import parse_ratio

    fall, growth = (float(part) for part in parse_ratio(text, "growth"))
    factor, answer = spend_growth(fall, growth), elasticity(fall, growth)
    path = spend_path(fall, growth, 3)
    if show.as_json:
        emit_json({"spend_factor_per_year": factor, "elasticity": answer, "path": path})
        return
    print(f"price / {fall:g} and use x {growth:g} a year: spend x {factor:.4g} ({factor - 1:+.1%})\n")
    rows = [[str(p.year), f"{p.price:.3g}", f"{p.usage:.4g}", f"{p.spend:.3g}"] for p in path]
    print(table(["year", "price", "use", "spend"], rows))
    if answer is not None:
        verdict = "above 1: spend rises as prices fall (Jevons)" if answer > 1 else "not above 1: spend doesn't rise"
        print(f"\nelasticity ln({growth:g})/ln({fall:g}) = {answer:.2f}, {verdict}")


def _duration(value: float) -> str:
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if value >= size:
            return f"{three_digits(value / size)} {unit}"
    return seconds(value)


def _positive(rate: float) -> float:
    from infer_cost.checks import finite

    return finite("tokens per second", rate, low=1e-9)
