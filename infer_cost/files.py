"""Reading what a user's file says, and writing one whole or not at all.

A file may be missing, a folder, unreadable, endless, binary or nested a thousand deep; each of these is one line that
names the file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError, shorten

SMALL = 1_000_000
LARGE = 200_000_000


def read_text(path: str | Path, *, field: str, what: str = "a text file", limit: int = SMALL) -> str:
    """Read a UTF-8 file that a user named.

    Parameters
    ----------
    path : str or Path
        The file; a pipe will do
    field : str
        The option that named it, for the message
    what : str
        What it should be, for the message
    limit : int
        Largest size [B]

    Returns
    -------
    str
        What it holds, without a byte-order mark

    Raises
    ------
    InputError
        There is no such file, it can't be read, it is too large, or it isn't text.
    """
    shown = shorten(str(path))
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise InputError(f"can't read {shown}: {reason}", field=field, value=str(path), allowed=what) from None
    if len(content) > limit:
        allowed = f"{what} of at most {limit // 1_000_000} MB"
        raise InputError(f"{shown} is too large", field=field, value=str(path), allowed=allowed)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown} isn't UTF-8 text", field=field, value=str(path), allowed=what) from None


def read_toml(
    path: str | Path, *, field: str, what: str = "a TOML file", parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Read a TOML file that a user named; raises as :func:`read_text` does, and for what isn't TOML."""
    import tomllib

    text = read_text(path, field=field, what=what)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else shorten(" ".join(str(error).split()), 100)
        message = f"{shorten(str(path))} isn't TOML: {reason}"
        raise InputError(message, field=field, value=str(path), allowed=what) from None


@contextlib.contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to; it takes the name ``path`` only when all went well.

    A run that is interrupted, or a disk that is full, leaves what stood there before.
    """
    # A link stays a link, and what it points to is replaced.
    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():  # a device or a pipe takes what it gets
        yield final
        return
    partial = final.with_name(f"{final.name}.{os.getpid()}.part")
    try:
        yield partial
        partial.replace(final)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
