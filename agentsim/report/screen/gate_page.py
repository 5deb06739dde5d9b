"""The gate on a screen: a row for each limit that does not hold, the misses behind them, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.budget.budget_gate import Gate, GateMiss, Result
from agentsim.report import figures, gate_words
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

MOST_ROWS = 50
"""Rows of the table; the rest is counted. The other formats hold all of them."""

MOST_MISSES = 10

COLUMNS = (
    TableColumn("status", "<"),
    TableColumn("budget", "<", 5, 10),
    TableColumn("trace", "<", 6, 16, "start"),
    TableColumn("limit", "<", 8, 14),
    TableColumn("found", ">", 8),
    TableColumn("beyond", ">", 4),
)

_STYLES = {"broken": Style.BAD, "unjudged": Style.WARN, "held": Style.GOOD}


def write_gate(paper: Paper, gate: Gate) -> None:
    """Write the outcome of a check."""
    about = f"{figures.plural(len(gate.traces), 'session')}, {figures.plural(len(gate.results), 'limit')}"
    heading: list[Span] = [("Check", Style.STRONG), f" · {about}"]
    if gate.config:
        heading.append(f" · {gate.config}")
    paper.paragraph(*heading)
    paper.line()
    write_results(paper, gate.results)
    blamed = [finding for finding in gate.findings if finding.blame != "note"]
    if blamed:
        paper.line()
        _misses(paper, blamed)
    for problem in gate.problems:
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        paper.paragraph(("cannot be read ", Style.WARN), f"{place}: {problem.reason}; {problem.remedy}")
    paper.line()
    paper.paragraph((gate_words.OUTCOME[gate.outcome], _STYLES[gate.outcome]), f": {gate_words.tally(gate)}")


def write_results(paper: Paper, results: Sequence[Result]) -> None:
    """Write a table of results: all of them while they are few, else those that do not hold."""
    shown = [result for result in results if result.status != "held" or len(results) <= MOST_ROWS][:MOST_ROWS]
    rows: list[list[Span]] = []
    for result in shown:
        status, *rest = gate_words.row(result)
        rows.append([(status, _STYLES[result.status]), *rest])
    if rows:
        write_table(paper, COLUMNS, rows)
    for reason, count in _reasons(shown).items():
        paper.paragraph(f"not judged ({count:,}): {reason}", first=["  "], rest=["  "])
    hidden = len([result for result in results if result.status != "held"]) - MOST_ROWS
    if hidden > 0:
        paper.line((f"and {hidden:,} more that do not hold; --format json lists all", Style.FAINT))


def _reasons(results: Sequence[Result]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for result in results:
        if result.reason is not None:
            counts[result.reason] = counts.get(result.reason, 0) + 1
    return counts


def _misses(paper: Paper, findings: Sequence[GateMiss]) -> None:
    told: set[str | None] = set()
    for finding in findings[:MOST_MISSES]:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        style = Style.BAD if finding.blame == "error" else Style.WARN
        paper.paragraph((f"MISS {finding.verdict.cause or ''} ", style), gate_words.miss_text(finding))
        paper.paragraph((place, Style.FAINT), first=["     "], rest=["     "])
        fix = gate_words.miss_fix(finding)
        if fix is not None and fix not in told:
            paper.paragraph(("fix ", Style.FAINT), fix, first=["     "], rest=["     "])
            told.add(fix)
    if len(findings) > MOST_MISSES:
        more = figures.plural(len(findings) - MOST_MISSES, "more miss", "more misses")
        paper.line((f"and {more} in these sessions", Style.FAINT))
