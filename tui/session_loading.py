"""Sessions from paths, judged. Runs in workers: nothing here touches a widget."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from agentsim.core.garbage_collection import without_collection
from agentsim.core.session import Problem, Session
from agentsim.diagnose import Diagnosis, diagnose

SCENARIO = ".toml"
"""The end of the name of a scenario file."""


class OpenedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """What paths hold: sessions, or in ``failure`` why there are none."""

    sessions: tuple[Session, ...] = ()
    problems: tuple[Problem, ...] = ()
    failure: str | None = None


def read_paths(paths: Sequence[str]) -> OpenedPaths:
    """All sessions of some paths. Never raises: what cannot be read is told."""
    from agentsim.traces.format_registry import read

    problems: list[Problem] = []
    missing = next((path for path in paths if not os.path.lexists(path)), None)
    if missing is not None:
        return OpenedPaths(failure=f"{missing}: no such file or folder; check the spelling")
    scenarios = [path for path in paths if path.endswith(SCENARIO)]
    try:
        simulated = tuple(session for path in scenarios for session in simulated_sessions(path))
    except (ValueError, OSError) as error:
        return OpenedPaths(failure=str(error))
    paths = [path for path in paths if path not in scenarios]
    try:
        sessions = simulated + (tuple(read(paths, problems)) if paths or not scenarios else ())
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror or str(error)
        remedy = getattr(error, "remedy", None)
        file = getattr(error, "file", None) or error.filename or (paths[0] if paths else "")
        line = getattr(error, "line", None)
        place = f"{file}, line {line}" if line else f"{file}"
        return OpenedPaths(problems=tuple(problems), failure=f"{place}: {reason}" + (f"; {remedy}" if remedy else ""))
    return OpenedPaths(sessions=sessions, problems=tuple(problems))


def simulated_sessions(path: str) -> list[Session]:
    """The sessions of a scenario file, simulated with seed 0. Raises ValueError (WrittenFileError) or OSError."""
    from agentsim.harness.plan_run import simulate
    from agentsim.scenarios.scenario_loading import load

    sessions = [simulate(cell.plan(0)).session for cell in load(path)]
    if len({session.id for session in sessions}) == len(sessions):
        return sessions
    # The cells of a sweep share the name of their scenario.
    return [msgspec.structs.replace(session, id=f"{session.id}#{n}") for n, session in enumerate(sessions, 1)]


def judge(session: Session) -> Diagnosis:
    """A session's verdicts. The collector is held off meanwhile: a large session makes many objects and no rubbish."""
    with without_collection():
        return diagnose(session)


def read_session(paths: Sequence[str], session_id: str | None) -> tuple[Diagnosis | None, str]:
    """One session of some paths, judged; or ``None`` and the reason."""
    opened = read_paths(paths)
    found = largest(opened.sessions, session_id)
    if found is None:
        return None, opened.failure or "the session is not there any more"
    return judge(found), ""


def largest(sessions: Sequence[Session], session_id: str | None) -> Session | None:
    """The session of an id with the most requests."""
    found = [session for session in sessions if session_id is None or session.id == session_id]
    return max(found, key=lambda session: len(session.requests), default=None)
