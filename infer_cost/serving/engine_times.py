"""Prefill and decode of one engine: passes cut into chunks, ranks and pipeline stages, with speculation."""

from __future__ import annotations

from dataclasses import dataclass

from infer_cost.roofline import speculative_expected_tokens
from infer_cost.roofline.dispatch import Value, ceil, maximum, minimum, where
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.operators import Load
from infer_cost.serving.passes import NOTHING, Cause, PassTime, pass_bound, pass_time
from infer_cost.serving.program import Program, compile_program


@dataclass(frozen=True, slots=True)
class CompiledEngine:
    """A deployment with its two programs, compiled once and evaluated for any load."""

    deployment: Deployment
    prefill: Program
    decode: Program


def compile_engine(deployment: Deployment) -> CompiledEngine:
    """Compile both phases of a deployment."""
    return CompiledEngine(deployment, compile_program(deployment, "prefill"), compile_program(deployment, "decode"))


def _micro_batch(engine: CompiledEngine, sequences: Value) -> Value:
    """Sequences of one pass on one rank: the batch is divided over data-parallel ranks and pipeline stages."""
    parallel = engine.deployment.parallel
    return maximum(sequences / float(parallel.dp * parallel.pp), 1.0)


def decode_load(engine: CompiledEngine, batch: Value, context: Value, query: Value = 1.0) -> Load:
    """Return the load of a decode pass at a batch of the whole deployment and a mean context."""
    return Load(_micro_batch(engine, batch), query, context, True, engine.deployment.parallel.dp)


def decode_step(engine: CompiledEngine, batch: Value, context: Value, without: frozenset[Cause] = NOTHING) -> PassTime:
    """Time of one decode step: one token for each of ``batch`` sequences at ``context`` cached tokens."""
    return pass_time(engine.decode, decode_load(engine, batch, context), without)


@dataclass(frozen=True, slots=True)
class TokenTime:
    """Time of one emitted token without interference: the pass, and what drafting adds to it."""

    step: PassTime
    """The model's own pass, per emitted token."""
    draft_s: Value
    """Drafting, per emitted token."""
    bound_s: Value

    @property
    def total_s(self) -> Value:
        """Seconds between two tokens of a sequence."""
        return self.step.total_s + self.draft_s


def token_time(
    engine: CompiledEngine, batch: Value, context: Value, without: frozenset[Cause] = NOTHING, *, bounds: bool = True
) -> TokenTime:
    """Time of one emitted token at a batch; with speculation, of a verify pass and its drafts over the tokens won.

    Without ``bounds`` the bound is left at 0, which saves a sweep a fifth of its time.
    """
    speculation = engine.deployment.speculation
    if speculation is None:
        load = decode_load(engine, batch, context)
        bound = pass_bound(engine.decode, load) if bounds else 0.0
        return TokenTime(pass_time(engine.decode, load, without), 0.0, bound)
    won = speculative_expected_tokens(speculation.acceptance, speculation.draft_tokens)
    load = decode_load(engine, batch, context, 1.0 + speculation.draft_tokens)
    verify = pass_time(engine.decode, load, without)
    plain = decode_step(engine, batch, context, without)
    draft = plain.total_s * speculation.draft_cost_ratio * speculation.draft_tokens
    # The bound emits every guess: the most tokens that a verify pass can win.
    bound = pass_bound(engine.decode, load) / (1.0 + speculation.draft_tokens) if bounds else 0.0
    return TokenTime(verify.times(1.0 / won), draft / won, bound)


def choose(condition: Value, yes: TokenTime, no: TokenTime) -> TokenTime:
    """Return one of two times where a condition holds and the other one elsewhere."""
    step = PassTime(*(where(condition, getattr(yes.step, f), getattr(no.step, f)) for f in PassTime.__slots__))
    return TokenTime(step, where(condition, yes.draft_s, no.draft_s), where(condition, yes.bound_s, no.bound_s))


@dataclass(frozen=True, slots=True)
class PrefillTime:
    """Time of one request's prefill, the passes it takes, and how long it keeps the engine busy."""

    passes: PassTime
    chunks: Value
    bound_s: Value
    occupancy_s: Value
    """Seconds of the engine that one prefill takes: less than its latency when pipeline stages overlap."""


def prefill_time(
    engine: CompiledEngine, new: Value, cached: Value, without: frozenset[Cause] = NOTHING, *, bounds: bool = True
) -> PrefillTime:
    """Time to compute ``new`` prompt tokens after ``cached`` ones, in chunks of the engine's token budget."""
    deployment = engine.deployment
    chunks = maximum(ceil(new / float(deployment.max_batched_tokens)), 1.0)
    size = new / chunks
    # Attention's pairs grow linearly with what precedes a chunk, so the mean chunk stands for all of them.
    before = cached + size * (chunks - 1.0) / 2.0
    load = Load(1.0, size, before, False, 1, cached * 1.0)
    passes = pass_time(engine.prefill, load, without).times(chunks)
    bound = pass_bound(engine.prefill, Load(1.0, new * 1.0, cached * 1.0, False, 1)) if bounds else 0.0
    # Chunks follow each other through the pipeline: the last one leaves when all have passed a stage, and a full one
    # the pp - 1 other stages.
    stages = float(deployment.parallel.pp)
    largest = minimum(float(deployment.max_batched_tokens) / new, 1.0)
    share = (1.0 + (stages - 1.0) * largest) / stages
    return PrefillTime(passes.times(share), chunks, bound / stages, passes.total_s / stages)


def prompts_in_a_pass(engine: CompiledEngine, new: Value) -> Value:
    """Prompts that one rank's token budget holds, at least one."""
    return maximum(float(engine.deployment.max_batched_tokens) / new, 1.0)


def packed_prefill_time(
    engine: CompiledEngine,
    new: Value,
    cached: Value,
    prompts: Value,
    without: frozenset[Cause] = NOTHING,
    *,
    ranks: int = 1,
) -> Value:
    """Time of a prefill pass with several prompts on each of ``ranks`` data-parallel ranks.

    The ranks compute side by side, each its own prompts; their tokens meet in the experts.
    """
    deployment = engine.deployment
    chunks = maximum(ceil(new / float(deployment.max_batched_tokens)), 1.0)
    size = new / chunks
    before = cached + size * (chunks - 1.0) / 2.0
    load = Load(prompts, size, before, False, ranks, cached * 1.0)
    return pass_time(engine.prefill, load, without).total_s * chunks / float(deployment.parallel.pp)
