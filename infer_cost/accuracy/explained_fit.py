"""A calibration explained: what the fit minimises, where each constant was before, and what the errors are."""

from __future__ import annotations

from collections.abc import Iterator

from infer_cost.accuracy.calibration import LEARNT, Calibration, Moved
from infer_cost.steps import Chain, Input, Step

_ERROR = "median of |predicted / measured − 1|"


def calibration_chains(found: Calibration) -> tuple[Chain, ...]:
    """Return how a calibration's constants and errors come about.

    Parameters
    ----------
    found : Calibration
        What was found; scipy and numpy are loaded by then

    Returns
    -------
    tuple of Chain
        The weights of the fit, each constant before and after, and the errors
    """
    from infer_cost.accuracy.reduced import PRIOR_WEIGHT, TPOT_SCATTER, TTFT_SCATTER

    weights = (
        Input("scatter of TPOT", TPOT_SCATTER, "ratio", "a choice of the fit: what one run may be off"),
        Input("scatter of TTFT", TTFT_SCATTER, "ratio", "a choice of the fit: what one run may be off"),
        Input("weight of what was known before", PRIOR_WEIGHT, "ratio", "a choice of the fit"),
    )
    return (
        Chain("constants", tuple(step for one in found.constants for step in _constant(one, found)), weights),
        Chain("errors", tuple(_errors(found))),
    )


def _constant(one: Moved, found: Calibration) -> Iterator[Step]:
    unit = "s" if one.name.endswith("_s") else "ratio"
    before = Input(
        f"{one.name} before",
        one.before,
        unit,
        f"profile of {found.engine}: fitted on published measurements, or your own",
    )
    fit = "argmin Σ ρ(ln(predicted/measured)/scatter) + Σ ρ(weight·(x − before)/stray)"
    kept = f"as before: the rows leave more than {LEARNT:.0%} of its uncertainty"
    yield Step(one.name, fit if one.fitted else kept, one.after, unit, (before,))
    yield Step(f"{one.name}: still uncertain", "σ with the rows / σ without, from the curvature", one.left, "ratio")


def _errors(found: Calibration) -> Iterator[Step]:
    held_out = f"{_ERROR}, {found.left_out} left out at a time"
    for metric, before, after in (
        ("TPOT", found.tpot_error_before, found.tpot_error_after),
        ("TTFT", found.ttft_error_before, found.ttft_error_after),
    ):
        if before is not None and after is not None:
            yield Step(f"{metric} before", _ERROR, before, "ratio")
            yield Step(f"{metric} after", held_out, after, "ratio")
