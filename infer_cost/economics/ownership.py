"""What a GPU-hour costs whoever owns the machine: purchase, network, financing, power, building, people."""

from __future__ import annotations

import math
from dataclasses import dataclass

from infer_cost.checks import finite
from infer_cost.economics.constants import HOURS_PER_MONTH, HOURS_PER_YEAR
from infer_cost.roofline.ownership import annuity


@dataclass(frozen=True, slots=True)
class Ownership:
    """What owning one GPU takes, its share of the server included.

    Parameters
    ----------
    purchase_usd : float
        Price of the GPU with its share of the server [USD].
    power_w : float
        Power of the GPU with its share of the server, at work [W].
    years : float
        Depreciation period [year].
    residual_share : float
        What it sells for at the end, as a share of the price [1].
    financing_rate : float
        Interest a year on what is still tied up [1/year].
    network_share : float
        The network's share of the whole cluster's purchase [1].
    optics_share : float
        The optics' share of the network's purchase [1].
    pue : float
        Power of the building over power of the machines [1].
    usd_per_kwh : float
        Price of electricity [USD/kWh].
    facility_usd_per_kw_month : float
        Rent of space and cooling for a kilowatt of machines [USD/(kW month)].
    maintenance_share : float
        Repairs and contracts a year, as a share of the purchase [1/year].
    other_usd_per_year : float
        Anything else: people, software, insurance [USD/year].
    """

    purchase_usd: float
    power_w: float
    years: float = 5.0
    residual_share: float = 0.0
    financing_rate: float = 0.0
    network_share: float = 0.0
    optics_share: float = 0.6
    pue: float = 1.25
    usd_per_kwh: float = 0.08
    facility_usd_per_kw_month: float = 0.0
    maintenance_share: float = 0.0
    other_usd_per_year: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no machine can have."""
        finite("purchase price", self.purchase_usd, unit="USD")
        finite("power", self.power_w, unit="W")
        finite("years", self.years, low=0.1, high=50.0)
        finite("residual share", self.residual_share, high=1.0)
        finite("financing rate", self.financing_rate, high=2.0)
        finite("network share", self.network_share, high=0.95)
        finite("optics share", self.optics_share, high=1.0)
        finite("pue", self.pue, low=1.0, high=5.0)
        finite("electricity price", self.usd_per_kwh, unit="USD/kWh")
        finite("facility price", self.facility_usd_per_kw_month, unit="USD/kW/month")
        finite("maintenance share", self.maintenance_share, high=1.0)
        finite("other cost", self.other_usd_per_year, unit="USD/year")

    @property
    def network_usd(self) -> float:
        """Purchase of the network for one GPU [USD]: ``purchase · share / (1 - share)``."""
        return self.purchase_usd * self.network_share / (1.0 - self.network_share)

    @property
    def capital_usd(self) -> float:
        """Everything bought for one GPU, the network included [USD]."""
        return self.purchase_usd + self.network_usd


@dataclass(frozen=True, slots=True)
class OwnershipCost:
    """A GPU-hour of one's own, by cause; the parts add up. Every hour of the year, busy or not."""

    machine_usd_per_hour: float
    network_usd_per_hour: float
    financing_usd_per_hour: float
    electricity_usd_per_hour: float
    facility_usd_per_hour: float
    maintenance_usd_per_hour: float
    other_usd_per_hour: float
    usd_per_gpu_hour: float
    optics_usd_per_hour: float
    """Part of the network."""

    def parts(self) -> dict[str, float]:
        """Return the parts by name [USD/h]."""
        return {
            "machine": self.machine_usd_per_hour,
            "network": self.network_usd_per_hour,
            "financing": self.financing_usd_per_hour,
            "electricity": self.electricity_usd_per_hour,
            "facility": self.facility_usd_per_hour,
            "maintenance": self.maintenance_usd_per_hour,
            "other": self.other_usd_per_hour,
        }


def capital_charge(capital_usd: float, years: float, rate: float = 0.0, residual_usd: float = 0.0) -> float:
    r"""Return the yearly payment that pays a machine off with interest.

    .. math:: a = \left(P - \frac{R}{(1+r)^n}\right) \frac{r}{1 - (1+r)^{-n}}

    Parameters
    ----------
    capital_usd : float
        Purchase, P [USD].
    years : float
        Period, n [year].
    rate : float
        Interest, r [1/year].
    residual_usd : float
        What it sells for at the end, R [USD].

    Returns
    -------
    float
        Payment a year, a [USD/year]; without interest ``(P - R)/n``.

    Examples
    --------
    A $30,000 machine over three years, without interest and at 8 %:

    >>> capital_charge(30000, 3), round(capital_charge(30000, 3, 0.08))
    (10000.0, 11641)

    References
    ----------
    .. [1] The capital recovery factor; Park, Contemporary Engineering Economics (recalled).
    """
    # Below a millionth a year interest is nothing, and the formula loses its digits.
    if rate < 1e-6:
        return (capital_usd - residual_usd) / years
    discount = math.exp(-years * math.log1p(rate))
    return float(annuity(capital_usd - residual_usd * discount, rate, years))


def ownership_cost(owned: Ownership) -> OwnershipCost:
    """Return what an hour of one owned GPU costs, by cause.

    Parameters
    ----------
    owned : Ownership
        Purchase, power and the rest, for one GPU.

    Returns
    -------
    OwnershipCost
        Dollars an hour, for every hour of the year: divide by the share of hours in use to get a useful hour.

    Notes
    -----
    ``electricity = power · PUE · price``; ``facility = power · rent``; financing is the capital charge less straight
    depreciation. Power is that at work: a machine that idles half the time pays a little less.

    Examples
    --------
    A $30,000 GPU over three years with 5,000 dollars a year for all else, as one source document has it:

    >>> cost = ownership_cost(Ownership(30000, 0.0, years=3, other_usd_per_year=5000))
    >>> round(cost.usd_per_gpu_hour * 8760), round(cost.usd_per_gpu_hour, 3)
    (15000, 1.712)
    """
    straight = (1.0 - owned.residual_share) / owned.years / HOURS_PER_YEAR
    charge = capital_charge(
        owned.capital_usd, owned.years, owned.financing_rate, owned.capital_usd * owned.residual_share
    )
    machine = owned.purchase_usd * straight
    network = owned.network_usd * straight
    financing = charge / HOURS_PER_YEAR - machine - network
    kilowatts = owned.power_w / 1000.0
    electricity = kilowatts * owned.pue * owned.usd_per_kwh
    facility = kilowatts * owned.facility_usd_per_kw_month / HOURS_PER_MONTH
    maintenance = owned.capital_usd * owned.maintenance_share / HOURS_PER_YEAR
    other = owned.other_usd_per_year / HOURS_PER_YEAR
    return OwnershipCost(
        machine_usd_per_hour=machine,
        network_usd_per_hour=network,
        financing_usd_per_hour=financing,
        electricity_usd_per_hour=electricity,
        facility_usd_per_hour=facility,
        maintenance_usd_per_hour=maintenance,
        other_usd_per_hour=other,
        usd_per_gpu_hour=machine + network + financing + electricity + facility + maintenance + other,
        optics_usd_per_hour=network * owned.optics_share,
    )
