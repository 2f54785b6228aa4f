"""``infer-cost roofline``: the roofs of a model on a machine, and where a batch stands under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import (
    FORMATS,
    MACHINE,
    PARALLEL,
    Explain,
    Json,
    Model,
    library_options,
    with_options,
)
from infer_cost.cli.output import bold, count, facts, gigabytes, seconds, three_digits, wrap

if TYPE_CHECKING:
    from infer_cost.serving.roofline_report import RooflineReport


@with_options(MACHINE, PARALLEL, FORMATS)
def command(
    model: Model,
    batch: Annotated[int, typer.Option(metavar="N", help="Sequences decoded together.")] = 1,
    context: Annotated[int, typer.Option(metavar="N", help="Cached tokens of each sequence.")] = 1024,
    chart: Annotated[bool, typer.Option("--chart", help="Draw the roofs: batch 1, yours, the optimum.")] = False,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Work out T_compute, T_mem, ridge point, optimal batch and critical context of decode.

    Example: infer-cost roofline llama-3.1-70b --hardware h100-sxm --weights fp8 --batch 64 --context 8192
    """
    from infer_cost.serving.roofline_report import roofline_report

    ready = library_options(options)
    machine = ready.pop("hardware")
    report = roofline_report(model, machine, batch=batch, context=context, **ready)
    if as_json:
        from infer_cost.cli.explanation import emit_explained
        from infer_cost.steps import Chain

        emit_explained(report, [Chain("decode under the roofs", report.steps)] if explain else None)
        return
    _print(report)
    if chart:
        batches = sorted({1, batch, *([round(report.optimal_batch)] if report.optimal_batch else [])})
        _draw([roofline_report(model, machine, batch=size, context=context, **ready) for size in batches])
    if explain:
        from infer_cost.cli.explanation import print_steps

        print_steps(report.steps)


def _draw(reports: list[RooflineReport]) -> None:
    from infer_cost.cli.charts import Point, roofline
    from infer_cost.cli.output import width
    from infer_cost.roofline import attainable_flops

    peak, bandwidth = reports[0].peak_flops, reports[0].memory_bandwidth
    points = [
        Point(
            f"batch {count(r.batch)}", r.arithmetic_intensity, attainable_flops(r.arithmetic_intensity, peak, bandwidth)
        )
        for r in reports
    ]
    print("\nOne GPU:\n" + roofline(peak, bandwidth, points, columns=min(width(), 76)))


def _print(report: RooflineReport) -> None:
    gpus = f"{report.gpus} x {report.hardware}" if report.gpus > 1 else report.hardware
    print(bold(f"{report.model} in {report.weights} on {gpus}") + "\n")
    critical, best = report.critical_context_tokens, report.optimal_batch
    rows = [
        ("dense rate", f"{report.peak_flops / 1e12:,.0f} TFLOP/s ({report.precision}) a GPU"),
        ("memory bandwidth", f"{report.memory_bandwidth / 1e12:,.2f} TB/s a GPU"),
        ("ridge point", f"{three_digits(report.ridge_point)} FLOP/B"),
        ("weights read", gigabytes(report.weight_bytes_read)),
        ("KV cache read", gigabytes(report.kv_bytes_read)),
        (f"T_compute at batch {count(report.batch)}", seconds(report.t_compute_s)),
        ("T_mem", seconds(report.t_mem_s)),
        ("decode step, at least", f"{seconds(report.step_bound_s)} ({report.limited_by}-bound)"),
        ("arithmetic intensity", f"{three_digits(report.arithmetic_intensity)} FLOP/B"),
        ("optimal batch without KV", count(report.optimal_batch_without_kv)),
        (f"optimal batch at {count(report.context)} tokens", count(best) if best else "none makes it compute-bound"),
        ("critical context", f"{count(critical)} tokens" if critical else "none: arithmetic outgrows traffic"),
    ]
    print(facts(rows))
    for line in report.notes:
        print(wrap(f"- {line}"))
