"""What ``--explain`` prints: formulas with their numbers, innermost first, and where each number was read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from infer_cost.cli.output import bold, seconds, table, wrap
from infer_cost.units import format_quantity

if TYPE_CHECKING:
    from infer_cost.serving.memory import MemoryPlan
    from infer_cost.serving.passes import OperatorTime
    from infer_cost.serving.steps import Input, Step


def print_steps(steps: Iterable[Step]) -> None:
    """Print a chain of formulas, each with its inputs and sources once."""
    print(bold("\nHow it was worked out"))
    said: set[str] = set()
    for step in steps:
        name = f" [{step.formula}]" if step.formula else ""
        print(f"\n{step.name}{name}\n  {step.equation} = {format_quantity(step.value, step.unit)}")
        _print_inputs(step.inputs, said)


def _print_inputs(inputs: Iterable[Input], said: set[str]) -> None:
    for item in inputs:
        if item.name not in said:
            said.add(item.name)
            print(wrap(f"{item.name} = {format_quantity(item.value, item.unit)}: {item.source}", indent="    "))


def print_scenario(model: str, options: dict[str, Any]) -> None:
    """Print the ladder from the roofline to the expected times of a scenario."""
    from infer_cost.serving.ladder import ladder
    from infer_cost.serving.scenario import scenario

    rungs = ladder(scenario(model, options.pop("hardware"), **options))
    print(bold("\nFrom the roofline to the expected time"))
    _print_inputs(rungs.inputs, set())
    for title, steps in (("time per output token", rungs.tpot), ("time to first token", rungs.ttft)):
        print()
        rows = [[step.name, format_quantity(step.value, step.unit), step.equation] for step in steps]
        print(table([title, "adds", "formula"], rows, left=(0, 2)))
    for title, shares in (("decode", rungs.decode_operators), ("prefill", rungs.prefill_operators)):
        print()
        print(table(_operator_header(title), [_operator_row(share) for share in shares], left=(0, 4, 5)))


def _operator_header(title: str) -> list[str]:
    return [f"operators of a {title} pass", "launches", "floors", "busy", "bound by", "constants from", "spread"]


def _operator_row(share: OperatorTime) -> list[str]:
    return [
        share.name,
        f"{share.launches:g}",
        seconds(float(share.floor_s)),
        seconds(float(share.busy_s)),
        "compute" if share.compute_bound else "memory",
        share.level,
        f"{share.spread:.0%}",
    ]


def print_memory(plan: MemoryPlan) -> None:
    """Print the sums behind a memory plan."""
    print(bold("\nHow it was worked out"))
    rows = [
        ("weights", "Σ matrices · bits/8 + vectors · 2", plan.weight_bytes, "B"),
        ("KV cache a token", "Σ layers (elements a token · bytes an element)", plan.kv_bytes_per_token, "B/token"),
        ("beyond all windows", "the same, layers without a window", plan.kv_growth_bytes_per_token, "B/token"),
        (
            f"KV cache at {plan.context:,}",
            "Σ layers min(context, window) · elements · bytes",
            plan.kv_bytes_per_sequence,
            "B",
        ),
    ]
    if plan.hardware is not None and plan.kv_budget_bytes_per_gpu is not None:
        rows += [
            ("left for KV a GPU", "usable − weights − activations − runtime", plan.kv_budget_bytes_per_gpu, "B"),
            (
                "a sequence on its GPUs",
                "KV and state of its rank, in blocks",
                plan.kv_bytes_per_sequence_per_gpu or 0.0,
                "B",
            ),
            ("sequences", "⌊left / a sequence⌋ · dp", float(plan.max_concurrent_sequences or 0), "sequence"),
        ]
    for name, equation, value, unit in rows:
        print(f"\n{name}\n  {equation} = {format_quantity(value, unit)}")
