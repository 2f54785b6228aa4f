"""Fit the constants of kernels and collectives on published timings.

``python tools/fit_kernels.py`` reads ``fits/kernels/*.csv`` and writes ``kernels.csv`` and
``collectives.csv`` of
``infer_cost/hardware_specs/efficiency``. One fit a chip, engine, operator family and number format, shared
by all shapes and all models in it; architecture, vendor and generic constants are medians of those.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from infer_cost.hardware_specs.efficiency.collectives import CollectiveModel, collective_time

ROOT = Path(__file__).parents[1]
INPUT = ROOT / "fits" / "kernels"
OUTPUT = ROOT / "infer_cost" / "hardware_specs" / "efficiency"
SHARPEST = 8.0
KERNEL_HEAD = [
    *("level", "key", "family", "format", "engine", "rate"),
    *("floor_us", "compute_efficiency", "memory_efficiency", "sharpness", "spread", "median_error", "points"),
]
COLLECTIVE_HEAD = [
    *("level", "key", "op", "engine"),
    *("latency_us", "latency_growth_us", "bandwidth_efficiency", "spread"),
]
UNEXPLAINED = 0.3  # a fit this far off at the median saw several kernels at once: left out

Array = NDArray[np.float64]

WEIGHT_BYTES = {
    "bf16": 2.0,
    "fp8": 1.0,
    "fp8-block": 1 + 4 / 16384,
    "int8": 1.0,
    "nvfp4": 4.5 / 8,
    "int4-g128": 4.125 / 8,
    "mxfp4-a16": 4.25 / 8,
    "mxfp4-a8": 4.25 / 8,
}
RATE = {
    "fp8": "fp8",
    "fp8-block": "fp8",
    "nvfp4": "fp4",
    "mxfp4-a8": "fp8",
    "mxfp4-a16": "bf16",
    "bf16": "bf16",
    "int8": "bf16",
    "int4-g128": "bf16",
}
# hidden size, expert width, experts, experts a token
MOE = {
    "DeepSeek-V3": (7168, 2048, 256, 8),
    "Mixtral-8x7B": (4096, 14336, 8, 2),
    "Qwen3-235B-A22B": (4096, 1536, 128, 8),
    "gpt-oss-120b": (2880, 2880, 128, 4),
}
ROW_PASSES = 3  # how often a routed row's activations cross memory: permuted, quantised, reduced


@dataclass(frozen=True)
class Constants:
    """What one fit found, and how well."""

    floor_s: float
    compute: float
    memory: float
    sharpness: float
    points: int = 0
    median: float = 0.0
    spread: float = 0.0


def read(name: str) -> list[dict[str, str]]:
    """Read a file of timings."""
    with (INPUT / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


CHIPS = {row["chip"]: row for row in read("chips.csv")}


def rate(chip: str, precision: str) -> float:
    """Peak dense FLOP/s; 0 where the chip has no such units."""
    return float(CHIPS[chip][precision] or 0)


def log_error(c: Constants, compute: Array, memory: Array, time: Array) -> Array:
    """Logarithm of predicted over measured time."""
    p = c.sharpness
    busy = ((compute / c.compute) ** p + (memory / c.memory) ** p) ** (1 / p)
    return np.log((c.floor_s + busy) / time)


def fit(compute: Array, memory: Array, time: Array) -> Constants:
    """Fit floor, efficiencies and sharpness to timings by robust least squares on the logarithm."""

    def unpack(x: Array) -> Constants:
        return Constants(*np.exp(x))

    low = np.log([1e-7, 0.01, 0.05, 1.0])
    high = np.log([1e-3, 1.3, 1.3, SHARPEST])
    best = None
    for sharpness in (1.3, 3.0):
        start = np.log([np.clip(0.8 * time.min(), 2e-7, 5e-4), 0.5, 0.7, sharpness])
        found = least_squares(
            lambda x: log_error(unpack(x), compute, memory, time),
            start,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=0.05,
        )
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    c = unpack(best.x)
    error = np.abs(log_error(c, compute, memory, time))
    return Constants(
        c.floor_s,
        c.compute,
        c.memory,
        c.sharpness,
        len(time),
        float(np.median(error)),
        float(np.quantile(error, 0.8)),
    )


Key = tuple[str, str, str, str, str]  # chip, engine, family, format, rate
Point = tuple[float, float, float]  # compute, memory, measured, in seconds


def gemm_points() -> Iterable[tuple[Key, Point]]:
    """Dense matrix multiplications."""
    for r in read("gemm.csv"):
        chip, form = r["chip"], r["format"]
        if r["engine"] == "vllm" and form == "fp8-block":
            continue  # eager launches
        n, k, m = int(r["n"]), int(r["k"]), int(r["m"])
        bytes_ = n * k * WEIGHT_BYTES[form] + 2 * m * (n + k)
        yield (
            (chip, r["engine"], "gemm", form, RATE[form]),
            point(chip, RATE[form], 2 * n * k * m, bytes_, r["us"]),
        )


def moe_points() -> Iterable[tuple[Key, Point]]:
    """Experts of a layer under balanced routing, where the number of experts hit is known."""
    for r in read("moe.csv"):
        chip, form = r["chip"], r["format"]
        if r["routing"] != "balanced":
            continue
        older = CHIPS[chip]["architecture"] in ("ada", "hopper")
        if (r["engine"], form) == ("sglang", "mxfp4-a16") and older:
            continue  # a fallback at a fifth of the bandwidth; what serves there is two to three times as fast
        hidden, width, experts, each = MOE[r["model"]]
        tp, ep, tokens = int(r["tp"]), int(r["ep"]), int(r["tokens"])
        width //= tp
        rows = max(tokens * each / ep, 1.0)
        weights = min(experts / ep, rows) * 3 * hidden * width * WEIGHT_BYTES[form]
        moved = 2 * ROW_PASSES * rows * (2 * hidden + 3 * width)
        value = point(chip, RATE[form], 6 * hidden * width * rows, weights + moved, r["us"])
        if weights / float(CHIPS[chip]["memory_bandwidth"]) < value[2]:
            yield (chip, r["engine"], "grouped_gemm", form, RATE[form]), value


def attention_points() -> Iterable[tuple[Key, Point]]:
    """Grouped-query attention in decode and prefill."""
    for r in read("decode_attention.csv"):
        heads, kv_heads, dim, batch, context = (
            int(r[x]) for x in ("heads", "kv_heads", "head_dim", "batch", "context")
        )
        cache = 2 * batch * context * kv_heads * dim * WEIGHT_BYTES[r["kv"]]
        flops = 4 * batch * heads * dim * context
        value = point(r["chip"], "bf16", flops, cache + 4 * batch * heads * dim, r["us"])
        yield (r["chip"], r["engine"], "decode_attention", r["kv"], "bf16"), value
    rows = read("prefill_attention.csv")
    eights = {
        (r["chip"], r["engine"]) for r in rows if r["format"] == "fp8" and r["chip"] not in ("l40s", "rtx-pro-6000")
    }
    for r in rows:
        key = (r["chip"], r["engine"])
        if r["kv"] == "fp8" and r["format"] == "bf16" and key in eights:
            continue  # an engine that can attend in FP8 does so over an FP8 cache
        if r["format"] == "fp8" and key not in eights:
            continue
        heads, kv_heads, dim, batch, tokens = (int(r[x]) for x in ("heads", "kv_heads", "head_dim", "batch", "tokens"))
        moved = batch * tokens * dim * (2 * kv_heads * (WEIGHT_BYTES[r["kv"]] + 2) + 4 * heads)
        value = point(r["chip"], r["format"], 2 * batch * heads * dim * tokens**2, moved, r["us"])
        form = "fp8-a16" if (r["kv"], r["format"]) == ("fp8", "bf16") else r["kv"]
        yield (*key, "prefill_attention", form, r["format"]), value


def mla_points() -> Iterable[tuple[Key, Point]]:
    """Latent attention: absorbed in decode, expanded in prefill."""
    for r in read("mla.csv"):
        heads, batch, context = (int(r[x]) for x in ("heads", "batch", "context"))
        key = (r["chip"], r["engine"], f"mla_{r['phase']}", r["kv"], "bf16")
        group = CHIPS[r["chip"]]["architecture"]
        tuned = group == "blackwell" or (group == "hopper" and r["kv"] == "bf16" and r["phase"] == "decode")
        if r["engine"] == "sglang" and not tuned:
            continue  # fallback kernels, three to ten times slower than those that serve there
        if r["phase"] == "prefill":
            flops = batch * heads * context**2 * (192 + 128)
            yield key, point(r["chip"], "bf16", flops, 4 * batch * context * heads * (192 + 128), r["us"])
        elif r["chip"] != "a100-sxm-80gb":  # there a fallback kernel ran
            flops = 2 * batch * heads * context * (576 + 512)
            moved = batch * context * 576 * WEIGHT_BYTES[r["kv"]] + 2 * batch * heads * (576 + 512)
            yield key, point(r["chip"], "bf16", flops, moved, r["us"])


def point(chip: str, precision: str, flops: float, moved: float, us: str) -> Point:
    """Return compute, memory and measured seconds; the chip's rate 0 makes the compute time infinite."""
    peak = rate(chip, precision)
    return flops / peak if peak else np.inf, moved / float(CHIPS[chip]["memory_bandwidth"]), float(us) * 1e-6


