"""Generations of accelerators: architectures that share kernels."""

from __future__ import annotations

_GROUPS = (
    ("gb202", "blackwell-gddr"),
    ("gb10", "blackwell-gddr"),
    ("blackwell", "blackwell"),
    ("hopper", "hopper"),
    ("ada", "ada"),
    ("ga102", "ampere-gddr"),
    ("ga104", "ampere-gddr"),
    ("ampere", "ampere"),
)


def architecture_group(architecture: str) -> str:
    """Return the group of architectures that share kernels.

    >>> architecture_group("Grace Blackwell Ultra")
    'blackwell'
    >>> architecture_group("Blackwell GB202")
    'blackwell-gddr'
    """
    text = architecture.lower()
    return next((group for part, group in _GROUPS if part in text), text)
