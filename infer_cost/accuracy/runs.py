"""How a published benchmark was run, as far as its scripts say it (``benchmark_runs.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from infer_cost.accuracy.measurements import Measurement

NOMINAL = {(1024, 1024), (1024, 8192), (8192, 1024)}
"""Input and output lengths that InferenceX states; what ran is shorter (``benchmark_runs.toml``)."""


@dataclass(frozen=True, slots=True)
class Server:
    """Settings of a run that differ from the engine's own, and the rows that they hold for."""

    engine: str
    source: str
    models: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    since: str = ""
    longest_input: int | None = None
    longest_output: int | None = None
    widest_tp: int | None = None
    least_concurrency: int = 0
    data_parallel: bool = False
    kv: str | None = None
    max_batched_tokens: int | None = None
    admission_steps: float = 0.0

    def matches(self, row: Measurement, engine: str) -> bool:
        """Tell whether a row was run so; its stated lengths count."""
        inputs, outputs = stated_lengths(row)
        return (
            engine == self.engine
            and row.model in self.models
            and (not self.hardware or row.hardware in self.hardware)
            and row.date >= self.since
            and inputs <= (self.longest_input or inputs)
            and outputs <= (self.longest_output or outputs)
            and row.tp <= (self.widest_tp or row.tp)
            and (row.concurrency or 0) >= self.least_concurrency
            and (row.dp > 1 or not self.data_parallel)
        )


@dataclass(frozen=True, slots=True)
class Run:
    """How a row was measured."""

    rounds: float | None = None
    """Requests of each user in a run that begins with all at once; None where nothing is known of a start."""
    requests: float | None = None
    """Requests of a whole run, where they are as many whatever the users."""
    shortest: float = 1.0
    """Lower end of the lengths over the stated ones."""
    served: bool = True
    """Whether a client measured it, through a server that tokenizes."""
    shortened: bool = False
    """Whether the row states the longest lengths, and not the mean ones."""
    server: Server = field(default_factory=lambda: Server("", ""))

    @property
    def length_share(self) -> float:
        """Mean lengths over those that the row states."""
        return (1.0 + self.shortest) / 2.0 if self.shortened else 1.0

    @property
    def synchronised(self) -> bool:
        """Whether all requests are equally long, so that those that start together end together."""
        return self.rounds is not None and self.shortest == 1.0


@dataclass(frozen=True, slots=True)
class Split:
    """GPUs of the two pools of rows whose table doesn't give them."""

    table: str
    dates: tuple[str, ...]
    prefill_gpus: int
    decode_gpus: int
    source: str
    longest_output: float = float("inf")

    def matches(self, row: Measurement) -> bool:
        """Tell whether a row's GPUs were divided so."""
        stated = row.source.startswith(self.table) and row.date in self.dates
        return stated and (row.output_tokens or 0.0) <= self.longest_output


@dataclass(frozen=True, slots=True)
class Drafts:
    """Tokens that rows draft whose table doesn't say how many."""

    engine: str
    tokens: int
    source: str
    hardware: tuple[str, ...] = ()
    data_parallel: bool = False

    def matches(self, row: Measurement, engine: str) -> bool:
        """Tell whether a row drafts so many."""
        spread = row.decode.dp_attention if row.decode else row.dp > 1
        here = not self.hardware or row.hardware in self.hardware
        return engine == self.engine and here and (spread or not self.data_parallel)


UNSTATED_DRAFTS = 3
"""Where neither the table nor the scripts say."""


def drafts_of(row: Measurement, engine: str) -> int:
    """Return the tokens that a row drafts, where its table only says that it does."""
    return next((one.tokens for one in _tables().drafts if one.matches(row, engine)), UNSTATED_DRAFTS)


def split_of(row: Measurement) -> Split | None:
    """Return how a row's GPUs were divided into pools, where its table doesn't say it and its source does."""
    return next((one for one in _tables().splits if one.matches(row)), None)


def run_of(row: Measurement, engine: str) -> Run:
    """Return how a row was run.

    Parameters
    ----------
    row : Measurement
        The row
    engine : str
        Id of the profile of its engine
    """
    tables = _tables()
    if row.static_batch or row.concurrency is None:
        return Run(served=False)
    if _is_inferencex(row):
        single = not row.disaggregated
        server = next((one for one in tables.servers if single and one.matches(row, engine)), Server("", ""))
        return Run(**tables.clients["inferencex"], shortened=not row.source.startswith("InferenceX"), server=server)
    if row.source.startswith("AIC"):
        return Run(**tables.clients["aiconfigurator"])
    if row.source.startswith("DSTACK"):
        return Run(**tables.clients["dstack"])
    return Run()


def _is_inferencex(row: Measurement) -> bool:
    taken_over = row.source.startswith("AIC") and row.date and (row.input_tokens, row.output_tokens) in NOMINAL
    return row.source.startswith("InferenceX") or bool(taken_over)


def stated_lengths(row: Measurement) -> tuple[float, float]:
    """Return the lengths that the benchmark was asked for: InferenceX's own rows give the mean of those that ran."""
    inputs, outputs = row.input_tokens or 0.0, row.output_tokens or 0.0
    mean = (1.0 + _tables().clients["inferencex"]["shortest"]) / 2.0
    return (inputs / mean - 1.0, outputs / mean - 1.0) if row.source.startswith("InferenceX") else (inputs, outputs)


@dataclass(frozen=True, slots=True)
class _Tables:
    clients: Mapping[str, Mapping[str, Any]]
    servers: tuple[Server, ...]
    splits: tuple[Split, ...]
    drafts: tuple[Drafts, ...]


@cache
def _tables() -> _Tables:
    with (Path(__file__).parent / "benchmark_runs.toml").open("rb") as file:
        raw = tomllib.load(file)
    clients = {
        name: {key: value for key, value in one.items() if key not in ("source", "note")}
        for name, one in raw["client"].items()
    }
    return _Tables(
        clients,
        tuple(Server(**one) for one in _entries(raw["server"])),
        tuple(Split(**one) for one in _entries(raw["pools"])),
        tuple(Drafts(**one) for one in _entries(raw["drafts"])),
    )


def _entries(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: tuple(value) if isinstance(value, list) else value for key, value in one.items()} for one in raw]
