"""Defaults that a user writes down once: ``infer-cost.toml`` in the working directory, and one for the user.

The file holds options by their names, with or without dashes; a table named after a command holds for that command
only. What stands on the command line comes first, then the working directory's file, then the user's::

    hardware = "h100-sxm"
    price-per-gpu-hour = 2.5

    [journey]
    provider = "openai/gpt-5.5"

Every default that an answer used is named on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from infer_cost.errors import InputError, unknown_name

if TYPE_CHECKING:
    import click

FILE = "infer-cost.toml"
VARIABLE = "INFER_COST_CONFIG"
"""Names another file to read in place of both; ``none`` reads none."""

USED = "infer_cost.defaults"


def paths() -> list[str]:
    """Files that may hold defaults, the one that comes first first."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return [] if named in ("", "none") else [named]
    home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or os.path.expanduser("~/.config")  # noqa: PTH111
    return [FILE, os.path.join(home, "infer-cost", FILE)]  # noqa: PTH118


def for_command(command: click.Command, name: str, find: Callable[[str], click.Command | None]) -> dict[str, Any]:
    """Return a command's defaults by parameter name; the file of each is kept for :func:`tell`.

    Parameters
    ----------
    command : click.Command
        The command that runs.
    name : str
        Its name.
    find : callable
        Builds another command by its name: asked only about an option that this command doesn't have.

    Raises
    ------
    InputError
        If a file can't be read, or says what no command knows.
    """
    import click

    found: dict[str, Any] = {}
    read_from: dict[str, str] = {}
    for path in paths():
        written = _read(path)
        if written is None:
            continue
        for key, value in _meant(written, name, command, find, path).items():
            if key not in found:
                found[key], read_from[key] = value, path
    click.get_current_context().meta[USED] = read_from
    return found


def tell(context: click.Context) -> None:
    """Say on standard error which defaults this answer uses, and from where."""
    used = [(one, path) for one in context.command.params if (path := origin(context, str(one.name))) is not None]
    for path in dict.fromkeys(path for _, path in used):
        said = [_written(one, context.params[str(one.name)]) for one, its_path in used if its_path == path]
        print(f"infer-cost: from {path}: {', '.join(said)}", file=sys.stderr)


def origin(context: click.Context, name: str) -> str | None:
    """Return the file that a parameter's value comes from, if it comes from one."""
    from click.core import ParameterSource

    if context.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
        return None
    path: str | None = context.meta.get(USED, {}).get(name)
    return path


def _written(parameter: click.Parameter, value: Any) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{_spelling(parameter)} {shown}"


def _spelling(parameter: click.Parameter) -> str:
    longest = max(parameter.opts, key=len)
    return longest if longest.startswith("-") else str(parameter.name)


def _read(path: str) -> dict[str, Any] | None:
    if not os.path.lexists(path):
        if os.environ.get(VARIABLE):
            allowed = "the name of a file, or none"
            raise InputError(f"{VARIABLE} names {path}, which isn't there", field=VARIABLE, value=path, allowed=allowed)
        return None
    from infer_cost.files import read_toml

    return read_toml(path, field="config", what="a TOML file of options")


def _meant(
    written: Mapping[str, Any],
    name: str,
    command: click.Command,
    find: Callable[[str], click.Command | None],
    path: str,
) -> dict[str, Any]:
    """Return what a file says for one command, the command's own table over what stands above all tables."""
    from infer_cost.cli.commands import COMMANDS

    own = _by_option(command)
    meant: dict[str, Any] = {}
    for key, value in written.items():
        if isinstance(value, dict):
            if key not in COMMANDS:
                raise _unknown("table", key, COMMANDS, path)
        elif (parameter := own.get(_plain(key))) is not None:
            meant[str(parameter.name)] = _checked(parameter, key, value, path)
        else:
            _must_be_known(key, find, path)
    for key, value in written.get(name, {}).items() if isinstance(written.get(name), dict) else ():
        if (parameter := own.get(_plain(key))) is None:
            raise _unknown("option", key, own, path, f"[{name}]")
        meant[str(parameter.name)] = _checked(parameter, key, value, path)
    return meant


def _by_option(command: click.Command) -> dict[str, click.Parameter]:
    return {_plain(flag): parameter for parameter in command.params for flag in (*parameter.opts, str(parameter.name))}


def _plain(key: str) -> str:
    return key.strip("-_").replace("_", "-")


def _must_be_known(key: str, find: Callable[[str], click.Command | None], path: str) -> None:
    """Refuse a name that is no option of any command; those that every estimate takes need no look at the others."""
    from infer_cost.cli.commands import installed
    from infer_cost.cli.options import SCENARIO

    if _plain(key) in {_plain(option.name) for option in SCENARIO}:
        return
    commands = (find(name) for name in installed())
    known = {flag for command in commands if command is not None for flag in _by_option(command)}
    if _plain(key) not in known:
        raise _unknown("option", key, known, path)


def _unknown(kind: str, key: str, known: Iterable[str], path: str, where: str = "") -> InputError:
    return unknown_name(f"{kind} in {path}{' ' + where if where else ''}:", key, known, field=key)


def _checked(parameter: click.Parameter, key: str, value: Any, path: str) -> Any:
    """Return a value as the command line would read it."""
    flag = bool(getattr(parameter, "is_flag", False))
    several = bool(getattr(parameter, "multiple", False))
    values = value if several and isinstance(value, list) else [value]
    for one in values:
        if isinstance(one, bool) is not flag or not isinstance(one, str | int | float | bool):
            allowed = "true or false" if flag else "a text or a number" + (", or a list of them" if several else "")
            raise InputError(f"{key} in {path} can't be {one!r:.60}", field=key, value=one, allowed=allowed)
    # As text, so that half a GPU or infinitely many are refused as they are on the command line.
    texts = values if flag else [str(one) for one in values]
    return texts if several else texts[0]
