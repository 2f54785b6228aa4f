"""``infer-cost memory``: bytes of weights and KV cache, what fits, how many sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import (
    CONCURRENCY,
    ENGINE,
    FORMATS,
    OPTIONAL_MACHINE,
    PARALLEL,
    Explain,
    Json,
    Model,
    library_options,
    with_options,
)
from infer_cost.cli.output import bar, bold, count, facts, gigabytes, plain, width, wrap

if TYPE_CHECKING:
    from infer_cost.model_specs.lora import Adapter
    from infer_cost.serving.memory import MemoryPlan


@with_options(OPTIONAL_MACHINE, PARALLEL, FORMATS, ENGINE, (CONCURRENCY,))
def command(
    model: Model,
    context: Annotated[int | None, typer.Option(metavar="N", help="Tokens of a sequence.")] = None,
    kv_allocator: Annotated[str, typer.Option(help="How cache is set aside: exact, paged or unified.")] = "paged",
    lora_rank: Annotated[int | None, typer.Option(metavar="N", help="Rank of LoRA adapters beside the model.")] = None,
    lora_targets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Projections that they change, e.g. q_proj,v_proj.")
    ] = None,
    lora_adapters: Annotated[int, typer.Option(metavar="N", help="Adapters that stay resident.")] = 1,
    chart: Annotated[bool, typer.Option("--chart", help="Draw a GPU's memory as one bar.")] = False,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> int:
    """Count parameters, weight bytes and KV bytes of a model; with --hardware, what fits and how many sequences.

    Example: infer-cost memory llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --context 32768
    """
    from infer_cost.serving.memory import fit_error, memory_plan
    from infer_cost.serving.memory_steps import memory_steps
    from infer_cost.steps import Chain

    ready = library_options(options)
    plan = memory_plan(
        model,
        context=context,
        kv_allocator=kv_allocator,  # type: ignore[arg-type]  # checked where it's used
        adapter=_adapter(lora_rank, lora_targets),
        adapters=lora_adapters,
        **ready,
    )
    problem = fit_error(plan)
    if as_json:
        from infer_cost.cli.explanation import emit_explained

        document = plain(plan)
        if problem is not None:
            document["error"] = {"message": problem.message, "field": "gpus", "allowed": None, "hint": problem.hint}
        emit_explained(document, [Chain("what fits", memory_steps(plan))] if explain else None)
    else:
        _print(plan)
        if chart and plan.usable_bytes_per_gpu is not None:
            _draw(plan, plan.usable_bytes_per_gpu)
        if explain:
            from infer_cost.cli.explanation import print_steps

            print_steps(memory_steps(plan))
    if problem is not None:
        typer.echo(f"infer-cost: {problem}", err=True)
        return problem.exit_code
    return 0


def _draw(plan: MemoryPlan, usable: float) -> None:
    from infer_cost.cli.charts import memory

    cache = max(0.0, plan.kv_budget_bytes_per_gpu or 0.0)
    reserve = (plan.activation_bytes_per_gpu or 0.0) + (plan.runtime_bytes_per_gpu or 0.0)
    parts = [("weights", plan.weight_bytes_per_gpu or 0.0), ("reserve", reserve), ("KV cache", cache)]
    print("\n" + memory(parts, usable, columns=min(width(), 76) - 2))


def _adapter(rank: int | None, targets: str | None) -> Adapter | None:
    from infer_cost.errors import InputError
    from infer_cost.model_specs.lora import ATTENTION_TARGETS, Adapter

    if rank is None:
        if targets is not None:
            raise InputError("--lora-targets without --lora-rank", field="lora_rank", allowed="1 or more")
        return None
    names = tuple(name.strip() for name in targets.split(",")) if targets else ATTENTION_TARGETS
    return Adapter(rank, names)


def _print(plan: MemoryPlan) -> None:
    print(bold(f"{plan.model}, weights {plan.weights}, KV cache {plan.kv}") + "\n")
    rows = [
        ("parameters", f"{count(plan.parameters_total)}"),
        ("active a token", f"{count(plan.parameters_active)}"),
        ("weights", gigabytes(plan.weight_bytes)),
        ("KV cache a token", f"{count(plan.kv_bytes_per_token)} B"),
        (f"KV cache at {count(plan.context)} tokens", gigabytes(plan.kv_bytes_per_sequence)),
    ]
    if plan.kv_growth_bytes_per_token != plan.kv_bytes_per_token:
        rows.insert(-1, ("  beyond all windows", f"{count(plan.kv_growth_bytes_per_token)} B"))
    rows += _differences(plan)
    if plan.state_bytes_per_sequence:
        rows.append(("recurrent state a sequence", gigabytes(plan.state_bytes_per_sequence)))
    if plan.hardware is not None:
        rows += [("", ""), *_machine_rows(plan)]
    print(facts(rows))
    if plan.vllm_command is not None:
        print(f"\nAs a command:\n{_continued(plan.vllm_command)}")
    if plan.notes:
        print("\nAssumed:")
        for line in plan.notes:
            print(wrap(f"- {line}"))


def _differences(plan: MemoryPlan) -> list[tuple[str, str]]:
    """What the engine's allocator and a naive count make of the same cache, where they differ."""
    right, held, naive = (
        plan.kv_bytes_per_sequence,
        plan.kv_allocated_bytes_per_sequence,
        plan.naive_kv_bytes_per_sequence,
    )
    rows = []
    if abs(held - right) > 0.01 * right:
        rows.append((f"  as the {plan.kv_allocator} allocator holds it", _beside(held, right)))
    if abs(naive - right) > 0.01 * right:
        rows.append(("  a naive count would say", _beside(naive, right)))
    if plan.adapter_bytes:
        work = f"{plan.adapter_flops_per_token / 1e6:,.0f} MFLOP a token"
        rows.append(("LoRA adapters", f"{gigabytes(plan.adapter_bytes)}, {work}"))
    return rows


def _beside(size: float, right: float) -> str:
    return f"{gigabytes(size)}, {size / right:.1f} times as much" if right else gigabytes(size)


def _continued(command: str) -> str:
    """Break a command line before its flags, so that it can be pasted from a narrow page."""
    return "  " + command.replace(" --", " \\\n    --")


def _machine_rows(plan: MemoryPlan) -> list[tuple[str, str]]:
    usable = plan.usable_bytes_per_gpu or 1.0
    parts = [
        ("weights", plan.weight_bytes_per_gpu or 0.0),
        ("activations", plan.activation_bytes_per_gpu or 0.0),
        ("runtime", plan.runtime_bytes_per_gpu or 0.0),
        ("left for KV cache", plan.kv_budget_bytes_per_gpu or 0.0),
    ]
    rows = [("usable on the GPU" if plan.gpus == 1 else f"usable on each of {plan.gpus} GPUs", gigabytes(usable))]
    rows += [
        (f"  {name}", f"{gigabytes(value):>10}  {bar(value / usable, min(24, width() // 4))}".rstrip())
        for name, value in parts
    ]
    each = "a sequence alone" if plan.concurrency == 1 else f"each of {count(plan.concurrency)} sequences"
    rows += [
        (f"sequences of {count(plan.context)} tokens", count(plan.max_concurrent_sequences)),
        (f"longest context of {each}", f"{count(plan.longest_context)} tokens"),
        ("fewest GPUs", count(plan.fewest_gpus) if plan.fewest_gpus else "none of this kind hold it"),
    ]
    return rows
