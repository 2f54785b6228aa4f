"""The names that parameters take, for a shell that completes: models, hardware, formats, engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

SHELLS = {
    "bash": 'eval "$(infer-cost completion bash)"     in ~/.bashrc',
    "zsh": 'eval "$(infer-cost completion zsh)"      in ~/.zshrc, after compinit',
    "fish": "infer-cost completion fish > ~/.config/fish/completions/infer-cost.fish",
}


def add_names(command: click.Command) -> None:
    """Give a command's parameters, or those of a group's commands, the names that they take."""
    for one in getattr(command, "commands", {}).values():
        add_names(one)
    for parameter in command.params:
        # "catalog hardware show NAME": the command says of what it is the name.
        known = NAMES.get(str(command.name if parameter.name == "name" else parameter.name))
        if known is not None:
            parameter._custom_shell_complete = _completer(known)


def _completer(known: Callable[[], Iterable[str]]) -> Callable[..., list[Any]]:
    return lambda _context, _parameter, incomplete: _items(known(), incomplete)


def _items(names: Iterable[str], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    # After a comma a sweep's next value is completed.
    done, comma, last = incomplete.rpartition(",")
    found = [CompletionItem(done + comma + name) for name in names if name.startswith(last.lower())]
    # Nothing known begins so: it may be a file.
    return found or [CompletionItem(incomplete, type="file")]


def _models() -> Iterable[str]:
    from infer_cost.model_specs.names import model_ids

    return model_ids()


def _hardware() -> Iterable[str]:
    from infer_cost.hardware_specs.bundled import accelerator_ids, system_ids

    return (*accelerator_ids(), *system_ids())


def _formats() -> Iterable[str]:
    from infer_cost.hardware_specs.formats import number_formats

    return [one.id for one in number_formats()]


def _engines() -> Iterable[str]:
    from infer_cost.serving.engines.profile import engine_profiles

    return engine_profiles()


def _fixed(*names: str) -> Callable[[], Iterable[str]]:
    return lambda: names


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "model": _models,
    "hardware": _hardware,
    "prices": _hardware,
    "formats": _formats,
    "weights": _formats,
    "kv": _formats,
    "engine": _engines,
    "speculative": _fixed("none", "mtp", "eagle", "draft"),
    "service": _fixed("standard", "batch", "flex", "priority"),
    "numbering": _fixed("digest", "article"),
    "cache_tier": _fixed("hbm", "dram", "flash", "remote"),
    "action": _fixed("show"),
    "shell": _fixed(*SHELLS),
}
"""Names by parameter: an option of one name means the same in every command."""
