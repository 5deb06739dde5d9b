"""Losses of one kind over all sessions, and what stands in front of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from agentsim.diagnose.loss_findings import alike, is_placeless, leaves_open, words_of_floor
from agentsim.diagnose.loss_leads import LEAST_LOSSES, Lead, MarkCounts, lead_among
from agentsim.fleet.summary.summary_shape import KindOfLoss, Summary, UnitLoss, UnitReport
from agentsim.traces.time_stamps import nanoseconds

Losses = Sequence[tuple[str, str]]
"""(session, request) of losses."""


class SessionMarks(msgspec.Struct, array_like=True, gc=False):
    """What stands in front of the requests of a session of which a read was expected: their number, how often each mark
    is there, and the marks of those that lost something, by request."""

    rows: int
    present: dict[str, int]
    lost: dict[str, tuple[str, ...]]


class LossLeads(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in front of losses, over the ``sessions`` that were looked at: for each kind of loss in the order of
    the summary, and for all those without a place together, where that is not said of one of the others."""

    kinds: tuple[Lead | None, ...]
    placeless: Lead | None
    sessions: int


def kinds_of_losses(reports: Sequence[UnitReport]) -> list[KindOfLoss]:
    """The kinds that come at least twice and say more than their cause does, the dearest first."""
    losses = [(report.session, loss) for report in reports for loss in report.losses]
    found = []
    for group in alike([loss.kind for _, loss in losses]):
        members = [losses[index] for index in group]
        kind = members[0][1].kind
        if len(members) > 1 and (kind.thing or kind.floor is not None):
            found.append(_together(members))
    found.sort(key=lambda one: (-(one.cost or 0), -one.tokens, one.cause, one.what))
    return found


def _together(members: Sequence[tuple[str, UnitLoss]]) -> KindOfLoss:
    losses = [loss for _, loss in members]
    costs = [loss.cost for loss in losses if loss.cost is not None]
    times = [time for loss in losses if (time := nanoseconds(loss.stamp)) is not None]
    cause = Counter(loss.cause for loss in losses).most_common(1)[0][0]
    reads = [loss.kind.floor for loss in losses if loss.kind.floor is not None]
    what = words_of_floor(cause, reads) if reads else Counter(loss.what for loss in losses).most_common(1)[0][0]
    return KindOfLoss(
        cause=cause,
        what=what,
        losses=len(losses),
        sessions=len({session for session, _ in members}),
        tokens=sum(loss.tokens for loss in losses),
        cost=sum(costs) if costs else None,
        first_time=min(times, default=None),
        last_time=max(times, default=None),
        requests=tuple((session, loss.request) for session, loss in members),
    )


def leads_of(summary: Summary, marks: Mapping[str, SessionMarks]) -> LossLeads:
    """The leads over the sessions whose marks are known, which are named by their ids. Each session is compared with
    itself alone."""
    asked = [one if leaves_open(one.cause) and one.losses >= LEAST_LOSSES else None for one in summary.kinds_of_loss]
    questions = sum(one is not None for one in asked) + 1
    kinds = tuple(None if one is None else lead_among(_counts(one.requests, marks), questions) for one in asked)
    placeless = lead_among(_counts(summary.placeless, marks), questions)
    said = placeless is not None and any(
        lead is not None and lead.what == placeless.what and 2 * one.losses > len(summary.placeless)
        for lead, one in zip(kinds, summary.kinds_of_loss, strict=True)
    )
    return LossLeads(kinds=kinds, placeless=None if said else placeless, sessions=len(marks))


def placeless_losses(reports: Sequence[UnitReport]) -> tuple[tuple[str, str], ...]:
    """The losses whose cause names no place."""
    return tuple(
        (report.session, loss.request) for report in reports for loss in report.losses if is_placeless(loss.cause)
    )


def _counts(losses: Losses, marks: Mapping[str, SessionMarks]) -> list[MarkCounts]:
    by_session: dict[str, list[str]] = {}
    for session, request in losses:
        by_session.setdefault(session, []).append(request)
    counts = []
    for session, known in marks.items():
        lost = [known.lost[request] for request in by_session.get(session, ()) if request in known.lost]
        if not lost:
            continue  # where nothing of the kind happens, nothing is to be compared
        hits = Counter(mark for one in lost for mark in one)
        found = {mark: (present, hits.get(mark, 0)) for mark, present in known.present.items()}
        counts.append(MarkCounts(known.rows, len(lost), found))
    return counts
