"""Putting a session together from the rows of an agent's log: lanes, parents, events, ids, accounts.

A reader tells what it finds in the order of the log; what every log has in common is kept here. An event waits for the
request that comes after it in its lane. A request grows from the last one of its lane unless the reader knows better.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Completeness, Event, EventKind, Lane, Problem, Purpose, Request, Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import REMEDIES, Tally, TraceError, rows_of, tell_or_raise
from agentsim.traces.write_lifetimes import with_proved_lifetimes

T = TypeVar("T")

_NOWHEN = (-(2**63), 0)
_LAST = (2**63, 0)

MAIN = "main"
"""The lane of the conversation with the person."""


class Assembly:
    """One session being put together. Mutable; :meth:`build` gives the result."""

    def __init__(self, id: str, format: str, tally: Tally) -> None:
        self.id = id
        self.format = format
        self.tally = tally
        self.files: list[str] = []
        self.harness: str | None = None
        self.title: str | None = None
        self.requests: list[Request] = []
        self.last: dict[str, Request] = {}
        self.states_lifetimes = False
        """Whether the log says of all that was written for how long; else reads may prove it."""
        self.states_links = False
        """Whether each request names itself what it grew from, in whatever lane, and the log has its own events of
        changes of model, effort and harness; else they are found here."""
        self._by_id: dict[str, Request] = {}
        self._lanes: dict[str, Lane] = {}
        self._events: list[Event] = []
        self._waiting: dict[str, list[Event]] = {}

    @classmethod
    def of_file(cls, path: str, format: str, id: str | None = None) -> Assembly:
        """The session of one file, called after it where it has no id of its own."""
        made = cls(id or stem(path), format, Tally(path))
        made.files.append(path)
        return made

    def lane(self, id: str = MAIN, *, title: str = "", purpose: Purpose = "main", parent: str | None = None) -> str:
        """The id of a lane, opened now if there is none of this id."""
        if id not in self._lanes:
            self._lanes[id] = Lane(id=id, title=title or id, purpose=purpose, parent=parent)
        return id

    def new_lane(self, name: str, purpose: Purpose) -> str:
        """The id of a lane of its own, called ``name``, or so and a number."""
        id, number = name, 1
        while id in self._lanes:
            number += 1
            id = f"{name} #{number}"
        return self.lane(id, purpose=purpose)

    def note(self, kind: EventKind, time: int | None, *, lane: str = MAIN, detail: str | None = None) -> None:
        """Something that happened before the next request of a lane."""
        self._waiting.setdefault(lane, []).append(Event(kind=kind, time=time, lane=lane, detail=detail))

    def keep(self, event: Event) -> None:
        """An event that knows by itself which request it came before."""
        self._events.append(event)

    def add(self, request: Request, *, parent: str | None = "", events: Iterable[Event] = ()) -> Request:
        """Take a request in; it comes back as it is kept.

        Its id is made unique, its parent is the lane's last request (unless ``parent`` says another, or ``None``), and
        its end is not before its start. A change of model, effort or harness since its parent becomes an event.
        """
        before = self.last.get(request.lane) if parent == "" else self._by_id.get(parent or "")
        start, end = request.start, request.end
        if start is not None and end is not None and start > end:
            start = end
        self.lane(request.lane)
        id = self._unique(request.id)
        purpose = self._lanes[request.lane].purpose if request.purpose == "main" else request.purpose
        above = None if before is None or before.lane != request.lane else before.id
        if self.states_links:
            above = request.parent
        kept = (request.id, request.purpose, request.parent, request.start)
        if kept != (id, purpose, above, start):  # one that is kept as it came stays the same object
            request = msgspec.structs.replace(request, id=id, purpose=purpose, parent=above, start=start)
        changes = () if self.states_links else changes_between(before, request)
        waiting = [*self._waiting.pop(request.lane, ()), *events, *changes]
        self._events += [msgspec.structs.replace(event, before=request.id) for event in waiting]
        self.requests.append(request)
        self.last[request.lane] = request
        self._by_id[request.id] = request
        if request.counted:
            self.tally.used += 1
        else:
            self.tally.duplicate += 1
        return request

    def build(self, completeness: Completeness) -> Session:
        """The session, its requests in order of their start. One without a time follows the one before it in its lane;
        those of a lane without any come last."""
        dated = {request.lane for request in self.requests if request.start is not None or request.end is not None}
        places: dict[str, tuple[int, int]] = {}
        latest: dict[str, tuple[int, int]] = {}
        for request in self.requests:
            start = request.start if request.start is not None else request.end
            first = _NOWHEN if request.lane in dated or not dated else _LAST
            place = latest.get(request.lane, first) if start is None else (start, request.end or 0)
            # Clocks jump; a request still comes after the one it grew from.
            latest[request.lane] = places[request.id] = max(places.get(request.parent or "", _NOWHEN), place)
        requests = sorted(self.requests, key=lambda request: places[request.id])
        proved, said = (tuple(requests), []) if self.states_lifetimes else with_proved_lifetimes(requests)
        for word in said:
            self.tally.tell(0, word, note=True)
        for lane, events in self._waiting.items():
            if lane in self._lanes:
                self._events += events
        used = {request.lane for request in requests}
        return Session(
            id=self.id,
            format=self.format,
            completeness=completeness,
            lanes=tuple(lane for lane in self._lanes.values() if lane.id in used),
            requests=proved,
            # A trace that holds refused requests alone has no lanes, and tells of them all the same.
            events=tuple(event for event in self._events if self.states_links or event.lane in used),
            files=tuple(self.files),
            harness=self.harness,
            title=self.title,
            accounting=self.tally.accounting(),
            problems=tuple(self.tally.problems),
        )

    def _unique(self, id: str) -> str:
        unique, number = id, 1
        while unique in self._by_id:
            number += 1
            unique = f"{id}/{number}"
        return unique


def counted_apart(tally: Tally, assemblies: Iterable[Assembly]) -> list[Assembly]:
    """Those of one file's assemblies that have requests. ``tally`` has counted the rows of the file: what a session
    took in is counted there, and the rest in the first."""
    kept = []
    for assembly in assemblies:
        own = assembly.tally
        own.rows = own.used + own.duplicate + own.not_billable
        tally.rows -= own.rows
        if assembly.requests:
            kept.append(assembly)
        else:
            tally.begin_with(own)
    if kept:
        tally.begin_with(kept[0].tally)
        kept[0].tally = tally
    return kept


def changes_between(before: Request | None, after: Request) -> list[Event]:
    """What a request has other than the one it grew from, as events: its model, its effort, its harness."""
    if before is None or (
        before.model == after.model
        and before.settings == after.settings
        and before.harness_version == after.harness_version
    ):
        return []
    effort = [dict(request.settings).get("effort") for request in (before, after)]
    pairs: tuple[tuple[EventKind, str | None, str | None], ...] = (
        ("model_change", before.model, after.model),
        ("version_change", before.harness_version, after.harness_version),
        ("effort_change", effort[0], effort[1]),
    )
    return [
        Event(kind=kind, time=after.start, lane=after.lane, detail=f"{old} -> {new}".replace('"', ""))
        for kind, old, new in pairs
        if old != new and old and new
    ]


def effort_setting(effort: str | None) -> tuple[tuple[str, str], ...]:
    """The settings of a request of which only the effort is known."""
    return (("effort", msgspec.json.encode(effort).decode()),) if effort else ()


def stem(path: str) -> str:
    """The name of a file without its folder and its last end: what a session is called that has no id."""
    return os.path.splitext(os.path.basename(path))[0] or path


def refuse_empty(session: Session, path: str, wanted: str, problems: list[Problem] | None) -> None:
    """Raise TraceError for a file in which no request was found; what was wrong with its rows is told before."""
    if session.requests:
        return
    if problems is not None:
        problems += session.problems
    if session.accounting.duplicate and not session.accounting.skipped:
        return
    first = session.problems[0] if session.problems else None
    why = f" (line {first.line}: {first.reason})" if first is not None else ""
    raise TraceError(path, f"no {wanted} in it{why}", "check that this is the whole log")


def build_all(assemblies: Iterable[Assembly], wanted: str, problems: list[Problem] | None) -> list[Session]:
    """The sessions, with their messages, of those assemblies in which a ``wanted`` was found.

    What is wrong with the others is told in ``problems``; without that list TraceError is raised for the first of them.
    """
    sessions = []
    for assembly in assemblies:
        session = assembly.build("messages")
        try:
            refuse_empty(session, session.files[0], wanted, problems)
        except OSError as error:
            tell_or_raise(error, session.files[0], problems)
            continue
        if session.requests:
            sessions.append(session)
    return sessions


def take_events(path: str, decoder: msgspec.json.Decoder[T], tally: Tally, take: Callable[[int, T], None]) -> None:
    """Hand each row of a log of events to ``take``, with its line. Most events are no requests: ``take`` counts those
    that are, and what it cannot use (BadRow) is counted and told here. Raises OSError when the file cannot be read."""
    for row in rows_of(path, decoder):
        try:
            take(row.line, row.checked())
        except BadRow as bad:
            tally.rows += 1
            tally.skip(row.line, bad)


def read_each(
    paths: Sequence[str], problems: list[Problem] | None, read: Callable[[str], Session], wanted: str
) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told; without ``problems`` its OSError is raised."""
    for path in paths:
        try:
            with without_collection():
                session = read(path)
            refuse_empty(session, path, wanted, problems)
        except (BadRow, RecursionError) as bad:
            if isinstance(bad, RecursionError):
                bad = BadRow("nested too deep")
            error = TraceError(path, str(bad), REMEDIES.get(bad.reason, "check that this is the whole file"))
            tell_or_raise(error, path, problems)
            continue
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        if session.requests:
            yield session
