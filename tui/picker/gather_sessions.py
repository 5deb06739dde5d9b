"""Find sessions and sum each up, newest first. Runs in a worker; tells what it found in batches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from agentsim.core.session import Problem
from agentsim.core.sums import known_sum
from agentsim.diagnose import Diagnosis
from agentsim.fleet.summary.conversation_report import report_on
from agentsim.fleet.summary.summary_shape import UnitReport, known_cost
from agentsim.rules.prices import default_book
from agentsim.traces.readers.claude_code.claude_files import LogFile, conversations, look_at
from agentsim.traces.time_stamps import nanoseconds

CLAUDE_CODE = "claude-code"
PATIENCE = 0.1
"""Seconds between two batches."""


class PickerLine(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the list. Money in picodollars, times in nanoseconds; ``read`` of ``total`` input tokens hit.

    ``files`` are what to read to open it: its own, and those of sessions that it shares requests with.
    """

    session: str
    name: str
    format: str
    files: tuple[str, ...]
    requests: int = 0
    cost: int | None = None
    lost: int | None = None
    misses: int = 0
    read: int = 0
    total: int = 0
    first: int | None = None
    last: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from other lines."""
        return self.format, self.session


Tell = Callable[[Sequence[PickerLine], int, int], bool]
"""Takes lines (new ones, or better ones of sessions told before), and how many of how many are through. False: stop."""


def gather(paths: Sequence[str], tell: Tell) -> list[Problem]:
    """Sum up every session under the paths (without any: of this machine); what could not be read is returned."""
    from agentsim.traces.format_registry import told_format
    from agentsim.traces.harness_places import found_places
    from agentsim.traces.log_walk import find

    problems: list[Problem] = []
    found = find(paths or [place.path for place in found_places()], problems.append)
    logs: list[LogFile] = []
    others: dict[str, list[str]] = {}
    for file in found:
        format = told_format(file, problems)
        if format is None:
            continue
        if format.name != CLAUDE_CODE:
            others.setdefault(format.module, []).append(file.path)
            continue
        try:
            logs.append(look_at(file.path))
        except OSError as error:
            problems.append(
                Problem(file=file.path, line=0, reason=error.strerror or str(error), remedy="check that it can be read")
            )
    by_session: dict[str, list[tuple[LogFile, ...]]] = {}
    for group in conversations(logs):
        by_session.setdefault(group[0].session, []).append(group)
    total = len(by_session) + sum(len(files) for files in others.values())
    batches = _Batches(tell, total)
    if _claude_code(by_session, batches, problems):
        _others(others, batches, problems)
    batches.flush()
    return problems


class _Batches:
    """Collects lines and passes them on a few times a second."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell = tell
        self._total = total
        self._done = 0
        self._waiting: list[PickerLine] = []
        self._told = 0.0
        self.wanted = tell((), 0, total)

    def add(self, lines: Iterable[PickerLine], done: int = 1) -> bool:
        self._waiting += lines
        self._done += done
        if time.monotonic() - self._told >= PATIENCE:
            self.flush()
        return self.wanted

    def flush(self) -> None:
        self.wanted = self._tell(tuple(self._waiting), self._done, self._total) and self.wanted
        self._waiting = []
        self._told = time.monotonic()


def _claude_code(by_session: dict[str, list[tuple[LogFile, ...]]], batches: _Batches, problems: list[Problem]) -> bool:
    """The fast way for Claude Code's logs: no session is built. Returns False when nobody waits any more."""
    book = default_book()
    reports: dict[str, list[UnitReport]] = {}
    for session in sorted(by_session, key=lambda s: (-_newest(by_session[s]), s)):
        for group in by_session[session]:
            try:
                reports.setdefault(session, []).append(report_on(group, book))
            except OSError as error:
                reason = error.strerror or str(error)
                problems.append(Problem(file=group[0].path, line=0, reason=reason, remedy="check that it can be read"))
        parts = reports.get(session, [])
        lines = [_line(session, parts, _files(by_session[session]))] if any(p.requests for p in parts) else []
        if not batches.add(lines):
            return False
    return all(batches.add([line], 0) for line in _counted_once(by_session, reports))


def _counted_once(
    by_session: dict[str, list[tuple[LogFile, ...]]], reports: dict[str, list[UnitReport]]
) -> Iterable[PickerLine]:
    """Better lines for sessions that hold copies of an earlier session's requests (forks, resumes): each request
    counts where it came first, and opening the session reads both."""
    owner: dict[tuple[str, str], str] = {}
    for session in by_session:  # in order of their beginnings
        shared: dict[str, None] = {}
        for report in reports.get(session, ()):
            for key in report.identities():
                first = owner.setdefault(key, session)
                if first != session:
                    shared[first] = None
        if not shared:
            continue
        theirs = frozenset(key for report in reports[session] for key in report.identities() if owner[key] != session)
        try:
            parts = [report_on(group, default_book(), theirs) for group in by_session[session]]
        except OSError:
            continue
        files = [*_files(by_session[session]), *(file for other in shared for file in _files(by_session[other]))]
        yield _line(session, parts, tuple(files))


def _line(session: str, parts: Sequence[UnitReport], files: tuple[str, ...]) -> PickerLine:
    read = sum(part.read for part in parts)
    lost = [loss.cost for part in parts for loss in part.losses]
    return PickerLine(
        session=session,
        name=min(part.project for part in parts),
        format=CLAUDE_CODE,
        files=files,
        requests=sum(part.requests for part in parts),
        cost=known_cost(parts),
        lost=known_sum(lost),
        misses=len(lost),
        read=read,
        total=read + sum(part.fresh + part.written for part in parts),
        first=nanoseconds(min((part.first_stamp for part in parts if part.first_stamp), default=None)),
        last=nanoseconds(max((part.last_stamp for part in parts), default=None)),
    )


def _files(parts: Sequence[tuple[LogFile, ...]]) -> tuple[str, ...]:
    return tuple(file.path for group in parts for file in group)


def _newest(parts: Sequence[tuple[LogFile, ...]]) -> float:
    newest = 0.0
    for path in _files(parts):
        try:
            newest = max(newest, os.stat(path).st_mtime)
        except OSError:
            continue
    return newest


def _others(by_module: dict[str, list[str]], batches: _Batches, problems: list[Problem]) -> None:
    """Sessions of all other formats: read and judged whole."""
    from agentsim.traces.format_registry import LogFormat
    from agentsim.tui.session_loading import judge

    for module, files in sorted(by_module.items()):
        try:
            for session in LogFormat(module).reader.read_sessions(files, problems):
                own = tuple(session.files) or tuple(files)
                if not batches.add([line_of(judge(session), own)], 0):
                    return
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            problems.append(
                Problem(file=files[0], line=0, reason=reason, remedy="'agentsim trace formats' lists what is read")
            )
        batches.add((), len(files))


def line_of(diagnosis: Diagnosis, files: tuple[str, ...] = ()) -> PickerLine:
    """The line of a session that is judged already."""
    session, totals = diagnosis.session, diagnosis.totals
    starts = [row.start for row in diagnosis.rows if row.start is not None]
    read, total = totals.hit_rate
    return PickerLine(
        session=session.id,
        name=session.title or session.harness or "",
        format=session.format,
        files=files or session.files,
        requests=totals.requests,
        cost=totals.known_cost,
        lost=totals.known_lost_cost,
        misses=totals.misses,
        read=read,
        total=total,
        first=min(starts, default=None),
        last=max(starts, default=None),
    )
