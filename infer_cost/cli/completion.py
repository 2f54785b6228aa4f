"""``infer-cost completion``: what makes a shell complete commands, options and the names of models and hardware.

The script that the shell loads asks ``infer-cost`` itself at every press of the key, so it never goes out of date.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.main import COMPLETION_VARIABLE
from infer_cost.errors import unknown_name

if TYPE_CHECKING:
    import click

SHELLS = {
    "bash": 'eval "$(infer-cost completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(infer-cost completion zsh)"      in ~/.zshrc, after compinit',
    "fish": "infer-cost completion fish > ~/.config/fish/completions/infer-cost.fish",
}


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


def add_names(command: click.Command) -> None:
    """Give a command's parameters, or those of a group's commands, the names that they take."""
    for one in getattr(command, "commands", {}).values():
        add_names(one)
    for parameter in command.params:
        # "catalog hardware show NAME": the command says of what it is the name.
        known = NAMES.get(str(command.name if parameter.name == "name" else parameter.name))
        if known is not None:
            parameter._custom_shell_complete = _completer(known)


def _completer(known: Callable[[], Iterable[str]]) -> Callable[..., list[Any]]:
    return lambda _context, _parameter, incomplete: _items(known(), incomplete)


def _items(names: Iterable[str], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    # After a comma a sweep's next value is completed.
    done, comma, last = incomplete.rpartition(",")
    found = [CompletionItem(done + comma + name) for name in names if name.startswith(last.lower())]
    # Nothing known begins so: it may be a file.
    return found or [CompletionItem(incomplete, type="file")]


def _models() -> Iterable[str]:
    from infer_cost.model_specs.names import model_ids

    return model_ids()


def _hardware() -> Iterable[str]:
    from infer_cost.hardware_specs.bundled import accelerator_ids, system_ids

    return (*accelerator_ids(), *system_ids())


def _formats() -> Iterable[str]:
    from infer_cost.hardware_specs.formats import number_formats

    return [one.id for one in number_formats()]


def _engines() -> Iterable[str]:
    from infer_cost.serving.engines.profile import engine_profiles

    return engine_profiles()


def _fixed(*names: str) -> Callable[[], Iterable[str]]:
    return lambda: names


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "model": _models,
    "hardware": _hardware,
    "prices": _hardware,
    "formats": _formats,
    "weights": _formats,
    "kv": _formats,
    "engine": _engines,
    "speculative": _fixed("none", "mtp", "eagle", "draft"),
    "service": _fixed("standard", "batch", "flex", "priority"),
    "numbering": _fixed("digest", "article"),
    "cache_tier": _fixed("hbm", "dram", "flash", "remote"),
    "action": _fixed("show"),
    "shell": _fixed(*SHELLS),
}
"""Names by parameter: an option of one name means the same in every command."""
