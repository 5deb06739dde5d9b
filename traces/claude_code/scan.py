"""One pass over the files of a session that finds its calls.

This is the hot path of every report. A line is decoded only if it can carry usage, and only the fields that are billed;
a line that repeats the counters of the line before it is recognised by its bytes. Everything else about a call (what it
grew from, what was appended, when it began) is looked up later, and only where it is asked for
(:mod:`traces.claude_code.steps`).
"""

from __future__ import annotations

import msgspec

from agentsim.session import Problem
from traces.claude_code.calls import Call
from traces.claude_code.lines import SYNTHETIC_MODEL, Line, Message, decode_line
from traces.lines import MOST_UNPACKED, is_packed, read_blocks
from traces.records import REMEDIES, split_objects
from traces.usage import ABSENT, SentUsage, is_contradictory

_USAGE = b'"usage"'
_USAGE_OBJECT = b'"usage":{'
_UUID = b'"uuid":"'
_USER = b'"type":"user"'
_ASSISTANT = b'"type":"assistant"'
_STAMP = b'"timestamp":"'
_STAMP_LENGTH = len(_STAMP)
_USER_LENGTH = len(_USER)
_ASSISTANT_LENGTH = len(_ASSISTANT)
_PARENT = b'{"parentUuid":"'
_PARENT_LENGTH = len(_PARENT)
_PARENT_END = _PARENT_LENGTH + 36
_NEVER = b"\n"
"""Equal to no part of a line."""
_ID = b'"id":"'
_NEAR = 512
_FAR = 2048
_ID_LENGTH = len(_ID)
_HEAD_LENGTH = 48
_OPEN, _CLOSE = b"{}"
_QUOTE = ord('"')
_MAX_PROBLEMS = 200
_KEPT_BYTES = 16 * 2**20


class Unit:
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
        self.calls: list[Call] = []
        self.by_key: dict[tuple[str, str], Call] = {}
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
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(file=file, line=line, reason=reason, remedy=REMEDIES[reason]))


def scan(files: tuple[str, ...], *, keep: bool = False) -> Unit:
    """Read the files of one conversation in the order given and collect its calls.

    ``keep`` says that its lines will be looked up soon, and the unit be let go then: small files are kept in memory.
    Raises OSError when a file cannot be read, or is packed and too large to be. Bad lines raise nothing: they are
    counted in ``Unit.skipped``.
    """
    unit = Unit(files)
    kept = 0
    for index, path in enumerate(files):
        text = _scan_file(unit, index, path)
        if keep and text is not None and kept + len(text) <= _KEPT_BYTES:
            unit.texts[index] = text
            kept += len(text)
    return unit


def _scan_file(unit: Unit, index: int, path: str) -> bytes | None:
    """Take in one file. Returns its bytes when they were read in one piece."""
    whole: bytes | None = None
    decode = decode_line
    not_billable = duplicate = 0
    # A line that repeats the call before it shows the same bytes in two places: where its message id stands (counted
    # from its beginning) and from the usage on up to the uuid, the first thing that differs (counted from its end).
    head = tail = b""
    head_from = head_to = tail_from = tail_to = 0
    # What is looked for in a line mostly stands where it stood in the one before: nothing is found faster than there.
    stamp_from = stamp_to = type_from = where = 0
    user, user_to = _NEVER, 0
    last: Call | None = None
    number = shift = size = 0
    for block in read_blocks(path):
        if block.overlong:
            number += 1
            unit.skip(path, number, "too long")
            last = whole = None
            continue
        data = block.data
        find = data.find
        shift = block.offset
        if not shift:
            whole = data
        elif whole is not None and shift + block.size > len(whole):
            whole = None
        begin = 0
        size = block.size
        while begin <= size:
            end = find(b"\n", begin, size)
            if end < 0:
                end = size
            number += 1
            if (
                last is not None
                and end + tail_from > begin
                and data[end + tail_from : end + tail_to] == tail
                and data[begin + head_from : begin + head_to] == head
            ):
                # Its stamp is when the response went on, which the first line could not know.
                if (
                    stamp_from < tail_to
                    or data[end + stamp_from - _STAMP_LENGTH : end + stamp_from] != _STAMP
                    or data[end + stamp_to] != _QUOTE
                ):
                    stamp_from, stamp_to = _stamp(data, end + tail_to, end)
                if stamp_from:
                    last.end = unit.last_stamp = data[end + stamp_from : end + stamp_to].decode("ascii", "replace")
                    duplicate += 1
                    begin = end + 1
                    continue
            if (
                data[begin + _PARENT_END : begin + user_to] == user
                and data[begin : begin + _PARENT_LENGTH] == _PARENT
                and data[end - 1] == _CLOSE
            ):
                not_billable += 1
                begin = end + 1
                continue
            # An assistant's line shows its type near one of its ends; a user's line likewise, and carries no usage of
            # its own. Quotes inside a string are escaped, so that no text can look like either.
            at = end + type_from
            if at < begin or data[at : at + _ASSISTANT_LENGTH] != _ASSISTANT:
                near_end = end - _NEAR
                if near_end < begin:
                    near_end = begin
                at = find(_ASSISTANT, near_end, end)
                if at >= 0:
                    type_from = at - end
            if at < 0 and end > begin and data[begin] == _OPEN and data[end - 1] == _CLOSE:
                near = begin + _NEAR
                if near > end:
                    near = end
                at = find(_USER, begin, near)
                if ((at >= 0 or find(_USER, near_end, end) >= 0) and find(_ASSISTANT, begin, near) < 0) or find(
                    _USAGE, begin, end
                ) < 0:
                    if at >= 0 and at - begin > _PARENT_END:
                        user, user_to = _user_head(data, begin, at + _USER_LENGTH)
                    not_billable += 1
                    begin = end + 1
                    continue
            text = data[begin:end]
            here = begin + shift
            begin = end + 1
            last = None
            try:
                line = decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                _odd_line(unit, index, path, text, number, here, block.open_end and end == size)
                continue
            last = _take(unit, index, line, number, here)
            if last is not None:
                if text[where : where + _ID_LENGTH] != _ID:
                    where = text.find(_ID, 0, _FAR)
                usage_at = text.rfind(_USAGE_OBJECT)
                uuid_at = text.rfind(_UUID)
                if where < 0 or not 0 < usage_at < uuid_at:
                    last = None
                    continue
                head_from, head_to = where, where + _HEAD_LENGTH
                head = text[head_from:head_to]
                tail_from, tail_to = usage_at - len(text), uuid_at - len(text)
                tail = text[tail_from:tail_to]
    if shift + size > MOST_UNPACKED and is_packed(path):
        raise OSError(f"packed with gzip, and larger than {MOST_UNPACKED >> 20} MiB unpacked; unpack it (gunzip)")
    unit.rows += number
    unit.not_billable += not_billable
    unit.duplicate += duplicate
    return whole


