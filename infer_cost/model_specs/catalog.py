"""Models by name: the shipped catalog, and any ``config.json`` by its path.

A catalog entry is a model's own config file, reduced to the keys that decide its architecture, with the
place where it was read. ``data/models.toml`` lists them; ``data/index.json`` is compiled from it so that a
look-up reads two small files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError, unknown_name
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.config_file import read_json
from infer_cost.model_specs.names import DATA, find, index, model_ids


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A model of the catalog and where its config was read."""

    id: str
    name: str
    hf_id: str
    aliases: tuple[str, ...]
    source: str
    read: str
    confidence: str
    note: str = ""


def catalog_entry(name: str) -> CatalogEntry:
    """Return the catalog's entry for a name or alias.

    Raises
    ------
    UnknownNameError
        If the catalog doesn't know it.
    """
    found = find(name)
    if found is None:
        raise _unknown(name)
    return _entry(found)


def _entry(model_id: str) -> CatalogEntry:
    row = index()["models"][model_id]
    return CatalogEntry(
        model_id,
        row["name"],
        row["hf_id"],
        tuple(row["aliases"]),
        row["source"],
        row["read"],
        row["confidence"],
        row["note"],
    )


def model(name_or_path: str | Path, *, assume: str | None = None) -> Architecture:
    """Return a model by catalog name, by the path of its ``config.json``, or by its Hugging Face id.

    Parameters
    ----------
    name_or_path : str or Path
        ``llama-3.1-70b``, ``./config.json``, a directory that holds one, or ``org/name`` (the last only
        with the ``hub`` extra, unless the catalog knows it).
    assume : str, optional
        A model type to read a config as when its own is unknown.

    Returns
    -------
    Architecture
        The model.

    Raises
    ------
    UnknownNameError
        If no model is called so; the nearest names are given.
    InputError
        If the file can't be read as a model.

    Examples
    --------
    >>> model("llama-3.1-70b").layers
    80
    """
    if isinstance(name_or_path, str):
        found = find(name_or_path)
        if found is not None:
            return _catalog_model(found)
    if not str(name_or_path).strip():
        raise InputError("the model's name is empty", field="model", value="", allowed="a catalog name or a path")
    path = Path(name_or_path)
    if _is_path(name_or_path, path):
        return from_file(path, assume=assume)
    text = str(name_or_path)
    if text.count("/") == 1:
        from infer_cost.model_specs.hub import from_hub

        return from_hub(text, assume=assume)
    raise _unknown(text)


def _is_path(given: str | Path, path: Path) -> bool:
    text = str(given)
    if isinstance(given, Path) or text.endswith(".json") or text.startswith((".", "/", "~")) or "\\" in text:
        return True
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def summary(model_id: str) -> dict[str, Any]:
    """Return a catalog model's sizes as compiled: parameters, context and BF16 KV bytes a token."""
    sizes: dict[str, Any] = index()["models"][model_id]["sizes"]
    return dict(sizes)


def _unknown(name: str) -> InputError:
    return unknown_name(
        "model",
        name,
        model_ids(),
        field="model",
        hint="`infer-cost catalog models` lists all; a path to a config.json works too",
    )


@cache
def _catalog_model(model_id: str) -> Architecture:
    from infer_cost.model_specs.readers.registry import read_config

    entry = _entry(model_id)
    data = json.loads((DATA / "configs" / f"{model_id}.json").read_bytes())
    return replace(read_config(data), name=model_id, source=entry.source)


def from_file(path: Path, *, assume: str | None = None) -> Architecture:
    """Return the model that a ``config.json`` describes."""
    from infer_cost.model_specs.readers.registry import read_config

    path = path.expanduser()
    data = read_json(path)
    beside = (path if path.is_dir() else path.parent) / "hf_quant_config.json"
    side_file = read_json(beside) if beside.is_file() and beside != path else None
    name = path.parent.name if path.name == "config.json" else path.stem
    return replace(read_config(data, assume=assume, side_file=side_file), name=name or "config", source=str(path))