def middle(parts: Iterable[Constants]) -> Constants:
    """Median of constants, one by one."""
    items = list(parts)

    def of(get: Callable[[Constants], float]) -> float:
        return float(np.exp(np.median([np.log(get(item)) for item in items])))

    return Constants(
        of(lambda c: c.floor_s),
        of(lambda c: c.compute),
        of(lambda c: c.memory),
        of(lambda c: c.sharpness),
        sum(item.points for item in items),
        float(np.median([item.median for item in items])),
        float(np.median([item.spread for item in items])),
    )


def fit_all() -> dict[tuple[str, str, str, str, str, str], Constants]:
    """Fit every chip, then build architecture, vendor and generic constants with left-out spreads."""
    groups: dict[Key, list[Point]] = defaultdict(list)
    for points in (gemm_points(), moe_points(), attention_points(), mla_points()):
        for key, value in points:
            # Faster than the datasheet's rates: weights in cache, or another routing than the one stated.
            if np.isfinite(value[0]) and (value[1] < value[2] or key[2] == "grouped_gemm") and value[0] < value[2]:
                groups[key].append(value)
    arrays = {key: np.array(value).T for key, value in groups.items() if len(value) >= 15}
    chips = {key: fit(*value) for key, value in arrays.items()}
    chips = {key: c for key, c in chips.items() if c.median < UNEXPLAINED}
    table: dict[tuple[str, str, str, str, str, str], Constants] = {}
    for (chip, engine, family, form, precision), c in chips.items():
        table["chip", chip, family, form, engine, precision] = c
    for kind in sorted({key[2:] for key in chips}):
        members = {key: c for key, c in chips.items() if key[2:] == kind}
        add_levels(table, kind, members, arrays)
    return table


