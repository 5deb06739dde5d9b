"""Whole JSON documents, read with care: a size limit, no devices, and plain words for what is wrong."""

from __future__ import annotations

import os
from typing import TypeVar

import msgspec

from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import REMEDIES, TraceError
from agentsim.traces.log_lines import BOM, open_log

MAX_DOCUMENT_BYTES = 512 * 2**20
"""A larger document is not read: it would have to be held in memory as a whole."""

T = TypeVar("T")


def read_document(path: str, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a file that is one JSON document. Raises TraceError when it is none, or too large."""
    return parse_document(document_bytes(path), path, decoder)


def document_bytes(path: str) -> bytes:
    """The bytes of a document without a byte-order mark. Raises OSError, and TraceError for one that is too large."""
    with open_log(path) as file:
        large = os.fstat(file.fileno()).st_size > MAX_DOCUMENT_BYTES
        data = b"" if large else file.read(MAX_DOCUMENT_BYTES + 1)
        while not large and len(data) <= MAX_DOCUMENT_BYTES and (more := file.read(MAX_DOCUMENT_BYTES)):
            data += more  # a single read may end early
    if large or len(data) > MAX_DOCUMENT_BYTES:
        raise TraceError(path, f"larger than {MAX_DOCUMENT_BYTES >> 20} MiB", "split it, or export it as JSON lines")
    return data.removeprefix(BOM)


def parse_document(data: bytes, path: str, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode the bytes of a document; ``path`` is for the words of the TraceError that is raised for bad ones."""
    from agentsim.bodies.messages_wire import keep_lone_surrogates

    try:
        try:
            return decode(decoder, data)
        except BadRow as bad:
            kept = keep_lone_surrogates(data) if bad.reason == "broken JSON" else data
            if kept is data:
                raise
            return decode(decoder, kept)
    except BadRow as bad:
        raise TraceError(path, str(bad), REMEDIES.get(bad.reason, "check that this is the whole file")) from None
