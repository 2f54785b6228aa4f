"""Several providers side by side for the same call, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Generic, TypeVar

from infer_cost.errors import InputError, UnknownNameError
from infer_cost.pricing.rates import Rates

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A provider whose list can't price the call, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison(Generic[T]):
    """What each provider charges, cheapest first, and those that can't be compared."""

    offers: tuple[T, ...]
    refused: tuple[Refusal, ...]


def compare(
    names: Sequence[str],
    find: Callable[[str], Rates],
    cost: Callable[[Rates], T],
    key: Callable[[T], Decimal | Fraction],
) -> Comparison[T]:
    """Return the offers of several providers, sorted.

    Parameters
    ----------
    names : sequence of str
        ``PROVIDER/MODEL`` names.
    find : callable
        Returns the row of a name.
    cost : callable
        Returns the offer under a row.
    key : callable
        What offers are sorted by [USD].

    Raises
    ------
    UnknownNameError
        If a name is misspelled. A list that can't price the call is reported among ``refused`` instead.
    InputError
        If no list can price it.
    """
    offers: list[T] = []
    refused: list[Refusal] = []
    for name in dict.fromkeys(names):
        try:
            offers.append(cost(find(name)))
        except UnknownNameError:
            raise
        except InputError as error:
            refused.append(Refusal(name, error.message))
            failure = error
    if not offers:
        raise failure
    return Comparison(tuple(sorted(offers, key=key)), tuple(refused))
