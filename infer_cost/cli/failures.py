"""What a user reads when something goes wrong: one or two lines on standard error, or the ``error`` of a JSON document.

Imported only then.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from infer_cost.errors import InferCostError, shorten

if TYPE_CHECKING:
    import click

INTERNAL_ERROR = 70
LONGEST_LINE = 500

_LISTS = {
    "model": "infer-cost catalog models lists the names; a path to a config.json does as well",
    "hardware": "infer-cost catalog hardware lists the names, for example h100-sxm; a TOML file does as well",
}
"""What to do about a missing option, for those that a newcomer meets first."""

_OTHER_WORDS = {
    "--quantization": "--weights",
    "--dtype": "--weights",
    "--kv-cache-dtype": "--kv",
    "--tensor-parallel-size": "--tp",
    "--tp-size": "--tp",
    "--pipeline-parallel-size": "--pp",
    "--data-parallel-size": "--dp",
    "--batch": "--concurrency",
    "--batch-size": "--concurrency",
    "--users": "--concurrency",
    "--gpu": "--hardware",
    "--device": "--hardware",
}
"""What engines and people call our options."""


def report(error: Exception, *, as_json: bool) -> int:
    """Print what went wrong and return the exit code."""
    known = _as_ours(error)
    if isinstance(known, int):
        return known
    if known is None:
        return _internal(error)
    lines = f"infer-cost: {known}".splitlines()[:2]
    print("\n".join(shorten(line, LONGEST_LINE) for line in lines), file=sys.stderr)
    if as_json:
        _emit(known)
    return known.exit_code


def _as_ours(error: Exception) -> InferCostError | int | None:
    """Return our own error for what happened, an exit code where nothing is to be said, None for a defect."""
    if isinstance(error, InferCostError):
        return error
    if isinstance(error, OSError):
        name = f" {shorten(str(error.filename))}" if error.filename else " the output" if error.errno else ""
        return InferCostError(f"cannot read or write{name}: {error.strerror or error}")
    import click

    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.exceptions.Abort):
        return 130
    if isinstance(error, click.ClickException):
        return _usage_error(error)
    return None


def _usage_error(error: Any) -> InferCostError:
    import click

    from infer_cost.cli import defaults

    field = getattr(getattr(error, "param", None), "name", None)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "infer-cost"
    message = " ".join(error.format_message().split()).rstrip(".")
    missing = message.startswith("Missing")
    hint = f"see {command} --help"
    if missing and field in _LISTS:
        hint = _LISTS[field]
    if isinstance(error, click.NoSuchOption) and (ours := _our_word(error.option_name, context)) is not None:
        message, hint = f"no such option '{error.option_name}'", f"did you mean {ours}? {hint}"
    if context is not None and field is not None and (path := defaults.origin(context, field)) is not None:
        hint = f"it stands in {path}"
    return InferCostError(shorten(message[:1].lower() + message[1:], 300), field=field, hint=hint)


def _our_word(option: str, context: click.Context | None) -> str | None:
    """Return our name for an option that another tool calls ``option``, if this command has it."""
    ours = _OTHER_WORDS.get(option)
    known = {flag for parameter in context.command.params for flag in parameter.opts} if context is not None else ()
    return ours if ours in known else None


def _internal(error: Exception) -> int:
    # A defect of ours. The user gets a line to report, whoever looks into it the traceback.
    if os.environ.get("INFER_COST_DEBUG"):
        raise error
    text = " ".join(str(error).split())[:200]
    print(
        f"infer-cost: internal error ({type(error).__name__}: {text}); this is a defect, please report it",
        file=sys.stderr,
    )
    return INTERNAL_ERROR


def _emit(error: InferCostError) -> None:
    from infer_cost.cli.output import print_json

    fields: dict[str, Any] = {
        "message": shorten(error.message, LONGEST_LINE),
        "field": error.field,
        "value": None if error.value is None else shorten(str(error.value), LONGEST_LINE),
        "allowed": error.allowed,
        "hint": error.hint,
    }
    print_json({"error": fields})
