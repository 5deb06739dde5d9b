"""Logs that come through a pipe: standard input (``-``), or what a shell puts in place of ``<(COMMAND)``.

Readers look at a file several times, which a pipe does not allow: what it brings is kept in a private file while the
command runs.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from agentsim.report.exits import ExitCode, Failure
from agentsim.report.piped_names import PIPES, with_pipes_named

if TYPE_CHECKING:
    from agentsim.core.session import Session

STDIN = "-"

STANDS_AS = "stdin"
"""The name of the private file: sessions without an id are called as their file is."""


class LogPath(click.Path):
    """A log: a file or a folder, or a pipe. Whether it exists is not asked here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that readers are given."""
        path = str(super().convert(value, param, ctx))
        if ctx is None or ctx.resilient_parsing or not (path == STDIN or _is_pipe(path)):
            return path
        if path in PIPES.values():
            raise Failure("a pipe can be read once", file=path, remedy="name it once", code=ExitCode.USAGE)
        return ctx.with_resource(_kept(path))


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def _kept(path: str) -> Iterator[str]:
    import shutil  # here, as few commands read a pipe
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="agentsim-") as folder:
        place = os.path.join(folder, STANDS_AS)
        try:
            with open(place, "wb") as file:
                if path == STDIN:
                    shutil.copyfileobj(sys.stdin.buffer, file)
                else:
                    with open(path, "rb") as pipe:
                        shutil.copyfileobj(pipe, file)
        except OSError as error:
            raise Failure(error.strerror or str(error), file=path, remedy="write it to a file first") from error
        end = os.path.join(os.path.basename(folder), STANDS_AS)
        PIPES[end] = path
        try:
            yield place
        finally:
            del PIPES[end]


def is_piped(path: str) -> bool:
    """Whether a path is the private file of a pipe."""
    return with_pipes_named(path) != path


def with_pipes_in_place(sessions: list[Session]) -> list[Session]:
    """The sessions as a trace keeps them: from the pipe, and not from its private file."""
    if not PIPES:
        return sessions
    from msgspec.structs import replace

    return [
        replace(
            session,
            files=tuple(map(with_pipes_named, session.files)),
            requests=tuple(
                replace(request, source=replace(request.source, file=with_pipes_named(request.source.file)))
                if request.source is not None
                else request
                for request in session.requests
            ),
        )
        for session in sessions
    ]