def _stamp(data: bytes, low: int, end: int) -> tuple[int, int]:
    """Where the stamp of a line begins and ends, counted from its end; zeros where it has none behind ``low``."""
    at = data.find(_STAMP, low, end)
    stop = data.find(b'"', at + _STAMP_LENGTH, end) if at >= 0 else -1
    return (at + _STAMP_LENGTH - end, stop - end) if stop >= 0 else (0, 0)


def _user_head(data: bytes, begin: int, stop: int) -> tuple[bytes, int]:
    """What a user's line shows between its parent's uuid and its type, by which the next ones are told: their type is
    the line's own, as no object is opened before it. Otherwise what no line shows."""
    head = data[begin + _PARENT_END : stop]
    if data[begin : begin + _PARENT_LENGTH] != _PARENT or head[0] != _QUOTE or b"{" in head:
        return _NEVER, 0
    return head, stop - begin


def _take(unit: Unit, index: int, line: Line, number: int, position: int) -> Call | None:
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


def _take_copy(unit: Unit, index: int, line: Line, number: int, position: int) -> Call | None:
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
    unit: Unit,
    key: tuple[str, str],
    message: Message,
    lane: str,
    index: int,
    number: int,
    position: int,
    line: Line,
    uuid: str | None,
    stamp: str | None,
    copy: bool,
) -> Call:
    """Add a billed line to its call, or begin a new one."""
    usage = message.usage
    assert usage is not None
    output = -1 if usage.output_tokens is None else usage.output_tokens
    call = unit.by_key.get(key)
    if call is None:
        calls = unit.calls
        parent = None if copy else line.parentUuid
        # In the order of its fields: by their names would take as long again.
        call = Call(key, lane, index, position, number, len(calls), uuid, parent, line.version, line.effort, copy)
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


def _key(message: Message, request_id: str | None, uuid: str | None, index: int, number: int) -> tuple[str, str]:
    """A request's identity: message id and request id; gateways leave the second out; a bare line has only its own."""
    if message.id is not None:
        return (message.id, request_id or "")
    return (request_id or "", uuid or f"{index}:{number}")


def _odd_line(unit: Unit, index: int, path: str, text: bytes, number: int, position: int, open_end: bool) -> None:
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
            if _USAGE in piece:
                _take(unit, index, line, number, position)
            else:
                unit.not_billable += 1


def _misfit(unit: Unit, path: str, piece: bytes, number: int) -> None:
    """Valid JSON whose fields have other types than expected: a loss only where usage is at stake."""
    try:
        record = msgspec.json.decode(piece)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        unit.skip(path, number, "broken JSON")
        return
    if not isinstance(record, dict):
        unit.skip(path, number, "not an object")
    elif record.get("type") == "assistant" and isinstance(record.get("message"), dict) and "usage" in record["message"]:
        unit.skip(path, number, "bad counter")
    else:
        unit.not_billable += 1
