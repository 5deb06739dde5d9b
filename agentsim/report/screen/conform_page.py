"""A table of harnesses and acts: tokens that were sent anew although they need not have been."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.conform.act_results import ActResult
from agentsim.conform.conformance import Conformance, Regression
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, TableLayout


def write_conformance(paper: Paper, found: Conformance) -> None:
    """Write the table, what was lost where, and the habits of each harness."""
    paper.line(("Tokens sent anew that need not be", Style.STRONG), f"  {found.day}")
    paper.line()
    columns = [TableColumn("act", "<", 9, 12), *(TableColumn(one.name) for one in found.harnesses)]
    rows: list[list[Span]] = []
    for name, _ in found.acts:
        rows.append([name, *(cell(found.result(one.name, name)) for one in found.harnesses)])
    layout = TableLayout(columns, rows, paper.width)
    layout.head(paper)
    for row in rows:
        layout.row(paper, row)
    paper.line()
    paper.line("·: the harness has no way to do it; !: it did not run to its end")
    for one in found.harnesses:
        results = [result for result in found.results if result.harness == one.name]
        paper.line()
        paper.line((f"{one.title} {one.version}".rstrip(), Style.STRONG))
        for line in habits_of(results):
            paper.paragraph(line, first=["  "], rest=["    "])
        for result in results:
            for loss in result.losses:
                place = f" in {loss.where}" if loss.where else ""
                paper.paragraph(
                    f"{result.act}: {loss.cause} lost {figures.plural(loss.tokens, 'token')}{place}",
                    first=["  "],
                    rest=["    "],
                )
            if result.note and result.status != "unsupported":
                paper.paragraph(f"{result.act}: {result.note}", first=["  "], rest=["    "])


def write_regressions(paper: Paper, found: Sequence[Regression]) -> None:
    """Write what became worse."""
    paper.line()
    if not found:
        paper.line("No act loses more than before.")
    for one in found:
        now = "does not run any more" if one.now < 0 else f"loses {one.now:,} tokens"
        paper.line((f"{one.harness}, {one.act}: {now}, and lost {one.before:,} before", Style.BAD))


def cell(result: ActResult | None) -> Span:
    """What one harness lost in one act."""
    if result is None or result.status == "unsupported":
        return ("·", Style.FAINT)
    if result.status == "failed":
        return ("!", Style.BAD)
    text = f"{result.lost:,}" + ("!" if result.note else "")
    return (text, Style.BAD) if result.lost else text


def habits_of(results: Sequence[ActResult]) -> list[str]:
    """What a harness does in all of its acts, in sentences."""
    found = [result.habits for result in results if result.habits is not None]
    if not found:
        return []
    low, high = min(one.markers[0] for one in found), max(one.markers[1] for one in found)
    lifetimes = sorted({seconds for one in found for seconds in one.lifetimes})
    lines = []
    if high:
        asked = " and ".join(f"{seconds // 60} minutes" for seconds in lifetimes)
        lines.append(f"sets {low if low == high else f'{low} to {high}'} breakpoints, for {asked}")
    else:
        lines.append("sets no breakpoints")
    least = min(one.first_prompt for one in found if one.first_prompt) if any(one.first_prompt for one in found) else 0
    lines.append(f"its first prompt is about {figures.plural(least, 'token')}")
    changing = [result.act for result in results if result.habits is not None and result.habits.tools_changed]
    if changing:
        lines.append(f"its tools change in {', '.join(changing)}")
    changing = [result.act for result in results if result.habits is not None and result.habits.system_changed]
    if changing:
        lines.append(f"its system prompt changes in {', '.join(changing)}")
    return lines
