"""Sessions from the paths of a command line, and what is said when one cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.session import Problem, Session


def read_sessions(paths: Sequence[str]) -> list[Session]:
    """Every session in these files and folders. Raises Failure for a path that is not there or holds no log."""
    for path in paths:
        check_path(path)
    from traces.formats import read

    try:
        sessions = list(read(paths))
    except OSError as error:
        raise unreadable(error, paths[0]) from error
    if not sessions:
        raise Failure(
            "no sessions in here that agentsim can read",
            file=paths[0],
            remedy="'agentsim formats' lists what it reads",
        )
    return sessions


def check_path(path: str) -> None:
    """Raise Failure for a path that is not there."""
    if not os.path.lexists(path):
        folder = os.path.dirname(path) or "."
        remedy = "check the spelling" if os.path.isdir(folder) else f"there is no folder {folder}"
        raise Failure("no such file or folder", file=path, remedy=remedy)


def unreadable(error: OSError, path: str) -> Failure:
    """The failure that tells of an error of the operating system."""
    file = error.filename if isinstance(error.filename, str) else path
    return Failure(error.strerror or str(error), file=file, remedy="check that it is a file you may read")


def tell_skips(sessions: Iterable[Session], strict: bool, problems: Sequence[Problem] = ()) -> ExitCode:
    """Say on stderr what was skipped; with ``strict`` any skip makes the exit code UNREADABLE."""
    from agentsim.report.notices import tell_problems

    sessions = list(sessions)
    found = [*problems, *(problem for session in sessions for problem in session.problems)]
    tell_problems(found, [session.accounting for session in sessions])
    skipped = bool(found) or any(session.accounting.skipped for session in sessions)
    return ExitCode.UNREADABLE if strict and skipped else ExitCode.OK
