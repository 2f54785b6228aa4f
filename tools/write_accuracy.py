"""Write ``docs/accuracy.md`` from the errors on file and from fresh predictions of the other tables.

``python tools/write_accuracy.py`` reads ``fits/engines/left_out.csv`` (see ``tools/fit_ranges.py``) and the tables of
``tests/data/measurements``; the words around the figures are in ``tools/accuracy.in.md``.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import expm1
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from statistics import fmean, median

import docs_examples
import fit_engines as engines
import fit_ranges as ranges

from infer_cost.accuracy.measurements import SERVING_METRICS, Measurement, read_measurements
from infer_cost.accuracy.predictions import Prediction, predict
from infer_cost.accuracy.reduced import FITTED
from infer_cost.accuracy.validation import GROUPS, quantile, scatter_between_runs, validate
from infer_cost.serving.engines.constants import constants_by_engine

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "measurements"
TEMPLATE = ROOT / "tools" / "accuracy.in.md"
OUTPUT = ROOT / "docs" / "accuracy.md"
SHORT = {"ttft_s": "TTFT", "tpot_s": "TPOT", "output_tokens_per_s_per_gpu": "tokens/s a GPU"}
FEWEST = 10
WORDS = ("", "metric", "rows", "table", "engine", "hardware", "model", "format")  # columns of text

Key = tuple[str, str]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, text left and figures right."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + "|".join("---" if name in WORDS else "---:" for name in header) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def sizes(errors: ranges.Errors, keys: Sequence[Key], name: str) -> list[float]:
    """Return sorted absolute relative errors."""
    return sorted(abs(expm1(errors[key][name])) for key in keys)


def percent(value: float) -> str:
    """Write a share as a percentage."""
    return f"{value:.1%}" if value < 1 else f"{value:.0%}"


def grouped(
    errors: ranges.Errors, rows: dict[str, Measurement], label: Callable[[Measurement], str]
) -> dict[Key, list[Key]]:
    """Return the keys of each group and metric that has enough rows."""
    found: dict[Key, list[Key]] = defaultdict(list)
    for row, metric in errors:
        found[label(rows[row]), metric].append((row, metric))
    order = {metric: place for place, metric in enumerate(SERVING_METRICS)}
    chosen = [item for item in found.items() if len(item[1]) >= FEWEST]
    return dict(sorted(chosen, key=lambda item: (item[0][0], order[item[0][1]])))


def headline(errors: ranges.Errors, rows: dict[str, Measurement], made: dict[Key, Prediction]) -> str:
    """Return the first table: each kind of serving with everything left out in turn."""
    header = [
        "",
        "metric",
        "n",
        "in sample",
        "curve left out",
        "90th",
        "model",
        "accelerator",
        "engine",
        "bare roofline",
    ]
    lines = []
    for (group, metric), keys in grouped(errors, rows, GROUPS["kind"]).items():
        fitted = group == "one pool"
        others = [
            percent(median(sizes(errors, keys, name))) if fitted else "" for name in ("model", "hardware", "engine")
        ]
        bare = median(sorted(abs(made[key].bound / made[key].measured - 1) for key in keys))
        curve = sizes(errors, keys, "curve")
        seen = percent(median(sizes(errors, keys, "none"))) if fitted else ""
        figures = [percent(median(curve)), percent(quantile(curve, 0.9)), *others, percent(bare)]
        lines.append([group, SHORT[metric], f"{len(keys):,}", seen, *figures])
    return table(header, lines)


def by_group(errors: ranges.Errors, rows: dict[str, Measurement], made: dict[Key, Prediction]) -> str:
    """Return errors and coverage by hardware, model, engine and format, curves left out."""
    parts = []
    for name in ("hardware", "model", "engine", "format"):
        lines = []
        for (group, metric), keys in grouped(errors, rows, GROUPS[name]).items():
            found = sizes(errors, keys, "curve")
            inside = fmean(covered(made[key], errors[key]["curve"]) for key in keys)
            bias = expm1(median(errors[key]["curve"] for key in keys))
            figures = [percent(median(found)), percent(fmean(found)), percent(quantile(found, 0.9))]
            lines.append([group, SHORT[metric], f"{len(keys):,}", *figures, f"{bias:+.1%}", f"{inside:.0%}"])
        parts.append(table([name, "metric", "n", "median", "mean", "90th", "bias", "in range"], lines))
    return "\n\n".join(parts)


def covered(made: Prediction, error: float) -> bool:
    """Tell whether a range of the same width around a left-out prediction holds the measurement."""
    predicted = made.measured * (1 + expm1(error))
    return predicted * made.low / made.predicted <= made.measured <= predicted * made.high / made.predicted


def residuals(errors: ranges.Errors, rows: dict[str, Measurement]) -> str:
    """Return the groups of rows with one pool that hold most of the squared error (of logarithms)."""
    lines = []
    for metric in ("tpot_s", "ttft_s"):
        groups: dict[str, list[float]] = defaultdict(list)
        for key, found in errors.items():
            row = rows[key[0]]
            if key[1] == metric and GROUPS["kind"](row) == "one pool":
                engine = " ".join(part for part in (row.engine, row.engine_version) if part)
                groups[f"{engine}, {row.model}, {row.hardware}, {row.weights}"].append(found["curve"])
        whole = sum(error**2 for group in groups.values() for error in group)
        largest = sorted(groups.items(), key=lambda item: -sum(error**2 for error in item[1]))[:LARGEST]
        for name, group in largest:
            share = sum(error**2 for error in group) / whole
            off = median(sorted(abs(expm1(error)) for error in group))
            bias = expm1(median(group))
            lines.append([SHORT[metric], name, f"{len(group)}", f"{off:.0%}", f"{bias:+.0%}", f"{share:.0%}"])
    return table(["metric", "rows", "n", "median", "bias", "of all squared error"], lines)


LARGEST = 8


def other_tables() -> str:
    """Return the errors on the tables that nothing was fitted on."""
    lines = []
    for name in ("fixed_batch", "max_throughput", "batch_one"):
        for group in validate(DATA / f"{name}.csv", ("engine",)).summary:
            if group.n >= FEWEST:
                figures = [percent(group.median_ape), percent(group.p90_ape), f"{group.bias:+.1%}"]
                words = [name, group.group, group.metric, f"{group.n:,}"]
                lines.append([*words, *figures, f"{group.inside_range:.0%}"])
    return table(["table", "engine", "metric", "n", "median", "90th", "bias", "in range"], lines)


def constants() -> str:
    """Return the fitted constants, one engine and generation a row."""
    found = constants_by_engine()
    names = FITTED
    rows = [[f"{e}, {g or 'others'}", *(f"{values[name]:.3g}" for name in names)] for (e, g), values in found.items()]
    return table(["", *names], rows)


def consistent(errors: ranges.Errors, rows: dict[str, Measurement]) -> str:
    """Return TPOT's median and 90th percentile, curves left out, without the rows of contradictory versions."""
    keys = [
        (row, metric)
        for row, metric in errors
        if metric == "tpot_s"
        and GROUPS["kind"](rows[row]) == "one pool"
        and (rows[row].engine, rows[row].engine_version) not in engines.CONTRADICTED
        and rows[row].concurrency != MOST_IN_FLIGHT
    ]
    found = sizes(errors, keys, "curve")
    return f"{percent(median(found))} at the median and {percent(quantile(found, 0.9))} at the 90th percentile"


MOST_IN_FLIGHT = 512  # of the five gpt-oss rows of December 2025


def floors(rows: Sequence[Measurement]) -> str:
    """Return the scatter between repeated runs in words."""
    parts = [
        f"{SHORT[metric]} {size:.1%} (n = {n})" for metric, (n, size) in sorted(scatter_between_runs(rows).items())
    ]
    return ", ".join(parts)


def main() -> int:
    """Fill the template."""
    errors = ranges.read_errors()
    rows = read_measurements(engines.INPUT)
    made = {(p.id, p.metric): p for row in rows for p in predict(row)[0]}
    named = {row.id: row for row in rows}
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in (
        ("headline", headline(errors, named, made)),
        ("groups", by_group(errors, named, made)),
        ("others", other_tables()),
        ("constants", constants()),
        ("floors", floors(rows)),
        ("consistent", consistent(errors, named)),
        ("residuals", residuals(errors, named)),
    ):
        text = text.replace("{{" + name + "}}", value)
    OUTPUT.write_text(text, encoding="utf-8")
    docs_examples.refresh(OUTPUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
