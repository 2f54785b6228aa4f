"""Options that commands share: each written once, with one meaning everywhere.

A command takes a group of them by ``@with_options(DEPLOYMENT, WORKLOAD)``: they become parameters of the command line
and arrive in its ``**options``, ready to be passed to the library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(NamedTuple):
    """One option: its parameter name, type, default and help."""

    name: str
    kind: Any
    default: Any
    help: str
    metavar: str | None = None
    flags: tuple[str, ...] = ()


def _parameter(option: Option) -> inspect.Parameter:
    info = typer.Option(*option.flags, help=option.help, metavar=option.metavar)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[option.kind, info],
    )


def with_options(*groups: tuple[Option, ...]) -> Callable[[Command], Command]:
    """Give a command the options of ``groups`` in place of its ``**options``."""

    def wrap(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        shared = [_parameter(option) for group in groups for option in group]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in kept] + shared
        command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return wrap


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A catalog name, a config.json, or a Hugging Face id.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Explain = Annotated[bool, typer.Option("--explain", help="Print the formulas behind the answer, innermost first.")]
Sources = Annotated[
    bool, typer.Option("--explain", help="Print where each figure was read, and how others follow from them.")
]

_INT = int | None
_TEXT = str | None

MACHINE = (
    Option("hardware", str, ..., "A machine's name, or a TOML file that describes it.", "NAME|FILE"),
    Option(
        "set_", list[str], [], "Replace a datasheet value, e.g. memory_bandwidth='4 TB/s'.", "FIELD=VALUE", ("--set",)
    ),
)
OPTIONAL_MACHINE = (MACHINE[0]._replace(kind=_TEXT, default=None), MACHINE[1])

PARALLEL = (
    Option("gpus", _INT, None, "GPUs of the deployment: tp x pp x dp."),
    Option("tp", _INT, None, "Tensor-parallel ranks; all GPUs by default."),
    Option("pp", int, 1, "Pipeline stages."),
    Option("dp", int, 1, "Attention data-parallel ranks inside one engine."),
    Option("ep", int, 1, "Expert-parallel ranks; divides tp x dp."),
)

ASSUME = Option("assume", _TEXT, None, "Read a config of an unknown type as this one: llama.", "TYPE")
FORMATS = (
    ASSUME,
    Option("weights", _TEXT, None, "Number format of the weights; the checkpoint's own by default.", "FORMAT"),
    Option("kv", _TEXT, None, "Number format of the KV cache; the engine's default otherwise.", "FORMAT"),
    Option("weights_everywhere", bool, False, "Embeddings, head and norms in that format too."),
)

ENGINE = (
    Option("engine", str, "generic", "vllm, sglang, trtllm, ... or generic.", "NAME"),
    Option("max_model_len", _INT, None, "Lower the context window to this many tokens.", "N"),
    Option("max_batched_tokens", _INT, None, "Prompt tokens that one step computes at most.", "N"),
    Option("max_num_seqs", _INT, None, "Sequences that one rank runs at most.", "N"),
    Option(
        "memory_utilization",
        float | None,
        None,
        "Share of GPU memory that the engine may take.",
        "SHARE",
        ("--gpu-memory-utilization",),
    ),
)

SPECULATION = (
    Option("speculative", str, "none", "none, mtp, eagle or draft.", "METHOD"),
    Option("draft_tokens", _INT, None, "Tokens drafted a step.", "N"),
    Option("acceptance", float | None, None, "Probability that a drafted token is accepted.", "SHARE"),
)

POOLS = (
    Option("prefill_gpus", _INT, None, "GPUs of a separate prefill pool.", "N"),
    Option("decode_gpus", _INT, None, "GPUs of a separate decode pool.", "N"),
    Option("prefill_tp", _INT, None, "Tensor-parallel ranks of a prefill engine.", "N"),
    Option("prefill_ep", int, 1, "Expert-parallel ranks of a prefill engine.", "N"),
    Option("prefill_dp", int, 1, "Data-parallel ranks of a prefill engine.", "N"),
    Option("decode_tp", _INT, None, "Tensor-parallel ranks of a decode engine.", "N"),
    Option("decode_ep", int, 1, "Expert-parallel ranks of a decode engine.", "N"),
    Option("decode_dp", int, 1, "Data-parallel ranks of a decode engine.", "N"),
)

CONCURRENCY = Option("concurrency", int, 1, "Requests in flight in the whole deployment.", "N")
WORKLOAD = (
    Option("input_tokens", int, 1024, "Prompt tokens, cached ones included.", "N"),
    Option("output_tokens", int, 256, "Tokens to generate.", "N"),
    Option("cached_tokens", int, 0, "Prompt tokens found in the prefix cache.", "N"),
    CONCURRENCY,
)

PRICE = (
    Option("price_per_gpu_hour", _TEXT, None, "Your price of a GPU-hour.", "USD"),
    Option("price_tier", _TEXT, None, "A price tier of the catalog.", "TIER"),
    Option("utilization", float, 1.0, "Share of the paid hours in which the GPUs serve.", "SHARE"),
)

SCENARIO = (*MACHINE, *PARALLEL, *FORMATS, *WORKLOAD, *ENGINE, *SPECULATION, *POOLS, *PRICE)
"""Everything that :func:`infer_cost.serving.scenario.scenario` takes."""


def library_options(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the command line's values into the library's: machine overrides applied, prices read."""
    ready = dict(options)
    settings = ready.pop("set_", [])
    if settings and ready.get("hardware") is not None:
        ready["hardware"] = overridden(ready["hardware"], settings)
    if ready.get("price_per_gpu_hour") is not None:
        from infer_cost.units import parse

        ready["price_per_gpu_hour"] = parse(ready["price_per_gpu_hour"], "USD/h", field="price_per_gpu_hour")
    return ready


def overridden(name: str, settings: list[str]) -> Any:
    """Return the machine with some of its values replaced by the user's."""
    from infer_cost.hardware_specs.catalog import hardware
    from infer_cost.hardware_specs.overrides import with_overrides

    return with_overrides(hardware(name), pairs(settings, "set"))


def pairs(settings: list[str], field: str) -> dict[str, str]:
    """Split ``NAME=VALUE`` settings."""
    from infer_cost.errors import InputError

    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(
                f"--{field} {setting!r} isn't NAME=VALUE", field=field, value=setting, allowed="NAME=VALUE"
            )
        found[name.strip()] = value.strip()
    return found
