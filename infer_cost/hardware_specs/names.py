"""How the name of a machine is compared: spelling, case and the vendor's name don't matter."""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[^a-z0-9.+]+")
_NOISE = frozenset(
    ["nvidia", "amd", "intel", "google", "apple", "aws", "huawei", "geforce", "instinct", "tesla", "radeon"]
)


def normalise(name: str) -> str:
    """Return the form of a name that spellings of the same machine share.

    >>> normalise("NVIDIA GeForce RTX 4090") == normalise("rtx-4090") == normalise("RTX4090")
    True
    """
    tokens = [token for token in _SEPARATORS.split(name.lower()) if token]
    return "".join(token for token in tokens if token not in _NOISE) or "".join(tokens)
