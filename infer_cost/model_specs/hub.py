"""Models by their Hugging Face id, for those who installed the ``hub`` extra.

Files are fetched once and kept in the usual cache; ``HF_HUB_OFFLINE=1`` keeps off the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

from infer_cost.errors import InputError, shorten
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.config_file import read_json
from infer_cost.model_specs.readers.registry import read_config

_PATH_HINT = "a path to a config.json works too"


def from_hub(repo_id: str, *, assume: str | None = None) -> Architecture:
    """Return the model that a Hugging Face repository's ``config.json`` describes.

    Parameters
    ----------
    repo_id : str
        ``organisation/name``.
    assume : str, optional
        A model type to read the config as when its own is unknown.

    Returns
    -------
    Architecture
        The model.

    Raises
    ------
    InputError
        Without the ``hub`` extra, without network and cache, or when there is no such repository.
    """
    fetch = _fetcher(repo_id)
    config = fetch("config.json")
    if config is None:
        raise _failed(repo_id, "has no config.json", _PATH_HINT)
    data = read_json(config)
    # Older modelopt releases state their formats in a file of its own.
    side = None if data.get("quantization_config") else fetch("hf_quant_config.json")
    architecture = read_config(data, assume=assume, side_file=read_json(side) if side else None)
    return replace(architecture, name=repo_id.rpartition("/")[2], source=f"huggingface.co/{repo_id}")


def stored_parameters(repo_id: str) -> int | None:
    """Return the number of elements that a repository's safetensors files store, None where it isn't known.

    Packed formats count their containers (two 4-bit weights in a byte are one element).
    """
    hub = _hub(repo_id)
    try:
        info = hub.model_info(repo_id, expand=["safetensors"])
    except Exception as error:  # the library's own errors, requests' and OSError
        raise _failed(repo_id, _reason(error), _PATH_HINT) from error
    found = getattr(info, "safetensors", None)
    return None if found is None else int(found.total)


def _hub(repo_id: str) -> Any:
    try:
        hub = import_module("huggingface_hub")
    except ImportError:
        raise _failed(
            repo_id,
            "isn't in the catalog, and huggingface_hub, which would fetch it, isn't installed",
            f"pip install 'infer-cost[hub]' fetches it; {_PATH_HINT}",
        ) from None
    # It warns of each try without network; our own error says once what came of them.
    getLogger("huggingface_hub.utils._http").setLevel(ERROR)
    return hub


def _fetcher(repo_id: str) -> Callable[[str], Path | None]:
    hub = _hub(repo_id)

    def fetch(filename: str) -> Path | None:
        try:
            return Path(hub.hf_hub_download(repo_id, filename))
        except Exception as error:  # the library's own errors, requests' and OSError
            absent = type(error).__name__ in ("EntryNotFoundError", "RemoteEntryNotFoundError")
            if absent or filename != "config.json":
                return None
            raise _failed(repo_id, _reason(error), _PATH_HINT) from error

    return fetch


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    reasons = {
        "GatedRepoError": "is gated: accept its licence and log in with `hf auth login`",
        "HFValidationError": "is no Hugging Face id",
        "LocalEntryNotFoundError": "isn't in the local cache, and the network can't be reached or is switched off",
        "OfflineModeIsEnabled": "isn't in the local cache, and HF_HUB_OFFLINE is set",
        "RepositoryNotFoundError": "isn't on Hugging Face, or is private",
    }
    return reasons.get(kind, f"can't be fetched ({kind})")


def _failed(repo_id: str, what: str, hint: str) -> InputError:
    from infer_cost.model_specs.names import nearest

    near = nearest(repo_id.rpartition("/")[2])
    return InputError(
        f"model {shorten(repo_id)!r} {what}",
        field="model",
        value=repo_id,
        hint=f"did you mean {near}? {hint}" if near else hint,
    )
