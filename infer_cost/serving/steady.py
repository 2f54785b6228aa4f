"""The steady state of a closed loop: each of ``concurrency`` users sends the next request when the last one ends.

Everything here takes floats or arrays. With one user there is no interference and no queue.
"""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.roofline.dispatch import Value, is_array, maximum, minimum, where
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import (
    CompiledEngine,
    PrefillTime,
    TokenTime,
    choose,
    packed_prefill_time,
    prefill_time,
    prompts_in_a_pass,
    token_time,
)
from infer_cost.serving.passes import NOTHING, Cause, PassTime

CROWD_GROWTH = 0.8
CROWD_LOAD = 0.15
"""How the prefills ahead of an arrival grow with the requests that run, and with the prefills' share of time."""


@dataclass(frozen=True, slots=True)
class Requests:
    """A workload as numbers that may be arrays."""

    input_tokens: Value
    output_tokens: Value
    cached_tokens: Value
    concurrency: Value

    @property
    def new_tokens(self) -> Value:
        """Input tokens that prefill computes."""
        return self.input_tokens - self.cached_tokens

    @property
    def mean_context(self) -> Value:
        """Cached tokens of a sequence, averaged over its decode."""
        return self.input_tokens + self.output_tokens / 2.0

    @property
    def decode_steps(self) -> Value:
        """Tokens after the first."""
        return self.output_tokens - 1.0


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What a request meets in the steady state. Seconds; times of the engine alone, from arrival to last token."""

    running: Value
    """Requests that run at once; the rest of the concurrency waits for room in the KV cache."""
    prefill: PassTime
    prefill_bound_s: Value
    chunks: Value
    token: PassTime
    """A decode step per emitted token, without interference."""
    draft_s: Value
    token_bound_s: Value
    interference_s: Value
    """Added to each token by the prefills of other requests."""
    wait_s: Value
    """From arrival to the start of prefill: the step under way, the prefills ahead, admission."""
    capacity_wait_s: Value
    """Waiting for room in the KV cache."""
    kv_transfer_s: Value
    """Moving the prompt's cache from the prefill pool to the decode pool."""
    residence_s: Value
    gpus: int

    @property
    def ttft_s(self) -> Value:
        """Time to first token."""
        return self.capacity_wait_s + self.wait_s + self.prefill.total_s + self.kv_transfer_s

    @property
    def tpot_s(self) -> Value:
        """Time per output token after the first."""
        return self.token.total_s + self.draft_s + self.interference_s


def steady_state(
    engine: CompiledEngine,
    requests: Requests,
    without: frozenset[Cause] = NOTHING,
    *,
    alone: bool = False,
    bounds: bool = True,
) -> SteadyState:
    """Steady state of one engine that prefills and decodes.

    .. math:: TPOT = t_{decode}(B) + s (B - 1) \\frac{t_{prefill}}{O - 1}

    Each running request's prefill stops (or shares the steps of) the decodes of the others, once in the ``O - 1``
    tokens that these emit meanwhile; ``s`` is the share of its time that they lose. Data-parallel ranks prefill side
    by side, pipeline stages overlap.

    Parameters
    ----------
    engine : CompiledEngine
        The deployment
    requests : Requests
        Lengths and concurrency
    without : set of causes
        Work to leave out
    alone : bool
        Leave out what other requests cause: interference and waiting
    bounds : bool
        Also compute the lower bounds; a sweep does without

    Returns
    -------
    SteadyState
        Times by cause
    """
    deployment = engine.deployment
    ranks = float(deployment.parallel.dp)
    # What a request holds of the cache while it runs: its input, and its output as far as the engine sets it aside.
    held = requests.input_tokens + requests.output_tokens * deployment.engine.output_reserve
    capacity = sequences_that_run(deployment, held)
    running = maximum(minimum(requests.concurrency * 1.0, capacity), 1.0)
    prefill = prefill_time(engine, requests.new_tokens * 1.0, requests.cached_tokens * 1.0, without, bounds=bounds)
    token = _token_of_running(engine, requests, capacity, without, bounds=bounds)
    steps = maximum(requests.decode_steps, 1.0)
    others = 0.0 if alone else maximum(running / ranks, 1.0) - 1.0
    together = 1.0 if alone else maximum(running / ranks / steps, 1.0)
    packing = _packing(engine, requests, prefill, together, without)
    interference = others * packing.occupancy_s * deployment.engine.interference_share / steps
    wait: Value = 0.0
    if not alone:
        each = packing.occupancy_s
        wait = mean_wait(engine, running, each, token.total_s, interference, steps, packing.prompts)
    wait = wait + packing.longer_s
    if "host" not in without:
        wait = wait + deployment.engine.host_request_s
    alive = wait + prefill.passes.total_s + requests.decode_steps * (token.total_s + interference)
    surplus = maximum(requests.concurrency - running, 0.0) / running
    return SteadyState(
        running=running,
        prefill=prefill.passes,
        prefill_bound_s=prefill.bound_s,
        chunks=prefill.chunks,
        token=token.step,
        draft_s=token.draft_s,
        token_bound_s=token.bound_s,
        interference_s=interference,
        wait_s=wait,
        capacity_wait_s=0.0 if alone else alive * surplus,
        kv_transfer_s=0.0,
        residence_s=alive * (1.0 if alone else 1.0 + surplus),
        gpus=deployment.gpus,
    )


