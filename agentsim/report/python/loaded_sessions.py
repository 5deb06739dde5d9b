"""Sessions in Python: ``agentsim.load(PATH)`` with its rows, its verdicts and what would have been cheaper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentsim.core.counts import plural
from agentsim.core.money import dollars
from agentsim.core.session import Problem, Session
from agentsim.core.verdict import UNEXPLAINED_LOSS
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.report.python.record_table import Record, RecordTable
from agentsim.report.verdict_words import cause_title
from agentsim.traces.format_registry import read
from agentsim.traces.harness_places import found_places

if TYPE_CHECKING:
    from agentsim.whatif.comparison_result import Comparison
    from agentsim.whatif.policies import Policy

ROW_COLUMNS = (
    *("session", "row", "id", "lane", "purpose", "provider", "model", "start", "end"),
    *("fresh", "written", "read", "output", "cost"),
    *("kind", "cause", "evidence", "lost", "lost_cost"),
    *("harness", "harness_version", "file", "line"),
)
"""The keys of a record of ``rows``."""

LOSS_COLUMNS = ("cause", "title", "misses", "lost", "lost_cost")
SESSION_COLUMNS = ("session", "format", "harness", "requests", "misses", "cost", "lost_cost", "first", "last")


def load(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None) -> LoadedSessions:
    """The sessions of a file or a folder, or of several, in any format; without a path all on this machine.

    Files of a folder that cannot be used are told in ``problems``. Raises OSError, with the reason, for a path that is
    not there, is of no known format or holds no session.
    """
    if path is None:
        paths = [place.path for place in found_places()]
    else:
        paths = [os.fspath(path)] if isinstance(path, str | os.PathLike) else [os.fspath(one) for one in path]
    if not paths:
        raise FileNotFoundError("no logs of a harness on this machine; name a file or folder")
    problems: list[Problem] = []
    return LoadedSessions(tuple(read(paths, problems)), tuple(problems))


class LoadedSessions:
    """Sessions that were read. They are judged when that is first asked for, and then once."""

    def __init__(self, sessions: tuple[Session, ...], problems: tuple[Problem, ...] = ()) -> None:
        self.sessions = sessions
        self.problems = problems

    def __len__(self) -> int:
        return len(self.sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(self.sessions)

    def __repr__(self) -> str:
        requests = sum(len(session.requests) for session in self.sessions)
        return f"<{plural(len(self), 'session')}, {plural(requests, 'request')}>"

    @cached_property
    def _judged(self) -> JudgedSessions:
        return JudgedSessions(tuple(diagnose(session) for session in self.sessions))

    @property
    def rows(self) -> RecordTable:
        """A record for each request: its tokens, its price, its verdict."""
        return self._judged.rows

    def diagnose(
        self, *, use_bodies: bool = True, use_provider_diagnosis: bool = True, show_content: bool = False
    ) -> JudgedSessions:
        """The sessions with a verdict on each request; see :func:`agentsim.diagnose.diagnosis.diagnose`."""
        if use_bodies and use_provider_diagnosis and not show_content:
            return self._judged
        return JudgedSessions(
            tuple(
                diagnose(
                    session,
                    use_bodies=use_bodies,
                    use_provider_diagnosis=use_provider_diagnosis,
                    show_content=show_content,
                )
                for session in self.sessions
            )
        )

    def compare(self, policies: Sequence[Policy | str] | None = None, **options: Any) -> Comparison:
        """What would have been cheaper; see :func:`agentsim.whatif.comparison.compare`."""
        from agentsim.whatif.comparison import compare

        return compare(self.sessions, policies, **options)

    def _repr_html_(self) -> str:
        return self._judged._repr_html_()


class JudgedSessions:
    """Sessions with a verdict on each request. ``diagnoses`` holds what the other tables are made of."""

    def __init__(self, diagnoses: tuple[Diagnosis, ...]) -> None:
        self.diagnoses = diagnoses

    def __len__(self) -> int:
        return len(self.diagnoses)

    def __iter__(self) -> Iterator[Diagnosis]:
        return iter(self.diagnoses)

    @property
    def cost(self) -> Decimal | None:
        """What the requests with a price cost, in dollars; ``None`` where none has one."""
        return _total([one.totals.known_cost for one in self.diagnoses])

    @property
    def lost_cost(self) -> Decimal | None:
        """What was lost, in dollars; ``None`` where no loss has a price."""
        return _total([one.totals.known_lost_cost for one in self.diagnoses])

    @property
    def rows(self) -> RecordTable:
        """A record for each request."""
        return RecordTable(ROW_COLUMNS, [record for one in self.diagnoses for record in _rows(one)])

    @property
    def misses(self) -> RecordTable:
        """The rows that lost something, the most expensive first."""
        lost = [record for record in self.rows if record["kind"] == "miss"]
        return RecordTable(ROW_COLUMNS, sorted(lost, key=lambda one: (-(one["lost_cost"] or 0), -one["lost"])))

    @property
    def losses(self) -> RecordTable:
        """What each cause lost, the most expensive first."""
        sums: dict[str, Record] = {}
        for miss in self.misses:
            cause = miss["cause"] or UNEXPLAINED_LOSS
            found = sums.setdefault(
                cause, {"cause": cause, "title": cause_title(cause), "misses": 0, "lost": 0, "lost_cost": None}
            )
            found["misses"] += 1
            found["lost"] += miss["lost"]
            if miss["lost_cost"] is not None:
                found["lost_cost"] = (found["lost_cost"] or Decimal(0)) + miss["lost_cost"]
        return RecordTable(LOSS_COLUMNS, sorted(sums.values(), key=lambda one: -(one["lost_cost"] or 0)))

    @property
    def sessions(self) -> RecordTable:
        """A record for each session."""
        return RecordTable(SESSION_COLUMNS, [_session(one) for one in self.diagnoses])

    def _repr_html_(self) -> str:
        parts = [self.sessions._repr_html_()]
        if self.losses:
            parts.append(self.losses._repr_html_())
        return "\n".join(parts)


def _rows(diagnosis: Diagnosis) -> Iterator[Record]:
    session = diagnosis.session
    for number, (row, verdict) in enumerate(zip(diagnosis.rows, diagnosis.verdicts, strict=True), 1):
        request, usage = row.request, row.usage
        if not request.counted:
            continue
        yield {
            "session": session.id,
            "row": number,
            "id": request.id,
            "lane": request.lane,
            "purpose": request.purpose,
            "provider": request.provider,
            "model": request.model,
            "start": _moment(row.start),
            "end": _moment(row.end),
            "fresh": usage.fresh,
            "written": usage.write,
            "read": usage.read,
            "output": usage.output,
            "cost": None if row.cost is None else dollars(row.cost),
            "kind": verdict.kind,
            "cause": verdict.cause,
            "evidence": verdict.evidence,
            "lost": verdict.lost,
            "lost_cost": None if verdict.lost_cost is None else dollars(verdict.lost_cost),
            "harness": session.harness,
            "harness_version": request.harness_version,
            "file": request.source.file if request.source is not None else None,
            "line": request.source.line if request.source is not None else None,
        }


def _session(diagnosis: Diagnosis) -> Record:
    session, totals = diagnosis.session, diagnosis.totals
    times = [time for row in diagnosis.rows for time in (row.start, row.end) if time is not None]
    cost, lost = totals.known_cost, totals.known_lost_cost
    return {
        "session": session.id,
        "format": session.format,
        "harness": session.harness,
        "requests": totals.requests,
        "misses": totals.misses,
        "cost": None if cost is None else dollars(cost),
        "lost_cost": None if lost is None else dollars(lost),
        "first": _moment(min(times, default=None)),
        "last": _moment(max(times, default=None)),
    }


def _total(amounts: Sequence[int | None]) -> Decimal | None:
    known = [amount for amount in amounts if amount is not None]
    return dollars(sum(known)) if known else None


def _moment(time: int | None) -> datetime | None:
    if time is None:
        return None
    try:
        return datetime.fromtimestamp(time // 10**9, UTC).replace(microsecond=time // 1000 % 10**6)
    except (ValueError, OverflowError, OSError):
        return None
