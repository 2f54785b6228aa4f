"""Prefill and decode in pools of their own: rate matching, cache transfer, the closed loop through both."""

from __future__ import annotations

from infer_cost.hardware_specs.efficiency.collectives import collective_model, collective_time
from infer_cost.model_specs.kv import element_bytes, kv_bytes_per_sequence, state_bytes_per_sequence
from infer_cost.roofline.dispatch import Value, maximum, minimum, where
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.engine_times import packed_prefill_time, prefill_time, prompts_in_a_pass, token_time
from infer_cost.serving.passes import NOTHING, Cause
from infer_cost.serving.program import slowest_link
from infer_cost.serving.scenario import Pool
from infer_cost.serving.steady import Requests, SteadyState

MOST_BUSY = 0.98
"""Load of the prefill pool up to which its queue is that of independent arrivals; beyond, what is in flight decides."""
_ROUNDS = 16
"""Rounds of the fixed point, enough for four digits however steep the queue is."""


def share_a_domain(prefill: Pool, decode: Pool) -> bool:
    """Whether two pools are the same kind of machine and fit into one scale-up domain together."""
    machine = prefill.engine.deployment.machine
    same = machine.id == decode.engine.deployment.machine.id
    return same and prefill.gpus + decode.gpus <= machine.scale_up_domain


def kv_transfer_time(prefill: Pool, decode: Pool, tokens: Value) -> Value:
    """Time to hand a request of ``tokens`` prompt tokens over: a fixed part, and its cache from engine to engine.

    Every rank sends its shard over its own link, so the narrower engine's ranks decide. Inside one scale-up domain
    the cache takes the scale-up links, otherwise the NICs.
    """
    plan = prefill.engine.deployment
    machine, other = plan.machine, decode.engine.deployment.machine
    inside = share_a_domain(prefill, decode)
    rates = [each.scale_up_bandwidth if inside else each.scale_out_bandwidth for each in (machine, other)]
    bandwidth = min((rate for rate in rates if rate), default=None)
    lanes = min(plan.parallel.tp, decode.engine.deployment.parallel.tp)
    held = kv_bytes_per_sequence(plan.model, tokens, element_bytes(plan.kv.id)) + state_bytes_per_sequence(plan.model)
    model = collective_model(machine.accelerator, "all_to_all", 2, plan.engine.kernels, across_nodes=not inside)
    # A send is half of an exchange between two.
    moving = collective_time(2.0 * held / lanes, 2, bandwidth or slowest_link(machine), model)
    return decode.engine.deployment.engine.handover_s + moving


def disaggregated_state(
    prefill: Pool,
    decode: Pool,
    requests: Requests,
    without: frozenset[Cause] = NOTHING,
    *,
    alone: bool = False,
    bounds: bool = True,
) -> SteadyState:
    """Steady state of a prefill pool that feeds a decode pool.

    Requests in flight divide themselves between waiting, prefill, transfer and decode by Little's law; the pool that
    is too small for the other one makes them wait. Decodes meet no prefills.
    """
    front, back = prefill.engine, decode.engine
    first = prefill_time(front, requests.new_tokens * 1.0, requests.cached_tokens * 1.0, without, bounds=bounds)
    inside = share_a_domain(prefill, decode)
    hidden = ("scale_up" if inside else "scale_out") in without
    transfer: Value = 0.0 if hidden else kv_transfer_time(prefill, decode, requests.input_tokens * 1.0)
    admission: Value = 0.0 if "host" in without else back.deployment.engine.host_request_s
    held = requests.input_tokens + requests.output_tokens * back.deployment.engine.output_reserve
    capacity = maximum(sequences_that_run(back.deployment, held), 1.0) * decode.instances
    flight = requests.concurrency * 1.0
    decoding = maximum(minimum(flight, capacity), 1.0)
    servers = float(prefill.instances)
    ranks = front.deployment.parallel.dp
    new, cached = requests.new_tokens * 1.0, requests.cached_tokens * 1.0
    together = minimum(prompts_in_a_pass(front, new), maximum(flight / (servers * ranks), 1.0))
    # Seconds of a prefill engine that a prompt takes when others wait and share its passes.
    packed = packed_prefill_time(front, new, cached, together, without, ranks=ranks) / (together * float(ranks))
    wait: Value = 0.0
    pace: Value = 0.5
    missed: Value = 0.0
    token = token_time(back, decoding / decode.instances, requests.mean_context, without, bounds=bounds)
    residence = _sum(admission, first.passes.total_s, transfer, requests.decode_steps * token.total_s)
    for _ in range(_ROUNDS):
        batch = maximum(decoding / decode.instances, 1.0)
        token = token_time(back, batch, requests.mean_context, without, bounds=bounds)
        served = requests.decode_steps * token.total_s
        service = _sum(admission, first.passes.total_s, transfer, served)
        fastest = servers / packed
        most = minimum(fastest, capacity / maximum(served, 1e-12))
        rate = minimum(flight / (service + wait), most)
        # What the slower pool can't take waits in front of it; below saturation, as at any queue of equal services.
        others = maximum(flight / servers - 1.0, 0.0)
        busy = minimum(rate / fastest, MOST_BUSY)
        crowd = minimum(busy / (2.0 * (1.0 - busy)), others) * packed
        # A busy queue answers a shorter wait with a much longer one: whenever it overshoots, go half as fast.
        miss = maximum(flight / most - service, crowd) - wait
        pace = where(miss * missed < 0.0, pace / 2.0, pace)
        missed = miss
        wait = wait + pace * miss
        decoding = maximum((decoding + minimum(rate * served, capacity)) / 2.0, 1.0)
        residence = service + wait
    if alone:
        residence, wait = residence - wait, wait * 0.0
    return SteadyState(
        running=minimum(flight, maximum(decoding, 1.0)),
        prefill=first.passes,
        prefill_bound_s=first.bound_s,
        chunks=first.chunks,
        token=token.step,
        draft_s=token.draft_s,
        token_bound_s=token.bound_s,
        interference_s=0.0,
        wait_s=wait + admission,
        capacity_wait_s=0.0,
        kv_transfer_s=transfer,
        residence_s=residence,
        gpus=prefill.gpus + decode.gpus,
    )


def _sum(*terms: Value) -> Value:
    total: Value = 0.0
    for term in terms:
        total = total + term
    return total
