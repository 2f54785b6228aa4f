"""What a measurement asks of the model: its row as a scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from infer_cost.accuracy.measurements import Measurement, Pool
from infer_cost.accuracy.runs import drafts_of, run_of, split_of
from infer_cost.errors import InferCostError
from infer_cost.hardware_specs.catalog import hardware as find_hardware
from infer_cost.model_specs.catalog import model as find_model
from infer_cost.model_specs.weights import weight_bytes, weight_formats
from infer_cost.serving.deployment import legal_tp
from infer_cost.serving.engines import EngineProfile, engine_profile
from infer_cost.serving.scenario import Scenario, scenario

REFERENCE_YEAR = 2026.42
"""When the engine versions that the profiles describe were current: mid-2026."""

UNSTATED_ACCEPTANCE = {"trtllm": 0.62, "sglang": 0.55}
"""What rows accept that only say "mtp", by engine; fitted on all of them (120 rows)."""

VERSION_YEARS = {
    "1.0.0rc3": 2025.6,
    "gpt-oss-dev": 2025.65,
    "1.2.0rc2": 2025.9,
    "1.2.0rc6": 2026.0,
    "0.5.6": 2025.92,
    "0.11.2": 2025.9,
    "0.12.0": 2025.92,
    "0.15": 2026.1,
    "0.18": 2026.2,
    "0.19": 2026.3,
}
"""Release dates of engine versions, for rows that have no date (one source: the projects' release lists;
recalled). NIM 1.8 isn't among them: it runs engines that were compiled ahead, whose overheads had come down before."""

MACHINES = {"gh200": "gh200-96gb"}
FORMATS = {"EXL2 2.5 bpw": "q2_k", "EXL2 3.0 bpw": "q3_k_s", "EXL2 4.0 bpw": "q4_0", "EXL2 5.0 bpw": "q5_k_s"}
"""Names in published tables that the catalog refuses as ambiguous, and formats that it knows under their
width."""


UNSTATED_INPUT, UNSTATED_OUTPUT = 512, 128
"""Lengths where a table doesn't say: what the benchmarks of single streams run by default."""


def weights_of(row: Measurement) -> str | None:
    """Return the weight format by the catalog's name, None for the checkpoint's own."""
    return FORMATS.get(row.weights, row.weights) or None


def profile_of(row: Measurement) -> EngineProfile:
    """Return the engine's profile, as old as the version that ran."""
    try:
        profile = engine_profile(row.engine)
    except InferCostError:
        profile = engine_profile("generic")
    generation = find_hardware(MACHINES.get(row.hardware, row.hardware)).accelerator.architecture
    return replace(profile.on(generation), age_years=age_of(row))


def age_of(row: Measurement) -> float:
    """Years before the reference that the row's engine version is from; 0 when nothing says."""
    version = row.engine_version
    year = year_of(row.date)
    if year is None:
        year = next((y for name, y in VERSION_YEARS.items() if version.startswith(name)), REFERENCE_YEAR)
    return max(0.0, round(REFERENCE_YEAR - year, 2))


def year_of(date: str) -> float | None:
    """Return a date as a year with its fraction, by its month, or None when there is no date.

    >>> year_of("2025-10-29"), year_of("20250914"), year_of("2024"), year_of("")
    (2025.79, 2025.71, 2024.5, None)
    """
    digits = "".join(c for c in date if c.isdigit())
    if len(digits) >= 6:
        return round(int(digits[:4]) + (int(digits[4:6]) - 0.5) / 12, 2)
    return int(digits) + 0.5 if len(digits) == 4 else None


