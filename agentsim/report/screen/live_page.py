"""A session sent to a real endpoint, on a screen: the plan, then each row predicted and reported."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table
from agentsim.trust.live.live_run import LivePlan, LiveRow

_COLUMNS = (
    TableColumn("#"),
    TableColumn("model", "<", 2, 10),
    TableColumn("input"),
    TableColumn("predicted", ">", 3),
    TableColumn("read"),
    TableColumn("expected", ">", 8),
    TableColumn("written", ">", 5),
    TableColumn("predicted", ">", 4),
    TableColumn("", "<"),
)


def write_plan(paper: Paper, plan: LivePlan, host: str, lasts: str) -> None:
    """Write what would be sent."""
    requests = figures.plural(len(plan.requests), "request")
    tokens = figures.plural(plan.tokens, "token")
    paper.line((f"{requests} to {host}", Style.STRONG), f", {tokens} of input as recorded")
    paper.paragraph(_cost(plan), first=("  cost:      ",), rest=(" " * 13,))
    paper.line(f"  output:    at most {figures.plural(plan.output, 'token')}")
    paper.line(f"  gaps:      {lasts}")
    read = sum(usage.read or 0 for usage in plan.predicted)
    total = sum(usage.total_input or 0 for usage in plan.predicted)
    paper.line(f"  predicted: {read:,} of {total:,} tokens read ({figures.per_cent(read, total)} %)")
    if plan.skipped:
        paper.line(f"  skipped:   {figures.plural(plan.skipped, 'request')} without a prompt")
    if plan.left_out:
        paper.paragraph(", ".join(plan.left_out), first=("  left out:  ",), rest=(" " * 13,))


def _cost(plan: LivePlan) -> str:
    if plan.most is None:
        return "not known"
    most, expected = figures.money(plan.most, 4), figures.money(plan.expected, 4)
    if plan.expected is not None and plan.expected > plan.most:
        return f"at most {most}; as many tokens as recorded would be {expected}, but the texts to send are shorter"
    return f"{expected} as predicted, at most {most}"


def write_rows(paper: Paper, rows: Sequence[LiveRow]) -> None:
    """Write the rows that were sent, and how many of them agree."""
    if not rows:
        return
    lines: list[Sequence[Span]] = [
        (
            str(row.number),
            row.request.model,
            figures.count(row.reported.total_input),
            figures.count(row.predicted.total_input),
            figures.count(row.reported.read),
            figures.count(row.expected),
            figures.count(row.reported.write),
            figures.count(row.predicted.write),
            _agrees(row.agrees),
        )
        for row in rows
    ]
    write_table(paper, _COLUMNS, lines)
    judged = [row for row in rows if row.agrees is not None]
    held = sum(bool(row.agrees) for row in judged)
    paper.line()
    if not judged:
        paper.line(("The endpoint does not report what it read: nothing can be compared.", Style.WARN))
        return
    style = Style.GOOD if held == len(judged) else Style.BAD
    paper.line((f"{held:,} of {figures.plural(len(judged), 'row')} as predicted", style))
    read = sum(row.reported.read or 0 for row in judged)
    expected = sum(row.expected or 0 for row in judged)
    total = sum(row.reported.total_input or 0 for row in judged)
    paper.line(
        f"read {read:,} of {total:,} tokens ({figures.per_cent(read, total)} %), "
        f"expected {expected:,} ({figures.per_cent(expected, total)} %)"
    )


def _agrees(value: bool | None) -> Span:
    if value is None:
        return ("not reported", Style.WARN)
    return ("agrees", Style.GOOD) if value else ("differs", Style.BAD)
