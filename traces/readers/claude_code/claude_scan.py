"""One pass over the files of a session that finds its calls.

This is the hot path of every report. A line is decoded only if it can carry usage, and only the fields that are billed;
a line that repeats the counters of the line before it is recognised by its bytes. Everything else about a call (what it
grew from, what was appended, when it began) is looked up later, and only where it is asked for
(:mod:`agentsim.traces.readers.claude_code.claude_steps`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.traces.log_lines import MOST_UNPACKED, LineChunk, is_packed, read_blocks
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import USAGE, ClaudeConversation, take, take_odd_line
from agentsim.traces.readers.claude_code.claude_lines import decode_line

_USAGE_OBJECT = b'"usage":{'
_UUID = b'"uuid":"'
_ID = b'"id":"'
_STAMP = b'"timestamp":"'
_USER = b'"type":"user"'
_ASSISTANT = b'"type":"assistant"'
_PARENT = b'{"parentUuid":"'
_ID_LENGTH, _STAMP_LENGTH, _USER_LENGTH, _ASSISTANT_LENGTH = map(len, (_ID, _STAMP, _USER, _ASSISTANT))
_PARENT_LENGTH = len(_PARENT)
_PARENT_END = _PARENT_LENGTH + 36
"""Where a line goes on behind the uuid of its parent."""

_OPEN, _CLOSE, _QUOTE = b'{}"'
_NEVER = b"\n"
"""Equal to no part of a line."""

_JOINED = b'}{"'
"""Shows where two objects run together on one line; a text that ends so is decoded to find that it does not."""

_JOINED_PARENT = b'}{"parentUuid":'
"""The same for objects that begin as the tool writes those of a conversation: it is found four times as fast."""

_NEAR = 512
"""Bytes from an end of a line within which its type stands."""

_FAR = 2048
"""Bytes from the beginning of a line within which the id of its message stands."""

_HEAD_LENGTH = 48
"""Bytes from there that tell one message from another."""

_KEPT_BYTES = 16 * 2**20


def scan(files: tuple[str, ...], *, keep: bool = False) -> ClaudeConversation:
    """Read the files of one conversation in the order given and collect its calls.

    ``keep`` says that its lines will be looked up soon, and the unit be let go then: small files are kept in memory.
    Raises OSError when a file cannot be read, or is packed and too large to be. Bad lines raise nothing: they are
    counted in ``Unit.skipped``.
    """
    unit = ClaudeConversation(files)
    kept = 0
    for index, path in enumerate(files):
        text = scan_blocks(unit, index, read_blocks(path))
        if keep and text is not None and kept + len(text) <= _KEPT_BYTES:
            unit.texts[index] = text
            kept += len(text)
    if not is_in_order(unit):
        _put_in_order(unit)
    return unit


def is_in_order(unit: ClaudeConversation) -> bool:
    """Whether the calls of each lane stand in the order in which they were answered."""
    last: dict[str, str] = {}
    for call in unit.calls:
        end = call.end
        if end is not None:
            if end < last.get(call.lane, ""):
                return False
            last[call.lane] = end
    return True


def _put_in_order(unit: ClaudeConversation) -> None:
    """Order calls by the time of their answers, where lines were exchanged: what comes next is told by time, and not by
    the place in a file. A call without a time stays behind the one that it stood behind."""
    place, places = "", {}
    for call in unit.calls:
        place = call.end or place
        places[call.index] = place
    unit.calls.sort(key=lambda call: places[call.index])
    for index, call in enumerate(unit.calls):
        call.index = index


def scan_blocks(unit: ClaudeConversation, index: int, blocks: Iterable[LineChunk], before: int = 0) -> bytes | None:
    """Take in lines of one file, of which ``before`` lines were taken in before. Returns the bytes of a whole file when
    they were read in one piece."""
    path = unit.files[index]
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
    last: ClaudeCall | None = None
    number = before
    shift = size = 0
    for block in blocks:
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
        joined = find(_JOINED_PARENT, 0, size)
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
                if stamp_from and find(_JOINED, begin, end) < 0:
                    last.end = unit.last_stamp = data[end + stamp_from : end + stamp_to].decode("ascii", "replace")
                    duplicate += 1
                    begin = end + 1
                    continue
            if 0 <= joined < begin:
                joined = find(_JOINED_PARENT, begin, size)
            if (
                data[begin + _PARENT_END : begin + user_to] == user
                and data[begin : begin + _PARENT_LENGTH] == _PARENT
                and data[end - 1] == _CLOSE
                and not begin < joined < end
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
                is_user = (at >= 0 or find(_USER, near_end, end) >= 0) and find(_ASSISTANT, begin, near) < 0
                if (is_user or find(USAGE, begin, end) < 0) and find(_JOINED, begin, end) < 0:
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
                take_odd_line(unit, index, path, text, number, here, block.open_end and end == size)
                continue
            last = take(unit, index, line, number, here)
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
        raise OSError(f"packed, and larger than {MOST_UNPACKED >> 20} MiB unpacked; unpack it first")
    unit.rows += number - before
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
