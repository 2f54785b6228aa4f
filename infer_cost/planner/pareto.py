"""Pareto fronts: the configurations that no other one beats in both of two results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infer_cost.errors import InputError, unknown_name
from infer_cost.planner.evaluate import RESULTS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

VIEWS = {
    "speed": ("output_tokens_per_s_per_user", "output_tokens_per_s_per_gpu"),
    "cost": ("tpot_s", "cost_per_million_output_tokens_usd"),
    "first-token": ("ttft_s", "cost_per_million_output_tokens_usd"),
}
"""Pairs of results that are looked at most: what users see against what the operator gets, or pays."""


def front_pair(text: str) -> tuple[str, str]:
    """Read the two results of a front: the name of a view, or two columns.

    Raises
    ------
    InputError
        For anything else.

    Examples
    --------
    >>> front_pair("cost"), front_pair("ttft_s,cost_usd")
    (('tpot_s', 'cost_per_million_output_tokens_usd'), ('ttft_s', 'cost_usd'))
    """
    if text in VIEWS:
        return VIEWS[text]
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(
            f"no front: {text[:60]!r}", field="front", value=text, allowed=f"{', '.join(VIEWS)}, or two results: X,Y"
        )
    for name in names:
        if name not in RESULTS:
            raise unknown_name("result", name, RESULTS, field="front", hint=", ".join(RESULTS))
    return names[0], names[1]


def front_places(x: Array, y: Array) -> Array:
    """Places of the points that no other one beats, less being better in both; in ascending order of ``x``.

    A point is beaten by one that is no worse in both and better in one; of equal points the first one stays.

    >>> import numpy as np
    >>> front_places(np.array([1.0, 2.0, 3.0, 2.0]), np.array([5.0, 3.0, 4.0, 3.0])).tolist()
    [0, 1]
    """
    import numpy as np

    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    order = known[np.lexsort((known, y[known], x[known]))]
    least = np.minimum.accumulate(y[order])
    better = np.concatenate([[True], y[order][1:] < least[:-1]])
    front: Array = order[better[: len(order)]]
    return front
