"""``infer-cost completion``: what makes a shell complete commands, options and the names of models and hardware.

The script that the shell loads asks ``infer-cost`` itself at every press of the key, so it never goes out of date.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.commands import COMPLETION_VARIABLE
from infer_cost.cli.completion_names import SHELLS
from infer_cost.errors import unknown_name

if TYPE_CHECKING:
    pass


def command(
    shell: Annotated[
        str | None, typer.Argument(metavar="bash|zsh|fish", help="Your shell; found out if left out.")
    ] = None,
) -> None:
    """Print the script that makes your shell complete commands, options, and names of models and hardware.

    Example: eval "$(infer-cost completion bash)"
    """
    import sys

    name = shell if shell is not None else os.path.basename(os.environ.get("SHELL", "bash"))  # noqa: PTH119
    if name not in SHELLS:
        raise unknown_name("shell", name, SHELLS, field="shell")
    if sys.stdout.isatty():
        print(f"# For every new shell: {SHELLS[name]}")
    print(script(name))


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    import click
    from click.shell_completion import ShellComplete

    # The base class's source: bash's own would first start bash to ask for its version.
    return ShellComplete.source(_class(shell)(click.Command("infer-cost"), {}, "infer-cost", COMPLETION_VARIABLE))


def answer(instruction: str) -> int:
    """Answer the shell that completes: ``bash_complete`` and its like in the environment, words beside it."""
    import typer.main

    from infer_cost.cli.group import app

    shell, _, wanted = instruction.partition("_")
    if shell not in SHELLS or wanted not in ("complete", "source"):
        return 2
    if wanted == "source":
        print(script(shell))
        return 0
    completer = _class(shell)(typer.main.get_command(app), {}, "infer-cost", COMPLETION_VARIABLE)
    arguments, incomplete = completer.get_completion_args()
    for item in completions(arguments, incomplete):
        print(completer.format_completion(item))
    return 0


def completions(arguments: list[str], incomplete: str) -> list[Any]:
    """Return what may stand next after ``arguments``, beginning with ``incomplete``."""
    import typer.main
    from click.shell_completion import ShellComplete

    from infer_cost.cli.group import app

    completer = ShellComplete(typer.main.get_command(app), {}, "infer-cost", COMPLETION_VARIABLE)
    return completer.get_completions(arguments, incomplete)


def _class(shell: str) -> Any:
    from click.shell_completion import get_completion_class

    return get_completion_class(shell)
