"""``infer-cost report``: one HTML page about one deployment."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from click.core import ParameterSource

from infer_cost.cli.options import SCENARIO, Explain, Json, Model, library_options, with_options
from infer_cost.cli.output import count
from infer_cost.errors import InputError


@with_options(SCENARIO)
def command(
    context: typer.Context,
    model: Model,
    output: Annotated[
        str, typer.Option("-o", "--output-file", metavar="FILE.html", help="Where to write the page; - prints it.")
    ] = "report.html",
    svg: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Write each chart there as an SVG file as well.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="PROVIDER/MODEL", help="Say what this provider would bill.")
    ] = None,
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Write one self-contained HTML page: stages, load, roofline, memory, sensitivity, cost, sources.

    It needs no network, can be read on a phone and printed, and its controls recompute it.

    Example: infer-cost report llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8 --input-tokens 12022
    --output-tokens 500 -o report.html
    """
    from infer_cost.report import gather, html_page, write_page

    if output == "-" and (as_json or explain):
        raise InputError(
            f"{'--json' if as_json else '--explain'} and -o - both want standard output",
            field="output",
            value="-",
            allowed="a file's name",
        )
    from infer_cost.cli.explanation import emit_explained, ladder_of, print_ladder

    ready = library_options(options)
    content = gather(model, ready.pop("hardware"), provider=provider, command=_command(context), **ready)
    files = _charts(content, Path(svg)) if svg is not None else []
    if output == "-":
        print(html_page(content), end="")
        return
    size = write_page(content, Path(output))
    rungs = ladder_of(model, library_options(options)) if explain else None
    if as_json:
        emit_explained({"file": output, "bytes": size, "charts": files}, rungs.chains() if rungs else None)
        return
    print(f"wrote {output} ({count(size)} B)")
    for name in files:
        print(f"wrote {name}")
    if rungs is not None:
        print_ladder(rungs)


def _charts(content: Any, folder: Path) -> list[str]:
    from infer_cost.report.page import write_whole
    from infer_cost.report.pictures import pictures

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawn in pictures(content).items():
        path = folder / f"{name}.svg"
        write_whole(path, drawn)
        written.append(str(path))
    return written


def _command(context: typer.Context) -> str:
    """Return the command line that repeats the report, from what was given on it."""
    words = ["infer-cost", "report"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in (
            "output",
            "svg",
            "as_json",
            "explain",
            "output_format",
        ):
            continue
        value = context.params[name]
        flag = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
        for one in value if isinstance(value, list | tuple) else [value]:
            words += flag if one is True else [*flag, str(one)]
    return shlex.join(words)
