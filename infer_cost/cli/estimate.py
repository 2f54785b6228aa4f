"""``infer-cost estimate``: latency, throughput, utilization and cost of a deployment under a load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infer_cost.cli.options import SCENARIO, Explain, Json, Model, library_options, with_options
from infer_cost.cli.output import bold, count, dollars, emit_json, facts, seconds, table, three_digits, wrap

if TYPE_CHECKING:
    from infer_cost.serving.estimate import Estimate
    from infer_cost.serving.ranges import Range


@with_options(SCENARIO)
def command(model: Model, explain: Explain = False, as_json: Json = False, **options: Any) -> None:
    """Estimate TTFT, TPOT, throughput, what limits it, utilization and $/Mtoken at a concurrency.

    Example: infer-cost estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 32
    """
    from infer_cost.serving.estimate import estimate

    ready = library_options(options)
    answer = estimate(model, ready.pop("hardware"), **ready)
    if as_json:
        emit_json(answer)
        return
    _print(answer)
    if explain:
        from infer_cost.cli.explanation import print_scenario

        print_scenario(model, library_options(options))


def _print(answer: Estimate) -> None:
    gpus = f"{answer.gpus} x {answer.hardware}" if answer.gpus > 1 else answer.hardware
    running = "" if answer.running >= answer.concurrency else f", {count(answer.running)} run at once"
    print(bold(f"{answer.model} on {gpus}, {count(answer.concurrency)} in flight{running}") + "\n")
    rows = [
        _row("time to first token", answer.ttft_s, seconds),
        *([_row("time per output token", answer.tpot_s, seconds)] if answer.tpot_s else []),
        _row("end to end", answer.e2e_s, seconds),
        _row("tokens/s a user", answer.output_tokens_per_s_per_user, three_digits),
        _row("output tokens/s a GPU", answer.output_tokens_per_s_per_gpu, three_digits),
    ]
    print(table(["", "expected", "low", "high", "physical bound"], rows))
    print()
    print(facts(_facts(answer), column=28))
    print("\nAssumed:")
    for line in answer.assumptions:
        print(wrap(f"- {line}"))


def _row(name: str, figure: Range, write: Any) -> list[str]:
    return [name, write(figure.expected), write(figure.low), write(figure.high), write(figure.bound)]


def _facts(answer: Estimate) -> list[tuple[str, str]]:
    critical = answer.critical_context_tokens
    batch = answer.optimal_batch
    return [
        ("limited by", answer.limited_by),
        ("compute used (MFU)", f"{answer.mfu:.1%}"),
        ("bandwidth used (MBU)", f"{answer.mbu:.1%}"),
        ("KV cache filled", f"{answer.kv_occupancy:.1%}"),
        ("optimal batch", count(batch) if batch else "none: at this context no batch makes decode compute-bound"),
        ("critical context", f"{count(critical)} tokens" if critical else "none: arithmetic outgrows traffic"),
        ("$ a million input tokens", dollars(answer.cost_per_million_input_tokens_usd)),
        ("$ a million output tokens", dollars(answer.cost_per_million_output_tokens_usd)),
        ("power", f"{answer.power_w / 1e3:,.1f} kW" if answer.power_w else "-"),
        ("output tokens a joule", three_digits(answer.tokens_per_joule) if answer.tokens_per_joule else "-"),
    ]
