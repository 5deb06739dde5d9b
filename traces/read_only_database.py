"""SQLite databases of running programs, read without writing to them.

Such a database is kept in write-ahead mode: the newest rows stand in a file beside it. SQLite reads both when it is
opened read-only, as long as the folder can be written for its shared memory; where that fails the main file is read
alone.
"""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote


def connect(path: str) -> sqlite3.Connection:
    """The database of a file. Raises sqlite3.Error, FileNotFoundError, and ValueError where names in it are no text."""
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    address = "file:" + quote(os.path.abspath(path))
    error: sqlite3.Error | ValueError | None = None
    for mode in ("mode=ro", "immutable=1"):
        database = sqlite3.connect(f"{address}?{mode}", uri=True)
        database.text_factory = _text
        try:
            tables(database)
        except (sqlite3.Error, ValueError) as failure:
            database.close()
            error = error or failure
        else:
            return database
    assert error is not None
    raise error


def tables(database: sqlite3.Connection) -> set[str]:
    """The names of its tables."""
    return {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
