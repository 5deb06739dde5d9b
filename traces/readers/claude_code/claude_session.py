"""Whole sessions from Claude Code's logs: every call with its parent, its times and the events around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.core.session import Event, Problem, Purpose, Session
from agentsim.traces.hostile_records import Tally
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_diagnoses import with_harness_words
from agentsim.traces.readers.claude_code.claude_files import LogFile, conversations
from agentsim.traces.readers.claude_code.claude_requests import HARNESS, events_of, request_of
from agentsim.traces.readers.claude_code.claude_scan import scan
from agentsim.traces.readers.claude_code.claude_steps import Tree
from agentsim.traces.session_assembly import MAIN, Assembly
from agentsim.traces.told_names import WorkingState

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
    sessions = [session_of(session, units, owned, growing)[0] for session, units in parts.items()]
    return [session for session in sessions if session.requests or session.accounting.rows]


def session_of(
    id: str,
    units: Sequence[ClaudeConversation],
    owned: set[tuple[str, str]],
    growing: GrowingClaudeLogs | None = None,
) -> tuple[Session, dict[tuple[str, str], str]]:
    """The session of these conversations, and the names of its requests by their keys. Requests in ``owned`` belong to
    another one; it grows."""
    assembly = Assembly(id, FORMAT, Tally(units[0].files[0]))
    assembly.harness = HARNESS
    assembly.states_lifetimes = True
    tally = assembly.tally
    names: dict[tuple[str, str], str] = {}
    lanes: dict[tuple[str, str], str] = {}
    states: dict[str, WorkingState] = {}
    for unit in units:
        assembly.files += unit.files
        tally.rows += unit.rows
        tally.duplicate += unit.duplicate
        tally.not_billable += unit.not_billable
        for reason, count in unit.skipped.items():
            tally.skipped[reason] = tally.skipped.get(reason, 0) + count
        tally.problems += unit.problems
        known = None if growing is None else growing.known(unit)
        make = request_of if known is None else known.request
        with Tree(unit, whole=known is None) as tree:
            for call in unit.calls:
                if call.key in lanes:
                    tally.duplicate += 1
                    continue
                step = tree.step(call) if known is None else known.step(tree, call)
                lane = lanes.get(step.parent.key) if step.parent is not None else None
                if lane is None:
                    lane = assembly.new_lane(*_beginning(call))
                lanes[call.key] = lane
                request = make(unit, call, step, lane, call.key not in owned, names)
                events = events_of(step, request)
                for kind, detail in states.setdefault(lane, WorkingState()).change_to(step.mode, step.folder):
                    events.append(Event(kind=kind, time=request.start, lane=lane, before=request.id, detail=detail))
                added = assembly.add(request, parent=request.parent, events=events)
                names[call.key] = added.id
    owned.update(lanes)
    assembly.requests = with_harness_words(id, assembly.requests)
    return assembly.build("messages"), names


def _beginning(call: ClaudeCall) -> tuple[str, Purpose]:
    """What a lane is called that begins with a call, and what it is for."""
    if call.lane == "":
        return MAIN, "main"
    return ("subagent" if call.lane == "sidechain" else f"subagent {call.lane}"), "subagent"
