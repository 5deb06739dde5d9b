"""What a person knows a session by: its project, the branch it began on, its title and its first words.

Readers keep what bears on a cache; these names stand beside it in the same files. They are looked up where a page needs
them, for the sessions that it shows. Titles and first words are words of a conversation: a page shows them only where
content was asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from agentsim.core.session import Session

_HEAD = 512 * 1024
_TAIL = 64 * 1024
_WHOLE = 16 * 2**20
"""Bytes of a log that are looked at: its beginning, its end, and all of a document that is one JSON value."""

_WORDS = 120
"""Characters of the first words that are kept."""

_INSIDE = ("payload", "data", "context", "git", "info", "message", "session")
"""Keys under which the facts of a session's first lines stand, in one log or another."""

_PARTS = ("subagents", "workflows")
"""Folders that a harness makes for parts of a session."""


class SessionNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names of a session; ``None`` where its log tells none. ``project`` is the last part of ``folder``, its place."""

    project: str | None = None
    folder: str | None = None
    branch: str | None = None
    title: str | None = None
    first_words: str | None = None

    @property
    def place(self) -> str:
        """Project and branch in a word or two; empty where neither is known."""
        branch = f" ({self.branch})" if self.branch else ""
        return f"{self.project}{branch}" if self.project else (self.branch or "")


def names_of(session: Session) -> SessionNames:
    """The names of a session."""
    return look_up(session.files, session.id)


def look_up(files: Sequence[str], session: str) -> SessionNames:
    """The names of the session of this id in these files. Nothing is raised: what cannot be read tells nothing."""
    return _of_file(files[0], session) if files else SessionNames()


def project_of(session: Session) -> str | None:
    """The project that a session ran in; where its log tells no folder, the folder of the log."""
    return names_of(session).project or (_of_path(session.files[0], session.id) if session.files else None)


@lru_cache(4096)
def _of_file(path: str, session: str) -> SessionNames:
    with suppress(OSError, ValueError):
        if path.endswith(".db"):
            return _of_readable_database(path, session)
        facts: dict[str, str] = {}
        for record in _records(path):
            _take(record, facts)
        return _named(facts)
    return SessionNames()


def _named(facts: dict[str, str]) -> SessionNames:
    folder = facts.get("folder")
    return SessionNames(
        project=os.path.basename(folder.replace("\\", "/").rstrip("/")) or None if folder else None,
        folder=folder,
        branch=facts.get("branch"),
        title=facts.get("title"),
        first_words=facts.get("words"),
    )


def _records(path: str) -> Iterator[Any]:
    """The records at the beginning and the end of a log; all of a file that is one JSON value."""
    from agentsim.traces.log_lines import open_log

    with open_log(path) as file:
        head = file.read(_HEAD)
        lines = head.splitlines()
        if lines and _decoded(lines[0]) is None:
            whole = head + file.read(_WHOLE)
            record = _decoded(whole)
            if isinstance(record, list):
                yield from record
            elif record is not None:
                yield record
                yield from record.get("messages", ()) if isinstance(record, dict) else ()
            return
        tail = b""
        if len(head) == _HEAD and file.seekable():
            size = file.seek(0, os.SEEK_END)
            file.seek(max(_HEAD, size - _TAIL))
            tail = file.read(_TAIL)
    for line in (*lines, *tail.splitlines()):
        record = _decoded(line)
        if record is not None:
            yield record


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _take(record: Any, facts: dict[str, str], depth: int = 0) -> None:
    """Take the facts of one record that are not known yet."""
    if not isinstance(record, dict) or depth > 3:
        return
    for name, keys in (
        ("folder", ("cwd", "directory", "cwdOnTaskInitialization")),
        ("branch", ("gitBranch", "branch")),
    ):
        for key in keys:
            value = record.get(key)
            if isinstance(value, str) and value and (key != "branch" or depth):
                facts.setdefault(name, value)
    # A title may be given again: the last one holds.
    for key in ("customTitle", "aiTitle"):
        if isinstance(record.get(key), str):
            facts["title"] = record[key]
    if depth and isinstance(record.get("title"), str) and record.get("directory"):
        facts.setdefault("title", record["title"])
    if "words" not in facts and (record.get("role") == "user" or record.get("type") in ("user", "user_message")):
        words = _words(record.get("content", record.get("message")))
        if words:
            facts["words"] = words
    for key in _INSIDE:
        _take(record.get(key), facts, depth + 1)


def _words(content: Any) -> str | None:
    """The first words that a person wrote: not what a harness put in front, which stands in marks or under headings."""
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and text.strip() and text.lstrip()[0] not in "<#":
            return " ".join(text.split())[:_WORDS]
    return None


def _of_readable_database(path: str, session: str) -> SessionNames:
    import sqlite3  # here, as few sessions are in a database

    with suppress(sqlite3.Error):
        return _of_database(path, session)
    return SessionNames()


def _of_database(path: str, session: str) -> SessionNames:
    """The names that OpenCode's database has in its table of sessions."""
    from agentsim.traces.read_only_database import connect

    database = connect(path)
    try:
        columns = {row[1] for row in database.execute("PRAGMA table_info(session)")}
        wanted = [name for name in ("directory", "title") if name in columns]
        if "id" not in columns or not wanted:
            return SessionNames()
        query = f"SELECT {', '.join(wanted)} FROM session WHERE id = ?"
        row = database.execute(query, (session,)).fetchone()
    finally:
        database.close()
    told = dict(zip(wanted, row, strict=True)) if row is not None else {}
    facts = {"folder": told.get("directory"), "title": told.get("title")}
    return _named({name: value for name, value in facts.items() if isinstance(value, str) and value})


def _of_path(path: str, session: str) -> str | None:
    """The folder of a log, above those that a harness makes for parts of a session; that of a day is no project."""
    folder = os.path.dirname(path)
    while name := os.path.basename(folder):
        if name not in (*_PARTS, session) and not name.startswith("wf_"):
            return None if name.isdecimal() else name
        folder = os.path.dirname(folder)
    return None
