"""The price of a GPU-hour: a rent, or what owning the machine takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infer_cost.economics.defaults import default, purchase, value_of
from infer_cost.economics.ownership import Ownership, OwnershipCost, ownership_cost
from infer_cost.errors import InputError
from infer_cost.hardware_specs.infrastructure import Figure
from infer_cost.hardware_specs.types import Machine
from infer_cost.serving.scenario import gpu_price

_DEFAULTED = (
    "years",
    "pue",
    "usd_per_kwh",
    "facility_usd_per_kw_month",
    "network_share",
    "optics_share",
    "financing_rate",
    "maintenance_share",
)
LABELS = {
    "purchase_usd": "purchase price",
    "years": "years of use",
    "power_w": "power",
    "pue": "PUE",
    "usd_per_kwh": "electricity price",
    "financing_rate": "financing rate",
    "network_share": "network share",
    "optics_share": "optics share of the network",
    "facility_usd_per_kw_month": "facility",
    "maintenance_share": "maintenance a year",
}
"""What people call the fields of :class:`Ownership`."""


@dataclass(frozen=True, slots=True)
class GpuHour:
    """What a GPU-hour costs here, and how that was found."""

    usd: float
    source: str
    tier: str
    owned: Ownership | None = None
    cost: OwnershipCost | None = None
    assumptions: tuple[str, ...] = ()
    """What was assumed of ownership, with source and confidence."""


def gpu_hour(
    machine: Machine,
    *,
    price_per_gpu_hour: float | None = None,
    price_tier: str | None = None,
    owned: bool = False,
    ownership: Mapping[str, float] | None = None,
) -> GpuHour:
    """Return what a GPU-hour costs: rented at a price or tier, or owned.

    Parameters
    ----------
    machine : Machine
        The machine.
    price_per_gpu_hour, price_tier
        A rent [USD/h] or the name of one; the machine's first tier by default.
    owned : bool
        Whether to work out ownership instead.
    ownership : mapping, optional
        Fields of :class:`Ownership` that replace the assumptions.

    Raises
    ------
    InputError
        If the machine has no price, or rent and ownership are both asked for.
    """
    if not owned:
        found = gpu_price(machine, price_per_gpu_hour, price_tier)
        if found is None:
            raise InputError(
                f"no GPU-hour price of {machine.id} is known",
                field="price_per_gpu_hour",
                hint="give --price-per-gpu-hour, or --own with --purchase-price",
            )
        return GpuHour(found.usd_per_hour, found.source, found.tier)
    if price_per_gpu_hour is not None or price_tier is not None:
        raise InputError(
            "a GPU-hour is either rented or owned",
            field="own",
            allowed="--own, or --price-per-gpu-hour or --price-tier",
        )
    given = ownership or {}
    mine = owned_gpu(machine, given)
    cost = ownership_cost(mine)
    return GpuHour(
        cost.usd_per_gpu_hour,
        "purchase and running costs",
        "owned",
        mine,
        cost,
        tuple(_ownership_assumptions(machine, given)),
    )


def _ownership_assumptions(machine: Machine, given: Mapping[str, float]) -> Iterator[str]:
    if "purchase_usd" not in given:
        yield _told("purchase price", purchase(machine))
    if "power_w" not in given:
        yield f"power {machine.power_per_gpu_w or 0:,.0f} W for a GPU with its share of the rack"
    for name in _DEFAULTED:
        if name not in given:
            yield _told(LABELS[name], default(name))


def _told(name: str, figure: Figure) -> str:
    unit = "" if figure.unit in ("1", "ratio", "years") else f" {figure.unit}"
    origin = figure.provenance
    said = origin.note if origin.confidence == "derived" and origin.note else origin.source
    return f"{name} {figure.value:g}{unit} ({origin.confidence}): {said}"


def owned_gpu(machine: Machine, given: Mapping[str, float]) -> Ownership:
    """Return what owning one GPU of a machine takes; what isn't given is the catalog's or an assumption."""
    fields: dict[str, float] = dict(given)
    if "purchase_usd" not in fields:
        price = purchase(machine).value
        assert price is not None
        fields["purchase_usd"] = price
    if "power_w" not in fields:
        power = machine.power_per_gpu_w
        if power is None:
            raise InputError(f"no power of {machine.id} is known", field="power", hint="give --power-per-gpu, in watts")
        fields["power_w"] = power
    for name in _DEFAULTED:
        fields.setdefault(name, value_of(name))
    return Ownership(**fields)
