"""Numbers as people type them, in every option that takes one: 16k, 1M or 131,072 for a count, 40% for a share.

Plain numbers are read as before; only what would be refused is looked at again.
"""

from __future__ import annotations

from typing import Any

import click

from infer_cost.errors import InputError
from infer_cost.units import parse


class Count(click.types.IntParamType):
    """A whole number: ``16384``, ``16,384``, ``16k`` (16,000), ``1M``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a value; what isn't whole is refused."""
        return super().convert(_count(value), param, ctx)


class LimitedCount(click.IntRange):
    """A whole number between limits, in the same spellings."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a value; what isn't whole or lies outside is refused."""
        return super().convert(_count(value), param, ctx)


class Number(click.types.FloatParamType):
    """A number, or a percentage: ``0.4``, ``40%``, ``6M``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a value."""
        return super().convert(_meant(value, float), param, ctx)


def accept_spellings(parameter: click.Parameter) -> None:
    """Let an option that takes a number take these spellings too."""
    kind = parameter.type
    if type(kind) is click.types.IntParamType:
        parameter.type = Count()
    elif type(kind) is click.IntRange:
        parameter.type = LimitedCount(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
    elif type(kind) is click.types.FloatParamType:
        parameter.type = Number()


def _count(value: Any) -> Any:
    meant = _meant(value, int)
    return int(meant) if isinstance(meant, float) and meant.is_integer() and "%" not in str(value) else value


def _meant(value: Any, plain: type[int] | type[float]) -> Any:
    """Return the number that a text stands for; the text itself if ``plain`` reads it, or if nothing does."""
    if not isinstance(value, str):
        return value
    try:
        plain(value)
    except ValueError:
        try:
            return parse(value, "ratio", minimum=None)
        except InputError:
            pass
    return value
