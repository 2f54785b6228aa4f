"""Speculative decoding as a setting: methods, their defaults, and what a draft step costs."""

from __future__ import annotations

from typing import Literal, cast

from infer_cost.checks import finite, whole
from infer_cost.errors import InputError, unknown_name
from infer_cost.model_specs.architecture import Architecture
from infer_cost.model_specs.counts import counts
from infer_cost.serving.deployment import Speculation

METHODS = ("none", "mtp", "eagle", "draft")

_DEFAULTS = {
    # Draft tokens and acceptance. MTP: 80 to 90 % for the next token but one (DeepSeek-V3, arXiv:2412.19437, section
    # 5.4.3). EAGLE and draft models: typical of published runs, an assumption; both are printed when they decide.
    "mtp": (1, 0.85),
    "eagle": (3, 0.70),
    "draft": (5, 0.75),
}
_DRAFT_MODEL_COST = 0.05
"""Time of a draft model's step over the target's: Leviathan et al. 2023 (arXiv:2211.17192) measure 0.02 to 0.1."""


def speculation(
    model: Architecture, method: str, draft_tokens: int | None = None, acceptance: float | None = None
) -> Speculation | None:
    """Return the speculation setting, or None for ``none``.

    A draft step of MTP and EAGLE runs one layer and the output head, so it costs their share of the model's own
    active parameters; a draft model's cost is the literature's.

    Raises
    ------
    InputError
        For an unknown method, values out of range, or options that nothing would read.
    """
    if method not in METHODS:
        raise unknown_name("speculative method", method, METHODS, field="speculative", hint=", ".join(METHODS))
    if method == "none":
        _refuse_idle("draft_tokens", draft_tokens)
        _refuse_idle("acceptance", acceptance)
        return None
    if method == "mtp" and not any(component.kind == "mtp" for component in model.components):
        raise InputError(
            f"{model.name} has no MTP module", field="speculative", value=method, allowed="none, eagle or draft"
        )
    tokens, accepted = _DEFAULTS[method]
    return Speculation(
        cast(Literal["mtp", "eagle", "draft"], method),
        whole("draft_tokens", tokens if draft_tokens is None else draft_tokens, high=64),
        finite("acceptance", accepted if acceptance is None else acceptance, high=1.0),
        _DRAFT_MODEL_COST if method == "draft" else _layer_and_head_share(model),
    )


def _refuse_idle(field: str, value: object) -> None:
    if value is not None:
        raise InputError(
            f"{field} is set, but nothing is drafted", field=field, value=value, allowed="with --speculative"
        )


def _layer_and_head_share(model: Architecture) -> float:
    counted = counts(model)
    head = model.output_matrix.elements
    body = counted.active_body
    return (body / model.layers + head) / (body + head)
