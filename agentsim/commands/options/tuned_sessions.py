"""The sessions that ``agentsim tune`` looks at: those of paths, or of the harness whose settings can be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem, Session


def sessions_since(paths: Sequence[str], since: str | None, problems: list[Problem]) -> list[Session]:
    """The sessions in these files and folders that began on a day or later, or all of them. Raises Failure."""
    from datetime import UTC, datetime

    from agentsim.commands.options.session_inputs import read_sessions
    from agentsim.fleet.summary.grouped import first_day
    from agentsim.traces.harness_places import found_places
    from agentsim.tuning.tunable_setting import tunable_harnesses
    from agentsim.tuning.tune_choice import began

    if paths:
        where = list(paths)
    else:
        names = {name.partition("-")[0] for name in tunable_harnesses()}
        where = [place.path for place in found_places() if place.harness.lower().partition(" ")[0] in names]
    if not where:
        raise Failure("no logs of a harness whose settings can be written", remedy="name a file or folder")
    first = 0
    if since is not None:
        try:
            day = first_day(since, datetime.now(UTC).date())
        except ValueError as error:
            raise Failure(
                f"--since {since[:40]}: {error}", remedy="give 2026-01-31, or 30d", code=ExitCode.USAGE
            ) from None
        first = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 10**9
    return [session for session in read_sessions(where, problems) if began(session) >= first]
