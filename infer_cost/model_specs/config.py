"""Typed, checked access to the keys of a config file.

A config is somebody else's file: keys have synonyms, may be null, may be of any type. :class:`Config` returns
what a reader asks for or raises an :class:`~infer_cost.errors.InputError` that names the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infer_cost.errors import InputError, join_names, shorten

NESTING = ("text_config", "llm_config", "language_config")
"""Keys under which multimodal files keep their language model."""
MAX_LAYERS = 2_000
MAX_SIZE = 100_000_000
"""No width, vocabulary or count in a config is larger; beyond it a file is broken or hostile."""


class Config:
    """A JSON object from a config file, read key by key.

    Parameters
    ----------
    data : Mapping[str, Any]
        The object.
    where : str
        Path of keys that leads to it (``text_config.``), for messages.

    Examples
    --------
    >>> Config({"n_embd": 768}).integer("hidden_size", "n_embd")
    768
    """

    __slots__ = ("data", "notes", "where")

    def __init__(self, data: Mapping[str, Any], where: str = "", notes: list[str] | None = None) -> None:
        """Wrap an object; nested ones share the list of notes."""
        self.data = data
        self.where = where
        self.notes: list[str] = [] if notes is None else notes

    def get(self, key: str) -> Any:
        """Return the raw value of a key, None when absent."""
        return self.data.get(key)

    def has(self, *keys: str) -> bool:
        """Whether one of the keys is there and not null."""
        return any(self.data.get(key) is not None for key in keys)

    def note(self, text: str) -> None:
        """Keep a default filled in or an assumption made, to be shown with the answer."""
        if text not in self.notes:
            self.notes.append(text)

    def error(self, key: str, value: object, allowed: str, hint: str | None = None) -> InputError:
        """Return the error for a value that can't be right."""
        return InputError(
            f"config key {self.where}{key} is {shorten(repr(value), 40)}",
            field=self.where + key,
            value=value,
            allowed=allowed,
            hint=hint,
        )

    def missing(self, *keys: str) -> InputError:
        """Return the error for keys of which one is needed."""
        kind = self.data.get("model_type")
        return InputError(
            f"config has no {' or '.join(self.where + key for key in keys)}",
            field=self.where + keys[0],
            allowed=f"one of these keys for model_type {shorten(str(kind), 40)!r}",
        )

    def optional(self, *keys: str, minimum: int = 1, maximum: int = MAX_SIZE) -> int | None:
        """Return the integer under the first of some synonymous keys, None when all are absent or null.

        Raises
        ------
        InputError
            If a value is no integer in range, or two synonyms disagree.
        """
        found: int | None = None
        found_key = ""
        for key in keys:
            raw = self.data.get(key)
            if raw is None:
                continue
            if isinstance(raw, list) and raw and all(entry == raw[0] for entry in raw):
                raw = raw[0]  # some files write a value for each layer
            value = self._whole(key, raw, minimum, maximum)
            if found is not None and value != found:
                raise InputError(
                    f"config keys {self.where}{found_key} ({found}) and {self.where}{key} ({value}) contradict",
                    field=self.where + key,
                    value=value,
                    allowed="the same value, or one of the two keys",
                )
            found, found_key = value, key
        return found

    def _whole(self, key: str, raw: object, minimum: int, maximum: int) -> int:
        allowed = f"an integer from {minimum} to {maximum}"
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise self.error(key, raw, allowed)
        # NaN fails the comparison too, and an infinite one never reaches int().
        if not minimum <= raw <= maximum or raw != int(raw):
            raise self.error(key, raw, allowed)
        return int(raw)

    def integer(self, *keys: str, default: int | None = None, minimum: int = 1, maximum: int = MAX_SIZE) -> int:
        """Return the integer under the first of some synonymous keys, or ``default``.

        Raises
        ------
        InputError
            If it is neither there nor has a default, or isn't an integer in range.
        """
        value = self.optional(*keys, minimum=minimum, maximum=maximum)
        if value is not None:
            return value
        if default is None:
            raise self.missing(*keys)
        return default

    def count(self, *keys: str, default: int | None = 0) -> int:
        """Return an integer that may be zero."""
        return self.integer(*keys, default=default, minimum=0)

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a truth value; null counts as absent."""
        raw = self.data.get(key)
        if raw is None:
            return default
        if not isinstance(raw, bool):
            if raw in (0, 1) and isinstance(raw, int):
                return bool(raw)
            raise self.error(key, raw, "true or false")
        return raw

    def number(self, key: str, default: float) -> float:
        """Return a finite positive number."""
        raw = self.data.get(key)
        if raw is None:
            return default
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 < raw < 1e12:
            raise self.error(key, raw, "a positive number")
        return float(raw)

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        raw = self.data.get(key)
        if raw is None:
            return default
        if not isinstance(raw, str):
            raise self.error(key, raw, "a string")
        return raw

    def list_of(self, key: str, length: int | None = None) -> list[Any] | None:
        """Return a list, None when absent; ``length`` is the number of layers that it must have."""
        raw = self.data.get(key)
        if raw is None:
            return None
        if not isinstance(raw, list):
            raise self.error(key, raw, "a list")
        if length is not None and len(raw) != length:
            raise InputError(
                f"config key {self.where}{key} has {len(raw)} entries but there are {length} layers",
                field=self.where + key,
                value=len(raw),
                allowed=f"a list of {length}",
            )
        return raw

    def names(self, key: str, length: int | None = None) -> list[str] | None:
        """Return a list of strings, None when absent."""
        values = self.list_of(key, length)
        if values is not None and not all(isinstance(value, str) for value in values):
            raise self.error(key, values, "a list of strings")
        return values

    def kinds(self, key: str, length: int, *allowed: str) -> list[str] | None:
        """Return one of the allowed words for each layer, None when absent."""
        values = self.names(key, length)
        for value in values or ():
            if value not in allowed:
                raise self.error(key, value, join_names(allowed))
        return values

    def integers(self, key: str, length: int | None = None) -> list[int] | None:
        """Return a list of non-negative integers, None when absent."""
        values = self.list_of(key, length)
        if values is None:
            return None
        return [self._whole(key, value, 0, MAX_SIZE) for value in values]

    def section(self, *keys: str) -> Config | None:
        """Return the nested object under the first of some keys, None when absent."""
        for key in keys:
            raw = self.data.get(key)
            if raw is None:
                continue
            if not isinstance(raw, dict):
                raise self.error(key, raw, "an object")
            return Config(raw, f"{self.where}{key}.", self.notes)
        return None

    def layers(self, *keys: str, default: int | None = None) -> int:
        """Return the number of layers."""
        return self.integer(*(keys or ("num_hidden_layers",)), default=default, maximum=MAX_LAYERS)
