"""Where an idle KV cache should wait: in HBM, in DRAM, on flash, or nowhere, to be computed again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from infer_cost.checks import utilization as check_utilization
from infer_cost.errors import InputError
from infer_cost.roofline.tiering import recompute_cost

TTL_SECONDS = {"5-minute cache": 300.0, "1-hour cache": 3600.0}
"""The times to live that vendors sell."""


@dataclass(frozen=True, slots=True)
class Place:
    """A way to have the cache again after an idle time: a fixed cost and a cost for each second of waiting."""

    name: str
    fixed_usd: float
    usd_per_s: float
    return_s: float
    """Time until the cache is usable again [s]; it adds to the TTFT."""

    def cost(self, idle_s: float) -> float:
        """Return the cost of waiting so long and coming back [USD]."""
        return self.fixed_usd + self.usd_per_s * idle_s


@dataclass(frozen=True, slots=True)
class Span:
    """The idle times for which one place is the cheapest."""

    place: Place
    from_s: float
    until_s: float


def capacity_price(usd_per_gb: float, years: float, utilization: float = 1.0) -> float:
    """Return what a gigabyte costs a second when it was bought for a number of years [USD/(GB s)].

    >>> f"{capacity_price(8.0, 5.0):.2e}"
    '5.07e-08'
    """
    check_utilization(utilization)
    return usd_per_gb / (years * 365.0 * 86400.0) / utilization


def hbm_price(usd_per_gpu_hour: float, kv_gigabytes_per_gpu: float) -> float:
    """Return what a gigabyte of KV space costs a second: the GPU's price over the space it has [USD/(GB s)].

    An idle cache in HBM keeps another sequence out, so it pays for the GPU, not for the memory chips.

    >>> f"{hbm_price(2.5, 40.0):.2e}"
    '1.74e-05'
    """
    if kv_gigabytes_per_gpu <= 0:
        raise InputError("a GPU has no space for a KV cache", field="kv_gigabytes", allowed="above 0 GB")
    return usd_per_gpu_hour / 3600.0 / kv_gigabytes_per_gpu


def keep(name: str, gigabytes: float, usd_per_gb_s: float) -> Place:
    """Return the place that needs no move: the cache stays where it is used.

    >>> round(keep("HBM", 4.0, 1e-5).cost(60.0), 6)
    0.0024
    """
    return Place(name, 0.0, gigabytes * usd_per_gb_s, 0.0)


def move(
    name: str,
    gigabytes: float,
    usd_per_gb_s: float,
    bytes_per_s: float,
    usd_per_gpu_s: float,
    *,
    gpu_share_blocked: float = 1.0,
    usd_per_gb_written: float = 0.0,
) -> Place:
    r"""Return a place that the cache is moved to and back from.

    .. math:: c(t) = M w + \frac{M}{b} \beta p + M s\,t

    Parameters
    ----------
    gigabytes : float
        Size of the cache, M [GB].
    usd_per_gb_s : float
        Price of the space, s [USD/(GB s)].
    bytes_per_s : float
        Bandwidth of the way back, b [B/s]; the way out overlaps with work.
    usd_per_gpu_s : float
        Price of the GPUs that wait for it, p [USD/s].
    gpu_share_blocked : float
        Share of them that really waits meanwhile, β [1].
    usd_per_gb_written : float
        Wear of the medium, w [USD/GB].

    Examples
    --------
    4 GB over 64 GB/s onto a GPU of $2.50 an hour:

    >>> place = move("DRAM", 4.0, 5e-8, 64e9, 2.5 / 3600)
    >>> round(place.return_s, 4), f"{place.cost(300.0):.1e}"
    (0.0625, '1.0e-04')
    """
    back = gigabytes * 1e9 / bytes_per_s
    fixed = gigabytes * usd_per_gb_written + back * gpu_share_blocked * usd_per_gpu_s
    return Place(name, fixed, gigabytes * usd_per_gb_s, back)


def recompute(prefill_gpu_seconds: float, usd_per_gpu_s: float, prefill_s: float) -> Place:
    """Return the place that keeps nothing and computes the cache again.

    >>> recompute(0.8, 2.5 / 3600, 0.2).cost(1e6) == 0.8 * 2.5 / 3600
    True
    """
    return Place("recompute", float(recompute_cost(usd_per_gpu_s, prefill_gpu_seconds)), 0.0, prefill_s)


def cheapest_spans(places: Sequence[Place]) -> tuple[Span, ...]:
    """Return which place is the cheapest for which idle times: the lower envelope of their lines.

    Parameters
    ----------
    places : sequence of Place
        Costs that grow linearly with idle time.

    Returns
    -------
    tuple of Span
        From zero to infinity, without gaps; a place that is never the cheapest is missing.

    Examples
    --------
    >>> hbm, dram = Place("HBM", 0.0, 1e-4, 0.0), Place("DRAM", 2e-3, 1e-6, 0.1)
    >>> [(span.place.name, round(span.from_s, 1)) for span in cheapest_spans([hbm, dram])]
    [('HBM', 0.0), ('DRAM', 20.2)]
    """
    if not places:
        raise InputError("no place to compare", field="places")
    spans: list[Span] = []
    now = 0.0
    current = min(places, key=lambda place: (place.fixed_usd, place.usd_per_s))
    while True:
        slower = [place for place in places if place.usd_per_s < current.usd_per_s]
        crossings = [(meeting_time(current, place), place.usd_per_s, place) for place in slower]
        if not crossings:
            spans.append(Span(current, now, math.inf))
            return tuple(spans)
        until, _, following = min(crossings, key=lambda item: item[:2])
        if until > now:
            spans.append(Span(current, now, until))
        now, current = max(now, until), following


def meeting_time(one: Place, other: Place) -> float:
    """Return the idle time at which two places cost the same [s]; infinite when their lines never meet.

    >>> meeting_time(Place("a", 0.0, 2.0, 0.0), Place("b", 10.0, 1.0, 0.0))
    10.0
    """
    slope = one.usd_per_s - other.usd_per_s
    if slope == 0.0:
        return math.inf
    time = (other.fixed_usd - one.fixed_usd) / slope
    return time if time >= 0.0 else math.inf


def cheapest_at(places: Sequence[Place], idle_s: float) -> Place:
    """Return the cheapest place for one idle time.

    >>> cheapest_at([Place("a", 0.0, 2.0, 0.0), Place("b", 10.0, 1.0, 0.0)], 300.0).name
    'b'
    """
    return min(places, key=lambda place: place.cost(idle_s))
