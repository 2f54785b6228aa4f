"""Published measurements as typed rows: the wide serving table and the one-metric tables beside it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from infer_cost.errors import InputError, join_names, shorten

SERVING_METRICS = ("ttft_s", "tpot_s", "output_tokens_per_s_per_gpu")

SCALES = {
    "ttft_ms": ("ttft_s", 1e-3),
    "tpot_ms": ("tpot_s", 1e-3),
    "itl_ms": ("tpot_s", 1e-3),
    "tok_per_s_per_user": ("tok_per_s_per_user", 1.0),
    "output_tok_per_s_total": ("output_tok_per_s_total", 1.0),
    "output_tok_per_s_per_gpu": ("output_tok_per_s_per_gpu", 1.0),
    "total_tok_per_s": ("total_tok_per_s", 1.0),
    "prefill_tok_per_s_total": ("prefill_tok_per_s_total", 1.0),
    "avg_power_w": ("avg_power_w", 1.0),
}
"""Metrics of one-metric tables that are predicted: what each is here, and its factor."""


@dataclass(frozen=True, slots=True)
class Pool:
    """GPUs of one phase in disaggregated serving, and how one engine of them is cut."""

    gpus: int
    tp: int
    ep: int = 1
    dp_attention: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row: a deployment, its load, and what was measured.

    ``batch`` is the sequences that run together when it was fixed, ``concurrency`` the requests in flight
    in the whole deployment; both are None when every request was queued at once.
    """

    id: str
    source: str
    date: str
    model: str
    hardware: str
    gpus: int
    engine: str
    engine_version: str
    weights: str
    kv: str | None
    tp: int
    pp: int
    ep: int
    dp: int
    concurrency: int | None
    static_batch: bool
    input_tokens: float | None
    output_tokens: float | None
    speculative: str
    statistic: str
    prefill: Pool | None = None
    decode: Pool | None = None
    disaggregated: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Measured values by metric; names of one-metric tables that aren't known stay as they are."""
    note: str = ""

    @property
    def curve(self) -> tuple[object, ...]:
        """What rows share that differ only in concurrency (and in run): the unit that cross-validation
        leaves out."""
        return (
            *(self.model, self.hardware, self.gpus, self.engine, self.weights, self.kv, self.speculative),
            *(self.tp, self.pp, self.ep, self.dp, self.prefill, self.decode, self.disaggregated),
            *(self.static_batch, self.input_tokens, self.output_tokens, self.source),
        )


def read_measurements(path: Path) -> list[Measurement]:
    """Read a CSV of measurements: the columns of a serving table, or ``metric`` and ``value``.

    Parameters
    ----------
    path : Path
        The file; columns that aren't known are ignored

    Returns
    -------
    list of Measurement
        One a row

    Raises
    ------
    InputError
        No such file, a column is missing, or a cell isn't the number that it must be; names file, row and
        column
    """
    from io import StringIO

    from infer_cost.files import LARGE, read_text

    text = read_text(path, field="file", what="a CSV file", limit=LARGE)
    try:
        return list(_rows(StringIO(text, newline=""), path))
    except csv.Error as error:
        raise InputError(
            f"{shorten(str(path))} isn't CSV: {error}", field="file", value=str(path), allowed="a CSV file"
        ) from None


def _rows(file: TextIO, path: Path) -> Iterator[Measurement]:
    reader = csv.DictReader(file)
    columns = set(reader.fieldnames or ())
    missing = [name for name in ("model", "hardware") if name not in columns]
    long = {"metric", "value"} <= columns
    if missing or not (long or columns & set(SERVING_METRICS)):
        needed = join_names(missing or ["ttft_s", "tpot_s", "output_tokens_per_s_per_gpu", "metric and value"])
        raise InputError(
            f"{path.name} has no column {needed}",
            field="file",
            value=str(path),
            allowed="model, hardware and a measured value in each row",
        )
    for number, row in enumerate(reader, start=2):
        yield _row(_Cells(row, f"{path.name}, row {number}"), long)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of one row, read as what they must be."""

    row: Mapping[str, str | None]
    where: str

    def text(self, name: str, default: str = "") -> str:
        return (self.row.get(name) or "").strip() or default

    def number(self, name: str) -> float | None:
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not 0 <= value < float("inf"):
            raise InputError(
                f"{self.where}: {name} is {shorten(text)!r}",
                field=name,
                value=text,
                allowed="a number, 0 or more, or nothing",
            )
        return value

    def count(self, name: str, default: int = 1) -> int:
        value = self.number(name)
        return default if value is None else max(1, round(value))

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in ("1", "true", "yes")


def _row(cells: _Cells, long: bool) -> Measurement:
    prefill = _pool(cells, "prefill")
    decode = _pool(cells, "decode")
    tp = cells.count("tp", cells.count("gpus") if not cells.flag("disaggregated") else 1)
    batch = cells.text("batch")
    concurrency = cells.number("concurrency") if not long else _leading_number(batch)
    open_ended = "closed loop" in cells.text("conditions").lower()
    return Measurement(
        id=cells.text("id", cells.where),
        source=cells.text("source"),
        date=cells.text("date"),
        model=cells.text("model"),
        hardware=cells.text("hardware"),
        gpus=cells.count("gpus", tp),
        engine=cells.text("engine", "generic"),
        engine_version=cells.text("engine_version"),
        weights=cells.text("weights_format"),
        kv=cells.text("kv_format").split(" ")[0] or None,
        tp=tp,
        pp=cells.count("pp"),
        ep=cells.count("ep"),
        dp=cells.count("dp_size"),
        concurrency=None if concurrency is None else max(1, round(concurrency)),
        static_batch=cells.flag("static_batch") or (long and concurrency is not None and not open_ended),
        input_tokens=cells.number("input_tokens"),
        output_tokens=cells.number("output_tokens"),
        speculative=cells.text("speculative", "none"),
        statistic=cells.text("statistic"),
        prefill=prefill,
        decode=decode,
        disaggregated=cells.flag("disaggregated"),
        metrics=_long_metric(cells) if long else _wide_metrics(cells),
        note=cells.text("note"),
    )


def _pool(cells: _Cells, phase: str) -> Pool | None:
    gpus = cells.number(f"{phase}_gpus")
    if not gpus:
        return None
    return Pool(
        round(gpus),
        cells.count(f"{phase}_tp", round(gpus)),
        cells.count(f"{phase}_ep"),
        cells.flag(f"{phase}_dp_attention"),
    )


def _leading_number(text: str) -> float | None:
    """Return the number that a text begins with: a batch, or None for "max (all requests queued)"."""
    head = text.split(" ")[0]
    return float(head) if head.replace(".", "", 1).isdigit() else None


def _wide_metrics(cells: _Cells) -> dict[str, float]:
    found = {name: cells.number(name) for name in SERVING_METRICS}
    return {name: value for name, value in found.items() if value}


def _long_metric(cells: _Cells) -> dict[str, float]:
    value = cells.number("value")
    if not value:
        return {}
    name, scale = SCALES.get(cells.text("metric"), (cells.text("metric"), 1.0))
    return {name: value * scale}
