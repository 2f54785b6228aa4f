"""What a price list gives away about how a model is served. Ranges under stated assumptions, not verdicts.

Each inference takes one pattern of a price list, one mechanism that would produce it, and says what the mechanism then
implies. A vendor may have other reasons: the answer says "if so, then".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from infer_cost.economics.inferences import (
    batch_from_ratio,
    context_behind_ratio,
    decode_efficiency_from_ratio,
    input_cost_bound,
    kv_bytes_from_cache_read,
    kv_bytes_from_tier,
    storage_price_from_ttls,
)
from infer_cost.errors import InputError
from infer_cost.hardware_specs.types import Machine
from infer_cost.pricing.rates import Prices, Rates

Bracket = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the inferences take for granted, each as a range.

    Parameters
    ----------
    active_parameters : (float, float)
        Parameters at work for a token.
    peak_flops : float
        Dense rate of the machine in the weights' format [FLOP/s].
    memory_bandwidth : float
        Of the machine's memory [B/s].
    usd_per_gpu_hour : float or None
        Its price; None leaves the margin out.
    bytes_per_weight : float
        Of the weights' format [B].
    total_over_active : (float, float)
        All parameters over those at work: 1 for a dense model.
    prefill_efficiency : (float, float)
        Share of the peak that prefill reaches [1].
    """

    machine: str
    peak_flops: float
    memory_bandwidth: float
    usd_per_gpu_hour: float | None = None
    active_parameters: Bracket = (20e9, 200e9)
    bytes_per_weight: float = 1.0
    total_over_active: Bracket = (5.0, 30.0)
    prefill_efficiency: Bracket = (0.3, 0.6)


@dataclass(frozen=True, slots=True)
class Inference:
    """One thing that a price list suggests."""

    name: str
    low: float
    high: float
    unit: str
    formula: str
    reading: str
    """What it would mean, and under which assumption."""


def assumptions_of(machine: Machine, active_parameters: Bracket | None = None) -> Assumptions:
    """Return the assumptions for a machine: its FP8 rate, or BF16 where it has no FP8, and its default price.

    Raises
    ------
    InputError
        If the machine has neither rate, or the range of parameters is none.

    Examples
    --------
    >>> from infer_cost.hardware_specs.catalog import hardware
    >>> assumptions_of(hardware("a100-sxm-80gb")).bytes_per_weight
    2.0
    """
    if active_parameters is not None and not 0 < active_parameters[0] <= active_parameters[1] < 1e18:
        raise InputError(
            "the range of active parameters is none",
            field="active_parameters",
            value=active_parameters,
            allowed="LOW..HIGH, both above 0 and finite",
        )
    chip = machine.accelerator
    known = [(name, size) for name, size in (("fp8", 1.0), ("bf16", 2.0)) if name in chip.peak_flops]
    if not known:
        raise InputError(f"{machine.id} has no FP8 or BF16 rate", field="hardware", value=machine.id)
    precision, size = known[0]
    given = Assumptions(
        machine=f"{machine.id} in {precision.upper()}",
        peak_flops=chip.peak_flops[precision],
        memory_bandwidth=chip.memory_bandwidth,
        usd_per_gpu_hour=machine.prices[0].usd if machine.prices else None,
        bytes_per_weight=size,
    )
    return given if active_parameters is None else replace(given, active_parameters=active_parameters)


def reveal(rates: Rates, given: Assumptions) -> tuple[Inference, ...]:
    """Return everything that a row of a price list suggests, each with its formula, range and assumption.

    Parameters
    ----------
    rates : Rates
        The row [USD per million tokens].
    given : Assumptions
        The machine and the ranges of what isn't published.

    Returns
    -------
    tuple of Inference
        Only those whose pattern the list has.
    """
    found = [*_from_tier(rates, given), *_from_ratio(rates, given), *_from_cache(rates, given)]
    return (*found, *_from_margin(rates, given))


