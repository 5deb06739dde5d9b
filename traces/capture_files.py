"""Files of captured exchanges: each file is read to its sessions, and one of no use is told of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agentsim.core.session import Problem, Session
from agentsim.traces.exchanges import Exchange, sessions_of
from agentsim.traces.hostile_records import Tally, TraceError, tell_or_raise


def read_captures(
    captures: Iterable[tuple[str, str]],
    problems: list[Problem] | None,
    exchanges_of: Callable[[str, Tally], Iterable[Exchange]],
    *,
    format: str,
    wanted: str,
    of_wire: bool = True,
    seen: set[str] | None = None,
) -> Iterator[Session]:
    """The sessions of captures, each given by its path and its name. A response that came before (in the same or
    another one) is counted once; ``exchanges_of`` counts the rows of one. ``seen`` holds the ids of those counted
    before, and grows; ``of_wire`` is what :func:`~agentsim.traces.exchanges.sessions_of` says.

    What is wrong with a capture is told in ``problems``; without that list, OSError is raised for one that cannot be
    read and its subclass TraceError for one in which nothing is ``wanted``.
    """
    seen = set() if seen is None else seen
    for path, name in captures:
        tally = Tally(path)
        try:
            exchanges = exchanges_of(path, tally)
            sessions = sessions_of(
                exchanges, format=format, name=name, tally=tally, files=(path,), seen=seen, of_wire=of_wire
            )
            if not sessions:
                raise_nothing_found(path, tally, problems, wanted)
        except OSError as error:
            tell_or_raise(error, path, problems)
        else:
            yield from sessions


def raise_nothing_found(path: str, tally: Tally, problems: list[Problem] | None, wanted: str) -> None:
    """Raise TraceError for an input that held nothing of use, and tell before what is wrong with its rows.

    An input in which everything is a copy of what was read before is no error, only told.
    """
    if problems is not None:
        problems += tally.problems
        if tally.duplicate:
            reason = "all of it was in an earlier file"
            remedy = "nothing to do; it is counted once"
            problems.append(Problem(file=path, line=0, reason=reason, remedy=remedy, note=True))
    if not tally.duplicate:
        first = tally.problems[0] if tally.problems else None
        why = f" (line {first.line}: {first.reason})" if first is not None else ""
        raise TraceError(path, f"no {wanted} in it{why}", "check that this is the whole capture")
