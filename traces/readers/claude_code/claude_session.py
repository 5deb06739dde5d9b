"""Whole sessions from Claude Code's logs: every call with its parent, its times and the events around it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentsim.core.session import Accounting, Event, Lane, Problem, Request, Session
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_diagnoses import with_harness_words
from agentsim.traces.readers.claude_code.claude_files import LogFile, conversations
from agentsim.traces.readers.claude_code.claude_requests import request_id, request_of
from agentsim.traces.readers.claude_code.claude_scan import scan
from agentsim.traces.readers.claude_code.claude_steps import CallStep, Tree
from agentsim.traces.time_stamps import nanoseconds

if TYPE_CHECKING:
    from agentsim.traces.readers.claude_code.claude_growing import GrowingClaudeLogs

FORMAT = "claude-code"


def sessions_of(
    files: Iterable[LogFile], problems: list[Problem], growing: GrowingClaudeLogs | None = None
) -> list[Session]:
    """The sessions that the files hold, each request counted once over all of them.

    A request that stands in several sessions (a fork or a resume copies its history) belongs to the one that began
    first; in the others it is kept with ``counted=False``. Files that cannot be read are told in ``problems``.
    ``growing`` remembers what was read of files that are being written.
    """
    parts: dict[str, list[ClaudeConversation]] = {}
    owned: set[tuple[str, str]] = set()
    for group in conversations(files):
        try:
            paths = tuple(file.path for file in group)
            unit = scan(paths) if growing is None else growing.unit(paths)
        except OSError as error:
            problems.append(
                Problem(file=group[0].path, line=0, reason=error.strerror or str(error), remedy="check the file")
            )
            continue
        parts.setdefault(group[0].session, []).append(unit)
    sessions = [_session(session, units, owned, growing) for session, units in parts.items()]
    return [session for session in sessions if session is not None]


def _session(
    id: str, units: list[ClaudeConversation], owned: set[tuple[str, str]], growing: GrowingClaudeLogs | None = None
) -> Session | None:
    requests: list[Request] = []
    events: list[Event] = []
    lanes: dict[str, Lane] = {}
    rows = duplicate = not_billable = 0
    skipped: dict[str, int] = {}
    problems: list[Problem] = []
    here: set[tuple[str, str]] = set()
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    copies = 0
    for unit in units:
        rows += unit.rows
        duplicate += unit.duplicate
        not_billable += unit.not_billable
        for reason, count in unit.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
        problems += unit.problems
        known = None if growing is None else growing.known(unit)
        with Tree(unit) as tree:
            lane_of: dict[int, str] = {}
            for call in unit.calls:
                step = tree.step(call) if known is None else known.step(tree, call)
                lane = _lane(call, step, lane_of, lanes)
                lane_of[call.index] = lane.id
                if call.key in here:
                    copies += 1
                    continue
                here.add(call.key)
                # Message ids are unique; a damaged log, or a gateway's, may still hold one with two request ids.
                name = request_id(call)
                names[call.key] = name if name not in taken else f"{name}/{call.key[1]}"
                taken.add(names[call.key])
                counted = call.key not in owned
                copies += not counted
                make = request_of if known is None else known.request
                requests.append(make(unit, call, step, lane.id, lane.purpose, counted, names))
                events += _events(call, step, lane, names[call.key])
    owned |= here
    if not requests and not rows:
        return None
    places: dict[str, tuple[int, int]] = {}
    for request in requests:
        # Clocks jump, and lines get exchanged; a request still comes after the one it grew from.
        places[request.id] = max(places.get(request.parent or "", _NOWHEN), _by_start(request))
    requests.sort(key=lambda request: places[request.id])
    used = sum(1 for request in requests if request.counted)
    used_lanes = {request.lane for request in requests}
    return Session(
        id=id,
        format=FORMAT,
        completeness="messages",
        lanes=tuple(lane for lane in lanes.values() if lane.id in used_lanes),
        requests=tuple(with_harness_words(id, requests)),
        events=tuple(events),
        files=tuple(path for unit in units for path in unit.files),
        harness="claude-code",
        accounting=Accounting(
            rows=rows,
            used=used,
            duplicate=duplicate + copies,
            not_billable=not_billable,
            skipped=tuple(sorted(skipped.items())),
        ),
        problems=tuple(problems),
    )


_NOWHEN = (0, 0)


def _by_start(request: Request) -> tuple[int, int]:
    return (request.start or request.end or 0, request.end or 0)


def _lane(call: ClaudeCall, step: CallStep, lane_of: dict[int, str], lanes: dict[str, Lane]) -> Lane:
    """The lane of a call: its parent's, or a new one where a conversation begins."""
    if step.parent is not None and step.parent.index in lane_of:
        return lanes[lane_of[step.parent.index]]
    if call.lane == "":
        name, purpose = "main", "main"
    elif call.lane == "sidechain":
        name, purpose = "subagent", "subagent"
    else:
        name, purpose = f"subagent {call.lane}", "subagent"
    id, number = name, 1
    while id in lanes:
        number += 1
        id = f"{name} #{number}"
    lane = Lane(id=id, title=id, purpose="main" if purpose == "main" else "subagent")
    lanes[id] = lane
    return lane


def _events(call: ClaudeCall, step: CallStep, lane: Lane, before: str) -> list[Event]:
    events = [
        Event(kind=kind, time=nanoseconds(stamp), lane=lane.id, before=before, detail=detail)
        for kind, stamp, detail in step.events
    ]
    parent = step.parent
    if parent is not None:
        when = nanoseconds(step.start)
        if parent.model != call.model:
            detail = f"{parent.model} -> {call.model}"
            events.append(Event(kind="model_change", time=when, lane=lane.id, before=before, detail=detail))
        if parent.version != call.version and parent.version and call.version:
            detail = f"{parent.version} -> {call.version}"
            events.append(Event(kind="version_change", time=when, lane=lane.id, before=before, detail=detail))
        if parent.effort != call.effort and parent.effort and call.effort:
            detail = f"{parent.effort} -> {call.effort}"
            events.append(Event(kind="effort_change", time=when, lane=lane.id, before=before, detail=detail))
    return events
