"""Evaluate a chunk of a grid: the same functions as a single estimate, on arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

from infer_cost.errors import InferCostError
from infer_cost.hardware_specs.catalog import hardware
from infer_cost.hardware_specs.overrides import with_overrides
from infer_cost.planner.grid import LOADS, Chunk
from infer_cost.serving.deployment import Workload
from infer_cost.serving.estimate import Limit, limit_shares, money, state_of
from infer_cost.serving.scenario import Scenario, fits, scenario

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

RESULTS = (
    "ttft_s",
    "tpot_s",
    "e2e_s",
    "output_tokens_per_s_per_user",
    "output_tokens_per_s_per_gpu",
    "cost_per_million_output_tokens_usd",
    "cost_usd",
    "running",
)
"""Numeric results of a row, all expected values; ``fits`` and ``limited_by`` come with them."""

LIMITS: tuple[str, ...] = get_args(Limit)
"""What ``limited_by`` may be."""


@dataclass(frozen=True, slots=True)
class Block:
    """The evaluated rows of a chunk, flat and in order. Results of rows that don't fit are NaN."""

    constants: dict[str, Any]
    """What is the same in every row: the deployment's settings and its ``gpus``."""
    columns: dict[str, Array]
    """Loads (whole numbers), results (floats), ``fits`` (truth values) and ``limited_by`` (places in LIMITS)."""
    rows: int
    invalid: int = 0
    """Combinations that make no sense, and have no row."""
    reason: str = ""
    """Why, in one line."""

    @property
    def evaluated(self) -> int:
        """Combinations that were looked at."""
        return self.rows + self.invalid


@lru_cache(maxsize=64)
def _question(
    settings: tuple[tuple[str, Any], ...], overrides: tuple[tuple[str, str], ...]
) -> Scenario | InferCostError:
    """Compile a deployment once for all its chunks; the error instead when it makes no sense."""
    options = dict(settings)
    try:
        if overrides:
            options["hardware"] = with_overrides(hardware(options["hardware"]), dict(overrides))
        return scenario(**options, must_fit=False)
    except InferCostError as error:
        return error


def evaluate_chunk(chunk: Chunk) -> Block:
    """Evaluate every row of a chunk.

    A plain function of a picklable argument with a picklable result, so that a process pool, Dask or Ray can map it.

    Parameters
    ----------
    chunk : Chunk
        One deployment and a rectangle of loads.

    Returns
    -------
    Block
        Its rows; none, with the reason, when the deployment makes no sense.
    """
    import numpy as np

    question = _question(chunk.settings, chunk.overrides)
    if isinstance(question, InferCostError):
        return Block(dict(chunk.settings), {}, 0, chunk.rows, question.message)
    loads = [np.asarray(values, dtype=np.float64) for values in chunk.loads]
    shape = tuple(len(values) for values in loads)
    # Each axis stays in a dimension of its own, so that what depends on few of them is computed for few values.
    spread = np.ix_(*loads)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        results = evaluate(question, *spread)
    columns = {name: np.broadcast_to(values, shape).reshape(-1) for name, values in zip(LOADS, spread, strict=True)}
    columns |= {name: np.broadcast_to(values, shape).reshape(-1) for name, values in results.items()}
    constants = {**dict(chunk.settings), "gpus": question.gpus}
    return _valid_rows(constants, columns)


def _valid_rows(constants: dict[str, Any], columns: dict[str, Array]) -> Block:
    valid = columns["cached_tokens"] < columns["input_tokens"]
    rows = len(valid)
    if valid.all():
        return Block(constants, columns, rows)
    kept = {name: values[valid] for name, values in columns.items()}
    left = int(valid.sum())
    return Block(constants, kept, left, rows - left, "cached_tokens leave no input token to compute")


def evaluate(
    question: Scenario, input_tokens: Any, output_tokens: Any, cached_tokens: Any, concurrency: Any
) -> dict[str, Array]:
    """Expected results of one deployment at loads that are arrays, which must go together as numpy broadcasts.

    Returns
    -------
    dict of arrays
        :data:`RESULTS`, ``fits`` and ``limited_by``; results are NaN where nothing fits, and a TPOT where there is
        one output token.
    """
    import numpy as np

    requests = Workload(input_tokens, output_tokens, cached_tokens, concurrency)
    asked = replace(question, requests=requests)
    state = state_of(asked, bounds=False)
    steps = output_tokens - 1.0
    tpot = state.tpot_s
    paid = money(asked, state)
    nothing = np.float64("nan")
    answers: dict[str, Any] = {
        "ttft_s": state.ttft_s,
        "tpot_s": np.where(steps > 0, tpot, nothing),
        "e2e_s": state.ttft_s + steps * tpot,
        "output_tokens_per_s_per_user": 1.0 / tpot,
        "output_tokens_per_s_per_gpu": output_tokens * concurrency / asked.gpus / state.residence_s,
        "cost_per_million_output_tokens_usd": nothing if paid[1] is None else paid[1],
        "cost_usd": nothing if paid[2] is None else paid[2],
        "running": np.floor(state.running),
    }
    roomy = np.asarray(fits(question, requests))
    if not roomy.all():
        answers = {name: np.where(roomy, values, nothing) for name, values in answers.items()}
    return {**answers, "fits": roomy, "limited_by": _largest(limit_shares(state, steps))}


def _largest(shares: dict[Limit, Any]) -> Array:
    """Place of the greatest share in LIMITS; the first one of equals, as in a single estimate."""
    import numpy as np

    names = list(shares)
    best = np.asarray(shares[names[0]])
    place = np.full(best.shape, LIMITS.index(names[0]), dtype=np.int8)
    for name in names[1:]:
        greater = shares[name] > best
        place = np.where(greater, np.int8(LIMITS.index(name)), place)
        best = np.maximum(best, shares[name])
    return place