def _from_tier(rates: Rates, given: Assumptions) -> list[Inference]:
    if not rates.tiers or rates.prices.input is None:
        return []
    tier = min(rates.tiers, key=lambda one: one.above_tokens)
    low, high = _range(
        lambda active: kv_bytes_from_tier(tier.above_tokens, active, given.peak_flops, given.memory_bandwidth),
        given.active_parameters,
    )
    found = [
        Inference(
            "KV bytes a token behind the long-context tier",
            low,
            high,
            "B/token",
            f"2 x active parameters x bandwidth / (peak FLOP/s x {tier.above_tokens:,})",
            "if the tier starts where reading the cache takes as long as a decode step's arithmetic",
        )
    ]
    ratios = [
        float(above / below)
        for above, below in ((tier.prices.input, rates.prices.input), (tier.prices.output, rates.prices.output))
        if above and below
    ]
    contexts = [context_behind_ratio(tier.above_tokens, ratio) for ratio in ratios]
    found.append(
        Inference(
            "context that the long-context price is made for",
            min(contexts),
            max(contexts),
            "tokens",
            f"{tier.above_tokens:,} x price above / price below",
            "if a token's cost above the threshold grows with its context",
        )
    )
    return found


def _from_ratio(rates: Rates, given: Assumptions) -> list[Inference]:
    if not rates.prices.input or not rates.prices.output:
        return []
    ratio = float(rates.prices.output / rates.prices.input)
    decode = _range(lambda share: decode_efficiency_from_ratio(ratio, share), given.prefill_efficiency)
    ridge = given.peak_flops / given.memory_bandwidth * given.bytes_per_weight / 2.0
    batch = _range(
        lambda share, sparsity: batch_from_ratio(ratio, share, ridge * sparsity),
        given.prefill_efficiency,
        given.total_over_active,
    )
    return [
        Inference(
            "share of the peak rate that decode reaches",
            *decode,
            "1",
            f"prefill's share / {ratio:g} (output over input price)",
            "if input and output are sold at the same margin",
        ),
        Inference(
            "decode batch behind the output price",
            *batch,
            "sequences",
            f"{ridge:.0f} x total/active parameters x prefill's share / {ratio:g}",
            "if decode is limited by reading the weights, which a batch shares",
        ),
    ]


def _from_cache(rates: Rates, given: Assumptions) -> list[Inference]:
    prices: Prices = rates.prices
    found = []
    if prices.input and prices.cache_read is not None:
        share = float(prices.cache_read / prices.input)
        # From flash over the network up to a chip-to-chip link into the host's memory.
        most = _range(
            lambda active, prefill, link: kv_bytes_from_cache_read(share, active, given.peak_flops, prefill, link),
            given.active_parameters,
            given.prefill_efficiency,
            (14e9, 450e9),
        )
        found.append(
            Inference(
                "most KV bytes a token that a cache read pays for",
                *most,
                "B/token",
                f"{share:g} x prefill seconds a token x bandwidth of 14 to 450 GB/s",
                "if loading the cache holds up the GPU as long as it takes",
            )
        )
    if prices.cache_write_5m is not None and prices.cache_write_1h is not None:
        five, hour = float(prices.cache_write_5m), float(prices.cache_write_1h)
        space = _range(lambda size: storage_price_from_ttls(five, hour, size), (2e3, 200e3))
        found.append(
            Inference(
                "price of keeping a gigabyte for an hour",
                space[0] * 3600.0,
                space[1] * 3600.0,
                "USD/(GB h)",
                "(1-hour write - 5-minute write) / (KV bytes a token x 55 minutes), 2 to 200 kB a token",
                "compare: HBM at a GPU's price is about 0.02 to 0.1, DRAM 0.0001 to 0.0003, flash below 0.00001; "
                "a charge far above DRAM's cost leaves room for it, one near HBM's suggests the cache stays there",
            )
        )
    return found


def _from_margin(rates: Rates, given: Assumptions) -> list[Inference]:
    if given.usd_per_gpu_hour is None or not rates.prices.input:
        return []
    price, hour = float(rates.prices.input), given.usd_per_gpu_hour
    low, high = _range(
        lambda active, share: 1.0 - input_cost_bound(active, given.peak_flops, hour, share) / price,
        given.active_parameters,
        given.prefill_efficiency,
    )
    best = 1.0 - input_cost_bound(given.active_parameters[0], given.peak_flops, hour) / price
    return [
        Inference(
            "margin on input",
            low,
            high,
            "1",
            f"1 - 2 x active parameters / (peak x prefill's share) x ${hour:g}/h / ${price:g} per million",
            f"on {given.machine}, every hour full; no margin above {best:.1%} is possible there",
        )
    ]


def _range(function: Callable[..., float], *brackets: Bracket) -> Bracket:
    """Return the least and greatest value over the corners; the functions are monotone in each argument."""
    values = [function(*corner) for corner in product(*brackets)]
    return min(values), max(values)
