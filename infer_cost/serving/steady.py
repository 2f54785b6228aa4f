"""The steady state of a closed loop: each of ``concurrency`` users sends the next request when the last one ends.

Everything here takes floats or arrays. With one user there is no interference and no queue.
"""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.roofline.dispatch import Value, is_array, maximum, minimum, where
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import (
    CompiledEngine,
    TokenTime,
    choose,
    packed_prefill_time,
    prefill_time,
    prompts_in_a_pass,
    token_time,
)
from infer_cost.serving.passes import NOTHING, Cause, PassTime

ARRIVALS_AHEAD, MANY_SEQUENCES, THINNING = 4.2, 64.0, 0.4
"""Prefills before an arriving request for each request that arrives in a step: those of the step that it misses and
those that share its own, which stay together once they have met. The fewer sequences, the fewer meet: below 64 with
the power 0.4 of their number. Measured in a simulation of closed loops whose lengths vary by a fifth
(``tools/closed_loop.py``), at any share of time that prefills take."""


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
    ahead: Value = 0.0
    """Prefills that an arriving request finds before it."""
    ahead_s: Value = 0.0
    """Seconds that it waits for them."""
    occupancy_s: Value = 0.0
    """Seconds of the engine that a prefill takes."""

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

    .. math:: TPOT = t_{decode}(B) + (B - 1 - n) \\frac{t_{prefill}}{O - 1}

    Each running request's prefill stops (or shares the steps of) the decodes of the others, once in the ``O - 1``
    tokens that these emit meanwhile; the ``n`` that a request has waited for before its own, or that shared its pass,
    are behind it then.
    Data-parallel ranks prefill side by side, pipeline stages overlap.

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
    ahead: Value = 0.0
    admission: Value = 0.0
    if not alone:
        room = float(deployment.max_batched_tokens) / requests.new_tokens
        ahead = prefills_ahead(running / ranks, requests.decode_steps, room)
        under_way = token.total_s * minimum(requests.decode_steps, 1.0)
        admission = admission_wait(engine, running / ranks, under_way)
    shared = packing(engine, requests, prefill.occupancy_s, 1.0 if alone else running, ahead, without)
    interference = maximum(others - ahead - shared.beside, 0.0) * shared.occupancy_s / steps
    wait = shared.ahead_s + shared.longer_s + admission
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
        ahead=ahead,
        ahead_s=shared.ahead_s,
        occupancy_s=shared.occupancy_s,
    )


@dataclass(frozen=True, slots=True)
class Packing:
    """Prefills side by side: what each takes of the engine, how much longer than alone a request's own takes, and
    how long those ahead of it take."""

    beside: Value
    """Prompts that share a request's own pass."""
    occupancy_s: Value
    longer_s: Value
    ahead_s: Value


def packing(
    engine: CompiledEngine,
    requests: Requests,
    occupancy_s: Value,
    running: Value,
    ahead: Value,
    without: frozenset[Cause] = NOTHING,
) -> Packing:
    """Share a prefill pass between the prompts that arrive in one step, as far as the token budget holds them.

    Data-parallel ranks fill their passes side by side. A pass's time is close to linear in its prompts, so the passes
    with one prompt and with a full budget give all others; both depend on the lengths only, which keeps a grid of
    loads cheap. ``occupancy_s`` is the engine's time for a prompt alone.
    """
    ranks = engine.deployment.parallel.dp
    together = maximum(running / float(ranks) / maximum(requests.decode_steps, 1.0), 1.0)
    if not is_array(together, ahead) and together <= 1.0 and ahead <= 1.0 and ranks == 1:
        return Packing(0.0, occupancy_s, 0.0, ahead * occupancy_s)
    new, cached = requests.new_tokens * 1.0, requests.cached_tokens * 1.0
    most = prompts_in_a_pass(engine, new)
    one = occupancy_s
    if ranks > 1:
        side_by_side = packed_prefill_time(engine, new, cached, 1.0, without, ranks=ranks)
        one = one + (side_by_side - one) * busy_ranks(running, ranks)
    full = packed_prefill_time(engine, new, cached, most, without, ranks=ranks)
    each = where(most > 1.0, (full - one) / maximum(most - 1.0, 1e-9), 0.0)
    prompts = minimum(together, most)
    pass_s = one + (prompts - 1.0) * each
    waited = ahead * each + passes_ahead(ahead, most) * (one - each)
    return Packing(prompts - 1.0, pass_s / prompts, pass_s - occupancy_s, waited)


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


def admission_wait(engine: CompiledEngine, sequences: Value, step: Value) -> Value:
    """Time until the scheduler takes an arriving request in: the step under way and what it has launched already."""
    return where(sequences > 1.0, engine.deployment.engine.admission_steps * step, 0.0)


def prefills_ahead(sequences: Value, steps: Value, prompts: Value = 1.0) -> Value:
    """Prefills that an arriving request finds before it, with ``sequences`` in the loop of ``steps`` tokens each.

    .. math:: n = \\min(\\max(h \\min(\\mu, \\sqrt\\mu), B - k - k (O - 1)), B - \\min(\\max(\\lambda, 1), k)),
        \\quad \\lambda = B / (O - 1), \\mu = \\min(\\lambda, k), h = 4.2 \\min(1, (B / 64)^{0.4}) (B - 1) / B

    Every step ends ``lambda`` requests, so as many arrive. As long as a step's pass has room for them (``k`` prompts),
    few are ahead, however long a prefill takes: the others can't end while it lasts. Where more arrive than that, all
    but those that decode wait. Those that share a request's own pass are never ahead of it.

    >>> round(prefills_ahead(64.0, 921.0), 2), prefills_ahead(64.0, 1.0), prefills_ahead(1.0, 100.0)
    (0.29, 62.0, 0.0)
    >>> prefills_ahead(64.0, 1.0, 100.0)
    0.0
    """
    arriving = sequences / maximum(steps, 1.0)
    admitted = minimum(arriving, prompts)
    crowd = meeting(sequences) * minimum(admitted, admitted**0.5)
    sharing = minimum(maximum(arriving, 1.0), maximum(prompts, 1.0))
    left = sequences - maximum(prompts, 1.0) - prompts * steps
    return minimum(maximum(crowd, left), maximum(sequences - sharing, 0.0))


def meeting(sequences: Value) -> Value:
    """Prefills ahead for each arrival in a step.

    >>> meeting(1.0), round(meeting(8.0), 2), round(meeting(1e6), 2)
    (0.0, 1.6, 4.2)
    """
    others = maximum(sequences - 1.0, 0.0) / maximum(sequences, 1.0)
    return ARRIVALS_AHEAD * minimum((sequences / MANY_SEQUENCES) ** THINNING, 1.0) * others


def busy_ranks(running: Value, ranks: int) -> Value:
    """Share of the data-parallel ranks that have a prompt when one has: none but itself up to one request a rank,
    all from two on.

    >>> busy_ranks(8.0, 8), busy_ranks(12.0, 8), busy_ranks(64.0, 8)
    (0.0, 0.5, 1.0)
    """
    return minimum(maximum(running / float(ranks) - 1.0, 0.0), 1.0)


def passes_ahead(ahead: Value, prompts: Value) -> Value:
    """Passes that the prefills ahead fill, where one has room for so many ``prompts``; a part of one if fewer wait.

    >>> passes_ahead(0.5, 8.0), passes_ahead(3.0, 8.0), passes_ahead(12.0, 8.0), passes_ahead(3.0, 1.0)
    (0.5, 1.0, 1.5, 3.0)
    """
    return ahead / maximum(minimum(ahead, prompts), 1.0)
