"""OpenCode's database, read without writing to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from agentsim.core.strict_decoding import BadRow, decode
from agentsim.traces.hostile_records import Tally, TraceError
from agentsim.traces.read_only_database import connect, tables
from agentsim.traces.readers.opencode.opencode_shapes import About, OpenCodeMessage, infos, parts

REMEDY = "check that it is an opencode.db, and that its -wal file lies beside it"


def is_opencode(path: str) -> bool:
    """Whether a database has OpenCode's tables."""
    try:
        with closing(connect(path)) as database:
            return {"session", "message", "part"} <= tables(database)
    except (sqlite3.Error, OSError, ValueError):
        return False


def sessions_in(path: str) -> Iterator[tuple[About, list[OpenCodeMessage], Tally]]:
    """Each session with its messages, and where its rows went that cannot be read. Raises TraceError when the database
    cannot be."""
    try:
        with closing(connect(path)) as database:
            rows = database.execute("SELECT id, parent_id, project_id, title, version FROM session ORDER BY id")
            for row in rows.fetchall():
                about = About(*(value if isinstance(value, str) else None for value in row))
                tally = Tally(path)
                yield about, list(_messages(database, about, tally)), tally
    except (sqlite3.Error, ValueError) as error:  # SQLite's own words may be no text either
        words = str(error) if isinstance(error, sqlite3.Error) else "its names are no text"
        raise TraceError(path, f"not a readable database ({words})", REMEDY) from None


def _messages(database: sqlite3.Connection, about: About, tally: Tally) -> Iterator[OpenCodeMessage]:
    found: dict[str, list[bytes]] = {}
    query = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for message, data in database.execute(query, (about.id,)):
        found.setdefault(str(message), []).append(_bytes(data))
    query = "SELECT rowid, id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for number, id, data in database.execute(query, (about.id,)):
        place = number if isinstance(number, int) else 0
        try:
            info = decode(infos, _bytes(data))
            info.id, info.sessionID = str(id), about.id
            yield OpenCodeMessage(info, [decode(parts, part) for part in found.get(str(id), ())], place)
        except BadRow as bad:
            tally.rows += 1
            tally.skip(place, bad)


def _bytes(data: object) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    return data if isinstance(data, bytes) else b""
