"""Names of the catalog's models: ids, aliases, and the nearest of them."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.errors import join_names

DATA = Path(__file__).parent / "data"
_ENDINGS = ("-instruct", "-chat", "-it", "-hf", "-base", "-bf16")


@cache
def index() -> dict[str, Any]:
    """Return the compiled catalog: its models, and the names that stand for them."""
    data: dict[str, Any] = json.loads((DATA / "index.json").read_bytes())
    return data


def model_ids() -> tuple[str, ...]:
    """Return the ids of the catalog, sorted."""
    return tuple(sorted(index()["models"]))


def find(name: str) -> str | None:
    """Return the id that a name or alias stands for, None when the catalog doesn't know it.

    Case, underscores, a leading organisation and endings such as ``-Instruct`` don't matter.

    >>> find("meta-llama/Llama-3.1-70B-Instruct")
    'llama-3.1-70b'
    """
    names: dict[str, str] = index()["names"]
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    for candidate in (key, key.rpartition("/")[2]):
        while True:
            if candidate in names:
                return names[candidate]
            shorter = next((candidate[: -len(end)] for end in _ENDINGS if candidate.endswith(end)), None)
            if shorter is None:
                break
            candidate = shorter
    return None


def nearest(name: str) -> str:
    """Return the catalog's names that are nearest to a name, joined; empty when none is near."""
    key = name.lower().replace("_", "-")
    names = index()["names"]
    ids = dict.fromkeys(names[match] for match in get_close_matches(key, names, n=6, cutoff=0.6))
    return join_names(list(ids)[:3])
