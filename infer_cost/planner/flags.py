"""A plan as command lines of serving engines."""

from __future__ import annotations

import math

from infer_cost.planner.result import PoolPlan
from infer_cost.planner.traffic import Traffic
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.flags import WRITERS, engine_command

ENGINES = tuple(WRITERS)

_ROUND = 1024
"""Context limits are rounded up to this many tokens."""


def engine_flags(pool: PoolPlan, traffic: Traffic, engine: str) -> str:
    """Return the command line that starts one engine of a pool.

    Flags are those of vLLM 0.24, SGLang 0.5.14 and TensorRT-LLM 1.3. Quantization is the checkpoint's, where the
    engine can't make it itself.

    Raises
    ------
    UnknownNameError
        For an engine that isn't one of the three.
    """
    plan = pool.candidate.engine.deployment
    return engine_command(plan, engine, context_limit(plan, traffic), batch_limit(pool), pool.role)


def context_limit(plan: Deployment, traffic: Traffic) -> int:
    """Tokens that the longest request may have, rounded up, within the model's window."""
    wanted = math.ceil(traffic.longest / _ROUND) * _ROUND
    return min(wanted, plan.context_limit or wanted)


def batch_limit(pool: PoolPlan) -> int:
    """Sequences that a rank should admit: as many as all but one in ten thousand moments need."""
    decodes = pool.one.queue.decodes
    if decodes is None:
        return pool.candidate.engine.deployment.max_num_seqs
    ranks = pool.candidate.engine.deployment.parallel.dp
    mean = pool.point.decoding / ranks
    return max(1, min(math.ceil(mean + 4.0 * math.sqrt(mean)) + 1, math.floor(max(decodes.capacity, 1.0) / ranks)))