def add_levels(
    table: dict[tuple[str, str, str, str, str, str], Constants],
    kind: tuple[str, str, str],
    members: dict[Key, Constants],
    arrays: dict[Key, Array],
) -> None:
    """Add one family and format's constants of engines together, architectures, the vendor and anything."""
    family, form, precision = kind
    architecture = {key: CHIPS[key[0]]["architecture"] for key in members}

    def left_out(level: Callable[[Key], str]) -> float:
        errors = []
        for key in members:
            others = [c for k, c in members.items() if k[0] != key[0] and level(k) == level(key)]
            if others:
                errors.append(np.quantile(np.abs(log_error(middle(others), *arrays[key])), 0.8))
        return float(np.median(errors)) if errors else 0.0

    chip_spread = float(np.median([c.spread for c in members.values()]))
    vendor_spread = max(left_out(lambda key: ""), 1.2 * chip_spread)
    group_spread = max(left_out(architecture.__getitem__) or vendor_spread, 1.1 * chip_spread)
    vendor_spread = max(vendor_spread, group_spread)
    for engine in ("trtllm", "vllm", "sglang", "generic"):
        chosen = {key: c for key, c in members.items() if engine in (key[1], "generic")}
        if not chosen:
            continue

        def put(level: str, name: str, spread: float, parts: Iterable[Constants], engine: str = engine) -> Constants:
            c = middle(parts)
            c = Constants(c.floor_s, c.compute, c.memory, c.sharpness, c.points, c.median, spread)
            table[level, name, family, form, engine, precision] = c
            return c

        if engine == "generic":
            for chip in sorted({key[0] for key in chosen}):
                put("chip", chip, 1.2 * chip_spread, [c for key, c in chosen.items() if key[0] == chip])
        by_group = [
            put(
                "architecture",
                group,
                group_spread,
                [c for key, c in chosen.items() if architecture[key] == group],
            )
            for group in sorted({architecture[key] for key in chosen})
        ]
        put("vendor", "nvidia", vendor_spread, by_group)
        put("generic", "", 1.5 * vendor_spread, by_group)


