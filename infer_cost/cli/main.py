"""The entry point: finds the command, runs it, and turns every error into one or two lines and an exit code.

Commands are imported only when they are called: ``infer-cost --help`` reads the table below, and ``memory`` never
pays for what ``plan`` needs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click
import typer
from typer.core import TyperGroup

from infer_cost.errors import InferCostError, unknown_name

COMMANDS: dict[str, str] = {
    "journey": "One request through the fifteen stages: latency, cost and cause of each.",
    "estimate": "TTFT, TPOT, throughput, utilization and $/Mtoken at a concurrency.",
    "roofline": "T_compute, T_mem, ridge point, optimal batch, critical context.",
    "memory": "Parameters, weight and KV bytes, what fits, how many sequences.",
    "price": "An API call's bill; providers side by side.",
    "cost": "Your own $/Mtoken: rented or owned; margin and break-even against an API.",
    "compare": "Machines, models or formats side by side.",
    "sweep": "Many configurations at once, to a file.",
    "plan": "The cheapest deployment that keeps a service level.",
    "explain": "A formula with its symbols, units, source and numbers.",
    "solve": "A formula turned around: solved for another of its symbols.",
    "catalog": "Hardware, models, formats and prices, with their sources.",
    "validate": "Predictions held against published measurements.",
    "calibrate": "Fit the engine constants to your own benchmark.",
    "claims": "The source documents' figures, recomputed.",
    "report": "One self-contained HTML page about one deployment.",
}


def _installed() -> list[str]:
    from importlib.util import find_spec

    return [name for name in COMMANDS if find_spec(f"infer_cost.cli.{name}") is not None]


class LazyGroup(TyperGroup):
    """A command group that imports a command's module when the command is asked for, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the table."""
        return _installed()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and build one command."""
        if cmd_name not in COMMANDS or cmd_name not in _installed():
            return None
        module = import_module(f"infer_cost.cli.{cmd_name}")
        app = getattr(module, "app", None)
        if app is None:
            app = typer.Typer(rich_markup_mode=None, add_completion=False)
            app.command(cmd_name)(module.command)
        return typer.main.get_command(app)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise unknown_name("command", args[0], _installed(), field="command", hint="see infer-cost --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in _installed()])


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="What serving a large language model costs, how long it takes, and which physical limit decides it.",
    epilog="Start with: infer-cost journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8 "
    "--input-tokens 12022 --output-tokens 500",
)


def _version(wanted: bool) -> None:
    if wanted:
        from infer_cost import __version__

        print(f"infer-cost {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Hold the options that stand before a command."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0 answer, 1 cannot be met, 2 bad input."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    code = _guarded(lambda: _invoke(argv), as_json="--json" in argv)
    try:
        sys.stdout.flush()
    except (BrokenPipeError, OSError):
        code = code or _silence_stdout()
    sys.exit(code)


def _invoke(argv: list[str]) -> int:
    result = typer.main.get_command(app).main(argv, prog_name="infer-cost", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _guarded(action: Callable[[], int], *, as_json: bool) -> int:
    """Run ``action``; print whatever goes wrong in one or two lines and return the exit code."""
    try:
        return action()
    except InferCostError as error:
        return _report(error, as_json=as_json)
    except click.exceptions.Abort:
        return 130
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        return _report(_usage_error(error), as_json=as_json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _silence_stdout()
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        return _report(InferCostError(f"cannot read or write{name}: {error.strerror or error}"), as_json=as_json)
    except Exception as error:
        # A defect of ours. The user gets a line to report, whoever looks into it the traceback.
        if os.environ.get("INFER_COST_DEBUG"):
            raise
        text = f"internal error ({type(error).__name__}: {str(error)[:200]}); this is a defect, please report it"
        print(f"infer-cost: {text}", file=sys.stderr)
        return 70


def _usage_error(error: click.ClickException) -> InferCostError:
    field = getattr(getattr(error, "param", None), "name", None)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "infer-cost"
    message = " ".join(error.format_message().split())
    return InferCostError(message.rstrip("."), field=field, hint=f"see {command} --help")


def _report(error: InferCostError, *, as_json: bool) -> int:
    print(f"infer-cost: {error}", file=sys.stderr)
    if as_json:
        from infer_cost.cli.output import emit_json

        fields: dict[str, Any] = {
            "message": error.message,
            "field": error.field,
            "value": None if error.value is None else str(error.value),
            "allowed": error.allowed,
            "hint": error.hint,
        }
        emit_json({"error": fields})
    return error.exit_code


def _silence_stdout() -> int:
    # The reader of our pipe went away (head, less): no message, and nothing left for the interpreter to flush.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    return 0
