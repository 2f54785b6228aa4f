"""Energy: joules a token, and what they cost."""

from __future__ import annotations

from infer_cost.roofline.constants import JOULES_PER_KILOWATT_HOUR, TOKENS_PER_MILLION
from infer_cost.roofline.dispatch import Value


def energy_per_token(power: Value, tokens_per_second: Value) -> Value:
    r"""Energy of one token.

    .. math:: e = \frac{P}{X}

    Parameters
    ----------
    power : float
        Power drawn, P [W]
    tokens_per_second : float
        Tokens made a second, X [token/s]

    Returns
    -------
    float
        Energy, e [J]

    Notes
    -----
    Of whatever the power covers: chip, server, or the site with its cooling.

    Examples
    --------
    >>> energy_per_token(700, 1400)
    0.5

    References
    ----------
    .. [1] Samsi et al., "From Words to Watts", arXiv:2310.03003, 2023.
    """
    return power / tokens_per_second


def tokens_per_joule(tokens_per_second: Value, power: Value) -> Value:
    r"""Tokens that a joule buys.

    .. math:: \eta = \frac{X}{P}

    Parameters
    ----------
    tokens_per_second : float
        Tokens made a second, X [token/s]
    power : float
        Power drawn, P [W]

    Returns
    -------
    float
        Tokens a joule, eta [token/J]

    Notes
    -----
    The inverse of :func:`energy_per_token`; a watt is a joule a second.

    Examples
    --------
    >>> tokens_per_joule(1400, 700)
    2.0

    References
    ----------
    .. [1] Samsi et al., "From Words to Watts", arXiv:2310.03003, 2023.
    """
    return tokens_per_second / power


def kernel_energy(
    flops: Value, energy_per_flop: Value, bytes_moved: Value, energy_per_byte: Value, static_power: Value, time: Value
) -> Value:
    r"""Energy of a kernel: arithmetic, traffic, and what the chip draws anyway.

    .. math:: E = F \epsilon_f + Q \epsilon_b + P_0 T

    Parameters
    ----------
    flops : float
        Arithmetic, F [FLOP]
    energy_per_flop : float
        Energy of one operation, epsilon_f [J/FLOP]
    bytes_moved : float
        Bytes moved, Q [B]
    energy_per_byte : float
        Energy of one byte moved, epsilon_b [J/B]
    static_power : float
        Power drawn when idle, P_0 [W]
    time : float
        Time of the kernel, T [s]

    Returns
    -------
    float
        Energy, E [J]

    Notes
    -----
    Coefficients are measured for each chip and format.

    Examples
    --------
    A picojoule a FLOP, 40 a byte, 100 W idle, 1 TFLOP and 10 GB in 5 ms:

    >>> round(kernel_energy(1e12, 1e-12, 10e9, 40e-12, 100, 5e-3), 2)
    1.9

    References
    ----------
    .. [1] Choi, Bedard, Fowler, Vuduc, "A roofline model of energy", IPDPS 2013.
    """
    return flops * energy_per_flop + bytes_moved * energy_per_byte + static_power * time


def electricity_cost(power: Value, overhead: Value, time: Value, price_per_kwh: Value) -> Value:
    r"""Cost of the electricity that a machine and its site use.

    .. math:: c = \frac{P \, PUE \, t \, p_E}{3.6 \cdot 10^{6}}

    Parameters
    ----------
    power : float
        Power of the machine, P [W]
    overhead : float
        Power of the site over that of its machines, PUE [ratio]
    time : float
        Time, t [s]
    price_per_kwh : float
        Price of a kilowatt-hour, p_E [USD/kWh]

    Returns
    -------
    float
        Cost, c [USD]

    Notes
    -----
    Energy only: capacity charges are part of the rent.

    Examples
    --------
    A 10 kW server for a day at a PUE of 1.2 and 8 cents:

    >>> round(electricity_cost(10e3, 1.2, 86400, 0.08), 2)
    23.04

    References
    ----------
    .. [1] The Green Grid, "PUE: A Comprehensive Examination of the Metric", 2012.
    """
    return power * overhead * time * price_per_kwh / JOULES_PER_KILOWATT_HOUR


def electricity_cost_per_million_tokens(
    power: Value, overhead: Value, price_per_kwh: Value, tokens_per_second: Value
) -> Value:
    r"""Electricity in the cost of a million tokens.

    .. math:: c_M = 10^{6} \cdot \frac{P \, PUE \, p_E}{3.6 \cdot 10^{6} X}

    Parameters
    ----------
    power : float
        Power of the machine, P [W]
    overhead : float
        Power of the site over that of its machines, PUE [ratio]
    price_per_kwh : float
        Price of a kilowatt-hour, p_E [USD/kWh]
    tokens_per_second : float
        Tokens made a second, X [token/s]

    Returns
    -------
    float
        Cost of a million tokens, c_M [USD/Mtok]

    Notes
    -----
    At the throughput given.

    Examples
    --------
    >>> round(electricity_cost_per_million_tokens(10e3, 1.2, 0.08, 8000), 4)
    0.0333

    References
    ----------
    .. [1] Samsi et al., "From Words to Watts", arXiv:2310.03003, 2023.
    """
    time = TOKENS_PER_MILLION / tokens_per_second
    return electricity_cost(power, overhead, time, price_per_kwh)
