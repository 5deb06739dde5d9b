"""Bodies that came compressed, unpacked within a limit."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable

from agentsim.gateway.refusal import Refusal

_PIECE = 1 << 16


class TooLarge(ValueError):
    """A body that is larger than its limit once it is unpacked."""


def encoding_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """How a body is compressed; empty where it is not."""
    found = next((value for name, value in headers if name == b"content-encoding"), b"")
    text = found.decode("latin-1").strip().lower()
    return "" if text == "identity" else text


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its compression. Raises Refusal: 415 for a way that is not known, 400 for a body that is not
    compressed in it, 413 for one that holds more than ``most`` bytes."""
    if not encoding:
        return body
    unpack = _UNPACK.get(encoding)
    if unpack is None:
        raise Refusal(415, f"bodies compressed with {encoding[:40]} are not accepted", close=True)
    try:
        return unpack(body, most)
    except TooLarge:
        raise Refusal(413, f"the body is larger than {most // 2**20} MiB", close=True) from None
    except ImportError as error:
        raise Refusal(415, f"bodies compressed with {encoding} need {error.name}, which is not installed") from None
    except Exception:  # each library has errors of its own
        raise Refusal(400, f"the body is not compressed with {encoding}") from None


def _inflated(body: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    data = unpacker.decompress(body, most + 1)
    if len(data) > most:
        raise TooLarge
    if not unpacker.eof:
        raise ValueError("cut short")
    return data


def _zstd(body: bytes, most: int) -> bytes:
    import zstandard

    with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(io.BytesIO(body)) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise TooLarge
    return bytes(data)


def _brotli(body: bytes, most: int) -> bytes:
    import brotli

    unpacker = brotli.Decompressor()
    parts = [unpacker.process(body, output_buffer_limit=_PIECE)]
    size = len(parts[0])
    while not unpacker.is_finished():
        part = unpacker.process(b"", output_buffer_limit=_PIECE)
        if not part:
            raise ValueError("cut short")
        size += len(part)
        if size > most:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _inflated,
    "x-gzip": _inflated,
    "deflate": _inflated,
    "zstd": _zstd,
    "br": _brotli,
}
