"""A summary by day, week, month, model, project, harness or version: each request placed by its own time.

Sessions are read and judged whole, as a replay does, so that a request's verdict does not depend on the days asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Literal, get_args

import msgspec

from agentsim.core.dates import DAY, has_date, start_of
from agentsim.core.session import Accounting, Problem, Request, Row, Session
from agentsim.core.sums import known
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read

By = Literal["day", "week", "month", "model", "project", "harness", "version"]
GROUPED_BY: tuple[By, ...] = get_args(By)
"""What a summary can be grouped by."""

_BY_TIME = ("day", "week", "month")


class GroupSums(msgspec.Struct, frozen=True, kw_only=True):
    """What the requests of one group add up to; ``None`` where nothing of it is known.

    Money in picodollars. ``name`` is ``None`` for requests of which it is not known. ``unpriced`` requests are in no
    cost; ``bare`` ones have no counters and are in no token sum.
    """

    name: str | None
    requests: int
    input: int | None
    read: int | None
    cost: int | None
    unpriced: int
    bare: int
    misses: int
    lost_tokens: int | None
    lost_cost: int | None


class GroupedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Groups that add up to ``total``. ``undated`` requests have no date and are left out where days were asked for.

    ``since`` and ``until`` are days in UTC, both within.
    """

    by: By | None
    since: date | None
    until: date | None
    groups: tuple[GroupSums, ...]
    total: GroupSums
    undated: int
    accountings: tuple[Accounting, ...]
    problems: tuple[Problem, ...]


def first_day(text: str, today: date) -> date:
    """The day that ``30d`` (that many days, today the last) or ``2026-01-31`` begins with. Raises ValueError."""
    if text.endswith("d") and text[:-1].isdecimal() and 0 < int(text[:-1]) < 100_000:
        return today - timedelta(days=int(text[:-1]) - 1)
    return date.fromisoformat(text)


def summarise_groups(
    paths: Sequence[str], *, by: By | None = None, since: date | None = None, until: date | None = None
) -> GroupedSummary:
    """Sum up the sessions at or under the paths by group, each request once. Raises OSError for unreadable input."""
    least = start_of(since) if since is not None else None
    end = start_of(until) + DAY if until is not None else None
    sums: dict[str | None, _Adding] = {}
    whole = _Adding()
    undated = 0
    problems: list[Problem] = []
    accountings: list[Accounting] = []
    for session in read(paths, problems):
        accountings.append(session.accounting)
        problems += session.problems
        judged = diagnose(session)
        for request, row, verdict in zip(session.requests, judged.rows, judged.verdicts, strict=True):
            if not request.counted:
                continue
            time = time_of(request)
            if least is not None or end is not None:
                if time is None:
                    undated += 1
                    continue
                if (least is not None and time < least) or (end is not None and time >= end):
                    continue
            whole.add(request, row, verdict)
            if by is not None:
                sums.setdefault(_name(by, session, request, time), _Adding()).add(request, row, verdict)
    groups = [found.named(name) for name, found in sums.items()]
    if by in _BY_TIME:
        groups.sort(key=lambda group: (group.name is None, group.name or ""))
    else:
        groups.sort(key=lambda group: (-(group.cost or 0), -group.requests, group.name is None, group.name or ""))
    return GroupedSummary(
        by=by,
        since=since,
        until=until,
        groups=tuple(groups),
        total=whole.named(None),
        undated=undated,
        accountings=tuple(accountings),
        problems=tuple(problems),
    )


def time_of(request: Request) -> int | None:
    """When a request was answered, or sent where that is not known; ``None`` where its trace has no dates."""
    time = request.end if request.end is not None else request.start
    return time if time is not None and has_date(time) else None


def _name(by: By, session: Session, request: Request, time: int | None) -> str | None:
    if by in _BY_TIME:
        return _period(by, time)
    if by == "model":
        return request.model or None
    if by == "harness":
        return session.harness or None
    if by == "version":
        version = request.harness_version
        return " ".join(part for part in (session.harness, version) if part) if version else None
    return _project(session)


def _period(by: By, time: int | None) -> str | None:
    if time is None:
        return None
    try:
        day = datetime.fromtimestamp(time // 10**9, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    if by == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    return day.isoformat() if by == "day" else f"{day:%Y-%m}"


def _project(session: Session) -> str | None:
    """The folder of its log, above those that a harness makes for parts of a session; that of a day is no project."""
    folder = os.path.dirname(session.files[0]) if session.files else ""
    while name := os.path.basename(folder):
        if name not in ("subagents", "workflows", session.id) and not name.startswith("wf_"):
            return None if name.isdecimal() else name
        folder = os.path.dirname(folder)
    return None


class _Adding:
    """The sums of one group while they grow."""

    def __init__(self) -> None:
        self.requests = self.input = self.read = self.cost = self.unpriced = self.bare = 0
        self.misses = self.lost_tokens = self.lost_cost = self.unpriced_misses = 0
        self.with_input = self.with_read = 0

    def add(self, request: Request, row: Row, verdict: Verdict) -> None:
        """Add a request, by the rules of a plain summary: without counters it is counted and adds nothing else."""
        self.requests += 1
        usage = request.usage
        if usage is None:
            self.bare += 1
            return
        parts = [part for part in (usage.fresh, usage.write, usage.read) if part is not None]
        self.input += sum(parts)
        self.with_input += bool(parts)
        self.read += usage.read or 0
        self.with_read += usage.read is not None
        self.cost += row.cost or 0
        self.unpriced += row.cost is None
        if verdict.kind == "miss":
            self.misses += 1
            self.lost_tokens += verdict.lost
            self.lost_cost += verdict.lost_cost or 0
            self.unpriced_misses += verdict.lost_cost is None

    def named(self, name: str | None) -> GroupSums:
        """The sums as a record: what no request tells of is not known."""
        judged = bool(self.with_read) or not self.requests
        return GroupSums(
            name=name,
            requests=self.requests,
            input=known(self.input, self.requests, self.requests - self.with_input),
            read=known(self.read, self.requests, self.requests - self.with_read),
            cost=known(self.cost, self.requests, self.unpriced + self.bare),
            unpriced=self.unpriced,
            bare=self.bare,
            misses=self.misses,
            lost_tokens=self.lost_tokens if judged else None,
            lost_cost=known(self.lost_cost, self.misses, self.unpriced_misses) if judged or self.misses else None,
        )
