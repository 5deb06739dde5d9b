"""Rows of exports: JSON lines, one JSON array, or the pages of an API (an object that holds the array)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from agentsim.core.session import Request
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import RawRow, rows_of
from agentsim.traces.json_documents import document_bytes, parse_document
from agentsim.traces.log_lines import BOM, open_log
from agentsim.traces.session_assembly import Assembly

LISTS = ("data", "runs", "observations", "requests", "items", "results")
"""Under which name an object holds the rows."""

T = TypeVar("T")

_array = msgspec.json.Decoder(list[msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def export_rows(path: str, decoder: msgspec.json.Decoder[T]) -> Iterator[RawRow[T]]:
    """The rows of a file. The line of a row in an array is its number, from 1. Raises OSError when the file cannot be
    read, and TraceError for a document that is no JSON."""
    with open_log(path) as file:
        head = file.read(65_536).removeprefix(BOM).lstrip()
    if not head.startswith(b"[") and not _is_envelope(head):
        yield from rows_of(path, decoder)
        return
    data = document_bytes(path)
    if head.startswith(b"["):
        rows = parse_document(data, path, _array)
    else:
        envelope = parse_document(data, path, _object)
        name = next((name for name in LISTS if bytes(envelope.get(name, b""))[:1] == b"["), None)
        rows = [msgspec.Raw(data)] if name is None else parse_document(bytes(envelope[name]), path, _array)
    for number, raw in enumerate(rows, 1):
        try:
            yield RawRow(number, bytes(raw), decode(decoder, raw), None)
        except BadRow as bad:
            yield RawRow(number, bytes(raw), None, bad)


def _is_envelope(head: bytes) -> bool:
    """Whether a file begins like one object over many lines, or like one that holds an array of rows."""
    if not head.startswith(b"{"):
        return False
    first = head.split(b"\n", 1)[0].rstrip()
    if first == b"{":
        return True
    start = first[1:].lstrip()
    return any(start.startswith(b'"%s"' % name.encode()) and b"[" in start[:40] for name in LISTS)


def add_in_order(assembly: Assembly, requests: Iterable[Request]) -> None:
    """Take requests in by their start (their end where that is all that is known): exports write a call when it ends,
    or the newest first."""
    for request in sorted(requests, key=_start):
        assembly.add(request)


def _start(request: Request) -> int:
    return request.start or request.end or 0
