"""The command line itself: finds a command, gives it what all commands have in common, and runs it.

Commands are imported only when they are called: ``infer-cost --help`` reads a table, and ``memory`` never pays for what
``plan`` needs. What all have in common is written once, here: defaults from ``infer-cost.toml``, ``--output`` wherever
there is ``--json``, and numbers as people type them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click
import typer
from typer.core import TyperGroup

from infer_cost.cli import defaults
from infer_cost.cli.commands import COMMANDS, installed
from infer_cost.cli.numbers import accept_spellings
from infer_cost.cli.output import FORMATS, OUTPUT
from infer_cost.errors import InputError, unknown_name


class LazyGroup(TyperGroup):
    """A command group that imports a command's module when the command is asked for, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the table."""
        return installed()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and build one command."""
        if cmd_name not in self.commands and cmd_name in COMMANDS and cmd_name in installed():
            self.commands[cmd_name] = _built(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command with the nearest known one; give a known one the user's defaults."""
        name, command, rest = args[0], self.get_command(ctx, args[0]), args[1:]
        if ctx.resilient_parsing:  # a shell completes
            from infer_cost.cli.completion_names import add_names

            if command is not None:
                add_names(command)
            return name, command, rest
        if command is None:
            if name.startswith("-"):
                ctx.fail(f"No such option: {name}")
            raise unknown_name("command", name, installed(), field="command", hint="see infer-cost --help")
        if not {"--help", "-h"} & set(rest):
            ctx.default_map = {name: defaults.for_command(command, name, self._named)}
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, importing none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in installed()])

    def _named(self, name: str) -> click.Command | None:
        return self.get_command(click.get_current_context(), name)


def _built(name: str) -> click.Command:
    module = import_module(f"infer_cost.cli.{name}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(name)(module.command)
    command = typer.main.get_command(app)
    _share(command)
    return command


def _share(command: click.Command) -> None:
    """Give a command, or each command of a group, what all have in common."""
    for one in getattr(command, "commands", {}).values():
        _share(one)
    for parameter in command.params:
        accept_spellings(parameter)
    by_name = {parameter.name: parameter for parameter in command.params}
    if "as_json" in by_name:
        command.params.insert(command.params.index(by_name["as_json"]) + 1, _output_option())
    if command.callback is not None and ("as_json" in by_name or not isinstance(command, click.Group)):
        command.callback = _wrapped(command.callback, set(map(str, by_name)))


def _output_option() -> click.Option:
    def keep(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.meta[OUTPUT] = value

    return click.Option(
        ["--output", "output_format"],
        type=click.Choice(FORMATS),
        metavar="FORMAT",
        callback=keep,
        expose_value=False,
        help=f"Print {', '.join(FORMATS[:-1])} or {FORMATS[-1]} instead; json is the same as --json.",
    )


def _wrapped(callback: Callable[..., Any], names: set[str]) -> Callable[..., Any]:
    def call(**values: Any) -> Any:
        context = click.get_current_context()
        defaults.tell(context)
        wanted = context.meta.get(OUTPUT)
        if wanted not in (None, "json") and values.get("as_json"):
            raise InputError(
                f"--json and --output {wanted} contradict each other", field="output", allowed="one of them"
            )
        if wanted == "csv" and "as_csv" in names:
            values["as_csv"] = True
        elif wanted is not None:
            values["as_json"] = True
        return callback(**values)

    return call


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


def invoke(argv: list[str]) -> int:
    """Run a command line and return its exit code; errors come as exceptions."""
    command = typer.main.get_command(app)
    # Not command.main(): that ends the process by itself when a pipe closes.
    with command.make_context("infer-cost", argv) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0
