"""What the app remembers from one start to the next: theme, ways of looking, and where the cursor stood.

It is a convenience: a file that is missing, broken or cannot be written changes nothing else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

import msgspec

MOST_SESSIONS = 200
"""Sessions whose cursor is remembered; the least recently opened are forgotten first."""
_MOST_BYTES = 2**20


class RememberedState(msgspec.Struct, kw_only=True):
    """The remembered choices. ``rows`` holds, by session, the number of the row under the cursor."""

    theme: str = "dark"
    lanes: str = "time"
    picker_sort: str = "last"
    picker_descending: bool = True
    rows: dict[str, int] = msgspec.field(default_factory=dict)

    def stood_at(self, session: str, row: int) -> None:
        """Remember the cursor of a session."""
        self.rows.pop(session, None)
        self.rows[session] = row
        while len(self.rows) > MOST_SESSIONS:
            del self.rows[next(iter(self.rows))]


def path(environment: Mapping[str, str] | None = None) -> str:
    """The file: ``$XDG_STATE_HOME/agentsim/tui.json``, by default under ``~/.local/state``."""
    environment = os.environ if environment is None else environment
    home = environment.get("HOME") or os.path.expanduser("~")
    base = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(base, "agentsim", "tui.json")


def load(file: str) -> RememberedState:
    """What was remembered, or the defaults."""
    try:
        with open(file, "rb") as handle:
            return msgspec.json.decode(handle.read(_MOST_BYTES), type=RememberedState)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return RememberedState()


def save(state: RememberedState, file: str) -> None:
    """Remember. The file is replaced whole, so that two apps at once cannot mix their lines."""
    beside = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        with open(beside, "wb") as handle:
            handle.write(msgspec.json.encode(state))
        os.replace(beside, file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
