"""What a price list gives away about how a model is served. Ranges under stated assumptions, not verdicts.

Each inference takes one pattern of a price list, one mechanism that would produce it, and says what the mechanism then
implies. A vendor may have other reasons: the answer says "if so, then".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

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
    if active_parameters is not None and not 0 < active_parameters[0] <= active_parameters[1]:
        raise InputError(
            "the range of active parameters is none",
            field="active_parameters",
            value=active_parameters,
            allowed="LOW..HIGH, both above 0",
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


def kv_bytes_from_tier(
    threshold_tokens: float, active_parameters: float, peak_flops: float, memory_bandwidth: float
) -> float:
    r"""Return the KV bytes a token at which reading the cache takes as long as the arithmetic at a context length.

    .. math:: k = \frac{2 N_a BW}{C S}

    Parameters
    ----------
    threshold_tokens : float
        Context from which the list charges more, S [token].
    active_parameters : float
        Parameters at work for a token, N_a [1].
    peak_flops : float
        Dense rate, C [FLOP/s].
    memory_bandwidth : float
        Memory bandwidth, BW [B/s].

    Returns
    -------
    float
        KV bytes a token, k [B/token].

    Notes
    -----
    The mechanism: below the threshold a decode step is limited by arithmetic, so context is free; above it by reading
    the cache, so context is paid. A vendor that places the threshold there has this k.

    Examples
    --------
    200,000 tokens, 100e9 active parameters, H100 in FP8:

    >>> round(kv_bytes_from_tier(200_000, 100e9, 1979e12, 3.35e12))
    1693

    References
    ----------
    .. [1] Erdil, "Inference economics of language models", Epoch AI, arXiv:2506.04645, 2025 (decode roofline).
    """
    return 2.0 * active_parameters * memory_bandwidth / (peak_flops * threshold_tokens)


def context_behind_ratio(threshold_tokens: float, price_ratio: float) -> float:
    """Return the context that a long-context price would be cost-covering for: ``threshold · ratio`` [token].

    Above the threshold a token's cost grows with its context, so a price twice as high fits twice the threshold.

    >>> context_behind_ratio(200_000, 1.5)
    300000.0
    """
    return threshold_tokens * price_ratio


def decode_efficiency_from_ratio(output_over_input: float, prefill_efficiency: float) -> float:
    """Return the share of the peak rate that decode reaches if both prices have the same margin [1].

    A token's arithmetic is the same in prefill and decode, so the price ratio is the ratio of their efficiencies.

    >>> decode_efficiency_from_ratio(5.0, 0.5)
    0.1
    """
    return prefill_efficiency / output_over_input


def batch_from_ratio(
    output_over_input: float,
    prefill_efficiency: float,
    optimal_batch: float,
) -> float:
    r"""Return the decode batch at which the price ratio covers the cost, decode being limited by weight reads.

    .. math:: B = \frac{B_{opt}\,e_p}{r}

    Parameters
    ----------
    output_over_input : float
        Output price over input price, r [1].
    prefill_efficiency : float
        Share of the peak that prefill reaches, e_p [1].
    optimal_batch : float
        Batch at which a decode step's arithmetic takes as long as its weight reads [sequence].

    Examples
    --------
    >>> batch_from_ratio(5.0, 0.5, 2400.0)
    240.0
    """
    return optimal_batch * prefill_efficiency / output_over_input


def kv_bytes_from_cache_read(
    read_over_input: float,
    active_parameters: float,
    peak_flops: float,
    prefill_efficiency: float,
    bytes_per_s: float,
) -> float:
    r"""Return the most KV bytes a token that a cache read's price covers, if loading holds up the GPU.

    .. math:: k \le \rho \frac{2 N_a}{C e_p} b

    Parameters
    ----------
    read_over_input : float
        Price of a cached token over a plain one, ρ [1].
    active_parameters, peak_flops, prefill_efficiency : float
        Of the prefill that the read saves.
    bytes_per_s : float
        Bandwidth between where the cache waits and the GPU, b [B/s].

    Examples
    --------
    A tenth of the input price, 100e9 active parameters, 64 GB/s of PCIe:

    >>> round(kv_bytes_from_cache_read(0.1, 100e9, 1979e12, 0.5, 64e9))
    1293583
    """
    return read_over_input * 2.0 * active_parameters / (peak_flops * prefill_efficiency) * bytes_per_s


def storage_price_from_ttls(write_5m: float, write_1h: float, kv_bytes_per_token: float) -> float:
    r"""Return what a vendor charges for keeping a gigabyte for a second, from two times to live.

    .. math:: s = \frac{p_{1h} - p_{5m}}{10^6 k (3600 - 300)}

    Parameters
    ----------
    write_5m, write_1h : float
        Prices of a cache write [USD/Mtok].
    kv_bytes_per_token : float
        KV bytes a token, k [B/token].

    Returns
    -------
    float
        Price of space [USD/(GB s)].

    Examples
    --------
    3.75 and 6 dollars a million at 50 kB a token:

    >>> f"{storage_price_from_ttls(3.75, 6.0, 50e3):.2e}"
    '1.36e-05'
    """
    per_token = (write_1h - write_5m) / 1e6
    return per_token / (kv_bytes_per_token / 1e9) / (3600.0 - 300.0)


def input_cost_bound(
    active_parameters: float, peak_flops: float, usd_per_gpu_hour: float, efficiency: float = 1.0
) -> float:
    """Return the least a million input tokens can cost: their arithmetic at the given share of the peak rate.

    >>> round(input_cost_bound(100e9, 1979e12, 2.5), 3)
    0.07
    """
    return 1e6 * 2.0 * active_parameters / (peak_flops * efficiency) * usd_per_gpu_hour / 3600.0


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
