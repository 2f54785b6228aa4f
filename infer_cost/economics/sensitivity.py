"""Which input moves an answer most: one changed at a time, the others held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from infer_cost.checks import finite


@dataclass(frozen=True, slots=True)
class Swing:
    """What an answer does when one input moves between two values."""

    name: str
    low_input: float
    high_input: float
    at_low: float
    at_high: float

    @property
    def width(self) -> float:
        """How far the answer moves."""
        return abs(self.at_high - self.at_low)


def tornado(
    answer: Callable[[Mapping[str, float]], float],
    inputs: Mapping[str, float],
    *,
    spread: float = 0.2,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[Swing, ...]:
    """Return the swing of an answer for each input, the widest first.

    Parameters
    ----------
    answer : callable
        Takes all inputs by name and returns the answer.
    inputs : mapping
        Their values.
    spread : float
        How far each is moved either way, as a share of its value [1].
    ranges : mapping, optional
        Lowest and highest value of inputs whose range is known.

    Examples
    --------
    >>> swings = tornado(lambda x: x["price"] / x["rate"], {"price": 2.0, "rate": 4.0})
    >>> [(swing.name, round(swing.at_low, 3), round(swing.at_high, 3)) for swing in swings]
    [('rate', 0.625, 0.417), ('price', 0.4, 0.6)]
    """
    finite("spread", spread, high=0.99)
    known = ranges or {}
    swings = []
    for name, value in inputs.items():
        low, high = known.get(name, (value * (1.0 - spread), value * (1.0 + spread)))
        at_low, at_high = answer({**inputs, name: low}), answer({**inputs, name: high})
        swings.append(Swing(name, low, high, at_low, at_high))
    return tuple(sorted(swings, key=lambda swing: -swing.width))
