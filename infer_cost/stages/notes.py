"""What a stage assumes, in words, each figure with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from infer_cost.hardware_specs.infrastructure import figure
from infer_cost.roofline import kv_blocks
from infer_cost.serving.budget import sequences_that_run
from infer_cost.serving.scenario import Scenario
from infer_cost.stages.host_times import HostTime
from infer_cost.stages.prefix_tiers import PrefixMove
from infer_cost.stages.totals import REJECTED_SHARE, VCPU_USD_PER_HOUR

BLOCK_SIZE = 16
OPTIC_BYTES_PER_S = 100e9
"""800 Gb/s."""


def stage_notes(
    number: int, question: Scenario, times: Mapping[str, HostTime], move: PrefixMove, replicas: int
) -> tuple[str, ...]:
    """Return the assumptions that decide a stage's figures."""
    notes = [time.assumption for time in times.values() if time.stage == number]
    if number == 1:
        notes.append(f"host CPU time at ${VCPU_USD_PER_HOUR} a thread-hour, in every stage (recalled, not checked)")
    return (*notes, *_ENGINE_NOTES.get(number, _none)(question, move, replicas))


def _none(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    yield from ()


def _gateway(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    yield f"{REJECTED_SHARE:.0%} of the traffic is turned away here and paid for by the rest (source documents)"


def _price_class(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    yield "the price class is decided here; --provider and --service print the bill"


def _balancing(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    if question.requests.cached_tokens:
        rates = ", ".join(f"{n} replicas {1 / n:.1%}" for n in (2, 4, 8))
        yield f"cache-aware placement always finds the prefix; round robin over {rates} of the time"
    running = float(sequences_that_run(question.deployment, _context(question)))
    if question.requests.concurrency > running:
        yield f"{running:,.0f} requests fit at once; the others queue (a server that refuses answers 429)"


def _scheduler(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    engine = question.deployment.engine
    yield (
        f"{engine.name}: {engine.host_step_s * 1e3:.2g} ms of host time a step, {engine.prefill} prefill; others' "
        "prefills interrupt decoding once a request"
    )


def _paging(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    context = question.requests.input_tokens + question.requests.output_tokens
    blocks = int(kv_blocks(context, BLOCK_SIZE))
    yield f"{blocks:,} blocks of {BLOCK_SIZE} tokens; reading the cache is this stage's time"


def _prefix(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    if move.assumption:
        yield move.assumption


def _quantization(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    plan = question.deployment
    yield f"weights {plan.weights.label}, cache {plan.kv.id}: no time of its own, it changes stages 7 and 10"


def _drafts(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    guess = question.deployment.speculation
    if guess is not None:
        yield f"{guess.method}: {guess.draft_tokens} drafted a step, {guess.acceptance:.0%} accepted"


def _scale_up(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    machine = question.deployment.machine
    if question.gpus > 1 and machine.scale_up_bandwidth:
        yield f"{machine.scale_up_bandwidth / 1e9:,.0f} GB/s one way a GPU, {machine.scale_up_domain} GPUs a domain"


def _scale_out(question: Scenario, move: PrefixMove, replicas: int) -> Iterator[str]:
    machine = question.deployment.machine
    if question.gpus <= machine.scale_up_domain:
        yield "all GPUs share one scale-up domain: nothing leaves it"
    elif machine.scale_out_bandwidth:
        yield f"{machine.scale_out_bandwidth / 1e9:,.0f} GB/s one way a GPU beyond the domain"
        yield _optics(question, machine.scale_out_bandwidth)


def _optics(question: Scenario, bandwidth: float) -> str:
    """Power and price of the optical ends that the GPUs' ports need, two a link, by 800 Gb/s DSP modules."""
    ends = 2.0 * question.gpus * bandwidth / OPTIC_BYTES_PER_S
    power, price = figure("optics_power", "800g-dsp").value or 0.0, figure("optics_prices", "800g-dr8").value or 0.0
    return (
        f"the first layer of links takes {ends:,.0f} optical ends of 800 Gb/s: {ends * power:,.0f} W, "
        f"${ends * price:,.0f} to buy; paid in the machine's price, not again here"
    )


def _context(question: Scenario) -> float:
    return float(question.requests.input_tokens + question.requests.output_tokens)


_ENGINE_NOTES = {
    2: _gateway,
    3: _price_class,
    4: _balancing,
    6: _scheduler,
    7: _paging,
    8: _prefix,
    9: _quantization,
    12: _drafts,
    13: _scale_up,
    14: _scale_out,
}
