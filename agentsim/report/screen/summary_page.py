"""Many sessions on a screen: what they cost, what they lost, and where to look first."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.losses import write_losses
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.advice_page import write_advice
from agentsim.report.screen.findings_page import write_heads, write_kinds
from agentsim.report.table import TableColumn, write_table
from agentsim.traces.session_names import look_up

if TYPE_CHECKING:
    from agentsim.fleet.summary import MissLine, SessionLine, Summary
    from agentsim.fleet.summary.repeated_losses import LossLeads
    from agentsim.fleet.summary.worth_setting import SettingAdvice

SESSION_COLUMNS = (
    TableColumn("session", "<", 9, 8),
    TableColumn("project", "<", 3, 10),
    TableColumn("requests", ">", 4),
    TableColumn("misses", ">", 5),
    TableColumn("hit %", ">", 7),
    TableColumn("cost", ">", 6),
    TableColumn("lost", ">", 8),
)

FORMAT_COLUMNS = (
    TableColumn("format", "<", 9, 8),
    TableColumn("sessions", ">", 4),
    TableColumn("requests", ">", 7),
    TableColumn("not priced", ">", 3),
    TableColumn("cost", ">", 8),
)

MISS_COLUMNS = (
    TableColumn("when", "<", 4),
    TableColumn("lost", ">", 8),
    TableColumn("tokens", ">", 6),
    TableColumn("cause", "<", 7),
    TableColumn("place", "<", 9, 16, "start"),
)


_MOST_NAMED, _SHORT_ID = 5, 8
"""Sessions that are named in a sentence, and how much of their ids."""

_MOST_FILES = 3
"""Files that a command names; a session in more of them is shown by one of them and a line."""


ROW_COLUMN = TableColumn("row", ">", 8)


def write_summary(
    paper: Paper,
    summary: Summary,
    advice: SettingAdvice | None = None,
    paths: Sequence[str] = (),
    *,
    content: bool = False,
    leads: LossLeads | None = None,
) -> None:
    """Write a summary, and below it what to set, where that was simulated; ``paths`` are those that were read, and
    ``content`` shows the first words of the sessions that lost most. ``leads`` are what stands in front of losses.

    Money that cannot be known is counted beside the sums and never added as nothing.
    """
    _heading(paper, summary)
    if not summary.requests:
        paper.line("No requests in here.")
        return
    _figures(paper, summary)
    _formats(paper, summary)
    write_losses(paper, summary.losses, summary.cost or 0)
    write_kinds(paper, summary, leads)
    write_heads(paper, summary.shared_heads)
    _half(paper, summary)
    _worst_sessions(paper, [line for line in summary.worst_sessions if line.lost_cost or line.misses], content)
    _worst_misses(paper, summary)
    _unpriced(paper, summary)
    _accounting(paper, summary)
    if advice is not None:
        write_advice(paper, advice, paths)
        _unnamed(paper, summary)


def _unnamed(paper: Paper, summary: Summary) -> None:
    """Where a good part of the loss has a cause that these logs cannot place: how to find out."""
    from agentsim.diagnose.harness_settings import WITHOUT_PLACE, known_harness

    unplaced = [loss for loss in summary.losses if loss.cause in WITHOUT_PLACE and loss.cost]
    lost = sum(loss.cost for loss in unplaced)
    if not unplaced or lost * 5 < (summary.lost_cost or 0):
        return
    harnesses = [known.name for line in summary.formats if (known := known_harness(line.format)) is not None]
    which = f" --harness {harnesses[0]}" if harnesses else ""
    codes = ", ".join(loss.cause for loss in unplaced)
    text = f"Of {figures.money(lost)} ({codes}) these logs do not show what changed: agentsim explain "
    paper.paragraph(f"{text}{unplaced[0].cause}{which} tells how to record it.", first=["  "], rest=["  "])


def _heading(paper: Paper, summary: Summary) -> None:
    first, last = figures.day(summary.first_time), figures.day(summary.last_time)
    when = "" if summary.first_time is None else f"{first} · " if first == last else f"{first} – {last} · "
    paper.paragraph(
        (figures.plural(summary.sessions, "session"), Style.STRONG),
        f" in {figures.plural(summary.files, 'file')} · {when}{figures.plural(summary.requests, 'request')}",
    )
    paper.line()


def _figures(paper: Paper, summary: Summary) -> None:
    hit = f"{figures.per_cent(summary.hit_read, summary.hit_total)} %" if summary.hit_total else figures.UNKNOWN
    misses = figures.plural(sum(loss.count for loss in summary.losses), "miss", "misses")
    unpriced = sum(count for _, count in summary.unpriced)
    of = "no request has a known price"
    if summary.cost is not None:
        of = f"{figures.equivalents(summary.equivalents)} input equivalents"
        of += f"; {figures.plural(unpriced, 'request')} not priced" if unpriced else ""
    lost = misses
    if summary.cost is not None and summary.lost_cost is not None:
        lost = f"{figures.per_cent(summary.lost_cost, summary.cost)} % of the bill, {misses}"
    lines = [
        ("cost", figures.money(summary.cost), of),
        (
            "hit rate",
            hit,
            f"{figures.count(summary.hit_read)} of {figures.count(summary.hit_total)} input tokens read",
        ),
        ("lost", figures.money(summary.lost_cost), lost),
    ]
    if summary.unlogged:
        least = f"at least {figures.plural(summary.unlogged, 'request')} that no log shows, not in the cost"
        known = summary.unlogged_cost
        lines.append(("unlogged", figures.money(None) if known is None else f"≥ {figures.money(known)}", least))
    names = max(len(name) for name, _, _ in lines)
    amounts = max(len(amount) for _, amount, _ in lines)
    for name, amount, rest in lines:
        lead: list[Span] = [f"  {name:<{names}}  ", (f"{amount:>{amounts}}", Style.STRONG), "  "]
        paper.paragraph(rest, first=lead, rest=[" " * (names + amounts + 6)])


def _formats(paper: Paper, summary: Summary) -> None:
    """What each format adds, where there are several."""
    if len(summary.formats) < 2:
        return
    paper.line()
    places = figures.places_for(line.cost for line in summary.formats)
    rows: list[list[Span]] = [
        [
            line.format,
            figures.count(line.sessions),
            figures.count(line.requests),
            figures.count(line.unpriced),
            figures.UNKNOWN if line.cost is None else figures.money(line.cost, places),
        ]
        for line in summary.formats
    ]
    write_table(paper, FORMAT_COLUMNS, rows, indent=2)


def half_of_the_loss(summary: Summary) -> str | None:
    """In how few sessions half of the loss lies, and which these are; ``None`` where there are too few of them."""
    lost = [line.lost_cost or 0 for line in summary.by_loss]
    total = sum(lost)
    if not total or len(lost) < 3:
        return None
    count = part = 0
    while part * 2 < total:
        part += lost[count]
        count += 1
    named = ", ".join(line.session[:_SHORT_ID] for line in summary.by_loss[:count]) if count <= _MOST_NAMED else ""
    return (
        f"Half of the loss lies in {figures.plural(count, 'session')} of {len(lost):,}"
        f"{f' ({named})' if named else ''}: {figures.money(part)} of {figures.money(total)}."
    )


def _half(paper: Paper, summary: Summary) -> None:
    text = half_of_the_loss(summary)
    if text is not None:
        paper.line()
        paper.paragraph(text)


def _worst_sessions(paper: Paper, lines: Sequence[SessionLine], content: bool) -> None:
    if not lines:
        return
    paper.line()
    paper.line(("Sessions that lost most", Style.STRONG))
    cost_places = figures.places_for(line.cost for line in lines)
    lost_places = figures.places_for(line.lost_cost for line in lines)
    rows: list[list[Span]] = [
        [
            line.session,
            line.project,
            figures.count(line.requests),
            figures.count(line.misses),
            figures.per_cent(line.hit_read, line.hit_total),
            figures.UNKNOWN if line.cost is None else figures.money(line.cost, cost_places),
            figures.UNKNOWN if line.lost_cost is None else figures.money(line.lost_cost, lost_places),
        ]
        for line in lines
    ]
    write_table(paper, SESSION_COLUMNS, rows, indent=2)
    for line in lines if content else ():
        names = look_up(line.files, line.session)
        words = " · ".join(part for part in (names.title, names.first_words) if part)
        if words:
            paper.paragraph((f"{line.session[:8]}  ", Style.FAINT), words, first=["  "], rest=["            "])


def _worst_misses(paper: Paper, summary: Summary) -> None:
    misses = summary.worst_misses
    if not misses:
        return
    paper.line()
    paper.line(("Most expensive misses", Style.STRONG))
    places = figures.places_for(miss.lost_cost for miss in misses)
    rows_known = any(miss.row for miss in misses)
    rows: list[list[Span]] = [
        [
            figures.moment(miss.time),
            figures.UNKNOWN if miss.lost_cost is None else figures.money(miss.lost_cost, places),
            figures.count(miss.lost),
            miss.cause,
            *([f"#{miss.row:,}" if miss.row else figures.UNKNOWN] if rows_known else []),
            f"{_tail(miss.file)}:{miss.line}" if miss.file else figures.UNKNOWN,
        ]
        for miss in misses
    ]
    columns = (*MISS_COLUMNS[:-1], ROW_COLUMN, MISS_COLUMNS[-1]) if rows_known else MISS_COLUMNS
    write_table(paper, columns, rows, indent=2)
    command = proof_of_miss(summary, misses[0])
    if command is not None:
        paper.paragraph((f"{command} shows the first of them.", Style.FAINT), first=["  "], rest=["  "])


def proof_of_miss(summary: Summary, miss: MissLine) -> str | None:
    """The command that shows one miss; ``None`` where a trace does not tell which log its requests came from."""
    files = miss.files or ((miss.file,) if miss.file else ())
    if not files:
        return None
    if miss.row and len(files) <= _MOST_FILES:
        others = any({*files} & {*line.files} for line in summary.by_loss if line.session != miss.session)
        which = f" --session {quote(miss.session)}" if others else ""
        return f"agentsim replay {' '.join(map(quote, files))}{which} --row {miss.row}"
    if not miss.file:
        return None
    # Of other files than JSON lines a line does not tell a request.
    which = f"--line {miss.line}" if miss.line and miss.file.endswith(".jsonl") else "--rows misses"
    return f"agentsim replay {quote(miss.file)} {which}"


def _unpriced(paper: Paper, summary: Summary) -> None:
    if not summary.unpriced and not summary.unreported:
        return
    paper.line()
    if summary.unpriced:
        models = ", ".join(f"{model} {count:,}" for model, count in summary.unpriced)
        total = sum(count for _, count in summary.unpriced)
        paper.paragraph((f"Not priced, and not in the cost: {figures.plural(total, 'request')} ({models})", Style.WARN))
    if summary.unreported:
        paper.paragraph(f"Without cache counters: {figures.plural(summary.unreported, 'request')}")


def _accounting(paper: Paper, summary: Summary) -> None:
    sums = summary.accounting
    skipped = sum(count for _, count in sums.skipped)
    text = f"{figures.plural(sums.rows, 'row')} read: {sums.used:,} used, {sums.duplicate:,} repeated,"
    text += f" {sums.not_billable:,} without a bill, {skipped:,} skipped"
    paper.line()
    paper.paragraph((text, Style.FAINT))


def _tail(path: str) -> str:
    """The last part of a path: the folder above is in the list of sessions."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]
