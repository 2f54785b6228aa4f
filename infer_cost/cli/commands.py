"""The commands that there are, each with a line of help. Reading this table imports none of them."""

from __future__ import annotations

from importlib.util import find_spec

COMPLETION_VARIABLE = "_INFER_COST_COMPLETE"
"""Set in the environment by a shell that completes."""

COMMANDS: dict[str, str] = {
    "journey": "One request through the fifteen stages: latency, cost and cause of each.",
    "estimate": "TTFT, TPOT, throughput, utilization and $/Mtoken at a concurrency.",
    "roofline": "T_compute, T_mem, ridge point, optimal batch, critical context.",
    "memory": "Parameters, weight and KV bytes, what fits, how many sequences.",
    "price": "An API call's bill; providers side by side.",
    "cost": "Your own $/Mtoken: rented or owned; margin and break-even against an API.",
    "compare": "Machines, models or formats side by side.",
    "sweep": "Many configurations at once, to a file.",
    "plan": "The cheapest deployment that keeps a service level.",
    "explain": "A formula with its symbols, units, source and numbers.",
    "solve": "A formula turned around: solved for another of its symbols.",
    "catalog": "Hardware, models, formats and prices, with their sources.",
    "validate": "Predictions held against a table of measurements: yours, or published ones.",
    "calibrate": "Fit the engine constants to your own benchmark.",
    "claims": "The source documents' figures, recomputed.",
    "report": "One self-contained HTML page about one deployment.",
    "completion": "The script that makes bash, zsh or fish complete commands and names.",
}


def installed() -> list[str]:
    """Names of the commands, in the order of the table."""
    return [name for name in COMMANDS if find_spec(f"infer_cost.cli.{name}") is not None]
