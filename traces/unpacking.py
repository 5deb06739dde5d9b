"""Logs packed with gzip, as rotated ones are, read as if they were not."""

from __future__ import annotations

import gzip
import zlib
from io import FileIO


class Unpacked(gzip.GzipFile):
    """The bytes of a packed file. What is wrong with it is an OSError with plain words."""

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
