"""What many sessions cost, and what they lost, each request counted once and each loss judged."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Accounting, Problem
from agentsim.core.sums import known
from agentsim.diagnose.diagnosis_totals import Loss, known_loss
from agentsim.fleet.summary.conversation_report import report_on
from agentsim.fleet.summary.log_sorting import sort_out
from agentsim.fleet.summary.repeated_losses import kinds_of_losses, placeless_losses
from agentsim.fleet.summary.summary_shape import (
    FormatLine,
    MissLine,
    SessionLine,
    SharedHead,
    Summary,
    UnitReport,
    known_cost,
)
from agentsim.fleet.summary.summary_workers import Progress, run
from agentsim.rules.prices import default_book
from agentsim.traces.readers.claude_code.claude_files import LogFile, conversations
from agentsim.traces.time_stamps import nanoseconds

if TYPE_CHECKING:
    from agentsim.fleet.summary.heads_of_sessions import Beginning

__all__ = ["FormatLine", "MissLine", "SessionLine", "Summary", "summarise"]

WORST = 10
"""How many of the worst sessions and misses a summary names."""

_WORTH_A_WORKER = 4 * 2**20


def summarise(
    paths: Sequence[str] | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    worst: int = WORST,
    meanwhile: Callable[[], None] | None = None,
) -> Summary:
    """Sum up the sessions at or under the paths, whatever their formats; without paths, those of Claude Code on this
    machine. Each request is counted once within a format.

    ``workers`` is the number of processes (by default as many as there are processors). The result does not depend on
    it, nor on the order of the paths. ``meanwhile`` is called once, while they read: it may import what will be needed
    then. Files that cannot be read are told in the summary's ``problems``.
    """
    with without_collection():
        return _summarise(paths, workers, progress, worst, meanwhile)


def _summarise(
    paths: Sequence[str] | None,
    workers: int | None,
    progress: Progress | None,
    worst: int,
    meanwhile: Callable[[], None] | None,
) -> Summary:
    problems: list[Problem] = []
    files, others = sort_out(paths, problems)
    groups = conversations(files)
    if workers is None:
        size = sum(file.size for file in files)
        workers = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()) or 1
        workers = max(1, min(workers, size // _WORTH_A_WORKER))
    reports: list[UnitReport] = []
    for result in run(groups, workers, progress, meanwhile):
        if isinstance(result, Problem):
            problems.append(result)
        else:
            reports.append(result)
    copies, linked = _count_once(reports, {group[0].path: group for group in groups})
    heads: tuple[SharedHead, ...] = ()
    if others:
        from agentsim.fleet.summary.heads_of_sessions import shared_heads
        from agentsim.fleet.summary.other_formats import reports_on

        begun: list[Beginning] = []
        reports += reports_on(others, problems, begun)
        heads = shared_heads(begun)
    count = len(files) + sum(len(group) for group in others.values())
    summary = _add_up(reports, copies, problems, count, worst, linked)
    return msgspec.structs.replace(summary, shared_heads=heads) if heads else summary


def _count_once(reports: list[UnitReport], groups: dict[str, tuple[LogFile, ...]]) -> tuple[int, frozenset[str]]:
    """Take requests that an earlier conversation holds out of the later ones; how many there were, and in which
    sessions they and their copies are.

    Reports come in the order of their beginnings, so the owner of a request is the conversation that began first.
    """
    owned: set[int] = set()
    linked: set[str] = set()
    copies = 0
    for index, report in enumerate(reports):
        before = len(owned)
        hashes = array("q", report.key_hashes)
        owned.update(hashes)
        if before + len(hashes) > len(owned):
            earlier: dict[tuple[str, str], str] = {}
            for other in reports[:index]:
                earlier.update(dict.fromkeys(other.identities(), other.session))
            theirs = frozenset(key for key in report.identities() if key in earlier)
            if theirs:
                linked.update((report.session, *(earlier[key] for key in theirs)))
                reports[index] = report_on(groups[report.files[0]], default_book(), theirs)
                copies += len(theirs)
    return copies, frozenset(linked)


def _add_up(
    reports: list[UnitReport],
    copies: int,
    problems: list[Problem],
    files: int,
    worst: int,
    linked: frozenset[str] = frozenset(),
) -> Summary:
    losses: dict[str, list[int]] = {}
    unpriced: dict[str, int] = {}
    kinds: dict[str, int] = {}
    skipped: dict[str, int] = {}
    by_session: dict[tuple[str, str], list[UnitReport]] = {}
    misses: list[tuple[UnitReport, MissLine]] = []
    for report in reports:
        by_session.setdefault((report.format, report.session), []).append(report)
        for target, source in ((unpriced, report.unpriced), (kinds, report.kinds), (skipped, report.skipped)):
            for name, count in source.items():
                target[name] = target.get(name, 0) + count
        problems += report.problems
        for loss in report.losses:
            sums = losses.setdefault(loss.cause, [0, 0, 0, 0, 0])
            sums[0] += 1
            sums[1] += loss.tokens
            sums[2] += loss.cost or 0
            sums[3] += loss.equivalents or 0
            sums[4] += loss.cost is None
            misses.append(
                (
                    report,
                    MissLine(
                        session=report.session,
                        request=loss.request,
                        time=nanoseconds(loss.stamp),
                        cause=loss.cause,
                        lost=loss.tokens,
                        lost_cost=loss.cost,
                        file=loss.file,
                        line=loss.line,
                        row=loss.row,
                        files=report.files,
                    ),
                )
            )
    items = [
        Loss(cause=cause, count=s[0], tokens=s[1], cost=s[2], equivalents=s[3], unpriced=s[4])
        for cause, s in losses.items()
    ]
    items.sort(key=lambda loss: (-loss.cost, -loss.tokens, loss.cause))
    shown = {key: parts for key, parts in by_session.items() if any(part.requests for part in parts)}
    lines = [_session_line(format, session, parts, session in linked) for (format, session), parts in shown.items()]
    lines.sort(key=lambda line: (-(line.lost_cost or 0), -(line.cost or 0), line.session))
    misses.sort(key=lambda pair: (-(pair[1].lost_cost or 0), -pair[1].lost, pair[1].request))
    stamps = [stamp for report in reports for stamp in (report.first_stamp, report.last_stamp) if stamp]
    fresh, written, read = (sum(getattr(r, name) for r in reports) for name in ("fresh", "written", "read"))
    requests = sum(report.requests for report in reports)
    cost = known_cost(reports)
    unlogged, unlogged_cost = (sum(getattr(r, name) for r in reports) for name in ("unlogged", "unlogged_cost"))
    return Summary(
        sessions=len(lines),
        files=files,
        requests=requests,
        duplicates=copies,
        cost=cost,
        equivalents=None if cost is None else sum(report.equivalents for report in reports),
        fresh=fresh,
        written=written,
        read=read,
        output=sum(report.output for report in reports),
        hit_read=read,
        hit_total=fresh + written + read,
        losses=tuple(items),
        lost_tokens=sum(loss.tokens for loss in items),
        lost_cost=known_loss(items),
        worst_sessions=tuple(lines[:worst]),
        by_loss=tuple(lines),
        worst_misses=tuple(miss for _, miss in misses[:worst]),
        unlogged=unlogged,
        unlogged_cost=known(unlogged_cost, unlogged, 0 if unlogged_cost else unlogged),
        unpriced=tuple(sorted(unpriced.items())),
        unreported=sum(report.unreported for report in reports),
        kinds=tuple(sorted(kinds.items())),
        accounting=Accounting(
            rows=sum(report.rows for report in reports),
            used=requests,
            duplicate=sum(report.duplicate for report in reports) + copies,
            not_billable=sum(report.not_billable for report in reports),
            skipped=tuple(sorted(skipped.items())),
        ),
        problems=tuple(sorted(problems, key=lambda problem: (problem.file, problem.line, problem.reason))),
        first_time=nanoseconds(min(stamps, default=None)),
        last_time=nanoseconds(max(stamps, default=None)),
        formats=_by_format(shown),
        kinds_of_loss=tuple(kinds_of_losses(reports)),
        placeless=placeless_losses(reports),
    )


def _by_format(sessions: Mapping[tuple[str, str], Sequence[UnitReport]]) -> tuple[FormatLine, ...]:
    formats: dict[str, list[Sequence[UnitReport]]] = {}
    for (format, _), parts in sessions.items():
        formats.setdefault(format, []).append(parts)
    lines = [
        FormatLine(
            format=format,
            sessions=len(groups),
            requests=sum(part.requests for parts in groups for part in parts),
            unpriced=sum(sum(part.unpriced.values()) for parts in groups for part in parts),
            cost=known_cost([part for parts in groups for part in parts]),
        )
        for format, groups in formats.items()
    ]
    return tuple(sorted(lines, key=lambda line: (-line.requests, line.format)))


def _session_line(format: str, session: str, parts: list[UnitReport], copies: bool) -> SessionLine:
    read = sum(part.read for part in parts)
    losses = [loss.cost for part in parts for loss in part.losses]
    return SessionLine(
        session=session,
        format=format,
        copies=copies,
        project=min(part.project for part in parts),
        requests=sum(part.requests for part in parts),
        cost=known_cost(parts),
        lost_cost=known(sum(cost or 0 for cost in losses), len(losses), losses.count(None)),
        misses=len(losses),
        hit_read=read,
        hit_total=read + sum(part.fresh + part.written for part in parts),
        first_stamp=min((part.first_stamp for part in parts if part.first_stamp), default=""),
        last_stamp=max((part.last_stamp for part in parts), default=""),
        files=tuple(dict.fromkeys(file for part in parts for file in part.files)),
    )
