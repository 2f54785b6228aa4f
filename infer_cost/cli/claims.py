"""``infer-cost claims``: the source documents' figures, recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from infer_cost.cli.output import bold, emit_json, table, three_digits, width, wrap

if TYPE_CHECKING:
    from infer_cost.claims import Finding


def command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims to show in full: C136.")] = None,
    stage: Annotated[int | None, typer.Option(help="Of this stage, 1 to 15; 0 for those of none.")] = None,
    document: Annotated[str | None, typer.Option(help="In this document: digest, article, explainer, lecture.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="With this verdict: reproduces, inconsistent, external, qualitative.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="The calculations and sources as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Recompute what four documents on inference say, and give a verdict on each figure.

    Without arguments: the counts, and what contradicts itself. With a filter or ids: each claim in full.

    Example: infer-cost claims --stage 10 --verdict inconsistent
    """
    from infer_cost.claims import audit, counts_by_verdict, documents

    findings = audit(ids or (), stage=stage, document=document, verdict=verdict)
    if as_json:
        emit_json(
            {
                "counts": counts_by_verdict(findings),
                "documents": documents(),
                "claims": findings,
            }
        )
        return
    if ids or stage is not None or document or verdict:
        for finding in findings:
            print("\n".join(_in_full(finding, explain or bool(ids))), end="\n\n")
        print(_counted(counts_by_verdict(findings)))
        return
    _overview(findings, explain)


def _overview(findings: Sequence[Finding], explain: bool) -> None:
    """Print counts by document and verdict, and the contradictions, a line each."""
    from infer_cost.claims import VERDICTS, counts_by_verdict, documents

    rows = []
    for name in documents():
        counts = counts_by_verdict(finding for finding in findings if name in finding.documents)
        rows.append([name, *(str(counts[verdict]) for verdict in VERDICTS), str(sum(counts.values()))])
    totals = counts_by_verdict(findings)
    rows.append(["all", *(str(totals[verdict]) for verdict in VERDICTS), str(len(findings))])
    print(table(["document", *VERDICTS, "claims"], rows))
    print("(a claim that several documents make counts in each, and once in all)\n")
    print(bold("Inconsistent with their own premises or with the datasheets"))
    wrong = [finding for finding in findings if finding.verdict == "inconsistent"]
    for finding in wrong:
        print(_in_line(finding))
        if explain:
            print("\n".join(_calculations(finding)))
    print("\ninfer-cost claims C136 explains one; --stage, --document and --verdict choose; --json has all.")


def _in_line(finding: Finding) -> str:
    figures = f"{finding.given} -> {figure(finding.ours)} {finding.unit}"
    line = f"{finding.id:<5} {finding.statement}"
    room = max(20, width() - len(figures) - 2)
    return f"{line if len(line) <= room else line[: room - 1] + '…'}  {figures}"


def _in_full(finding: Finding, explain: bool) -> list[str]:
    where = f"stage {finding.stage}" if finding.stage else "no stage"
    lines = [bold(f"{finding.id}  {finding.verdict}  ({', '.join(finding.documents)}; {where})")]
    lines.append(wrap(finding.statement + (f" [{finding.term}]" if finding.term else "")))
    ours = f"; ours: {figure(finding.ours)} {finding.unit}" if finding.ours is not None else ""
    lines.append(wrap(f"given: {finding.given}{ours}"))
    lines.append(wrap(finding.why))
    if finding.source:
        lines.append(wrap(f"source: {finding.source} (read {finding.read}, {finding.confidence})"))
    if explain:
        lines += _calculations(finding)
    return lines


def _calculations(finding: Finding) -> list[str]:
    lines = []
    for one in finding.comparisons:
        sign = "holds" if one.holds else "fails"
        slack = f" (± {one.tolerance:.2g} of it)" if one.tolerance else ""
        lines.append(wrap(f"{figure(one.ours)} against {one.claimed}{slack}: {sign}"))
        lines.append(wrap(one.calculation, indent="    "))
    if not finding.comparisons and finding.formula:
        inputs = ", ".join(f"{name}={figure(value)}" for name, value in (finding.inputs or {}).items())
        lines.append(wrap(f"{finding.formula.rpartition('.')[2]}({inputs})", indent="    "))
    return lines


def figure(value: object) -> str:
    """Write a figure with three digits, whole ones whole, very large and small ones with an exponent."""
    if not isinstance(value, int | float):
        return "-" if value is None else str(value)
    if value == 0 or not 1e-3 <= abs(value) < 1e9:
        return f"{value:.3g}"
    return f"{value:,.0f}" if float(value).is_integer() else three_digits(value)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
