"""Where agentsim keeps what passes by while a harness works: one folder, read and written by its owner alone.

Imports next to nothing: a status line asks for it several times a minute.
"""

from __future__ import annotations

import os

STATE_VARIABLE = "AGENTSIM_STATE"


def state_folder() -> str:
    """The folder, whether it is there or not: ``AGENTSIM_STATE``, or the usual place for a program's state."""
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return named
    home = os.environ.get("HOME") or os.path.expanduser("~")
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(base, "agentsim")


def kept_file(session: str) -> str | None:
    """Where the words of a harness about one session are kept; ``None`` for an id that is no file name."""
    name = safe_name(session)
    return None if name is None else os.path.join(state_folder(), "claude-code", f"{name}.kept.jsonl")


def safe_name(session: str) -> str | None:
    """A session's id as part of a file name."""
    plain = session.replace("-", "").replace("_", "")
    return session if 0 < len(session) <= 100 and plain.isascii() and plain.isalnum() else None
