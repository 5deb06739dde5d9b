"""Settings proposed, and settings held against what came of them, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.diagnose.harness_settings import known_harness
from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.tuning.saving_shares import ShareInterval
    from agentsim.tuning.tune_choice import TunedPolicy, TuneProposal
    from agentsim.tuning.tune_verification import TuneVerification

COLUMNS = (
    TableColumn("setting", "<", 9, 20),
    TableColumn("older part", ">", 6),
    TableColumn("newest part", ">", 7),
    TableColumn("", "<", 8, 16),
)

_JUDGEMENTS: dict[str, tuple[str, Style]] = {
    "held": ("The prediction held.", Style.GOOD),
    "less": ("It saves, and less than predicted.", Style.WARN),
    "more": ("It saves more than predicted.", Style.GOOD),
    "costs": ("It costs more than before. Undo it: agentsim tune undo", Style.BAD),
    "open": ("Whether it saves cannot be told yet.", Style.WARN),
}


def write_proposal(paper: Paper, proposal: TuneProposal) -> None:
    """Write what to set and what it will save, or that nothing is proposed, and what else was tried."""
    known = known_harness(proposal.harness)
    title = known.title if known is not None else proposal.harness
    sessions = figures.plural(proposal.older + proposal.newer, "session")
    span = f"{figures.day(proposal.first)} to {figures.day(proposal.last)}"
    paper.paragraph(
        (title, Style.STRONG),
        f": {sessions}, {span}, {figures.money(proposal.cost)}. Chosen on the oldest {proposal.older:,}, held against "
        f"the newest {proposal.newer:,}.",
    )
    paper.line()
    month = proposal.monthly
    written = [text for one in proposal.best for text in one.setting.written]
    if proposal.predicted is None or month is None:
        paper.paragraph(("No setting is proposed.", Style.STRONG), " None would have saved in both parts.")
    elif not proposal.chosen:
        paper.paragraph(
            ("No setting is proposed.", Style.STRONG),
            f" {', '.join(written)} saved in both parts. In the sessions to come it may as well cost more: "
            f"{_share(proposal.predicted)}, {_ends(proposal.predicted)}.",
        )
    else:
        paper.paragraph(("Set  ", Style.STRONG), (", ".join(written), Style.NAME))
        low, high = sorted((month[1], month[2]))
        paper.paragraph(
            f"It will save {_share(proposal.predicted)} of the bill: {figures.money(month[0])} in 30 days of such "
            f"work, between {figures.money(low)} and {figures.money(high)} in nine of ten.",
        )
    tried = [one for one in proposal.tried if one.older or one.newer]
    if tried:
        paper.line()
        write_table(paper, COLUMNS, [_row(one, one in proposal.chosen) for one in tried])
    _not_tried(paper, proposal)
    if proposal.chosen:
        paper.line()
        paper.paragraph(
            ("Write it: agentsim tune --apply. Later: agentsim tune verify tells what it saved.", Style.FAINT)
        )


def write_verification(paper: Paper, verification: TuneVerification) -> None:
    """Write what was predicted, what was measured, and what to do."""
    application = verification.application
    written = ", ".join(f"{key} = {value}" for key, value in application.written.items())
    paper.paragraph(
        ("Set  ", Style.STRONG), (written, Style.NAME), f"  in {application.file}, {figures.moment(application.time)}"
    )
    sessions = figures.plural(verification.sessions, "session")
    paper.paragraph(f"Since then: {sessions}, {figures.money(verification.cost)}.")
    paper.line()
    paper.paragraph(
        ("Predicted ", Style.STRONG), f"{_share(application.predicted)} of the bill, {_ends(application.predicted)}."
    )
    verb = "saved" if verification.saved >= 0 else "cost"
    paper.paragraph(
        ("Measured  ", Style.STRONG),
        f"{_share(verification.measured)}, {_ends(verification.measured)}: {verb} "
        f"{figures.money(abs(verification.saved))} beside the same sessions under the settings of before.",
    )
    if verification.by_bills is not None:
        part = figures.per_cent(verification.comparable, 1_000_000, 0)
        paper.paragraph(
            ("By bills  ", Style.STRONG),
            f"{_share(verification.by_bills)}, {_ends(verification.by_bills)}: requests of the same model, lane, size "
            f"and pause, before and since ({part} % of the bill since).",
        )
    else:
        paper.paragraph(("By bills  ", Style.STRONG), "too few sessions before and since to compare.")
    if verification.against:
        paper.paragraph(
            (f"{figures.plural(verification.against, 'session')} asked for other lifetimes: ", Style.WARN),
            "the setting was not in force there.",
        )
    paper.line()
    paper.paragraph(_JUDGEMENTS[verification.judgement])


def _not_tried(paper: Paper, proposal: TuneProposal) -> None:
    """Write each reason once, with the settings and the number of sessions that it holds for."""
    settings: dict[str, list[str]] = {}
    for one in proposal.tried:
        if not one.older and not one.newer:
            settings.setdefault(one.reason, []).append(" with ".join(one.setting.written))
    sessions: dict[str, int] = {}
    for each in proposal.left_out:
        sessions[each.reason] = sessions.get(each.reason, 0) + 1
    if settings or sessions:
        paper.line()
    for reason, names in settings.items():
        paper.paragraph((f"Not tried: {', '.join(names)}: {reason}.", Style.FAINT))
    for reason, count in sorted(sessions.items(), key=lambda item: -item[1]):
        paper.paragraph((f"{figures.plural(count, 'session')} left out: {reason}.", Style.FAINT))


def _row(one: TunedPolicy, chosen: bool) -> list[Span]:
    words = " with ".join(one.setting.written)
    places = figures.places_for([one.older, one.newer])
    note: Span = ("chosen", Style.GOOD) if chosen else (one.reason, Style.FAINT)
    return [words, _saved(one.older, places), _saved(one.newer, places), note]


def _saved(amount: int, places: int) -> str:
    return f"{'+' if amount > 0 else '-' if amount < 0 else ''}{figures.money(abs(amount), places)}"


def _share(interval: ShareInterval) -> str:
    return f"{interval.share / 10_000:.1f} %"


def _ends(interval: ShareInterval) -> str:
    return f"between {interval.low / 10_000:.1f} and {interval.high / 10_000:.1f} % in nine of ten"
