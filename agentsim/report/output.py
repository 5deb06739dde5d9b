"""Where a report goes: standard output or a file, as text that is already safe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from agentsim.report.exits import ExitCode, Failure


@contextmanager
def output(file: str | None) -> Iterator[TextIO]:
    """A stream to write a report on. A file appears under its name when it is complete. Raises Failure."""
    if file is None or file == "-":
        yield sys.stdout
        return
    special = os.path.exists(file) and not os.path.isfile(file)
    folder, name = os.path.split(file)
    draft = file if special else os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(draft, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            yield stream
        if not special:
            os.replace(draft, file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(reason, file=file, remedy="choose a place you may write to", code=ExitCode.USAGE) from error
    finally:
        if not special and os.path.lexists(draft):
            os.unlink(draft)


def write_safe(stream: TextIO, text: str) -> None:
    """Write text of a format whose writer has cleaned all that came from outside."""
    stream.write(text)
