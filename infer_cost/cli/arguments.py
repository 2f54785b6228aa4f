"""The help of arguments, where Click forgets it: from 8.5 on it has a help of its own that replaces Typer's by none.

Imported only when help is asked for.
"""

from __future__ import annotations

import inspect

import click
from typer.models import ArgumentInfo


def restore_help(command: click.Command) -> None:
    """Give the arguments of a command, and of a group's commands, the help that they were declared with."""
    for one in getattr(command, "commands", {}).values():
        restore_help(one)
    declared = _declared(command)
    for parameter in command.params:
        info = declared.get(str(parameter.name))
        if info is not None and isinstance(parameter, click.Argument):
            parameter.help = info.help  # type: ignore[attr-defined,unused-ignore]


def _declared(command: click.Command) -> dict[str, ArgumentInfo]:
    if command.callback is None:
        return {}
    parameters = inspect.signature(inspect.unwrap(command.callback), eval_str=True).parameters.values()
    return {
        parameter.name: note
        for parameter in parameters
        for note in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(note, ArgumentInfo)
    }