LIBRARIES = {"trtllm": "trtllm", "vllm": "vllm", "sglang": "sglang", "nccl": "generic"}
OPS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}
SMALLEST, LARGEST = 1024, 2**27  # bytes of the messages that serving sends


def collective_points() -> dict[tuple[str, str, str], Array]:
    """Messages inside a scale-up domain by chip, engine and operation: ranks, bytes, seconds."""
    groups: dict[tuple[str, str, str], list[tuple[float, float, float]]] = defaultdict(list)
    newest: dict[tuple[str, str], str] = {}
    rows = [r for r in read("collective.csv") if SMALLEST <= int(r["bytes"]) <= LARGEST]
    for r in rows:
        key = (r["chip"], r["library"])
        newest[key] = max(newest.get(key, ""), r["version"])
    for r in rows:
        if r["version"] != newest[r["chip"], r["library"]]:
            continue
        if r["chip"] == "gb300" and r["library"] == "sglang" and int(r["ranks"]) > 4:
            continue  # its own kernel ends at the tray; a general library ran
        value = (float(r["ranks"]), float(r["bytes"]), float(r["us"]) * 1e-6)
        groups[r["chip"], LIBRARIES[r["library"]], OPS[r["op"]]].append(value)
    for r in read("all_to_all.csv"):
        found = expert_exchange(r)
        if found is not None:
            groups[found[0]].append(found[1])
            if found[0][1] == "sglang":  # DeepEP's kernels, which the other engines offer as well
                groups[found[0][0], "generic", found[0][2]].append(found[1])
    return {key: np.array(values).T for key, values in groups.items()}


def expert_exchange(r: dict[str, str]) -> tuple[tuple[str, str, str], tuple[float, float, float]] | None:
    """Dispatch or combine inside a domain, by the kernel that each engine takes for it."""
    sent = int(r["tokens_per_rank"]) * 8 * 7168
    if r["table"] == "trtllm_alltoall_perf" and r["op"].startswith("NVLinkTwoSided:"):
        kind, form = r["op"].removeprefix("NVLinkTwoSided:").split(":")
        if kind == "alltoall_prepare" or "low_precision" in kind:
            return None
        width = WEIGHT_BYTES[form.replace("bfloat16", "bf16")] if kind == "alltoall_dispatch" else 2.0
        op = kind.removeprefix("alltoall_")
    elif r["table"] == "wideep_deepep_ll_perf" and r["nodes"] == "1" and int(r["tokens_per_rank"]) <= 256:
        op = r["op"].removeprefix("ll_")
        width = 1.0 if op == "dispatch" else 2.0
    else:
        return None
    ranks = float(r["ep"] or (4 if r["chip"].startswith("gb") else 8))
    return (r["chip"], r["library"], op), (ranks, max(sent * width, 1.0), float(r["us"]) * 1e-6)


