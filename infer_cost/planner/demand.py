"""Traffic and prices as people state them: requests a second or a day, tokens a day, a batch by the morning."""

from __future__ import annotations

from collections.abc import Sequence

from infer_cost.checks import finite
from infer_cost.errors import InputError
from infer_cost.units import parse


def rate_of(
    *,
    requests: str | None,
    output_rate: str | None = None,
    within: str | None = None,
    output_tokens: float = 1.0,
    peak_factor: float = 1.0,
    growth: str = "0",
) -> float:
    """Return the requests a second to plan for.

    Parameters
    ----------
    requests : str
        A rate (``20/s``, ``100k/d``; a plain number is a second's), or with ``within`` a number of requests.
    output_rate : str
        Output tokens a second or a day, in place of ``requests``.
    within : str
        Time in which that many requests have to be done.
    output_tokens : float
        Of the mean request, to turn ``output_rate`` into requests.
    peak_factor : float
        Peak over mean.
    growth : str
        Share to plan for on top, such as ``50%``.

    Returns
    -------
    float
        Requests a second.

    Raises
    ------
    InputError
        For none or both of ``requests`` and ``output_rate``, or what can't be read.

    Examples
    --------
    >>> rate_of(requests="86.4k/d"), rate_of(requests="28800", within="8 h"), rate_of(requests="10", growth="50%")
    (1.0, 1.0, 15.0)
    """
    if (requests is None) == (output_rate is None):
        raise InputError(
            "say how much traffic there is, one way",
            field="requests",
            allowed="--requests 20/s, or --output-rate 1B/d, or --requests 2M --within 8h",
        )
    if requests is None:
        if within is not None:
            raise InputError("within belongs to --requests", field="within", allowed="--requests 2M --within 8h")
        mean = _per_second(str(output_rate), "output_rate") / output_tokens
    elif within is not None:
        span = finite("within", parse(within, "s", field="within"), low=1.0, unit="s")
        mean = parse(requests, "request", field="requests") / span
    else:
        mean = _per_second(requests, "requests")
    factor = finite("peak_factor", peak_factor, low=1.0, high=1000.0)
    more = finite("growth", parse(growth, "ratio", field="growth"), high=1000.0)
    return finite("requests", mean * factor * (1.0 + more), low=1e-9, high=1e9, unit="requests/s")


def _per_second(text: str, field: str) -> float:
    """Read ``20/s``, ``100k/d``, ``1.2B tokens/day``; a plain number is a second's."""
    amount, slash, span = text.partition("/")
    number = (
        amount.strip().removesuffix("tokens").removesuffix("token").removesuffix("requests").removesuffix("request")
    )
    seconds = parse(f"1 {span.strip()}", "s", field=field) if slash else 1.0
    return parse(number.strip(), "ratio", field=field) / seconds


def prices_of(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Read prices of a GPU-hour: ``2.50`` for every machine (under the empty name), ``h100-sxm=2.50`` for one.

    >>> prices_of(["2.50", "h100-sxm=$3/h"])
    (('', 2.5), ('h100-sxm', 3.0))
    """
    from infer_cost.hardware_specs.bundled import resolve

    found = []
    for text in texts:
        name, _, amount = text.rpartition("=")
        price = parse(amount, "USD/h", field="price_per_gpu_hour")
        found.append((resolve(name.strip()) if name.strip() else "", price))
    return tuple(found)
