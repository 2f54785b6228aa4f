"""``infer-cost compare``: machines, models or number formats side by side, by their figures and on one workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.options import (
    ENGINE,
    OPTIONAL_MACHINE,
    PARALLEL,
    PRICE,
    SPECULATION,
    WORKLOAD,
    Explain,
    Json,
    Option,
    library_options,
    overridden,
    with_options,
)
from infer_cost.errors import CannotBeMetError, InferCostError, InputError, shorten

if TYPE_CHECKING:
    from infer_cost.hardware_specs.types import Machine
    from infer_cost.serving.estimate import Estimate
    from infer_cost.serving.ladder import Ladder
    from infer_cost.steps import Chain

SUBJECT = (
    Option("model", str | None, None, "The model to run; a catalog name or a config.json.", "MODEL"),
    *OPTIONAL_MACHINE,
    Option("weights", str | None, None, "Number format of the weights.", "FORMAT"),
    Option("kv", str | None, None, "Number format of the KV cache.", "FORMAT"),
)


@with_options(SUBJECT, PARALLEL, WORKLOAD, ENGINE, SPECULATION, PRICE)
def command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Machines, models or number formats.")],
    explain: Explain = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Put machines, models or number formats side by side.

    Machines are compared by their datasheets and, with --model, on one workload; models need --hardware; formats
    need both.

    Example: infer-cost compare h100-sxm b200-sxm mi355x --model llama-3.1-70b --gpus 8 --weights fp8
    """
    from infer_cost.cli import compare_views as views

    kind = kind_of(names)
    columns = [_estimated(kind, name, options) for name in names] if _asks_for_a_workload(kind, options) else []
    machines = [overridden(name, options["set_"]) for name in names] if kind == "hardware" else []
    sheets = _sheets(machines)
    rungs = _ladders(kind, names, columns, options) if explain else {}
    if as_json:
        views.print_json(kind, names, sheets, columns, _chains(machines, rungs) if explain else None)
        return
    views.print_tables(kind, names, sheets, columns)
    if explain:
        from infer_cost.cli.explanation import print_chains, print_ladder

        if machines:
            print_chains(_chains(machines, {}), "The machines' figures")
        for name, ladder in rungs.items():
            print_ladder(ladder, name)


def kind_of(names: list[str]) -> str:
    """Return what the names are: hardware, weights (number formats) or model; one kind for all.

    >>> kind_of(["h100-sxm", "B200"]), kind_of(["fp8", "nvfp4"])
    ('hardware', 'weights')
    """
    if len(names) < 2:
        raise InputError(
            "compare takes two names or more",
            field="names",
            value=names,
            hint="infer-cost compare h100-sxm b200-sxm compares machines; models need --hardware, formats --model too",
        )
    kinds = {name: _kind(name) for name in names}
    if len(set(kinds.values())) > 1:
        words = {"hardware": "machine", "weights": "number format", "model": "model"}
        said = ", ".join(f"{shorten(name)} is a {words[kind]}" for name, kind in kinds.items())
        raise InputError(f"names of one kind are compared: {said}", field="names", value=names)
    return kinds[names[0]]


def _kind(name: str) -> str:
    from infer_cost.hardware_specs.catalog import hardware
    from infer_cost.hardware_specs.formats import number_format
    from infer_cost.model_specs.catalog import model

    errors = []
    for kind, find in (("weights", number_format), ("hardware", hardware), ("model", model)):
        try:
            find(name)
        except InferCostError as error:
            errors.append(error)
        else:
            return kind
    ambiguous = [error for error in errors if error.allowed]
    if ambiguous or name.lower().endswith(".toml"):
        raise (ambiguous or errors[1:])[0]
    raise InputError(
        f"{shorten(name)!r} is no machine, model or number format",
        field="names",
        value=name,
        hint=" ".join(str(error.hint) for error in errors[1:] if error.hint and "mean" in error.hint) or None,
    )


def _asks_for_a_workload(kind: str, options: dict[str, Any]) -> bool:
    needed = [field for field in ("model", "hardware") if field != kind]
    missing = [field for field in needed if options[field] is None]
    if kind == "hardware":
        return not missing
    if missing:
        words = "models" if kind == "model" else "number formats"
        raise InputError(f"{words} are compared on a workload: --{missing[0]} is missing", field=missing[0])
    return True


def _sheets(machines: list[Machine]) -> list[Any]:
    from infer_cost.hardware_specs.comparison import compare

    return [compare(machine) for machine in machines]


def _chains(machines: list[Machine], ladders: dict[str, Ladder]) -> list[Chain]:
    from infer_cost.hardware_specs.explained import machine_chain

    sheets = [machine_chain(machine) for machine in machines]
    return [*sheets, *(chain for name, ladder in ladders.items() for chain in ladder.chains(name))]


def _ladders(kind: str, names: list[str], columns: list[Any], options: dict[str, Any]) -> dict[str, Ladder]:
    """The ladder of each column that has an answer."""
    from infer_cost.cli.explanation import ladder_of

    found = {}
    for name, answer in zip(names, columns, strict=False):
        if not isinstance(answer, CannotBeMetError):
            ready = library_options({**options, kind: name})
            found[name] = ladder_of(ready.pop("model"), ready)
    return found


def _estimated(kind: str, name: str, options: dict[str, Any]) -> Estimate | CannotBeMetError:
    """The estimate of one column; what can't be met is an answer too."""
    from infer_cost.serving.estimate import estimate

    ready = library_options({**options, kind: name})
    try:
        return estimate(ready.pop("model"), ready.pop("hardware"), **ready)
    except CannotBeMetError as error:
        return error
