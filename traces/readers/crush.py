"""Crush's database: the messages of its sessions, and what each session cost by its own account.

Answers have no counters of their own: the tokens of a session are those of its last call, and its cost is the sum of
all. Causes cannot be told from it, times and pauses can.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import Tally, TraceError, tell_or_raise
from agentsim.traces.read_only_database import connect, tables
from agentsim.traces.session_assembly import MAIN, Assembly, build_all
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "crush"
DESCRIPTION = "Crush's database (.crush/crush.db): messages and the cost of sessions (from descriptions)"
VERIFIED = False

REMEDY = "check that it is a crush.db, and that its -wal file lies beside it"


def detect(head: bytes, path: str) -> bool:
    """Whether a file is a database with Crush's tables."""
    if not head.startswith(b"SQLite format 3\0"):
        return False
    try:
        with closing(connect(path)) as database:
            found = tables(database)
            return {"sessions", "messages", "files"} <= found and "session" not in found
    except (sqlite3.Error, OSError, ValueError):
        return False


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these databases. What is wrong with one is told in ``problems``; without that list OSError is
    raised for it."""
    seen: set[str] = set()
    for path in paths:
        try:
            found = list(_assemblies(path, seen))
        except OSError as error:
            tell_or_raise(error, path, problems)
            continue
        yield from build_all(found, "answer of a model", problems)


def _assemblies(path: str, seen: set[str]) -> Iterator[Assembly]:
    try:
        with closing(connect(path)) as database:
            sessions = database.execute(
                "SELECT id, parent_session_id, title, cost FROM sessions ORDER BY id"
            ).fetchall()
            for id, parent, title, cost in sessions:
                made = _assembly(database, path, str(id), seen)
                if not made.tally.rows:
                    continue
                made.title = title if isinstance(title, str) and title else None
                if isinstance(parent, str) and parent:
                    made.lane(MAIN, purpose="subagent")
                if type(cost) in (int, float) and 0 < cost < 10**6:
                    words = f"session {id} cost ${cost:.4f} by its own account"
                    made.tally.tell(0, BadRow("counted as a whole", words), note=True)
                yield made
    except (sqlite3.Error, ValueError) as error:
        words = str(error) if isinstance(error, sqlite3.Error) else "its names are no text"
        raise TraceError(path, f"not a readable database ({words})", REMEDY) from None


def _assembly(database: sqlite3.Connection, path: str, session: str, seen: set[str]) -> Assembly:
    assembly = Assembly(session, NAME, Tally(path))
    assembly.files.append(path)
    assembly.harness = "crush"
    query = "SELECT rowid, id, role, model, created_at, updated_at FROM messages WHERE session_id = ?"
    query += " ORDER BY created_at, rowid"
    begun: int | None = None
    for number, id, role, model, created, updated in database.execute(query, (session,)):
        time = unix_nanoseconds(repr(created).encode())
        if role == "user":
            assembly.note("prompt_submitted", time)
        if role != "assistant":
            begun = time
            continue
        assembly.tally.rows += 1
        if str(id) in seen:
            assembly.tally.duplicate += 1
            continue
        seen.add(str(id))
        name = model if isinstance(model, str) else ""
        end = unix_nanoseconds(repr(updated).encode())
        assembly.add(
            Request(
                id=str(id),
                lane=MAIN,
                model=name,
                provider=provider_of(model=name),
                start=time if time is not None else begun,
                end=end,
                source=Source(path, number if type(number) is int and number > 0 else 0),
            )
        )
        begun = end
    return assembly
