"""Recomputes the claims and says of each whether it holds.

The verdict follows from the row: ``reproduces`` when every comparison holds within its tolerance, ``inconsistent``
when one doesn't, ``external fact`` when there is nothing to compute and a source says it, ``qualitative`` otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from infer_cost.claims.calculation import Calculation, evaluate
from infer_cost.claims.store import DOCUMENTS, Check, Claim, claims
from infer_cost.errors import InputError, unknown_name

Verdict = Literal["reproduces", "inconsistent", "external fact", "qualitative"]
VERDICTS: tuple[Verdict, ...] = ("reproduces", "inconsistent", "external fact", "qualitative")
STAGES = 15


@dataclass(frozen=True, slots=True)
class Comparison:
    """One check, carried out."""

    ours: float
    claimed: str
    """What the statement asks for, in words: a number, a range, a limit."""
    holds: bool
    tolerance: float
    formula: str
    inputs: Mapping[str, Any]
    calculation: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim with its verdict."""

    id: str
    statement: str
    term: str
    document: str
    """The first that has it."""
    documents: tuple[str, ...]
    stage: int | None
    given: str
    ours: float | None
    """The figure that decides: of the first comparison that fails, else of the first."""
    unit: str
    verdict: Verdict
    why: str
    formula: str | None
    inputs: Mapping[str, Any] | None
    comparisons: tuple[Comparison, ...]
    source: str
    read: str
    confidence: str


def audit(
    ids: Sequence[str] = (), *, stage: int | None = None, document: str | None = None, verdict: str | None = None
) -> tuple[Finding, ...]:
    """Recompute the claims, all or those named, of a stage, of a document or with a verdict.

    Parameters
    ----------
    ids : sequence of str
        Ids such as ``C136``; all when empty.
    stage : int, optional
        1 to 15; 0 for those that belong to no stage.
    document : str, optional
        One of :data:`~infer_cost.claims.store.DOCUMENTS`.
    verdict : str, optional
        One of :data:`VERDICTS`, or the beginning of one.

    Returns
    -------
    tuple of Finding
        In the order of their ids.

    Raises
    ------
    InputError
        A filter that nothing could match.

    Examples
    --------
    >>> [(finding.verdict, finding.ours) for finding in audit(["C136"])]
    [('inconsistent', 37.5)]
    """
    wanted = _verdict(verdict)
    findings = (examine(claim) for claim in _chosen(ids, stage, document))
    return tuple(finding for finding in findings if wanted is None or finding.verdict == wanted)


def counts_by_verdict(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many findings have each verdict.

    >>> counts_by_verdict([])
    {'reproduces': 0, 'inconsistent': 0, 'external fact': 0, 'qualitative': 0}
    """
    counted = Counter(finding.verdict for finding in findings)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def examine(claim: Claim) -> Finding:
    """Recompute one claim."""
    compared = tuple(_compare(check) for check in claim.checks)
    implied = _scaled(evaluate(claim.implies), claim.implies_scale) if claim.implies else None
    deciding: Comparison | Calculation | None
    deciding = next((one for one in compared if not one.holds), compared[0] if compared else implied)
    value = deciding.ours if isinstance(deciding, Comparison) else deciding.value if deciding else None
    values = [*(one.ours for one in compared), *([implied.value] if implied else [])]
    return Finding(
        id=claim.id,
        statement=claim.statement,
        term=claim.term,
        document=claim.documents[0],
        documents=claim.documents,
        stage=claim.stage,
        given=claim.given,
        ours=value,
        unit=claim.unit,
        verdict=_judge(claim, compared),
        why=claim.why.format(*values),
        formula=deciding.formula if deciding else None,
        inputs=deciding.inputs if deciding else None,
        comparisons=compared,
        source=claim.source,
        read=claim.read,
        confidence=claim.confidence,
    )


def _judge(claim: Claim, compared: Sequence[Comparison]) -> Verdict:
    if compared:
        return "reproduces" if all(one.holds for one in compared) else "inconsistent"
    return "external fact" if claim.source else "qualitative"


def _compare(check: Check) -> Comparison:
    done = _scaled(evaluate(check.ours), check.scale)
    low, high, words = _bounds(check)
    return Comparison(
        ours=done.value,
        claimed=words,
        holds=low <= done.value <= high,
        tolerance=0.0 if check.claimed is None else check.tolerance,
        formula=done.formula,
        inputs=done.inputs,
        calculation=done.text,
    )


def _bounds(check: Check) -> tuple[float, float, str]:
    """Return what the statement allows, lowest and highest, and the same in words; a limit has no tolerance."""
    endless = float("inf")
    if check.at_least is not None:
        return check.at_least, endless, f"at least {check.at_least:,g}"
    if check.at_most is not None:
        return -endless, check.at_most, f"at most {check.at_most:,g}"
    stated = check.claimed
    if stated is None:
        raise InputError("a check holds its result against nothing", field="claimed", allowed="a figure or a limit")
    if isinstance(stated, tuple):
        low, high, words = *stated, f"{stated[0]:,g} to {stated[1]:,g}"
    elif isinstance(stated, str):
        low = high = _scaled(evaluate(stated), check.scale).value
        words = f"{low:,g} = {stated}"
    else:
        low, high, words = stated, stated, f"{stated:,g}"
    return low - abs(low) * check.tolerance, high + abs(high) * check.tolerance, words


def _scaled(done: Calculation, scale: float) -> Calculation:
    return done if scale == 1.0 else Calculation(done.value * scale, done.formula, done.inputs, done.text)


def _chosen(ids: Sequence[str], stage: int | None, document: str | None) -> list[Claim]:
    known = {claim.id.lower(): claim for claim in claims()}
    for name in ids:
        if name.lower() not in known:
            raise unknown_name(
                "claim",
                name,
                (),
                field="claim",
                hint="ids are like C136; `infer-cost claims` and `infer-cost claims --json` list them",
            )
    if stage is not None and not 0 <= stage <= STAGES:
        raise InputError(f"there is no stage {stage}", field="stage", value=stage, allowed=f"0 (none) to {STAGES}")
    if document is not None and document not in DOCUMENTS:
        raise unknown_name("document", document, DOCUMENTS, field="document", hint=f"known: {', '.join(DOCUMENTS)}")
    return [
        claim
        for claim in ([known[name.lower()] for name in ids] if ids else claims())
        if (stage is None or (claim.stage or 0) == stage) and (document is None or document in claim.documents)
    ]


def _verdict(name: str | None) -> Verdict | None:
    if name is None:
        return None
    found = [verdict for verdict in VERDICTS if name and verdict.startswith(name.strip().lower())]
    if len(found) != 1:
        raise unknown_name("verdict", name, VERDICTS, field="verdict", hint=f"known: {', '.join(VERDICTS)}")
    return found[0]