def fit_collective(chip: str, op: str, values: Array) -> tuple[float, float, float, float, float]:
    """Return latency of the first rank, its growth, efficiency, median error and 80 % spread."""
    ranks, size, time = values
    link = float(CHIPS[chip]["link_bandwidth"])

    def error(x: Array) -> Array:
        latency, growth, efficiency = np.exp(x).tolist()
        model = CollectiveModel(op, latency, growth, efficiency, "chip", 0.0)
        return np.asarray(np.log(collective_time(size, ranks, link, model) / time))

    found = least_squares(
        error,
        np.log([4e-6, 1e-6, 0.6]),
        bounds=(np.log([1e-7, 1e-8, 0.02]), np.log([1e-3, 1e-4, 1.2])),
        loss="soft_l1",
        f_scale=0.1,
    )
    off = np.abs(error(found.x))
    return (*np.exp(found.x), float(np.median(off)), float(np.quantile(off, 0.8)))


def fit_collectives() -> list[tuple[str, ...]]:
    """Fit every chip's collectives, then medians for architectures, the vendor and anything."""
    chips = {key: fit_collective(key[0], key[2], v) for key, v in collective_points().items()}
    out = []
    for engine, op in sorted({key[1:] for key in chips}):
        members = {key[0]: c for key, c in chips.items() if key[1:] == (engine, op)}
        groups: dict[tuple[str, str, float], list[str]] = defaultdict(list)
        for chip in members:
            fast = CHIPS[chip]["architecture"] not in ("ada", "blackwell-gddr")
            groups["chip", chip, 1.0].append(chip)
            groups["architecture", CHIPS[chip]["architecture"], 1.3].append(chip)
            if fast:  # links of their own, not PCIe
                groups["vendor", "nvidia", 1.6].append(chip)
                groups["generic", "", 2.0].append(chip)
        for (level, name, wider), parts in groups.items():
            latency, growth, efficiency, _, spread = np.exp(np.median(np.log([members[c] for c in parts]), axis=0))
            numbers = (latency * 1e6, growth * 1e6, efficiency, spread * wider)
            out.append((level, name, op, engine, *(f"{x:.4g}" for x in numbers)))
    return sorted(out)


def write_collectives(rows: list[tuple[str, ...]]) -> None:
    """Write the constants, one row each."""
    with (OUTPUT / "collectives.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLLECTIVE_HEAD)
        out.writerows(rows)
        out.writerows(ACROSS_NODES)


# Across nodes, against the scale-out bandwidth. DeepEP's low-latency kernels on 2 to 8 nodes of H100 and
# H200 give the exchange of experts; the rest is recalled from NCCL's ring and tree on 400 Gb/s links.
ACROSS_NODES = (
    ("across", "", "all_reduce", "generic", "20", "4", "0.8", "0.6"),
    ("across", "", "all_gather", "generic", "15", "4", "0.8", "0.6"),
    ("across", "", "reduce_scatter", "generic", "15", "4", "0.8", "0.6"),
    ("across", "", "all_to_all", "generic", "20", "2", "0.8", "0.6"),
    ("across", "", "dispatch", "generic", "25", "1", "1.0", "0.3"),
    ("across", "", "combine", "generic", "30", "1", "1.0", "0.3"),
)
# No published timings: a launch in a CUDA graph and a streaming kernel, both recalled.
ELEMENTWISE = (
    "generic",
    "",
    "elementwise",
    "bf16",
    "generic",
    "bf16",
    "2.5",
    "0.5",
    "0.8",
    "8",
    "0.5",
    "",
    "0",
)


def write_kernels(table: dict[tuple[str, str, str, str, str, str], Constants]) -> None:
    """Write the constants, one row each."""
    with (OUTPUT / "kernels.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(KERNEL_HEAD)
        for key, c in sorted(table.items()):
            numbers = (c.floor_s * 1e6, c.compute, c.memory, c.sharpness, c.spread, c.median)
            out.writerow([*key, *(f"{x:.4g}" for x in numbers), c.points])
        out.writerow(ELEMENTWISE)


def main() -> int:
    """Fit and write; print the median error of each family."""
    table = fit_all()
    write_kernels(table)
    write_collectives(fit_collectives())
    by_family: dict[str, list[float]] = defaultdict(list)
    for (level, _, family, *_), c in table.items():
        if level == "chip":
            by_family[family].append(c.median)
    for family, errors in by_family.items():
        print(f"{family:20} {len(errors):4} fits, median error {np.median(errors):.1%}, worst {max(errors):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
