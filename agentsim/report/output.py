"""Where a report goes: standard output or a file, as text that is already safe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from agentsim.report.exits import ExitCode, Failure

STDOUT = "-"
"""What stands for standard output where a file may be named."""


def check_targets(*targets: tuple[str, str | None]) -> None:
    """See, before anything takes time, that each of several things can be written where an option wants it.

    ``targets`` are options, and the file that each names (``None``: it was not given). Raises Failure where a folder is
    missing, or where two things would go to standard output: two documents in one stream are none.
    """
    for _, file in targets:
        need_folder(file)
    there = [option for option, file in targets if file == STDOUT]
    if len(there) > 1:
        reason = f"{' and '.join(there)} would both go to standard output"
        raise Failure(reason, remedy="give one of them a file", code=ExitCode.USAGE)


def need_folder(file: str | None) -> None:
    """Raise Failure where the folder of a file that is to be written is missing."""
    folder = os.path.dirname(file or "") or "."
    if not os.path.isdir(folder):
        raise Failure("no such folder", file=folder, remedy="make it first", code=ExitCode.USAGE)


def beside(file: str | None) -> TextIO:
    """Where the page goes while rows are written to ``file``: to standard error where they take standard output."""
    return sys.stderr if file == STDOUT else sys.stdout


def need_file(option: str, file: str | None, why: str) -> None:
    """Raise Failure where ``-`` was given to an option that must have a file, or a folder, and say why."""
    if file == STDOUT:
        raise Failure(f"{option} {STDOUT}: {why}", remedy="name a place on the disk", code=ExitCode.USAGE)


@contextmanager
def output(file: str | None) -> Iterator[TextIO]:
    """A stream to write a report on. A file appears under its name when it is complete. Raises Failure."""
    if file is None or file == STDOUT:
        yield sys.stdout
        return
    need_folder(file)
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
