"""Clusters and markets: network and optics, rack and fleet power, capital a token, falling prices, growing use."""

from __future__ import annotations

import math
from dataclasses import dataclass

from infer_cost.checks import finite, whole
from infer_cost.checks import utilization as check_utilization
from infer_cost.economics.constants import SECONDS_PER_YEAR
from infer_cost.economics.ownership import Ownership


@dataclass(frozen=True, slots=True)
class OpticsPower:
    """Power of a cluster's optical links, pluggable against co-packaged."""

    pluggable_w: float
    co_packaged_w: float

    @property
    def saved_w(self) -> float:
        """Power that co-packaging saves [W]."""
        return self.pluggable_w - self.co_packaged_w


@dataclass(frozen=True, slots=True)
class SpendPoint:
    """Price, use and spend of a year, relative to the first."""

    year: int
    price: float
    usage: float
    spend: float


def optics_share_of_cluster(network_share: float, optics_share_of_network: float) -> float:
    """Return the optics' share of a cluster's purchase: ``network share · optics share`` [1].

    >>> round(optics_share_of_cluster(0.15, 0.6), 3), round(optics_share_of_cluster(0.18, 0.6), 3)
    (0.09, 0.108)
    """
    return finite("network share", network_share, high=1.0) * finite("optics share", optics_share_of_network, high=1.0)


def optics_power(gpus: int, links_per_gpu: float, pluggable_w: float = 30.0, co_packaged_w: float = 9.0) -> OpticsPower:
    """Return the power of a cluster's optical ends [W].

    Parameters
    ----------
    gpus : int
        GPUs in the cluster.
    links_per_gpu : float
        Optical ends for each GPU, over all switch layers.
    pluggable_w, co_packaged_w : float
        Power of one 1.6T end [W]; the defaults are the source documents' figures.

    Examples
    --------
    >>> power = optics_power(100_000, 5)
    >>> power.pluggable_w / 1e6, power.saved_w / 1e6
    (15.0, 10.5)
    """
    ends = gpus * links_per_gpu
    return OpticsPower(ends * pluggable_w, ends * co_packaged_w)


def fleet_power(racks: float, rack_w: float, pue: float = 1.25) -> float:
    """Return the power that a fleet draws from the grid [W].

    >>> fleet_power(100, 132e3, 1.25) / 1e6
    16.5
    """
    return racks * rack_w * finite("pue", pue, low=1.0, high=5.0)


def gpus_for_power(site_w: float, gpu_w: float, pue: float = 1.25) -> int:
    """Return the GPUs that a site's power feeds, each with its share of everything in the rack.

    >>> gpus_for_power(100e6, 1833.3)
    43637
    """
    return math.floor(site_w / (gpu_w * finite("pue", pue, low=1.0, high=5.0)))


def capital_per_million_tokens(
    capital_usd: float, tokens_per_s: float, years: float, utilization: float = 1.0
) -> float:
    r"""Return the purchase spread over the tokens delivered in its life.

    .. math:: c = \frac{10^6 K}{X u n}

    Parameters
    ----------
    capital_usd : float
        Purchase, K [USD].
    tokens_per_s : float
        Tokens that it makes at work, X [token/s].
    years : float
        Life, n, in seconds inside the formula [year].
    utilization : float
        Share of its life that it works, u [1].

    Returns
    -------
    float
        Dollars a million tokens [USD/Mtok], purchase only.

    Examples
    --------
    A $30,000 GPU that makes 1,667 tokens a second for three years:

    >>> round(capital_per_million_tokens(30000, 1666.67, 3), 3)
    0.19
    """
    check_utilization(utilization)
    return 1e6 * capital_usd / (tokens_per_s * utilization * years * SECONDS_PER_YEAR)


def spend_growth(price_fall: float, usage_growth: float) -> float:
    """Return what spend is multiplied by when the price is divided by one factor and use multiplied by another.

    A price that falls 200 times a year and a use that grows 7 times make 0.035: at constant quality spend would
    shrink by 96.5 % a year. Growing spend needs people to move to dearer models, not these two figures alone.

    >>> spend_growth(200.0, 7.0)
    0.035
    """
    return finite("usage growth", usage_growth, low=1e-12) / finite("price fall", price_fall, low=1e-12)


def elasticity(price_fall: float, usage_growth: float) -> float | None:
    r"""Return how strongly use answers to price; None when the price doesn't move.

    .. math:: \varepsilon = \frac{\ln g}{\ln f}

    Above 1 spend rises as the price falls (Jevons' case), below 1 it shrinks.

    >>> round(elasticity(200.0, 7.0), 2), elasticity(10.0, 100.0)
    (0.37, 2.0)
    """
    fall = math.log(finite("price fall", price_fall, low=1e-12))
    return None if fall == 0.0 else math.log(finite("usage growth", usage_growth, low=1e-12)) / fall


def spend_path(price_fall: float, usage_growth: float, years: int) -> tuple[SpendPoint, ...]:
    """Return price, use and spend year by year, relative to the first.

    >>> [round(point.spend, 2) for point in spend_path(2.0, 3.0, 3)]
    [1.0, 1.5, 2.25, 3.38]
    """
    growth = spend_growth(price_fall, usage_growth)
    return tuple(SpendPoint(year, price_fall**-year, usage_growth**year, growth**year) for year in range(years + 1))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Purchase and power of a cluster, network and optics apart."""

    gpus: int
    machines_usd: float
    network_usd: float
    optics_usd: float
    """Part of the network."""
    machines_w: float
    optics: OpticsPower
    site_w: float
    """At the building's PUE, with pluggable optics."""
    tokens_per_s_per_megawatt: float | None
    capital_usd_per_mtok: float | None

    @property
    def capital_usd(self) -> float:
        """Machines and network [USD]."""
        return self.machines_usd + self.network_usd


def cluster(
    owned: Ownership,
    gpus: int,
    links_per_gpu: float,
    tokens_per_s_per_gpu: float | None = None,
    utilization: float = 1.0,
) -> Cluster:
    """Return what a cluster costs to buy and draws, from what one GPU of it does.

    Parameters
    ----------
    owned : Ownership
        Purchase, power, network share and PUE of one GPU.
    gpus : int
        Their number.
    links_per_gpu : float
        Optical ends for each GPU over all switch layers, 1.6T each.
    tokens_per_s_per_gpu : float, optional
        What one delivers [token/s].
    utilization : float
        Share of the time that it does [1].

    Examples
    --------
    >>> from infer_cost.economics.ownership import Ownership
    >>> big = cluster(Ownership(55_000, 1944.0, network_share=0.15), 100_000, 5)
    >>> round(big.capital_usd / 1e9, 2), round(big.site_w / 1e6), round(big.optics_usd / big.capital_usd, 2)
    (6.47, 262, 0.09)
    """
    whole("gpus", gpus, high=10_000_000)
    optics = optics_power(gpus, finite("links per GPU", links_per_gpu))
    machines_w = owned.power_w * gpus
    site = (machines_w + optics.pluggable_w) * owned.pue
    rate = tokens_per_s_per_gpu
    return Cluster(
        gpus=gpus,
        machines_usd=owned.purchase_usd * gpus,
        network_usd=owned.network_usd * gpus,
        optics_usd=owned.network_usd * gpus * owned.optics_share,
        machines_w=machines_w,
        optics=optics,
        site_w=site,
        tokens_per_s_per_megawatt=rate * gpus / (site / 1e6) if rate else None,
        capital_usd_per_mtok=(
            capital_per_million_tokens(owned.capital_usd, rate, owned.years, utilization) if rate else None
        ),
    )
