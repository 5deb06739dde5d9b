"""What the files of one conversation hold, and how a line is accounted for: billed to its call, repeated, without a
bill, or skipped with a reason.
"""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import ABSENT, SentUsage, is_contradictory
from agentsim.core.session import Problem
from agentsim.traces.hostile_records import REMEDIES, split_objects
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_lines import SYNTHETIC_MODEL, ClaudeLine, ClaudeMessage, decode_line

USAGE = b'"usage"'
"""A line without these bytes bills nothing."""

MAX_PROBLEMS = 200
"""How many problems are described one by one."""


class ClaudeConversation:
    """What one conversation's files say: its calls in order, and where each of their rows went.

    ``texts`` may hold small files as they were read, by their place in ``files``: looking up lines in them again costs
    less than opening them again.
    """

    __slots__ = (
        "by_key",
        "calls",
        "duplicate",
        "files",
        "first_stamp",
        "last_stamp",
        "not_billable",
        "problems",
        "rows",
        "session",
        "skipped",
        "texts",
    )

    def __init__(self, files: tuple[str, ...]) -> None:
        self.files = files
        self.calls: list[ClaudeCall] = []
        self.by_key: dict[tuple[str, str], ClaudeCall] = {}
        self.rows = 0
        self.duplicate = 0
        self.not_billable = 0
        self.skipped: dict[str, int] = {}
        self.problems: list[Problem] = []
        self.session: str | None = None
        self.first_stamp = ""
        self.last_stamp = ""
        self.texts: dict[int, bytes] = {}

    def skip(self, file: str, line: int, reason: str) -> None:
        """Count a row that could not be used, and say where it stands."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(file=file, line=line, reason=reason, remedy=REMEDIES[reason]))


def take(unit: ClaudeConversation, index: int, line: ClaudeLine, number: int, position: int) -> ClaudeCall | None:
    """Account for a decoded line; its call when it is billed."""
    message = line.message
    if line.type != "assistant":
        return _take_copy(unit, index, line, number, position)
    if message is None or message.usage is None or message.model == SYNTHETIC_MODEL:
        unit.not_billable += 1
        return None
    if _contradicts(message.usage):
        unit.skip(unit.files[index], number, "bad counter")
        return None
    lane = line.agentId or ("sidechain" if line.isSidechain else "")
    id = message.id
    key = (id, line.requestId or "") if id is not None else _key(message, line.requestId, line.uuid, index, number)
    return _put(unit, key, message, lane, index, number, position, line, line.uuid, line.timestamp, False)


def _take_copy(unit: ClaudeConversation, index: int, line: ClaudeLine, number: int, position: int) -> ClaudeCall | None:
    """A line that is no assistant's: only a ``progress`` record that carries a subagent's reply is billed."""
    data = line.data
    inner = data.message if line.type == "progress" and data is not None and data.type == "agent_progress" else None
    message = inner.message if inner is not None and inner.type == "assistant" else None
    if inner is None or data is None or message is None or message.usage is None or message.model == SYNTHETIC_MODEL:
        unit.not_billable += 1
        return None
    if _contradicts(message.usage):
        unit.skip(unit.files[index], number, "bad counter")
        return None
    uuid = inner.uuid or line.uuid
    key = _key(message, inner.requestId, uuid, index, number)
    lane, stamp = data.agentId or "sidechain", inner.timestamp or line.timestamp
    return _put(unit, key, message, lane, index, number, position, line, uuid, stamp, True)


def _contradicts(usage: SentUsage) -> bool:
    split, inner = usage.cache_creation, usage.iterations
    if split is not None and (
        (split.ephemeral_5m_input_tokens or 0) + (split.ephemeral_1h_input_tokens or 0)
        != usage.cache_creation_input_tokens
        and is_contradictory(usage)
    ):
        return True
    return inner is not None and len(inner) > 1 and any(map(is_contradictory, inner))


def _put(
    unit: ClaudeConversation,
    key: tuple[str, str],
    message: ClaudeMessage,
    lane: str,
    index: int,
    number: int,
    position: int,
    line: ClaudeLine,
    uuid: str | None,
    stamp: str | None,
    copy: bool,
) -> ClaudeCall:
    """Add a billed line to its call, or begin a new one."""
    usage = message.usage
    assert usage is not None
    output = -1 if usage.output_tokens is None else usage.output_tokens
    call = unit.by_key.get(key)
    if call is None:
        calls = unit.calls
        parent = None if copy else line.parentUuid
        # In the order of its fields: by their names would take as long again.
        call = ClaudeCall(key, lane, index, position, number, len(calls), uuid, parent, line.version, line.effort, copy)
        call.take(message.model or "", usage, output)
        unit.by_key[key] = call
        calls.append(call)
        if unit.session is None:
            unit.session = line.sessionId
        if not unit.first_stamp and stamp:
            unit.first_stamp = stamp
    else:
        unit.duplicate += 1
        if output > call.output:
            call.take(message.model or "", usage, output)
    if stamp:
        call.end = unit.last_stamp = stamp
    if message.stop_reason is not None:
        call.stop_reason = message.stop_reason
    if message.diagnostics is not ABSENT and len(message.diagnostics) > len(call.diagnostics):
        call.diagnostics = bytes(message.diagnostics)
    return call


def _key(message: ClaudeMessage, request_id: str | None, uuid: str | None, index: int, number: int) -> tuple[str, str]:
    """A request's identity: message id and request id; gateways leave the second out; a bare line has only its own."""
    if message.id is not None:
        return (message.id, request_id or "")
    return (request_id or "", uuid or f"{index}:{number}")


def take_odd_line(
    unit: ClaudeConversation, index: int, path: str, text: bytes, number: int, position: int, open_end: bool
) -> None:
    """A line that the fast decoder refused, or that does not look like an object: find out what it holds."""
    stripped = text.strip()
    if not stripped:
        unit.not_billable += 1
        return
    # A program that crashed between writing a line and its newline leaves objects run together: each is a row.
    pieces = split_objects(stripped)
    unit.rows += len(pieces) - 1
    for piece in pieces:
        cut = open_end and piece is pieces[-1]
        try:
            line = decode_line(piece)
        except msgspec.ValidationError:
            _misfit(unit, path, piece, number)
        except RecursionError:
            unit.skip(path, number, "nested too deep")
        except (msgspec.MsgspecError, UnicodeDecodeError):
            unit.skip(path, number, "incomplete" if cut else "broken JSON")
        else:
            if USAGE in piece:
                take(unit, index, line, number, position)
            else:
                unit.not_billable += 1


def _misfit(unit: ClaudeConversation, path: str, piece: bytes, number: int) -> None:
    """Valid JSON whose fields have other types than expected: a loss only where usage is at stake."""
    try:
        record = msgspec.json.decode(piece)
    except RecursionError:
        unit.skip(path, number, "nested too deep")
        return
    except (msgspec.MsgspecError, UnicodeDecodeError):
        unit.skip(path, number, "broken JSON")
        return
    if not isinstance(record, dict):
        unit.skip(path, number, "not an object")
    elif record.get("type") == "assistant" and isinstance(record.get("message"), dict) and "usage" in record["message"]:
        unit.skip(path, number, "bad counter")
    else:
        unit.not_billable += 1
