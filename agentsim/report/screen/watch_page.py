"""A regression watch on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.diagnose.cause_registry import CAUSES
from agentsim.fleet.open_regressions import words_of
from agentsim.fleet.regression_watch import LEAST_SESSIONS
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.fleet_page import dollars
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsim.fleet.open_regressions import OpenState
    from agentsim.fleet.regression_watch import GroupChange, Watch

COLUMNS = (
    TableColumn("", "<", 9, 12),
    TableColumn("sessions then, now", ">", 3),
    TableColumn("lost before", ">", 6),
    TableColumn("lost now", ">", 8),
    TableColumn("difference (99 %)", ">", 5),
    TableColumn("", "<", 7),
)


def write_watch(paper: Paper, seen: Watch, states: Sequence[OpenState] = ()) -> None:
    """Write what changed, the dearest first, and the causes that grew; ``states`` are regressions found before."""
    paper.paragraph((f"{seen.first} – {seen.last}", Style.STRONG), f" against {seen.before_first} – {seen.before_last}")
    paper.line()
    flagged = [change for change in seen.changes if change.flag is not None]
    for change in flagged:
        _story(paper, change)
    for state in states:
        _open(paper, state)
    if not seen.changes:
        text = f"Too few sessions to tell anything: {LEAST_SESSIONS} are needed in the last period, and before it."
        paper.paragraph(text)
        return
    if not flagged:
        paper.line("Nothing else changed beyond noise." if states else "Nothing changed beyond noise.")
    paper.line()
    paper.line(("Lost shares of input tokens", Style.STRONG))
    write_table(paper, COLUMNS, [_row(change) for change in seen.changes], indent=2)
    if seen.few:
        text = f"{figures.plural(seen.few, 'group')} with too few sessions to tell"
        paper.line((f"  {text}", Style.FAINT))


def title(change: GroupChange) -> str:
    """What a group is called: ``version 2.1.240``, or ``everything``."""
    return words_of(change.dimension, change.name)


def _story(paper: Paper, change: GroupChange) -> None:
    worse = change.flag == "worse"
    style = Style.BAD if worse else Style.GOOD
    text = f": {share(change.before)} → {share(change.last)} of input lost"
    if change.new:
        text += ", held against all others"
    if worse and change.excess is not None:
        text += f", {dollars(change.excess)} more than before"
    paper.paragraph((f"{change.flag} ", style), (title(change), Style.STRONG), text)
    if change.onset is not None:
        found = change.onset
        around = "" if found.first == found.last else f" (between {found.first} and {found.last}, 90 %)"
        paper.paragraph(f"since {found.day}{around}", first=["    "], rest=["      "])
    for growth in change.causes[:3]:
        known = CAUSES.get(growth.cause)
        name = growth.cause if known is None else f"{growth.cause} {known.title}"
        spent = f", {dollars(growth.cost)}" if worse and growth.cost is not None else ""
        paper.paragraph(
            f"{name}: {share(growth.before)} → {share(growth.last)}{spent}", first=["    "], rest=["      "]
        )


def _open(paper: Paper, state: OpenState) -> None:
    found = state.regression
    name = words_of(*found.key)
    since = f"found {found.found} against {found.before_first} – {found.before_last}"
    if state.state == "silent":
        paper.paragraph(("open ", Style.WARN), (name, Style.STRONG), f": {since}; too few sessions now to tell")
        return
    assert state.change is not None
    shares = f"{share(state.change.before)} → {share(state.change.last)} of input lost"
    if state.state == "gone":
        paper.paragraph(("gone ", Style.GOOD), (name, Style.STRONG), f": {since}; {shares}")
        return
    paper.paragraph(("still worse ", Style.BAD), (name, Style.STRONG), f": {shares}, {since}")
    paper.paragraph(f"--acknowledge '{name}' makes it the usual.", first=["    "], rest=["      "])


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
