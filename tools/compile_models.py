"""Compile the model catalog: ``data/models.toml`` to the ``index.json`` that the library reads.

Run ``python tools/compile_models.py`` after changing the catalog; a test says when it was forgotten.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from infer_cost.model_specs.counts import counts
from infer_cost.model_specs.kv import kv_bytes_per_token
from infer_cost.model_specs.readers.registry import read_config

DATA = Path(__file__).resolve().parent.parent / "infer_cost" / "model_specs" / "data"
KEYS = ("name", "hf_id", "aliases", "source", "read", "confidence", "note")
OPTIONAL = {"hf_id": "", "aliases": [], "note": "", "confidence": "one-source"}


def sizes(path: Path) -> dict[str, Any]:
    """Return what a list of models shows, computed from a model's config."""
    architecture = read_config(json.loads(path.read_bytes()))
    numbers = counts(architecture)
    return {
        "parameters_total": numbers.total,
        "parameters_active": numbers.active,
        "context_length": architecture.context_length,
        "kv_bytes_per_token": kv_bytes_per_token(architecture),
    }


def compiled(data: Path = DATA) -> str:
    """Return the index as JSON text: entries by id, and the id of every name and alias."""
    rows = tomllib.loads((data / "models.toml").read_text("utf-8"))["models"]
    models: dict[str, Any] = {}
    names: dict[str, str] = {}
    for model_id, row in sorted(rows.items()):
        entry = {**OPTIONAL, **row}
        models[model_id] = {key: entry[key] for key in KEYS}
        models[model_id]["sizes"] = sizes(data / "configs" / f"{model_id}.json")
        short = entry["hf_id"].rpartition("/")[2]
        for name in (model_id, entry["hf_id"], short, entry["name"], *entry["aliases"]):
            key = name.strip().lower().replace("_", "-").replace(" ", "-")
            if key and names.setdefault(key, model_id) != model_id:
                raise SystemExit(f"{key!r} names both {names[key]} and {model_id}")
    index = {"models": models, "names": dict(sorted(names.items()))}
    return json.dumps(index, indent=0, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (DATA / "index.json").write_text(compiled(), "utf-8")
    sys.stdout.write(f"compiled {len(json.loads(compiled())['models'])} models\n")
