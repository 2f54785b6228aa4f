"""The errors that infer-cost raises: each says what is wrong, where, what is allowed and what is near.

An :class:`InferCostError` is a :class:`ValueError`, so ``except ValueError`` catches all of them. The command
line prints ``str(error)`` and leaves with ``error.exit_code``: 2 for bad input, 1 for "cannot be met".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class InferCostError(ValueError):
    """Base of every error of this library.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    field : str, optional
        The input that is wrong, as the user knows it (``tp``, ``memory_bandwidth``).
    value : object, optional
        The value that came.
    allowed : str, optional
        What would be right.
    hint : str, optional
        What to do next, or the nearest known name.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        value: object = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.allowed = allowed
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        if self.hint:
            text += f"\n{self.hint}"
        return text


class InputError(InferCostError):
    """An input that can't be right: a negative count, a broken file, keys that contradict each other."""


class UnknownNameError(InputError):
    """A name that no catalog knows; carries the nearest known ones."""


class UnitError(InputError):
    """A quantity without a unit, or with one of the wrong kind (bits for bytes, seconds for bytes)."""


class CannotBeMetError(InferCostError):
    """The question is well put, and the answer is no: the model doesn't fit, no plan meets the promise."""

    exit_code = 1


def unknown_name(kind: str, name: str, known: Iterable[str], *, field: str, hint: str = "") -> UnknownNameError:
    """Return the error for a name that isn't among ``known``, with the nearest of them.

    >>> print(unknown_name("hardware", "h100-smx", ["h100-sxm", "mi300x"], field="hardware"))
    unknown hardware 'h100-smx'
    did you mean h100-sxm?
    """
    near = nearest(name, known)
    guess = f"did you mean {join_names(near)}?" if near else ""
    return UnknownNameError(
        f"unknown {kind} {shorten(name)!r}",
        field=field,
        value=name,
        hint=" ".join(part for part in (guess, hint) if part) or None,
    )


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known names that may be meant: those with every word of ``name`` in them, else those spelt alike.

    >>> nearest("llama-70b", ["google/gemma-7b", "meta-llama/Llama-3.3-70B-Instruct-Turbo"])
    ['meta-llama/Llama-3.3-70B-Instruct-Turbo']
    """
    spelt = {one.lower(): one for one in sorted(set(known))}
    words = re.findall(r"[a-z]+|\d+", name.lower())
    holding = (
        [one for one in spelt if all(word in one for word in words)] if max(map(len, words), default=0) > 2 else []
    )
    near = sorted(holding, key=len) or get_close_matches(name.lower(), spelt, n=most, cutoff=0.5)
    return [spelt[one] for one in near[:most]]


def join_names(names: Sequence[str]) -> str:
    """Join names as a sentence does: ``a``, ``a or b``, ``a, b or c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def shorten(text: str, limit: int = 60) -> str:
    """Cut a text that came from outside so that a message stays on a line or two."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