def question_of(
    row: Measurement,
    *,
    profile: Callable[[Measurement, EngineProfile], EngineProfile] | None = None,
    must_fit: bool = False,
) -> Scenario:
    """Return the scenario of a row.

    Lengths that are means of many requests are rounded. A concurrency that is missing becomes the
    sequences that the memory holds: every request was queued at once. What the benchmark's scripts say of the run
    (:mod:`infer_cost.accuracy.runs`) takes the place of the engine's defaults.

    Raises
    ------
    InferCostError
        For a model or machine that no catalog knows, or a row that contradicts itself.
    """
    engine = profile_of(row)
    run = run_of(row, engine.id)
    load = {
        "input_tokens": max(1, round((row.input_tokens or UNSTATED_INPUT) * run.length_share)),
        "output_tokens": max(1, round((row.output_tokens or UNSTATED_OUTPUT) * run.length_share)),
        "concurrency": row.concurrency or 1,
    }
    options: dict[str, Any] = {**load, **speculation_of(row), "must_fit": must_fit}
    if row.disaggregated:
        prefill, decode = pools_of(row)
        options |= _pool_options("prefill", prefill, row) | _pool_options("decode", decode, row)
    else:
        options |= {"tp": row.tp // row.dp or 1, "pp": row.pp, "dp": row.dp, "ep": row.ep}
        if replicas_of(row) == 1 and row.gpus > max(row.tp, row.dp) * row.pp:
            options |= {"tp": row.tp, "dp": row.gpus // row.tp // row.pp, "ep": row.gpus // row.pp}
        options["concurrency"] = max(1, round((row.concurrency or 1) / replicas_of(row)))
    if profile is not None:
        engine = profile(row, engine)
    engine = replace(
        engine,
        max_batched_tokens=run.server.max_batched_tokens or engine.max_batched_tokens,
        admission_steps=engine.admission_steps + run.server.admission_steps,
    )
    return _scenario(
        row.model,
        MACHINES.get(row.hardware, row.hardware),
        weights_of(row),
        row.kv or run.server.kv,
        engine,
        tuple(sorted(options.items())),
    )


@cache
def _scenario(
    model: str, hardware: str, weights: str | None, kv: str | None, engine: Any, options: tuple[tuple[str, Any], ...]
) -> Scenario:
    return scenario(model, hardware, weights=weights, kv=kv, engine=engine, **dict(options))


def replicas_of(row: Measurement) -> int:
    """Return the engines of a row that serves with one pool: its GPUs over those that one engine is cut over.

    Data-parallel attention either divides the tensor ranks that the table states or multiplies them. Where those
    can't hold the weights, one engine spans all GPUs: data-parallel attention, experts spread over all.
    """
    engines = max(1, row.gpus // (max(row.tp, row.dp) * row.pp))
    return engines if not row.disaggregated and _holds(row, row.gpus // engines) else 1


def pools_of(row: Measurement) -> tuple[Pool, Pool]:
    """Return a disaggregated row's pools; half of the GPUs each where neither the row nor its source says."""
    if row.prefill is not None and row.decode is not None:
        return row.prefill, row.decode
    split = split_of(row)
    if split is not None:
        return Pool(split.prefill_gpus, row.tp, row.ep), Pool(split.decode_gpus, row.tp, row.ep)
    half = max(row.tp, row.gpus // 2 // row.tp * row.tp)
    return Pool(row.gpus - half, row.tp, row.ep), Pool(half, row.tp, row.ep)


def _pool_options(phase: str, pool: Pool, row: Measurement) -> dict[str, int]:
    """Return a pool's options: how one of its engines is cut.

    Published tables give an engine's size as its tensor or its expert ranks, whichever is larger, and
    leave both at 1 for engines that span the pool; the smallest size that holds the model is taken then.
    With data-parallel attention, or more ranks than heads can be divided by, every rank holds whole
    sequences.
    """
    stated = max(pool.tp, pool.ep)
    legal = legal_tp(find_model(row.model))
    if stated not in legal and not pool.dp_attention and pool.ep == 1:
        # The pool's GPUs stand where an engine's should: several engines, each as small as the model allows.
        stated = next((n for n in legal if pool.gpus % n == 0 and _holds(row, n)), stated)
    size = next((n for n in _sizes(stated, pool.gpus) if _holds(row, n)), pool.gpus)
    # Tables say it of decode pools only. A prefill pool that spreads its experts over all ranks is run that way too.
    spread = phase == "prefill" and pool.ep == size > 1
    data_parallel = pool.dp_attention or spread or size not in legal
    tp, dp = (1, size) if data_parallel else (size, 1)
    ep = size if data_parallel and size > stated else max(1, pool.ep)
    return {f"{phase}_gpus": pool.gpus, f"{phase}_tp": tp, f"{phase}_dp": dp, f"{phase}_ep": ep}


def _sizes(stated: int, gpus: int) -> list[int]:
    return [size for size in range(stated, gpus + 1, stated) if gpus % size == 0]


@cache
def _weight_bytes(model: str, weights: str | None) -> float:
    found = find_model(model)
    return weight_bytes(found, weight_formats(found, weights))


def _holds(row: Measurement, gpus: int) -> bool:
    """Tell whether the weights leave a fifth of the memory free on so many GPUs."""
    usable = find_hardware(row.hardware).accelerator.usable_memory_bytes
    return _weight_bytes(row.model, weights_of(row)) < 0.8 * gpus * usable


def speculation_of(row: Measurement) -> dict[str, Any]:
    """Return the options of a row's speculative decoding: ``mtp3`` drafts three tokens with MTP."""
    name = row.speculative.lower().split(" ")[0]
    method = name.rstrip("0123456789")
    if method in ("", "none"):
        return {}
    options: dict[str, Any] = {"speculative": method if method in ("mtp", "eagle", "draft") else "draft"}
    if name != method:
        options["draft_tokens"] = int(name[len(method) :])
    elif method == "mtp":
        engine = profile_of(row).id
        accepted = UNSTATED_ACCEPTANCE.get(engine, UNSTATED_ACCEPTANCE["sglang"])
        options |= {"draft_tokens": drafts_of(row, engine), "acceptance": accepted}
    return options
