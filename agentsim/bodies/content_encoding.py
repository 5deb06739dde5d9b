"""Bodies as they went over the wire, unpacked: gzip, zstd, deflate and Brotli.

Recorders keep them packed as often as not. What is packed is told by its first bytes where it can be, and by the header
otherwise; no more is unpacked than anybody could have meant.
"""

from __future__ import annotations

import zlib
from importlib import import_module

from agentsim.core.extras import how_to_install
from agentsim.core.strict_decoding import BadRow

MOST_UNPACKED = 64 * 2**20
"""Bytes of one body."""

_PIECE = 1024
"""Packed bytes that are taken at once: few may stand for very many."""

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


def unpacked(data: bytes, encoding: str | None = None, limit: int = MOST_UNPACKED) -> bytes:
    """A body as it was before it was packed. Raises BadRow for one that is damaged, too large, or needs a package that
    is not there."""
    named = (encoding or "").rpartition(",")[2].strip().lower()
    if data.startswith(GZIP):
        return _inflated(data, 31, limit)
    if data.startswith(ZSTD):
        return _zstd(data, limit)
    if named == "br" and data[:1] not in (b"{", b"["):
        return _brotli(data, limit)
    if named == "deflate" and data[:1] not in (b"{", b"["):
        return _inflated(data, 15 if data[:1] == b"\x78" else -15, limit)
    return data


def _inflated(data: bytes, window: int, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while data:
            machine = zlib.decompressobj(window)
            made = machine.decompress(data, limit + 1 - size)
            parts.append(made)
            size += len(made)
            if size > limit or machine.unconsumed_tail:
                raise BadRow("too long", "a packed body")
            if not machine.eof:
                raise BadRow("broken body", "cut off")
            data = machine.unused_data
            if window != 31 or not data.startswith(GZIP):
                break
    except zlib.error:
        raise BadRow("broken body", "it cannot be unpacked") from None
    return b"".join(parts)


def _zstd(data: bytes, limit: int) -> bytes:
    zstandard = import_module("zstandard")
    parts: list[bytes] = []
    size = 0
    machine = None
    try:
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            while piece:
                machine = machine or zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
                made = machine.decompress(piece)
                parts.append(made)
                size += len(made)
                if size > limit:
                    raise BadRow("too long", "a packed body")
                piece = b""
                if machine.eof:
                    piece, machine = machine.unused_data, None
    except zstandard.ZstdError:
        raise BadRow("broken body", "it cannot be unpacked") from None
    if machine is not None:
        raise BadRow("broken body", "cut off")
    return b"".join(parts)


def _brotli(data: bytes, limit: int) -> bytes:
    try:
        brotli = import_module("brotli")
    except ImportError:
        raise BadRow("broken body", f"packed with Brotli: {how_to_install('vcr')}") from None
    machine = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    try:
        for at in range(0, len(data), _PIECE):
            made = machine.process(data[at : at + _PIECE])
            parts.append(made)
            size += len(made)
            if size > limit:
                raise BadRow("too long", "a packed body")
        if not machine.is_finished():
            raise BadRow("broken body", "cut off")
    except brotli.error:
        raise BadRow("broken body", "it cannot be unpacked") from None
    return b"".join(parts)
