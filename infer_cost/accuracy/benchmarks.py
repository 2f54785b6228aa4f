"""Results that load generators write, as measurements: vLLM's and SGLang's JSON, genai-perf's and AIPerf's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from infer_cost.accuracy.measurements import Measurement, read_measurements
from infer_cost.errors import InputError
from infer_cost.files import read_text

MAX_BYTES = 50_000_000


def read_benchmark(path: Path, given: Mapping[str, Any]) -> list[Measurement]:
    """Read a benchmark's results: a CSV of measurements, or what a load generator wrote.

    Parameters
    ----------
    path : Path
        ``.csv``; ``.json`` or ``.jsonl`` of ``vllm bench serve``, ``sglang.bench_serving``, genai-perf or AIPerf
    given : mapping
        What the file doesn't say, by field of :class:`Measurement`: model, hardware, gpus, tp, weights, engine, ...

    Returns
    -------
    list of Measurement
        One a run, ``given`` put in wherever it isn't None

    Raises
    ------
    InputError
        For a file that can't be read, isn't known, or lacks a figure that the fit needs
    """
    known = {name: value for name, value in given.items() if value is not None}
    if path.suffix.lower() == ".csv":
        return [replace(row, **known) for row in read_measurements(path)]
    return [_measurement(run, known, f"{path.name}, run {n}") for n, run in enumerate(_runs(path), start=1)]


def _runs(path: Path) -> Iterator[Mapping[str, Any]]:
    text = read_text(path, field="file", what="CSV or JSON", limit=MAX_BYTES)
    try:
        whole = [json.loads(text)]
    except (ValueError, RecursionError):
        try:
            whole = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise InputError(
                f"{path.name} is neither JSON nor JSON lines", field="file", value=str(path), allowed="CSV or JSON"
            ) from None
    for found in whole:
        for run in found if isinstance(found, list) else [found]:
            if not isinstance(run, dict):
                raise InputError(f"{path.name} holds no benchmark results", field="file", value=str(path))
            yield run


def _measurement(run: Mapping[str, Any], known: Mapping[str, Any], where: str) -> Measurement:
    figures = _figures(run)
    missing = [name for name in ("concurrency", "input_tokens", "output_tokens") if not figures.get(name)]
    if missing or not (figures.get("ttft_s") or figures.get("tpot_s")):
        raise InputError(
            f"{where}: no {', '.join(missing) or 'time to first token or per token'} in it",
            field="file",
            allowed="results of vllm bench serve, sglang.bench_serving, genai-perf or AIPerf with a fixed concurrency",
        )
    metrics = {name: figures[name] for name in ("ttft_s", "tpot_s") if figures.get(name)}
    for name in ("model", "hardware"):
        if not known.get(name):
            raise InputError(f"{where} doesn't say its {name}", field=name, allowed=f"--{name} NAME")
    tp = int(known.get("tp") or known.get("gpus") or 1)
    plain = Measurement(
        id=where,
        source=where,
        date=str(run.get("date", ""))[:8],
        model="",
        hardware="",
        gpus=int(known.get("gpus") or tp),
        engine="generic",
        engine_version="",
        weights="",
        kv=None,
        tp=tp,
        pp=1,
        ep=1,
        dp=1,
        concurrency=max(1, round(figures["concurrency"])),
        static_batch=False,
        input_tokens=figures["input_tokens"],
        output_tokens=figures["output_tokens"],
        speculative="none",
        statistic="mean",
        metrics=metrics,
    )
    return replace(plain, **known)


def _figures(run: Mapping[str, Any]) -> dict[str, float]:
    """Return concurrency, mean lengths and mean latencies, whoever wrote them."""
    done = _number(run.get("completed")) or _number(run.get("num_prompts"))
    found: dict[str, float] = {}

    def put(name: str, value: float | None, scale: float = 1.0) -> None:
        if value and name not in found:
            found[name] = value * scale

    put("concurrency", _number(run.get("max_concurrency")))
    put("ttft_s", _number(run.get("mean_ttft_ms")), 1e-3)
    put("tpot_s", _number(run.get("mean_tpot_ms")), 1e-3)
    if done:
        put("input_tokens", _number(run.get("total_input_tokens")), 1 / done)
        put("output_tokens", _number(run.get("total_output_tokens")), 1 / done)
    put("input_tokens", _number(run.get("random_input_len")))
    put("output_tokens", _number(run.get("random_output_len")))
    # genai-perf and AIPerf: a record a metric, milliseconds unless its unit says otherwise.
    put("ttft_s", *_record(run, "time_to_first_token"))
    put("tpot_s", *_record(run, "inter_token_latency"))
    put("input_tokens", _record(run, "input_sequence_length")[0])
    put("output_tokens", _record(run, "output_sequence_length")[0])
    settings = run.get("input_config")
    if isinstance(settings, dict):
        put("concurrency", _deep_number(settings, "concurrency"))
    return found


def _record(run: Mapping[str, Any], name: str) -> tuple[float | None, float]:
    record = run.get(name)
    if not isinstance(record, dict):
        return None, 1.0
    unit = str(record.get("unit", "ms"))
    return _number(record.get("avg")), {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}.get(unit, 1.0)


def _deep_number(settings: Mapping[str, Any], name: str, depth: int = 4) -> float | None:
    """Find a number by its key in nested settings."""
    direct = _number(settings.get(name))
    if direct is not None or not depth:
        return direct
    inner = (_deep_number(value, name, depth - 1) for value in settings.values() if isinstance(value, dict))
    return next((value for value in inner if value is not None), None)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < 1e12 else None
