"""A static batch: requests that start together and finish together, with nothing arriving meanwhile."""

from __future__ import annotations

from infer_cost.roofline.dispatch import Value, ceil, maximum
from infer_cost.serving.engine_times import (
    CompiledEngine,
    packed_prefill_time,
    prefill_time,
    prompts_in_a_pass,
    token_time,
)
from infer_cost.serving.passes import NOTHING, Cause
from infer_cost.serving.steady import Requests, SteadyState


def static_state(
    engine: CompiledEngine, requests: Requests, without: frozenset[Cause] = NOTHING, *, bounds: bool = True
) -> SteadyState:
    """Times of a batch of ``requests.concurrency`` that is prefilled whole and then decoded whole.

    .. math:: T = T_{prefill}(B) + (O - 1)\\,t_{decode}(B)

    Parameters
    ----------
    engine : CompiledEngine
        The deployment
    requests : Requests
        Lengths; ``concurrency`` is the batch
    without : set of causes
        Work to leave out
    bounds : bool
        Also compute the lower bounds

    Returns
    -------
    SteadyState
        ``ttft_s`` is the mean over the batch: prompts that don't fit into one pass come in several, one after another.
        There is no interference, no queue and no request handling: offline benchmarks call the engine directly.
    """
    deployment = engine.deployment
    batch = requests.concurrency * 1.0
    first = prefill_time(engine, requests.new_tokens * 1.0, requests.cached_tokens * 1.0, without, bounds=bounds)
    ranks = deployment.parallel.dp
    per_rank = maximum(batch / float(ranks), 1.0)
    new, cached = requests.new_tokens * 1.0, requests.cached_tokens * 1.0
    passes = maximum(ceil(per_rank / prompts_in_a_pass(engine, new)), 1.0)
    prefill = packed_prefill_time(engine, new, cached, per_rank / passes, without, ranks=ranks) * passes
    mean_wait = prefill * (passes + 1.0) / (2.0 * passes) - first.passes.total_s
    token = token_time(engine, batch, requests.mean_context, without, bounds=bounds)
    whole: Value = prefill + requests.decode_steps * token.total_s
    return SteadyState(
        running=batch,
        prefill=first.passes,
        prefill_bound_s=first.bound_s,
        chunks=first.chunks,
        token=token.step,
        draft_s=token.draft_s,
        token_bound_s=token.bound_s,
        interference_s=0.0,
        wait_s=maximum(mean_wait, 0.0),
        capacity_wait_s=0.0,
        kv_transfer_s=0.0,
        residence_s=whole,
        gpus=deployment.gpus,
        occupancy_s=prefill / per_rank,
    )
