"""Keep the rows that a condition holds for, and the best of them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infer_cost.errors import InputError, join_names, unknown_name
from infer_cost.planner.evaluate import LIMITS, RESULTS, Block
from infer_cost.planner.grid import option_kinds

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|!=|==|<|>|=)\s*(\S.*?)\s*")
_HIGHER_IS_BETTER = ("output_tokens_per_s_per_user", "output_tokens_per_s_per_gpu", "running", "concurrency")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column compared with a value."""

    column: str
    sign: str
    value: float | str | bool

    def holds(self, block: Block) -> Array:
        """Tell for each row of a block whether the condition holds; a missing result satisfies none."""
        import numpy as np

        compare = _OPERATORS[self.sign]
        if self.column == "limited_by":
            wanted = LIMITS.index(str(self.value)) if self.value in LIMITS else -1
            return np.asarray(compare(block.columns["limited_by"], wanted) & block.columns["fits"])
        if self.column in block.columns:
            values = block.columns[self.column]
            held = compare(values, self.value)
            return np.asarray(held & ~np.isnan(values)) if values.dtype.kind == "f" else np.asarray(held)
        constant = block.constants.get(self.column)
        return np.full(block.rows, constant is not None and bool(compare(constant, self.value)))


def conditions(texts: Sequence[str], columns: Sequence[str]) -> tuple[Condition, ...]:
    """Read conditions such as ``tpot_s < 0.03`` and ``hardware == h100-sxm``; ``and`` joins several.

    Parameters
    ----------
    texts : sequence of str
        All must hold. Compared with ``<``, ``<=``, ``>``, ``>=``, ``==`` (or ``=``) and ``!=``; a column of truth
        values may stand alone, or after ``not``.
    columns : sequence of str
        Columns that there are.

    Raises
    ------
    InputError
        For text that is no condition, or a column that isn't there.

    Examples
    --------
    >>> conditions(["tpot_s < 0.03 and fits"], ["tpot_s", "fits"])
    (Condition(column='tpot_s', sign='<', value=0.03), Condition(column='fits', sign='==', value=True))
    """
    parts = [part for text in texts for part in re.split(r"\s+and\s+|\s*&&?\s*", text.strip())]
    return tuple(_condition(part, columns) for part in parts)


def _condition(text: str, columns: Sequence[str]) -> Condition:
    found = _CONDITION.fullmatch(text)
    bare = re.fullmatch(r"\s*(not\s+|!)?(fits)\s*", text)
    if bare:
        return Condition("fits", "==", bare[1] is None)
    if not found:
        raise InputError(
            f"no condition: {text[:60]!r}", field="where", value=text, allowed="COLUMN < VALUE, such as 'tpot_s < 0.03'"
        )
    column, sign, right = found.groups()
    if column not in columns:
        raise unknown_name("column", column, columns, field="where", hint=f"columns: {', '.join(columns)}")
    value = _value(column, right)
    if column == "limited_by" and value not in LIMITS:
        raise unknown_name("limit", str(value), LIMITS, field="where", hint=f"one of {join_names(LIMITS)}")
    if isinstance(value, str) and sign not in ("==", "=", "!="):
        raise InputError(f"{column} is a name", field="where", value=text, allowed="== or !=")
    return Condition(column, sign, value)


def _value(column: str, text: str) -> float | str | bool:
    text = text.strip("'\"")
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    kind = option_kinds().get(column, "str" if column == "limited_by" else "float")
    if kind == "str":
        return text
    from infer_cost.units import parse

    unit = {"_s": "s", "sd": "USD"}.get(column[-2:], "")
    return float(parse(text, unit if column in RESULTS else "", field="where"))


def keep(block: Block, wanted: Sequence[Condition]) -> Block:
    """Return the rows of a block for which every condition holds."""
    if not wanted or not block.rows:
        return block
    mask = wanted[0].holds(block)
    for condition in wanted[1:]:
        mask = mask & condition.holds(block)
    return select(block, mask.nonzero()[0])


def select(block: Block, places: Array) -> Block:
    """Return some rows of a block, in the order given."""
    columns = {name: values[places] for name, values in block.columns.items()}
    return Block(block.constants, columns, len(places), block.invalid, block.reason)


def ascending(column: str) -> bool:
    """Whether less is better: times, money and GPUs, but not rates."""
    return column not in _HIGHER_IS_BETTER


def best(block: Block, count: int, column: str) -> tuple[Block, Array]:
    """Return the best ``count`` rows of a block by a column, best first, and their keys (less is better).

    Rows without a result come last; of equals the first in the grid's order wins.
    """
    import numpy as np

    if column in block.columns:
        keys = np.asarray(block.columns[column], dtype=np.float64)
    else:
        keys = np.full(block.rows, float(block.constants.get(column) or 0.0))
    keys = keys if ascending(column) else -keys
    keys = np.where(np.isnan(keys), np.inf, keys)
    if block.rows > count:
        limit = np.partition(keys, count - 1)[count - 1]
        near = (keys <= limit).nonzero()[0]
    else:
        near = np.arange(block.rows)
    order = near[np.argsort(keys[near], kind="stable")][:count]
    return select(block, order), keys[order]
