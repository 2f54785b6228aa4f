"""A validation explained: the constants used, one row from its bound to its error, and what the errors are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infer_cost.accuracy.measurements import Measurement
from infer_cost.accuracy.predictions import POWER_SHARE, Prediction, asked_of
from infer_cost.accuracy.run_effects import effects_of
from infer_cost.accuracy.runs import run_of
from infer_cost.accuracy.validation import GroupErrors, Validation
from infer_cost.hardware_specs.generations import architecture_group
from infer_cost.serving.deployment import Deployment
from infer_cost.serving.engines.constants import constants_of, nearest_constants
from infer_cost.serving.estimate import state_of
from infer_cost.serving.ladder import Ladder, ladder
from infer_cost.steps import Chain, Input, Step

_RATE = "O·C / (GPUs · residence) · share of a run that is steady"
_EQUATIONS = {
    "output_tokens_per_s_per_gpu": _RATE,
    "output_tok_per_s_per_gpu": _RATE,
    "output_tok_per_s_total": f"GPUs · {_RATE}",
    "total_tok_per_s": f"(I + O)/O · GPUs · {_RATE}",
    "prefill_tok_per_s_total": "I / TTFT",
    "tok_per_s_per_user": "1 / TPOT",
    "avg_power_w": f"{POWER_SHARE:g} · power with its share of the box (assumed)",
}
"""How a metric follows from the ladder; TTFT and TPOT are its expected values."""


@dataclass(frozen=True, slots=True)
class ValidationExplanation:
    """What stands behind a validation's table."""

    constants: Chain
    ladder: Ladder | None
    """Of the first row that was predicted; None where none was."""
    row: Chain
    """From that ladder to the row's errors."""
    errors: Chain

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Everything as chains."""
        rungs = self.ladder.chains("the first row") if self.ladder else ()
        return (self.constants, *rungs, self.row, self.errors)


def explain_validation(rows: Sequence[Measurement], report: Validation) -> ValidationExplanation:
    """Return how a validation's errors come about.

    Parameters
    ----------
    rows : sequence of Measurement
        What was validated
    report : Validation
        What came of it

    Returns
    -------
    ValidationExplanation
        Its last steps have the values of the report's summary
    """
    answered = {prediction.id for prediction in report.rows}
    predicted = [row for row in rows if row.id in answered]
    inputs = dict.fromkeys(item for row in predicted for item in _constants(asked_of(row).deployment))
    first = predicted[0] if predicted else None
    return ValidationExplanation(
        Chain("fitted constants that the predictions use", (), tuple(inputs)),
        ladder(asked_of(first), static=first.static_batch) if first else None,
        _row(first, [p for p in report.rows if first and p.id == first.id]),
        Chain("errors", tuple(step for group in report.summary for step in _errors(group))),
    )


def _constants(plan: Deployment) -> Iterator[Input]:
    """The constants of a deployment's engine, with what shares them and what they were fitted on."""
    engine = plan.engine
    key = nearest_constants(engine.id, architecture_group(plan.machine.accelerator.architecture))
    for one in constants_of(key) if key else ():
        own = one.name in engine.own
        origin = "your own calibration" if own else f"shared by {one.shared_by}; fitted on {one.fitted_on}"
        value = float(getattr(engine, one.name))
        yield Input(f"{one.name} of {engine.id}", value, "s" if one.name.endswith("_s") else "ratio", origin)


def _row(row: Measurement | None, predictions: Sequence[Prediction]) -> Chain:
    if row is None:
        return Chain("no row was predicted", ())
    steps: list[Step] = []
    added = _added(row)
    for one in predictions:
        unit = "s" if one.metric.endswith("_s") and "per" not in one.metric else "token/s"
        unit = "W" if one.metric.endswith("_w") else unit
        read = ", ".join(filter(None, [row.source or "your table", row.date]))
        measured = Input(f"{one.metric} measured", one.measured, unit, f"row {row.id}: {read}")
        equation = _EQUATIONS.get(one.metric, "expected, as above, and what the run adds")
        if one.metric in added:
            what = "all users at once, equal lengths, the client's part"
            steps.append(Step(f"{one.metric}: what the run adds", what, added[one.metric], "s"))
        steps.append(Step(f"{one.metric} predicted", equation, one.predicted, unit, (measured,)))
        steps.append(Step(f"its error e, {one.metric}", "predicted / measured − 1", one.error, "ratio"))
    return Chain(f"row {row.id}: {row.model} on {row.gpus} x {row.hardware}", tuple(steps))


def _added(row: Measurement) -> dict[str, float]:
    """What the way in which a row was measured adds to the steady state's times."""
    if row.static_batch:
        return {}
    question = asked_of(row)
    run = run_of(row, question.deployment.engine.id)
    found = effects_of(run, question, state_of(question), median=row.statistic == "median")
    return {"ttft_s": float(found.ttft_s), "tpot_s": float(found.tpot_s)}


def _errors(group: GroupErrors) -> Iterator[Step]:
    name = f"{group.group}, {group.metric}"
    yield Step(f"{name}: median", f"median of |e| over {group.n:,}", group.median_ape, "ratio")
    yield Step(f"{name}: mean", "Σ|e| / n", group.mape, "ratio")
    yield Step(f"{name}: 90th", "|e| that nine of ten don't exceed, interpolated", group.p90_ape, "ratio")
    yield Step(f"{name}: bias", "median of e", group.bias, "ratio")
    yield Step(f"{name}: in range", "share with low ≤ measured ≤ high", group.inside_range, "ratio")