@dataclass(frozen=True, slots=True)
class _Packing:
    """Prefill when several prompts arrive in a step: the engine's time for each, and how much longer each takes."""

    prompts: Value
    occupancy_s: Value
    longer_s: Value


def _packing(
    engine: CompiledEngine, requests: Requests, prefill: PrefillTime, together: Value, without: frozenset[Cause]
) -> _Packing:
    """Share a prefill pass between the prompts that arrive in one step, as far as the token budget holds them.

    A pass's time is close to linear in its prompts, so the passes with one prompt and with a full budget give all
    others; both depend on the lengths only, which keeps a grid of loads cheap.
    """
    if not is_array(together) and together <= 1.0:
        return _Packing(1.0, prefill.occupancy_s, 0.0)
    new, cached = requests.new_tokens * 1.0, requests.cached_tokens * 1.0
    most = prompts_in_a_pass(engine, new)
    full = packed_prefill_time(engine, new, cached, most, without)
    each = where(most > 1.0, (full - prefill.occupancy_s) / maximum(most - 1.0, 1e-9), 0.0)
    prompts = minimum(together, most)
    longer = (prompts - 1.0) * each
    return _Packing(prompts, (prefill.occupancy_s + longer) / prompts, longer)


def _token_of_running(
    engine: CompiledEngine, requests: Requests, capacity: Value, without: frozenset[Cause], *, bounds: bool
) -> TokenTime:
    """Time of a token with as many requests as run: all in flight, or as many as the cache has room for.

    On a grid the two are computed apart and then chosen from: what is in flight doesn't depend on the lengths, and
    the room doesn't depend on what is in flight, so each is computed for few values where their minimum has many.
    """
    flight = maximum(requests.concurrency * 1.0, 1.0)
    room = maximum(capacity, 1.0)
    context = requests.mean_context
    if not is_array(flight, room) or getattr(flight, "shape", ()) == getattr(room, "shape", ()):
        return token_time(engine, minimum(flight, room), context, without, bounds=bounds)
    free = flight <= room
    if free.all():
        return token_time(engine, flight, context, without, bounds=bounds)
    full = token_time(engine, room, context, without, bounds=bounds)
    if not free.any():
        return full
    return choose(free, token_time(engine, flight, context, without, bounds=bounds), full)


def mean_wait(
    engine: CompiledEngine,
    running: Value,
    occupancy: Value,
    step: Value,
    interference: Value,
    steps: Value,
    together: Value = 1.0,
) -> Value:
    """Mean wait of an arriving request: half of the step under way, and the prefills before it.

    .. math:: n = c (B/k - 1)^{0.8} u^{0.15}

    In a closed loop requests that finish together arrive together, so an arrival meets far more than an independent
    stream's ``u/(2(1 - u))`` prefills before it, ``u`` being the share of the engine's time that prefills take. The
    exponents are fitted on all engines' published times to first token, ``c`` is the engine's crowding. Where ``k``
    prompts come ``together`` in a step they share a pass, and passes are waited for.
    """
    sequences = maximum(running / float(engine.deployment.parallel.dp), 1.0)
    cycle = steps * (step + interference) + occupancy
    passes = maximum(sequences / together - 1.0, 0.0)
    ahead = prefills_ahead(engine.deployment.engine.crowding, passes, sequences * occupancy / cycle)
    return where(sequences > 1.0, step / 2.0 + ahead * occupancy * together, 0.0)


def prefills_ahead(crowding: Value, others: Value, share: Value) -> Value:
    """Prefills that an arriving request finds before it, at most all the others'.

    >>> round(prefills_ahead(0.2, 63.0, 0.2), 2)
    4.32
    """
    return minimum(crowding * others**CROWD_GROWTH * minimum(share, 1.0) ** CROWD_LOAD, others)
