"""What a calculation of a claim may look up in the catalogs, and the plain arithmetic that it may name.

Each returns one number, in the library's units, so that a claim's inputs can be read and checked by a person.
"""

from __future__ import annotations

from math import prod

from infer_cost.errors import unknown_name

_CHIP = ("memory_bytes", "memory_bandwidth", "scale_up_bandwidth", "scale_up_domain", "scale_out_bandwidth", "power_w")
_SYSTEM = ("gpus", "host_memory_bytes", "power_w", "price_usd")
_MODEL = ("total", "active", "layers", "vocabulary", "context", "experts", "experts_per_token")


def ratio(numerator: float, denominator: float) -> float:
    """Return ``numerator / denominator``.

    >>> ratio(600e6, 200e6)
    3.0
    """
    return numerator / denominator


def product(*factors: float) -> float:
    """Return the factors multiplied.

    >>> product(72, 1.8)
    129.6
    """
    return prod(factors)


def total(*parts: float) -> float:
    """Return the parts added up.

    >>> total(50_000, 1, 10_000)
    60001
    """
    return sum(parts)


def chip(name: str, quantity: str) -> float:
    """Return a figure of an accelerator's datasheet: a field of it, or its dense rate in a precision [FLOP/s].

    >>> chip("h100-sxm", "memory_bandwidth"), chip("h100-sxm", "fp8")
    (3350000000000.0, 1978900000000000.0)
    """
    from infer_cost.hardware_specs.bundled import accelerator

    found = accelerator(name)
    if quantity in _CHIP:
        return float(getattr(found, quantity))
    if quantity not in found.peak_flops:
        raise unknown_name(f"figure of {name}", quantity, [*_CHIP, *found.peak_flops], field="quantity")
    return found.peak_flops[quantity]


def rack(name: str, quantity: str) -> float:
    """Return a figure of a system: ``gpus``, ``host_memory_bytes``, ``power_w`` or ``price_usd``.

    >>> rack("gb200-nvl72", "gpus")
    72.0
    """
    from infer_cost.hardware_specs.bundled import system

    if quantity not in _SYSTEM:
        raise unknown_name(f"figure of {name}", quantity, _SYSTEM, field="quantity")
    return float(getattr(system(name), quantity))


def infrastructure(section: str, key: str) -> float:
    """Return a figure around the machines: a link [B/s], an optical module [W], a purchase [USD].

    >>> infrastructure("optics_power", "1600g-cpo")
    9.0
    """
    from infer_cost.hardware_specs.infrastructure import figure

    found = figure(section, key).value
    if found is None:
        raise unknown_name(f"value of {section}", key, (), field="key")
    return found


def market(name: str) -> float:
    """Return a published figure of the market.

    >>> market("capex-2026")
    725000000000.0
    """
    from infer_cost.economics.market import market_figure

    found = market_figure(name).value
    if found is None:
        raise unknown_name("market value", name, (), field="figure")
    return found


def model_quantity(name: str, quantity: str) -> float:
    """Return a count of a model: parameters in total or active, layers, vocabulary, context, experts.

    >>> model_quantity("llama-3.1-70b", "total"), model_quantity("deepseek-v3", "experts")
    (70553706496.0, 256.0)
    """
    from infer_cost.model_specs.catalog import model
    from infer_cost.model_specs.counts import counts

    found = model(name)
    if quantity in ("total", "active"):
        return float(getattr(counts(found), quantity))
    if quantity == "attention_flops":
        from infer_cost.serving.limits import attention_flops_per_token

        return float(attention_flops_per_token(found))
    if quantity not in _MODEL:
        raise unknown_name(f"count of {name}", quantity, _MODEL, field="quantity")
    simple = {"layers": found.layers, "vocabulary": found.vocab_size, "context": found.context_length}
    if quantity in simple:
        return float(simple[quantity] or 0)
    return float(max(getattr(group.layer.ffn, quantity) for group in found.groups))


def kv_per_token(name: str, bytes_per_element: float = 2.0) -> float:
    """Return the KV-cache bytes that one token of a model takes.

    >>> kv_per_token("llama-3.1-70b"), kv_per_token("deepseek-v3")
    (327680.0, 70272.0)
    """
    from infer_cost.model_specs.catalog import model
    from infer_cost.model_specs.kv import kv_bytes_per_token

    return float(kv_bytes_per_token(model(name), bytes_per_element))


def format_bits(name: str, *, effective: bool = True) -> float:
    """Return the bits a weight takes in a number format, block scales included unless ``effective`` is false.

    >>> format_bits("nvfp4"), format_bits("nvfp4", effective=False)
    (4.5, 4.0)
    """
    from infer_cost.hardware_specs.formats import number_format

    found = number_format(name)
    return found.bits_per_weight if effective else found.bits


def list_price(model: str, unit: str, at: str, *, service: str = "standard") -> float:
    """Return an amount of a provider's price list [USD/Mtok]; ``tier`` is the tokens from which a dearer tier holds.

    >>> list_price("deepseek/deepseek-v4-flash", "output", "2026-06-15")
    0.28
    """
    from infer_cost.pricing.book import find_rates
    from infer_cost.pricing.rates import PRICE_NAMES

    rates = find_rates(model, service=service, at=at)
    if unit == "tier":
        return float(min((tier.above_tokens for tier in rates.tiers), default=0))
    amount = rates.prices.stated().get(unit)
    if amount is None:
        raise unknown_name(f"amount of {model}", unit, PRICE_NAMES, field="unit")
    return float(amount)


def blend(input_usd: float, output_usd: float, cached_usd: float, inputs_per_output: float, hit_rate: float) -> float:
    """Return the price of a million tokens of a mix of traffic [USD/Mtok].

    >>> round(blend(3.0, 15.0, 0.3, 3.0, 0.0), 6)
    6.0
    """
    from decimal import Decimal
    from fractions import Fraction

    from infer_cost.pricing.blending import TrafficMix, blended_price
    from infer_cost.pricing.rates import Prices

    prices = Prices(Decimal(str(input_usd)), Decimal(str(output_usd)), Decimal(str(cached_usd)))
    mix = TrafficMix(Fraction(str(inputs_per_output)), Fraction(1), Fraction(str(hit_rate)))
    return float(blended_price(prices, mix))


def agent_cost(
    context_tokens: int, steps: int, output_tokens: int, tool_tokens: int, input_usd: float, output_usd: float
) -> float:
    """Return what an agent's task costs against one call of the same list, prompt cache at a tenth of input.

    >>> round(agent_cost(3000, 20, 300, 500, 3.0, 15.0), 1)
    16.0
    """
    from decimal import Decimal

    from infer_cost.pricing.rates import Prices, Rates
    from infer_cost.pricing.tasks import AgentTask, task_cost

    plain = Decimal(str(input_usd))
    prices = Prices(plain, Decimal(str(output_usd)), plain / 10, plain * Decimal("1.25"))
    task = AgentTask(context_tokens, steps, output_tokens, tool_tokens)
    return float(task_cost(task, Rates("any", "any", prices)).cost_ratio)
