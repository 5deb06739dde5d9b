"""A summary by day, model, project, branch, agent and so on: each request placed by its own time.

Sessions are read and judged whole, as a replay does, so that a request's verdict does not depend on the days asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal

import msgspec

from agentsim.core.dates import DAY, has_date, start_of
from agentsim.core.session import Accounting, Problem, Request, Row, Session
from agentsim.core.sums import known
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.traces.session_names import names_of, project_of

By = Literal["day", "week", "month", "model", "project", "harness", "version", "branch", "agent"]
"""What a summary can be grouped by."""

_BY_TIME = ("day", "week", "month")
_MOST_META = 1 << 16


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


class CauseChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one cause lost in the days asked for, and in as many days before; picodollars, of what has a price."""

    cause: str
    misses: int
    misses_before: int
    lost_cost: int
    lost_cost_before: int


class GroupedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Groups that add up to ``total``. ``undated`` requests have no date and are left out where days were asked for.

    ``since`` and ``until`` are days in UTC, both within. ``before`` are the sums of as many days before ``since``, and
    ``causes`` what each cause lost now and then, the one that grew most first; both only where ``since`` was given.
    """

    by: By | None
    since: date | None
    until: date | None
    groups: tuple[GroupSums, ...]
    total: GroupSums
    undated: int
    accountings: tuple[Accounting, ...]
    problems: tuple[Problem, ...]
    days: int | None = None
    before: GroupSums | None = None
    causes: tuple[CauseChange, ...] = ()


def first_day(text: str, today: date) -> date:
    """The day that ``30d`` (that many days, today the last) or ``2026-01-31`` begins with. Raises ValueError."""
    if text.endswith("d") and text[:-1].isdecimal() and 0 < int(text[:-1]) < 100_000:
        return today - timedelta(days=int(text[:-1]) - 1)
    return date.fromisoformat(text)


def summarise_groups(
    paths: Sequence[str],
    *,
    by: By | None = None,
    since: date | None = None,
    until: date | None = None,
    today: date | None = None,
) -> GroupedSummary:
    """Sum up the sessions at or under the paths by group, each request once. Raises OSError for unreadable input.

    ``today`` is the last day where ``until`` is not given: with ``since`` it tells how many days there are to compare
    with as many before.
    """
    least = start_of(since) if since is not None else None
    end = start_of(until) + DAY if until is not None else None
    last = until if until is not None else today
    days = (last - since).days + 1 if since is not None and last is not None and last >= since else None
    earliest = least - days * DAY if least is not None and days is not None else None
    sums: dict[str | None, _Adding] = {}
    whole, before = _Adding(), _Adding()
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
                if earliest is not None and least is not None and earliest <= time < least:
                    before.add(request, row, verdict)
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
        days=days,
        before=before.named(None) if days is not None else None,
        causes=_changes(whole, before) if days is not None else (),
    )


def _changes(now: _Adding, before: _Adding) -> tuple[CauseChange, ...]:
    changes = [
        CauseChange(
            cause=cause,
            misses=now.causes.get(cause, (0, 0))[0],
            misses_before=before.causes.get(cause, (0, 0))[0],
            lost_cost=now.causes.get(cause, (0, 0))[1],
            lost_cost_before=before.causes.get(cause, (0, 0))[1],
        )
        for cause in now.causes.keys() | before.causes.keys()
    ]
    return tuple(sorted(changes, key=lambda one: (one.lost_cost_before - one.lost_cost, one.cause)))


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
    if by == "branch":
        return names_of(session).branch
    return _agent(request) if by == "agent" else project_of(session)


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


@lru_cache(1024)
def _kind_of_agent(file: str) -> str | None:
    """What kind of agent wrote a log of Claude Code's subagents: a file beside it tells."""
    try:
        with open(file.removesuffix(".jsonl") + ".meta.json", "rb") as meta:
            told = msgspec.json.decode(meta.read(_MOST_META))
    except (OSError, msgspec.MsgspecError):
        return None
    kind = told.get("agentType") if isinstance(told, dict) else None
    return kind if isinstance(kind, str) and kind else None


def _agent(request: Request) -> str:
    """Who sent a request: the kind of agent, where it is told; else what the request was for."""
    kind = _kind_of_agent(request.source.file) if request.source is not None and request.purpose == "subagent" else None
    return kind or request.purpose


class _Adding:
    """The sums of one group while they grow."""

    def __init__(self) -> None:
        self.requests = self.input = self.read = self.cost = self.unpriced = self.bare = 0
        self.misses = self.lost_tokens = self.lost_cost = self.unpriced_misses = 0
        self.with_input = self.with_read = 0
        self.causes: dict[str, tuple[int, int]] = {}

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
            cause = verdict.code
            count, cost = self.causes.get(cause, (0, 0))
            self.causes[cause] = (count + 1, cost + (verdict.lost_cost or 0))

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
