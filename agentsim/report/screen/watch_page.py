"""A regression watch on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.diagnose.cause_registry import CAUSES
from agentsim.fleet.regression_watch import LEAST_SESSIONS
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.fleet_page import dollars
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.fleet.regression_watch import GroupChange, Watch

COLUMNS = (
    TableColumn("", "<", 9, 12),
    TableColumn("sessions then, now", ">", 3),
    TableColumn("lost before", ">", 6),
    TableColumn("lost now", ">", 8),
    TableColumn("difference (99 %)", ">", 5),
    TableColumn("", "<", 7),
)


def write_watch(paper: Paper, seen: Watch) -> None:
    """Write what changed, the dearest first, and the causes that grew."""
    paper.paragraph((f"{seen.first} – {seen.last}", Style.STRONG), f" against {seen.before_first} – {seen.before_last}")
    paper.line()
    flagged = [change for change in seen.changes if change.flag is not None]
    for change in flagged:
        _story(paper, change)
    if not seen.changes:
        text = f"Too few sessions to tell anything: {LEAST_SESSIONS} are needed in the last period, and before it."
        paper.paragraph(text)
        return
    if not flagged:
        paper.line("Nothing changed beyond noise.")
    paper.line()
    paper.line(("Lost shares of input tokens", Style.STRONG))
    write_table(paper, COLUMNS, [_row(change) for change in seen.changes], indent=2)
    if seen.few:
        text = f"{figures.plural(seen.few, 'group')} with too few sessions to tell"
        paper.line((f"  {text}", Style.FAINT))


def title(change: GroupChange) -> str:
    """What a group is called: ``version 2.1.240``, or ``everything``."""
    return "everything" if change.dimension == "all" else f"{change.dimension} {change.name}"


def _story(paper: Paper, change: GroupChange) -> None:
    worse = change.flag == "worse"
    style = Style.BAD if worse else Style.GOOD
    text = f": {share(change.before)} → {share(change.last)} of input lost"
    if change.new:
        text += ", held against all others"
    if worse and change.excess is not None:
        text += f", {dollars(change.excess)} more than before"
    paper.paragraph((f"{change.flag} ", style), (title(change), Style.STRONG), text)
    for growth in change.causes[:3]:
        known = CAUSES.get(growth.cause)
        name = growth.cause if known is None else f"{growth.cause} {known.title}"
        spent = f", {dollars(growth.cost)}" if worse and growth.cost is not None else ""
        paper.paragraph(
            f"{name}: {share(growth.before)} → {share(growth.last)}{spent}", first=["    "], rest=["      "]
        )


def _row(change: GroupChange) -> list[Span]:
    flag: Span = ""
    if change.flag is not None:
        flag = (change.flag, Style.BAD if change.flag == "worse" else Style.GOOD)
    return [
        title(change) + (" (new)" if change.new else ""),
        f"{change.sessions_before:,}, {change.sessions:,}",
        share(change.before),
        share(change.last),
        f"{change.low * 100:+.2f} to {change.high * 100:+.2f}",
        flag,
    ]


def share(part: float) -> str:
    """A share in per cent."""
    return f"{part * 100:.2f} %"
