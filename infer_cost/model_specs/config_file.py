"""Reads a config.json from disk: a file of bounded size that holds one object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError, shorten

MAX_BYTES = 50_000_000
MAX_VALUES = 2_000_000
"""Values and lists in a file; the largest real config, which names every expert of every layer, has 70,000."""


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file that may be anything.

    Parameters
    ----------
    path : Path
        The file; a directory is taken to hold a ``config.json``.

    Returns
    -------
    dict[str, Any]
        The object.

    Raises
    ------
    InputError
        If there is no such file, it is too large, not text, not JSON, nested too deep, or no object.
    """
    try:
        path = _resolve(path)
        size = path.stat().st_size
        with path.open("rb") as file:
            # One byte more than allowed tells a file that grew since from one that fits.
            raw = file.read(MAX_BYTES + 1) if size <= MAX_BYTES else b""
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise _broken(path, f"can't be read ({reason})", "a readable file") from error
    if size > MAX_BYTES:
        raise _broken(path, f"is {size / 1e6:.0f} MB large", f"at most {MAX_BYTES // 1_000_000} MB")
    if len(raw) > MAX_BYTES:
        raise _broken(path, "is too large", f"at most {MAX_BYTES // 1_000_000} MB")
    return parse_json(raw, path)


def parse_json(raw: bytes, path: Path | str) -> dict[str, Any]:
    """Parse bytes as a JSON object; ``path`` is for messages."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _broken(path, "is not a text file", "a config.json in UTF-8") from None
    if text.count(",") + text.count("[") > MAX_VALUES:
        raise _broken(path, f"holds more than {MAX_VALUES:,} values", "a config.json of a model")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"is not valid JSON (line {error.lineno}: {error.msg})"
        raise _broken(path, where, "a complete config.json") from None
    except RecursionError:
        raise _broken(path, "nests too deep", "a config.json of a model") from None
    except ValueError:
        # An integer of thousands of digits is refused by Python itself.
        raise _broken(path, "is not valid JSON", "a complete config.json") from None
    if not isinstance(data, dict):
        raise _broken(path, f"holds a JSON {type(data).__name__}", "a JSON object")
    return data


def _resolve(path: Path) -> Path:
    if path.is_dir():
        inner = path / "config.json"
        if not inner.is_file():
            raise _broken(path, "is a directory without a config.json", "a config.json or its directory")
        return inner
    if path.exists() and not path.is_file():
        raise _broken(path, "is not a regular file", "a config.json or its directory")
    return path


def _broken(path: Path | str, what: str, allowed: str) -> InputError:
    return InputError(f"model file {shorten(str(path), 100)} {what}", field="model", value=str(path), allowed=allowed)
