"""Sessions from the paths of a command line, and what is said when one cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem, Session


def read_sessions(paths: Sequence[str], problems: list[Problem]) -> list[Session]:
    """Every session in these files and folders; files in folders that hold none are told in ``problems``.

    Raises Failure for a path that is not there or holds no session.
    """
    for path in paths:
        check_path(path)
    from agentsim.traces.format_registry import read

    try:
        sessions = list(read(paths, problems))
    except OSError as error:
        raise unreadable(error, paths[0]) from error
    if sessions:
        return sessions
    if problems:
        first = problems[0]
        raise Failure(first.reason, file=first.file, line=first.line, remedy=first.remedy)
    raise Failure("no session in here", file=paths[0], remedy="'agentsim trace formats' lists what can be read")


def check_path(path: str) -> None:
    """Raise Failure for a path that is not there."""
    if not os.path.lexists(path):
        folder = os.path.dirname(path) or "."
        remedy = "check the spelling" if os.path.isdir(folder) else f"there is no folder {folder}"
        raise Failure("no such file or folder", file=path, remedy=remedy)


def unreadable(error: OSError, path: str) -> Failure:
    """The failure that tells of an error of the operating system, or of a trace that cannot be used."""
    remedy = getattr(error, "remedy", None) or "check that it is a file you may read"
    reason = getattr(error, "reason", None) or error.strerror or str(error)
    file = error.filename if isinstance(error.filename, str) else path
    return Failure(reason, file=getattr(error, "file", None) or file, line=getattr(error, "line", None), remedy=remedy)


def choose_session(sessions: Sequence[Session], wanted: str | None) -> Session:
    """The session whose id begins with ``wanted``, or the only one. Raises Failure when that is not one session."""
    found = [session for session in sessions if wanted is None or session.id.startswith(wanted)]
    exact = [session for session in found if session.id == wanted]
    if len(exact) == 1:
        return exact[0]
    if len(found) == 1:
        return found[0]
    if not found:
        reason, shown = f"no session begins with {wanted}", sessions
    else:
        reason, shown = f"{len(found):,} sessions here", found
    from agentsim.report.screen.sessions_page import write_choice

    write_choice(shown)
    raise Failure(reason, remedy="choose one with --session and the beginning of its id", code=ExitCode.USAGE)


def all_problems(sessions: Iterable[Session], problems: Iterable[Problem]) -> list[Problem]:
    """The problems of the input, then those of each session."""
    return [*problems, *(problem for session in sessions for problem in session.problems)]


def tell_skips(
    sessions: Sequence[Session], problems: Sequence[Problem], strict: bool, *, listed_by: str = "--json"
) -> ExitCode:
    """Say on stderr what was skipped; with ``strict`` any skip makes the exit code UNREADABLE."""
    from agentsim.report.notices import tell_problems

    found = all_problems(sessions, problems)
    tell_problems(found, [session.accounting for session in sessions], listed_by=listed_by)
    skipped = any(not problem.note for problem in found) or any(session.accounting.skipped for session in sessions)
    return ExitCode.UNREADABLE if strict and skipped else ExitCode.OK
