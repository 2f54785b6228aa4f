"""``infer-cost journey``: one request through the fifteen stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import SCENARIO, Explain, Json, Model, library_options, pairs, with_options
from infer_cost.cli.output import bar, bold, count, dollars, seconds, table, wrap

if TYPE_CHECKING:
    from infer_cost.serving.ladder import Ladder
    from infer_cost.serving.ranges import Range
    from infer_cost.stages.types import Journey, Stage
    from infer_cost.steps import Chain


@with_options(SCENARIO)
def command(
    model: Model,
    prompt_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Count the prompt's tokens in this text file.")
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(metavar="FILE", help="The tokenizer.json that counts them.")] = None,
    numbering: Annotated[str, typer.Option(help="digest, or article for the other document's stages.")] = "digest",
    provider: Annotated[
        str | None, typer.Option(metavar="PROVIDER/MODEL", help="Add this provider's bill for the request.")
    ] = None,
    service: Annotated[str, typer.Option(help="standard, batch, flex or priority.")] = "standard",
    replicas: Annotated[int, typer.Option(help="Copies of the deployment behind the load balancer.")] = 1,
    cache_tier: Annotated[str, typer.Option(help="Where the cached prefix lies: hbm, dram, flash, remote.")] = "hbm",
    latency: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP=TIME", help="Your own time of a host-side step, e.g. router=1ms."),
    ] = None,
    chart: Annotated[bool, typer.Option("--chart", help="Draw the stages one after another.")] = False,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Take one request through the fifteen stages: what each adds to latency and cost, and which limit decides.

    Example: infer-cost journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8 --input-tokens 12022
    --output-tokens 500
    """
    from infer_cost.stages.journey import journey

    ready = library_options(options)
    if prompt_file is not None or tokenizer is not None:
        from infer_cost.stages.tokenizer import count_tokens

        ready["input_tokens"] = count_tokens(prompt_file, tokenizer)
    trip = journey(
        model,
        ready.pop("hardware"),
        numbering=numbering,
        provider=provider,
        service=service,
        replicas=replicas,
        cache_tier=cache_tier,
        latencies=_latencies(latency or []),
        **ready,
    )
    known = library_options(options) | {"input_tokens": ready["input_tokens"]}
    if as_json:
        from infer_cost.cli.explanation import emit_explained, ladder_of

        emit_explained(trip, _chains(trip, ladder_of(model, known)) if explain else None)
        return
    _print(trip)
    if chart:
        from infer_cost.cli.charts import waterfall
        from infer_cost.cli.output import width

        print("\n" + waterfall([(s.name, s.e2e_s) for s in trip.stages if s.e2e_s], seconds, columns=width()))
    if explain:
        from infer_cost.cli.explanation import ladder_of, print_chains, print_ladder

        rungs = ladder_of(model, known)
        print_ladder(rungs)
        print_chains(_chains(trip, rungs)[-1:], "From the engine to the whole request")


def _chains(trip: Journey, rungs: Ladder) -> list[Chain]:
    from infer_cost.stages.explained import whole_request

    return [*rungs.chains(), whole_request(trip, rungs)]


def _latencies(settings: list[str]) -> dict[str, float]:
    from infer_cost.units import parse

    return {name: parse(value, "s", field=f"latency {name}") for name, value in pairs(settings, "latency").items()}


def _print(trip: Journey) -> None:
    gpus = f"{trip.gpus} x {trip.hardware}" if trip.gpus > 1 else trip.hardware
    print(bold(f"{trip.model} on {gpus}"))
    cached = f" ({count(trip.cached_tokens)} cached)" if trip.cached_tokens else ""
    print(
        f"{count(trip.input_tokens)} input tokens{cached}, {count(trip.output_tokens)} output tokens, "
        f"{count(trip.concurrency)} request{'s' if trip.concurrency > 1 else ''} in flight\n"
    )
    print(_stage_table(trip))
    print("◀ the bottleneck: the largest share of the time in all\n")
    print(_totals_table(trip))
    if trip.bill_usd is not None:
        print(f"The provider's bill for this request: ${trip.bill_usd} (not part of the cost above)")
    _print_counterfactuals(trip)
    _print_routes(trip)
    _print_assumptions(trip)


def _stage_table(trip: Journey) -> str:
    whole = trip.e2e_s.expected
    rows = [_stage_row(stage, stage.e2e_s / whole, stage.number == trip.bottleneck) for stage in trip.stages]
    return table(["", "stage", "TTFT", "a token", "in all", "cost", "limit", "share"], rows, left=(1, 6, 7))


def _stage_row(stage: Stage, share: float, largest: bool) -> list[str]:
    mark = " ◀" if largest else ""
    return [
        str(stage.number),
        stage.name,
        seconds(stage.ttft_s),
        seconds(stage.tpot_s),
        seconds(stage.e2e_s),
        dollars(stage.cost_usd),
        "-" if stage.limited_by == "none" else stage.limited_by,
        f"{bar(share, 6)} {share:.0%}{mark}" if share >= 0.005 else "",
    ]


def _totals_table(trip: Journey) -> str:
    rows = [
        _range_row("time to first token", trip.ttft_s, seconds),
        *([_range_row("time per output token", trip.tpot_s, seconds)] if trip.tpot_s else []),
        _range_row("end to end", trip.e2e_s, seconds),
        *([_range_row("cost of the request", trip.cost_usd, dollars)] if trip.cost_usd else []),
    ]
    return table(["total", "expected", "low", "high", "physical bound"], rows)


def _range_row(name: str, figure: Range, write: Any) -> list[str]:
    return [name, write(figure.expected), write(figure.low), write(figure.high), write(figure.bound)]


def _print_counterfactuals(trip: Journey) -> None:
    rows = [
        [stage.name, seconds(w.ttft_s), seconds(w.tpot_s), seconds(w.e2e_s), dollars(w.cost_usd)]
        for stage in trip.stages
        if (w := stage.without) is not None
    ]
    if rows:
        print()
        print(table(["the whole request without", "TTFT", "a token", "in all", "cost"], rows))


def _print_routes(trip: Journey) -> None:
    rows = [
        [
            r.what,
            f"{r.gpus} x {r.hardware}",
            seconds(r.ttft_s),
            seconds(r.tpot_s),
            seconds(r.e2e_s),
            dollars(r.cost_usd),
        ]
        for r in trip.routing
    ]
    if rows:
        print()
        print(table(["the same request on", "machine", "TTFT", "a token", "in all", "cost"], rows, left=(0, 1)))


def _print_assumptions(trip: Journey) -> None:
    print("\nAssumed (measured ranges and sources with --json):")
    for line in trip.assumptions:
        print(wrap(f"- {line}"))
    for stage in trip.stages:
        weak = [line for line in stage.assumptions if "assumed" in line or "recalled" in line]
        for line in weak:
            print(wrap(f"- stage {stage.number}: {line}"))
