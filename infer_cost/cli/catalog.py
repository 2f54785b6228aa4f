"""``infer-cost catalog``: what the library knows of hardware, models, formats and prices, each with its source."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from infer_cost.cli import catalog_hardware
from infer_cost.cli.catalog_hardware import wanted
from infer_cost.cli.options import Sources

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Hardware, models, formats and prices, with their sources.",
    epilog="Example: infer-cost catalog hardware show h100-sxm",
)
app.command("hardware")(catalog_hardware.command)

if find_spec("infer_cost.cli.catalog_models") is not None:
    app.add_typer(import_module("infer_cost.cli.catalog_models").app, name="models")

Action = Annotated[str | None, typer.Argument(metavar="[show NAME]", help="Show one instead of listing all.")]
Name = Annotated[str | None, typer.Argument(hidden=True)]
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
Csv = Annotated[bool, typer.Option("--csv", help="Comma-separated, in base units.")]


@app.command("formats")
def formats(
    action: Action = None, name: Name = None, explain: Sources = False, as_json: Json = False, as_csv: Csv = False
) -> None:
    """Number formats: bits a weight with the block scales, and what multiplies them."""
    from infer_cost.cli import catalog_views as views
    from infer_cost.hardware_specs.formats import number_format, number_formats

    one = wanted(action, name)
    if one is not None:
        views.show_format(number_format(one), as_json, explain)
    else:
        views.list_formats(number_formats(), as_json, as_csv, explain)


@app.command("prices")
def prices(
    action: Action = None, name: Name = None, explain: Sources = False, as_json: Json = False, as_csv: Csv = False
) -> None:
    """What an accelerator costs an hour by tier, and what buying and powering one costs."""
    from infer_cost.cli import catalog_views as views

    one = wanted(action, name)
    if one is not None:
        views.show_prices(one, as_json, explain)
    else:
        views.list_prices(as_json, as_csv, explain)
