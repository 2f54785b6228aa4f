"""``infer-cost estimate``: latency, throughput, utilization and cost of a deployment under a load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from click.core import ParameterSource

from infer_cost.cli.options import SCENARIO, Explain, Json, Model, library_options, with_options
from infer_cost.cli.output import bold, count, dollars, facts, seconds, table, three_digits, wrap
from infer_cost.errors import InputError

if TYPE_CHECKING:
    from infer_cost.serving.estimate import Estimate
    from infer_cost.serving.mix import ClassTimes
    from infer_cost.serving.ranges import Range


@with_options(SCENARIO)
def command(
    context: typer.Context,
    model: Model,
    workload: Annotated[
        str | None, typer.Option(metavar="FILE.toml", help="Requests of several classes instead of the lengths below.")
    ] = None,
    chart: Annotated[bool, typer.Option("--chart", help="Draw speed against throughput over the concurrency.")] = False,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Estimate TTFT, TPOT, throughput, what limits it, utilization and $/Mtoken at a concurrency.

    Example: infer-cost estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 32
    """
    ready = library_options(options)
    if workload is not None:
        _refuse_beside_workload(context)
        _mix(model, workload, ready, as_json, explain)
        return
    from infer_cost.serving.estimate import estimate

    machine = ready.pop("hardware")
    answer = estimate(model, machine, **ready)
    if as_json:
        from infer_cost.cli.explanation import emit_explained, ladder_of

        emit_explained(answer, ladder_of(model, library_options(options)).chains() if explain else None)
        return
    _print(answer)
    if chart:
        from infer_cost.report.content import load_curve

        _draw(load_curve(model, machine, **ready))
    if explain:
        from infer_cost.cli.explanation import ladder_of, print_ladder

        print_ladder(ladder_of(model, library_options(options)))


def _refuse_beside_workload(context: typer.Context) -> None:
    """Refuse what a workload's file says itself, or has no drawing of."""
    for name in (*_LENGTHS, "chart"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = f"--{name.replace('_', '-')}"
            why = "several classes have no chart" if name == "chart" else "the file gives the lengths of each class"
            raise InputError(f"{flag} beside --workload: {why}", field=flag)


_LENGTHS = ("input_tokens", "output_tokens", "cached_tokens")


def _draw(curve: Sequence[Estimate]) -> None:
    from infer_cost.cli.charts import Point, pareto
    from infer_cost.cli.output import width

    points = [
        Point(
            f"{count(answer.concurrency)} in flight",
            answer.output_tokens_per_s_per_user.expected,
            answer.output_tokens_per_s_per_gpu.expected,
        )
        for answer in curve
    ]
    print("\n" + pareto([], points, x_name="tokens/s a user", y_name="tokens/s a GPU", columns=min(width(), 76)))


def _mix(model: str, workload: str, options: dict[str, Any], as_json: bool, explain: bool) -> None:
    from infer_cost.cli.explanation import emit_explained, print_chains
    from infer_cost.serving.mix import estimate_mix, read_mix
    from infer_cost.serving.mix_steps import mix_chains

    for name in _LENGTHS:
        options.pop(name)
    answer = estimate_mix(model, options.pop("hardware"), read_mix(workload), **options)
    if as_json:
        emit_explained(answer, mix_chains(answer) if explain else None)
        return
    gpus = f"{answer.gpus} x {answer.hardware}" if answer.gpus > 1 else answer.hardware
    print(
        bold(f"{answer.model} on {gpus}, {count(answer.concurrency)} in flight, {count(answer.running)} at once") + "\n"
    )
    print(table(_CLASS_HEADER, [_class_row(one) for one in answer.classes]))
    print()
    facts = [
        ("requests/s", three_digits(answer.requests_per_s)),
        ("output tokens/s a GPU", three_digits(answer.output_tokens_per_s_per_gpu)),
        ("cost of a mean request", dollars(answer.cost_usd)),
        ("prompts in one flat batch", f"{count(answer.flattened_tokens)} tokens"),
        ("padded to the longest", f"{count(answer.padded_tokens)} tokens, {answer.padding_waste:.0%} of them waste"),
    ]
    _print_facts(facts, answer.assumptions)
    if explain:
        print_chains(mix_chains(answer))


_CLASS_HEADER = ["class", "share", "input", "cached", "output", "TTFT", "visible", "a token", "in all", "cost"]


def _class_row(one: ClassTimes) -> list[str]:
    return [
        one.name,
        f"{one.share:.0%}",
        count(one.input_tokens),
        count(one.cached_tokens),
        count(one.output_tokens),
        seconds(one.ttft_s),
        seconds(one.visible_ttft_s),
        seconds(one.tpot_s),
        seconds(one.e2e_s),
        dollars(one.cost_usd),
    ]


def _print_facts(facts: list[tuple[str, str]], assumptions: tuple[str, ...]) -> None:
    for name, value in facts:
        print(f"{name:<28}{value}")
    print("\nAssumed:")
    for line in assumptions:
        print(wrap(f"- {line}"))


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
