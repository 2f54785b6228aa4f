"""``infer-cost cost``: your own price of a token, rented or owned, against an API; memory tiers, clusters, growth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import (
    ENGINE,
    FORMATS,
    MACHINE,
    PARALLEL,
    POOLS,
    PRICE,
    SPECULATION,
    WORKLOAD,
    Explain,
    Json,
    Option,
    library_options,
    with_options,
)
from infer_cost.errors import InputError

if TYPE_CHECKING:
    from infer_cost.economics.against import Against
    from infer_cost.economics.gpu_hours import GpuHour
    from infer_cost.economics.own import OwnCost
    from infer_cost.economics.ownership import Ownership
    from infer_cost.hardware_specs.types import Machine

_FLOAT = float | None

OWNERSHIP = (
    Option("own", bool, False, "Own the machines instead of renting them.", None, ("--own",)),
    Option("purchase_price", _FLOAT, None, "Price of a GPU with its share of the server.", "USD"),
    Option("power_per_gpu", _FLOAT, None, "Its power, everything in the rack included.", "W"),
    Option("years", _FLOAT, None, "Depreciation period.", "N"),
    Option("residual_share", _FLOAT, None, "What it sells for at the end, over its price.", "SHARE"),
    Option("financing_rate", _FLOAT, None, "Interest a year.", "RATE"),
    Option("network_share", _FLOAT, None, "The network's share of the cluster's price.", "SHARE"),
    Option("optics_share", _FLOAT, None, "The optics' share of the network's price.", "SHARE"),
    Option("pue", _FLOAT, None, "Power of the building over power of the machines.", "N"),
    Option("usd_per_kwh", _FLOAT, None, "Price of electricity.", "USD"),
    Option("facility_usd_per_kw_month", _FLOAT, None, "Rent of space and cooling.", "USD"),
    Option("maintenance_share", _FLOAT, None, "Repairs a year, over the price.", "SHARE"),
    Option("other_usd_per_year", _FLOAT, None, "Anything else, for one GPU.", "USD"),
)
_FIELDS = {"purchase_price": "purchase_usd", "power_per_gpu": "power_w"}

FLEET = (
    Option("requests_per_month", _FLOAT, None, "Traffic: adds a month's view and the payback.", "N"),
    Option("day", str, "flat", "Traffic by hour: flat, or office (busy from eight to six).", "flat|office"),
    Option("spares", int, 0, "Replicas beyond what the traffic needs.", "N"),
    Option("on_demand_factor", _FLOAT, None, "On-demand over reserved price: rent the peak by the hour.", "N"),
    Option("spot_share", float, 0.0, "Share of the rented hours that is spot.", "SHARE"),
    Option("spot_factor", float, 0.5, "Spot over reserved price.", "N"),
    Option("people_usd_per_month", float, 0.0, "People's time.", "USD"),
    Option("commitment", str | None, None, "Dollars a month promised to the API, and the discount.", "USD:SHARE"),
    Option("provisioned", str | None, None, "A unit of the API's provisioned throughput.", "TOKENS_PER_MIN:USD"),
)

_WORKLOAD = (*WORKLOAD[:3], WORKLOAD[3]._replace(kind=int | None, default=None))


@with_options(MACHINE[1:], PARALLEL, FORMATS, _WORKLOAD, ENGINE, SPECULATION, POOLS, PRICE, OWNERSHIP, FLEET)
def command(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A catalog name, a config.json, or a Hugging Face id.")
    ] = None,
    hardware: Annotated[
        list[str] | None, typer.Option(metavar="NAME|FILE", help="A machine; again for machines side by side.")
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(metavar="PROVIDER/MODEL", help="An API to compare with; again for several."),
    ] = None,
    service: Annotated[str, typer.Option(help="How the API is bought: standard, batch, flex, priority.")] = "standard",
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Date of the API's prices; now by default.")] = None,
    prices: Annotated[str | None, typer.Option(metavar="FILE.toml", help="Your own API price rows.")] = None,
    max_tpot_ms: Annotated[
        float | None, typer.Option(help="Slowest time per output token when looking for a concurrency.")
    ] = None,
    failure_share: Annotated[float, typer.Option(help="Share of requests that fail and are sent again.")] = 0.0,
    tokens_per_second: Annotated[
        float | None, typer.Option(help="Tokens/s of one GPU, measured by you, instead of a model.")
    ] = None,
    sensitivity: Annotated[bool, typer.Option("--sensitivity", help="Which input moves the cost most.")] = False,
    kv_tiers: Annotated[
        bool, typer.Option("--kv-tiers", help="Where an idle KV cache of the input should wait.")
    ] = False,
    cluster_gpus: Annotated[int | None, typer.Option(help="Purchase and power of a cluster of so many GPUs.")] = None,
    links_per_gpu: Annotated[float, typer.Option(help="Optical ends a GPU, all switch layers.")] = 5.0,
    growth: Annotated[
        str | None, typer.Option(metavar="FALL:GROWTH", help="Spend when prices fall and use grows, such as 200:7.")
    ] = None,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """What tokens cost on machines of your own, rented or owned; margin and break-even against an API.

    Example: infer-cost cost llama-3.1-70b --hardware h100-sxm --weights fp8 --input-tokens 3000 --output-tokens 500
    """
    from infer_cost.cli import cost_other_views as other
    from infer_cost.cli import cost_views as views
    from infer_cost.cli.price_views import Show

    show = Show(as_json, explain)
    if growth is not None:
        other.show_growth(growth, show)
        return
    machines = _machines(hardware, options["set_"])
    ready = library_options(options)
    ownership, fleet = _take(ready, OWNERSHIP), _take(ready, FLEET)
    hours = [_hour(machine, ready, ownership) for machine in machines]
    if tokens_per_second is not None:
        other.show_measured(machines[0], hours[0], tokens_per_second, ready["utilization"], show)
        return
    if cluster_gpus is not None and model is None:
        other.show_cluster(_owned(machines[0], ownership), cluster_gpus, links_per_gpu, None, show)
        return
    if model is None:
        raise InputError("which model?", field="model", allowed="MODEL, --tokens-per-second N or --growth FALL:GROWTH")
    if kv_tiers:
        from infer_cost.economics.kv_placement import kv_placement

        tokens = ready.pop("input_tokens")
        for name in ("output_tokens", "concurrency", "cached_tokens", "utilization"):
            ready.pop(name)
        other.show_kv(kv_placement(model, machines[0], hours[0], tokens, **ready), show)
        return
    costs = [
        _cost(model, machine, hour, max_tpot_ms, failure_share, ready)
        for machine, hour in zip(machines, hours, strict=True)
    ]
    if cluster_gpus is not None:
        rate = costs[0].output_tokens_per_s / costs[0].gpus
        other.show_cluster(_owned(machines[0], ownership), cluster_gpus, links_per_gpu, rate, show)
        return
    find = _finder(service, at, prices)
    found = [[_against(cost, find(name), fleet) for name in provider or ()] for cost in costs]
    views.show_costs(costs, found, sensitivity, show)


def _take(ready: dict[str, Any], group: tuple[Option, ...]) -> dict[str, Any]:
    return {option.name: ready.pop(option.name) for option in group}


def _machines(names: list[str] | None, settings: list[str]) -> list[Machine]:
    from infer_cost.cli.options import overridden
    from infer_cost.hardware_specs.catalog import hardware

    if not names:
        raise InputError("which machine?", field="hardware", allowed="--hardware NAME or FILE.toml")
    return [overridden(name, settings) if settings else hardware(name) for name in names]


def _given(ownership: dict[str, Any]) -> dict[str, float]:
    named = {_FIELDS.get(name, name): value for name, value in ownership.items() if name != "own"}
    return {name: value for name, value in named.items() if value is not None}


def _hour(machine: Machine, ready: dict[str, Any], ownership: dict[str, Any]) -> GpuHour:
    from infer_cost.economics.gpu_hours import gpu_hour

    given = _given(ownership)
    if given and not ownership["own"]:
        raise InputError(
            f"{', '.join(given)} belongs to owning the machine", field="own", allowed="together with --own"
        )
    return gpu_hour(
        machine,
        price_per_gpu_hour=ready["price_per_gpu_hour"],
        price_tier=ready["price_tier"],
        owned=ownership["own"],
        ownership=given,
    )


def _owned(machine: Machine, ownership: dict[str, Any]) -> Ownership:
    from infer_cost.economics.gpu_hours import owned_gpu

    return owned_gpu(machine, _given(ownership))


def _cost(
    model: str,
    machine: Machine,
    hour: GpuHour,
    max_tpot_ms: float | None,
    failure_share: float,
    ready: dict[str, Any],
) -> OwnCost:
    from infer_cost.economics.own import own_cost

    options = {name: value for name, value in ready.items() if name not in ("price_per_gpu_hour", "price_tier")}
    slowest = max_tpot_ms / 1e3 if max_tpot_ms is not None else None
    return own_cost(model, machine, hour, failure_share=failure_share, max_tpot_s=slowest, **options)


def _finder(service: str, at: str | None, prices: str | None) -> Any:
    from functools import partial

    from infer_cost.pricing.book import find_rates

    return partial(find_rates, service=service, at=at, user_file=prices)


def _against(cost: OwnCost, rates: Any, fleet: dict[str, Any]) -> Against:
    from infer_cost.economics.against import against_api, fleet_of
    from infer_cost.economics.fleets import DAYS
    from infer_cost.errors import unknown_name

    if fleet["day"] not in DAYS:
        raise unknown_name("day", fleet["day"], DAYS, field="day", hint=f"known: {', '.join(DAYS)}")
    bought = fleet_of(
        cost,
        spare_replicas=fleet["spares"],
        on_demand_factor=fleet["on_demand_factor"],
        spot_share=fleet["spot_share"],
        spot_factor=fleet["spot_factor"],
        people_usd_per_month=fleet["people_usd_per_month"],
    )
    return against_api(
        cost,
        rates,
        bought,
        requests_per_month=fleet["requests_per_month"],
        day=DAYS[fleet["day"]],
        commitment=_pair(fleet["commitment"], "commitment"),
        provisioned=_pair(fleet["provisioned"], "provisioned"),
    )


def _pair(text: str | None, field: str) -> tuple[float, float] | None:
    if text is None:
        return None
    left, _, right = text.partition(":")
    try:
        return float(left), float(right)
    except ValueError:
        raise InputError(
            f"can't read --{field} {text[:40]!r}", field=field, value=text, allowed="two numbers with a colon between"
        ) from None
