"""``infer-cost calibrate``: an engine's constants fitted to one's own benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.cli.options import Explain, Json
from infer_cost.cli.output import bold, plain, table

if TYPE_CHECKING:
    from infer_cost.accuracy.calibration import Calibration
    from infer_cost.steps import Chain

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="CSV of measurements, or JSON of vllm bench serve, SGLang, genai-perf."),
]


def command(
    files: Files,
    output: Annotated[
        Path | None, typer.Option("-o", "--output-file", metavar="FILE.toml", help="Write the engine.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Model, where the files don't say.")] = None,
    hardware: Annotated[str | None, typer.Option(metavar="NAME", help="Machine, where the files don't say.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs, where the files don't say.")] = None,
    tp: Annotated[int | None, typer.Option(metavar="N", help="Tensor-parallel ranks, likewise.")] = None,
    weights: Annotated[str | None, typer.Option(metavar="FORMAT", help="Weight format, likewise.")] = None,
    kv: Annotated[str | None, typer.Option(metavar="FORMAT", help="KV cache format, likewise.")] = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help="Engine, likewise.")] = None,
    explain: Explain = False,
    as_json: Json = False,
) -> None:
    """Fit an engine's constants to your own runs, and say what that gains.

    Example: infer-cost calibrate my-benchmarks.csv -o my-engine.toml
    """
    from infer_cost.accuracy.calibration import calibrate
    from infer_cost.cli.explanation import emit_explained, print_chains

    given = {
        "model": model,
        "hardware": hardware,
        "gpus": gpus,
        "tp": tp or gpus,
        "weights": weights,
        "kv": kv,
        "engine": engine,
    }
    found = calibrate(files, given)
    if output is not None:
        output.write_text(found.toml(", ".join(path.name for path in files)), encoding="utf-8")
    told = _told(found) if explain else None
    if as_json:
        emit_explained({**plain(found), "file": None if output is None else str(output)}, told)
        return
    _print(found, output)
    if told:
        print_chains(told)


def _told(found: Calibration) -> tuple[Chain, ...]:
    from infer_cost.accuracy.explained_fit import calibration_chains

    return calibration_chains(found)


def _print(found: Calibration, output: Path | None) -> None:
    print(bold(f"{found.engine}: {found.rows} rows") + "\n")
    rows = [
        [moved.name, f"{moved.before:.3g}", f"{moved.after:.3g}" if moved.fitted else "as before", f"{moved.left:.0%}"]
        for moved in found.constants
    ]
    print(table(["constant", "before", "after", "still uncertain"], rows))
    print(f"\nMedian error, before and after; after by cross-validation, {found.left_out} at a time:")
    for name, before, after in (
        ("time per output token", found.tpot_error_before, found.tpot_error_after),
        ("time to first token", found.ttft_error_before, found.ttft_error_after),
    ):
        if before is not None and after is not None:
            print(f"  {name:<24}{before:.1%} -> {after:.1%}")
    if not found.worthwhile:
        print("\nThe fit predicts rows that it hasn't seen no better than before: keep the engine as it is.")
    if output is not None:
        print(f"\nWritten: {output}. Use it with --engine {output}.")
