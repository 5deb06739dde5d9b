"""Logs packed with gzip or zstd, as rotated ones are, read as if they were not."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from importlib import import_module
from io import FileIO
from typing import Any


class UnpackedFile(gzip.GzipFile):
    """The bytes of a file packed with gzip. What is wrong with it is an OSError with plain words."""

    def __init__(self, file: FileIO) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._packed = file

    def read(self, size: int | None = -1) -> bytes:
        """At most so many unpacked bytes."""
        try:
            return super().read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise OSError("packed with gzip, and cut off or damaged") from None

    def close(self) -> None:
        """Close both files."""
        try:
            super().close()
        finally:
            self._packed.close()


class UnpackedZstd(io.RawIOBase):
    """The bytes of a file packed with zstd, in one frame or several. What is wrong with it is an OSError."""

    def __init__(self, file: FileIO) -> None:
        self._packed = file
        try:
            self._zstd: Any = import_module("zstandard")
        except ImportError:
            raise OSError("packed with zstd: pip install zstandard") from None
        self._machine: Any = None  # that of the frame being unpacked
        self._made = bytearray()

    def readable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """That of the packed file."""
        return self._packed.fileno()

    def read(self, size: int | None = -1) -> bytes:
        """At most so many unpacked bytes; fewer only at the end."""
        wanted = sys.maxsize if size is None or size < 0 else size
        while len(self._made) < wanted and (data := self._packed.read(_PIECE)):
            self._unpack(data)
        if len(self._made) < wanted and self._machine is not None:
            raise OSError("packed with zstd, and cut off or damaged")
        made = bytes(self._made[:wanted])
        del self._made[:wanted]
        return made

    def _unpack(self, data: bytes) -> None:
        try:
            while data:
                if self._machine is None:
                    self._machine = self._zstd.ZstdDecompressor(max_window_size=2**27).decompressobj()
                self._made += self._machine.decompress(data)
                data = b""
                if self._machine.eof:
                    data, self._machine = self._machine.unused_data, None
        except self._zstd.ZstdError:
            raise OSError("packed with zstd, and cut off or damaged") from None

    def readinto(self, buffer: Any) -> int:
        """As :meth:`read`, into a buffer."""
        made = self.read(len(buffer))
        buffer[: len(made)] = made
        return len(made)

    def close(self) -> None:
        """Close both files."""
        try:
            super().close()
        finally:
            self._packed.close()


_PIECE = 1024
"""Packed bytes that are taken at once: a block of four bytes may stand for 128 KiB."""
