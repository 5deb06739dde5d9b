"""Blind verdicts against the provider's own reasons, on a screen: a confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.clean import display_width
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import GAP, TableColumn, write_table
from agentsim.report.verdict_words import cause_title

if TYPE_CHECKING:
    from agentsim.trust.agreement import Grade, LabelAgreement

SIGNS: dict[Grade, str] = {"exact": "=", "compatible": "~", "contradicted": "x"}
STYLES: dict[Grade, Style] = {"exact": Style.GOOD, "compatible": Style.PLAIN, "contradicted": Style.BAD}
ADVERBS: dict[Grade, str] = {"exact": "the same", "compatible": "compatible", "contradicted": "contradicted"}


def write_agreement(paper: Paper, agreement: LabelAgreement) -> None:
    """Write the matrix, its sums, and each contradicted row by its id."""
    _write_foreseen(paper, agreement)
    if not agreement.labelled:
        paper.line("No request in here carries a reason that the provider recorded.")
        return
    paper.paragraph(
        (figures.plural(agreement.labelled, "request"), Style.STRONG), " with a word of the provider, judged blind:"
    )
    paper.line()
    if not _write_matrix(paper, agreement):
        _write_pairs(paper, agreement)
    paper.line()
    grades: list[tuple[Grade, int]] = [
        ("exact", agreement.exact),
        ("compatible", agreement.compatible),
        ("contradicted", agreement.contradicted),
    ]
    for grade, count in grades:
        style = STYLES[grade] if count else Style.PLAIN
        share = figures.per_cent(count, agreement.labelled)
        paper.line((f"{SIGNS[grade]} {ADVERBS[grade]:<13}", style), f"{count:>7,}  {share:>6} %")
    _write_contradictions(paper, agreement)
    _write_titles(paper, agreement)


def _write_foreseen(paper: Paper, agreement: LabelAgreement) -> None:
    """How often the next read was known beforehand: what the model is worth where no provider says anything."""
    seen = agreement.foreseen
    if not seen.requests:
        return
    known = seen.logged + seen.losses
    paper.paragraph(
        (f"{figures.per_cent(known, seen.requests)} %", Style.STRONG),
        f" of reads were known beforehand: {known:,} of {seen.requests:,} requests after the first of their lane.",
    )
    for count, words in (
        (seen.logged, "to the token, from what the log shows"),
        (seen.losses, "lost as foreseen: expired, out of the lookback's reach, or compacted"),
        (seen.unlogged, "explained afterwards, to the token, by a reply that a call outside the log had added"),
        (seen.others, "otherwise; each has its verdict"),
    ):
        share = f"  {count:>7,}  {figures.per_cent(count, seen.requests):>6} %  "
        paper.paragraph(words, first=[share], rest=[" " * len(share)])
    paper.line()


def _write_matrix(paper: Paper, agreement: LabelAgreement) -> bool:
    """One row a reason, one column a verdict. False, and nothing written, when the screen is too narrow for it."""
    reasons = sorted({reason for reason, _, _, _ in agreement.matrix})
    verdicts = sorted({verdict for _, verdict, _, _ in agreement.matrix}, key=lambda name: (name.islower(), name))
    cells: dict[tuple[str, str], list[tuple[Grade, int]]] = {}
    for reason, verdict, grade, count in agreement.matrix:
        cells.setdefault((reason, verdict), []).append((grade, count))
    rows: list[list[Span]] = []
    for reason in reasons:
        row: list[Span] = [reason]
        for verdict in verdicts:
            parts = cells.get((reason, verdict), [])
            worst = parts[-1][0] if parts else "compatible"
            row.append((" ".join(f"{count:,} {SIGNS[grade]}" for grade, count in parts) or "·", STYLES[worst]))
        rows.append(row)
    columns = [TableColumn("provider \\ blind", "<"), *(TableColumn(verdict) for verdict in verdicts)]
    needed = sum(
        max(
            display_width(column.title),
            *(len(row[index] if isinstance(row[index], str) else row[index][0]) for row in rows),
        )
        for index, column in enumerate(columns)
    ) + len(GAP) * (len(columns) - 1)
    if needed > paper.width:
        return False
    write_table(paper, columns, rows)
    return True


def _write_pairs(paper: Paper, agreement: LabelAgreement) -> None:
    columns = (
        TableColumn("provider", "<", 9, 12),
        TableColumn("blind", "<"),
        TableColumn("count"),
        TableColumn("", "<"),
    )
    rows: list[list[Span]] = [
        [reason, verdict, figures.count(count), (f"{SIGNS[grade]} {ADVERBS[grade]}", STYLES[grade])]
        for reason, verdict, grade, count in agreement.matrix
    ]
    write_table(paper, columns, rows)


def _write_contradictions(paper: Paper, agreement: LabelAgreement) -> None:
    wrong = [row for row in agreement.rows if row.grade == "contradicted"]
    if not wrong:
        return
    paper.line()
    paper.line(("Contradicted", Style.STRONG))
    columns = (
        TableColumn("session", "<", 9, 8),
        TableColumn("request", "<", 8, 8),
        TableColumn("provider", "<"),
        TableColumn("blind", "<"),
    )
    write_table(paper, columns, [[row.session, row.request, row.reason, row.cause or row.kind] for row in wrong])


def _write_titles(paper: Paper, agreement: LabelAgreement) -> None:
    codes = sorted({verdict for _, verdict, _, _ in agreement.matrix if verdict.startswith("AS")})
    if codes:
        paper.line()
    for code in codes:
        paper.paragraph((cause_title(code), Style.FAINT), first=[f"{code}  "], rest=[" " * (len(code) + 2)])
