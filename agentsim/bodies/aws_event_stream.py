"""Streams as Amazon's servers send them: frames with binary heads, and JSON in each."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator

import msgspec

_PRELUDE = 12
_CLOSING = 4
_TEXT = 7
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Sizes of header values by their type; types 6 and 7 say theirs."""


class _Chunk(msgspec.Struct, gc=False):
    bytes: str | None = None


_chunks = msgspec.json.Decoder(_Chunk)


def is_event_stream(data: bytes) -> bool:
    """Whether bytes begin like such a stream: a frame's length and that of its head, one within the other."""
    if len(data) < _PRELUDE + _CLOSING or data[:1] in (b"{", b"["):
        return False
    whole, head = struct.unpack_from(">II", data)
    return _PRELUDE + _CLOSING + head <= whole <= 2**24 and b":" in data[_PRELUDE : _PRELUDE + 64]


def frames_of(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Each frame's event and its payload. What is cut off at the end is left out."""
    at = 0
    while at + _PRELUDE + _CLOSING <= len(data):
        whole, head = struct.unpack_from(">II", data, at)
        if whole < _PRELUDE + _CLOSING + head or at + whole > len(data):
            return
        begin = at + _PRELUDE
        yield _event(data[begin : begin + head]), data[begin + head : at + whole - _CLOSING]
        at += whole


def inner_events(data: bytes) -> Iterator[bytes]:
    """The events that InvokeModel's frames carry: JSON, packed as text into a chunk."""
    for event, payload in frames_of(data):
        if event != "chunk":
            continue
        try:
            packed = _chunks.decode(payload).bytes
            if packed:
                yield base64.b64decode(packed)
        except (msgspec.MsgspecError, binascii.Error, ValueError, RecursionError):
            continue


def _event(head: bytes) -> str:
    at = 0
    while at + 2 <= len(head):
        size = head[at]
        name, kind, at = head[at + 1 : at + 1 + size], head[at + 1 + size : at + 2 + size], at + 2 + size
        if not kind:
            return ""
        if kind[0] in (6, _TEXT):
            length = int.from_bytes(head[at : at + 2], "big")
            value, at = head[at + 2 : at + 2 + length], at + 2 + length
            if name == b":event-type":
                return value.decode("utf-8", "replace")
        else:
            at += _FIXED.get(kind[0], len(head))
    return ""
