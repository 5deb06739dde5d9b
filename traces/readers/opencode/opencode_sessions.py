"""Sessions from OpenCode's records, wherever they were stored."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.bodies.input_conventions import check_excludes_cached, input_excludes_cached, is_empty, reports_writes
from agentsim.bodies.openai_usage import logged_picodollars
from agentsim.bodies.serving_provider import provider_name
from agentsim.core.session import EventKind, Problem, Purpose, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import Tally, tell_or_raise
from agentsim.traces.json_documents import document_bytes, parse_document
from agentsim.traces.readers.opencode import NAME, SQLITE
from agentsim.traces.readers.opencode.opencode_shapes import (
    About,
    AnswerTokens,
    MessageInfo,
    OpenCodeMessage,
    Times,
    exports,
    infos,
    messages,
)
from agentsim.traces.session_assembly import MAIN, Assembly, build_all, stem
from agentsim.traces.told_names import WorkingState, listed_names, told_name, told_text

MILLISECOND = 10**6


class _StoredSession:
    """One session as one file holds it."""

    def __init__(self, path: str, about: About, found: list[OpenCodeMessage], tally: Tally) -> None:
        self.path = path
        self.tally = tally
        self.about = about
        self.messages = found

    @property
    def began(self) -> int:
        return min(
            (_time(message.info.time and message.info.time.created) or 0 for message in self.messages), default=0
        )


def sessions_of(paths: Sequence[str], problems: list[Problem] | None) -> list[Session]:
    """The sessions that these files hold."""
    stored: dict[str, list[_StoredSession]] = {}
    for path in paths:
        try:
            for found in _read(path):
                id = found.about.id = found.about.id or stem(path)
                stored.setdefault(id, []).append(found)
        except OSError as error:
            tell_or_raise(error, path, problems)
    # The fullest copy of a session first: an export may be older than the database, a checkpoint than the next one.
    groups = [sorted(group, key=lambda one: (-len(one.messages), one.path)) for group in stored.values()]
    groups.sort(key=lambda group: (group[0].began, group[0].about.id or ""))
    parents = {group[0].about.id: group[0].about.parentID for group in groups}
    built: dict[str, Assembly] = {}
    seen: set[tuple[object, ...]] = set()
    for group in groups:
        about = group[0].about
        root = _root(about.id or "", parents)
        if root not in built:
            built[root] = Assembly(root, NAME, Tally(group[0].path))
            built[root].harness = "opencode"
            built[root].title = about.title if root == about.id else None
        for one in group:
            _merge(built[root].tally, one.tally)
        _put(group, built[root], seen)
    return build_all(built.values(), "answer with its tokens", problems)


def _read(path: str) -> list[_StoredSession]:
    with open(path, "rb") as file:
        is_database = file.read(len(SQLITE)) == SQLITE
    if is_database:
        from agentsim.traces.readers.opencode.opencode_database import sessions_in

        return [_StoredSession(path, about, found, tally) for about, found, tally in sessions_in(path)]
    data = document_bytes(path)
    export = parse_document(data, path, exports)
    found: list[OpenCodeMessage] = []
    tally = Tally(path)
    for number, raw in enumerate(export.messages, 1):
        try:
            message = decode(messages, raw)
        except BadRow as bad:
            tally.rows += 1
            tally.skip(number, bad)
            continue
        message.place = number
        found.append(message)
    if not export.messages and export.info.id is None:
        info = parse_document(data, path, infos)
        return [_StoredSession(path, About(id=info.sessionID), [OpenCodeMessage(info, [], 1)], tally)]
    return [_StoredSession(path, export.info, found, tally)]


def _root(id: str, parents: dict[str | None, str | None]) -> str:
    seen = {id}
    while (parent := parents.get(id)) is not None and parent in parents and parent not in seen:
        seen.add(parent)
        id = parent
    return id


def _merge(into: Tally, other: Tally) -> None:
    into.rows += other.rows
    into.problems += other.problems
    for reason, count in other.skipped.items():
        into.skipped[reason] = into.skipped.get(reason, 0) + count


def _put(group: list[_StoredSession], assembly: Assembly, seen: set[tuple[object, ...]]) -> None:
    about = group[0].about
    lane = MAIN
    if about.id != assembly.id:
        lane = f"subagent {about.id}"
        assembly.lane(lane, title=about.title or lane, purpose="subagent", parent=MAIN)
    else:
        assembly.lane(MAIN, purpose="subagent" if about.parentID else "main")
    done: set[tuple[str, int | None]] = set()
    state = WorkingState()
    for one in group:
        assembly.files += [one.path] if one.path not in assembly.files else []
        for message in one.messages:
            if message.info.id is not None:
                key = (message.info.id, _time(message.info.time and message.info.time.created))
                if key in done:
                    if message.info.role == "assistant":
                        assembly.tally.rows += 1
                        assembly.tally.duplicate += 1
                    continue
                done.add(key)
            _take(message, one, assembly, lane, seen, state)


def _take(
    message: OpenCodeMessage,
    one: _StoredSession,
    assembly: Assembly,
    lane: str,
    seen: set[tuple[object, ...]],
    state: WorkingState,
) -> None:
    info, tally = message.info, assembly.tally
    created = _time(info.time and info.time.created)
    if info.role == "user":
        compacts = any(part.type == "compaction" for part in message.parts)
        assembly.note("compaction" if compacts else "prompt_submitted", created, lane=lane)
    if info.role != "assistant":
        return
    folder = bytes(info.path).decode("utf-8", "replace") or None
    for change, detail in state.change_to(told_text(info.mode), folder):
        assembly.note(change, created, lane=lane, detail=detail)
    steps = [part.tokens for part in message.parts if part.type == "step-finish" and part.tokens is not None]
    several = steps if len(steps) > 1 else [info.tokens]
    for number, tokens in enumerate(several):
        tally.rows += 1
        try:
            usage = _usage(tokens, info)
        except BadRow as bad:
            tally.skip(message.place, bad, one.path)
            continue
        if is_empty(usage):
            tally.not_billable += 1
            aborted = info.error is not None and "Abort" in (info.error.name or "")
            kind: EventKind = "api_error" if info.error is not None and not aborted else "interrupted"
            assembly.note(kind, created, lane=lane)
            continue
        first, last = number == 0, number == len(several) - 1
        key = (one.about.projectID, info.modelID, created, number, usage)
        copied = created is not None and key in seen
        seen.add(key)
        tokens_began = [_time(part.time.start) for part in message.parts if part.time is not None and part.time.start]
        purpose: Purpose = "summary" if bytes(info.summary) == b"true" else "main"
        assembly.add(
            Request(
                id=(info.id or f"{assembly.id}#{message.place}") + (f"/{number + 1}" if number else ""),
                lane=lane,
                model=info.modelID or "",
                provider=provider_name(info.providerID, "unknown"),
                purpose=purpose,
                start=created if first else None,
                first_token=min((time for time in tokens_began if time), default=None) if first else None,
                end=_time(info.time and info.time.completed) if last else None,
                usage=usage,
                stop_reason=info.finish,
                logged_cost=logged_picodollars(info.cost) if len(several) == 1 else None,
                harness_version=one.about.version,
                counted=not copied,
                source=Source(one.path, message.place),
            )
        )
        if last and (tools := [told_name(part.tool) for part in message.parts if part.type == "tool"]):
            assembly.note("tool_results", None, lane=lane, detail=listed_names(tools))
        if purpose == "summary":
            assembly.note("compaction", created, lane=lane)


def _usage(tokens: AnswerTokens | None, info: MessageInfo) -> Usage:
    if tokens is None:
        raise BadRow("no usage", "an answer without tokens")
    read, write = tokens.cache.read, tokens.cache.write
    if not write and not reports_writes(info.providerID or "", info.modelID or ""):
        write = None
    check_excludes_cached(tokens.input, (read or 0) + (write or 0), tokens.output, tokens.total)
    return input_excludes_cached(tokens.input, read, write, tokens.output)


def _time(milliseconds: Times | int | float | None) -> int | None:
    if not isinstance(milliseconds, int | float) or not 0 < milliseconds < 10**14:
        return None
    return int(milliseconds) * MILLISECOND
