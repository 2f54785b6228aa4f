"""Numbers as the page shows them; ``page.js`` writes them alike."""

from __future__ import annotations

from infer_cost.units import format_quantity


def amount(value: float | None, unit: str) -> str:
    """Write a number with its unit: three digits, ``-`` where there is none.

    Parameters
    ----------
    value : float or None
        The number.
    unit : str
        A unit of :func:`infer_cost.units.format_quantity`; ``share`` for per cent, ``count`` for whole numbers.

    Examples
    --------
    >>> amount(0.0211, "s"), amount(0.38, "share"), amount(1234.0, "count"), amount(None, "USD")
    ('21.1 ms', '38 %', '1,234', '-')
    """
    if value is None:
        return "-"
    if unit == "share":
        return f"{value * 100:.0f} %"
    if unit == "count":
        return f"{value:,.0f}"
    return format_quantity(value, unit)
