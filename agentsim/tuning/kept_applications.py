"""What was written into which settings file, when and with which prediction: kept until it is undone.

One small file for each settings file, for its owner's eyes alone, figures and settings only.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

import msgspec

from agentsim.guard.private_files import place, read_table, write_table
from agentsim.tuning.recorded_lifetimes import RecordedLifetimes
from agentsim.tuning.saving_shares import ShareInterval


class KeptApplication(msgspec.Struct, frozen=True, kw_only=True):
    """What was written into ``file`` at ``time`` (nanoseconds): the values by dotted key, and what was there ``before``
    (``None``: nothing).

    ``policies`` is what it brings about, ``lifetimes`` what sessions asked for until then, ``predicted`` the share of
    the bill that it was to save, over ``sessions`` sessions between ``first`` and ``last``.
    """

    file: str
    harness: str
    time: int
    written: dict[str, Any]
    before: dict[str, Any]
    missing: bool
    policies: tuple[str, ...]
    lifetimes: RecordedLifetimes
    predicted: ShareInterval
    sessions: int
    first: int
    last: int


def keep(application: KeptApplication) -> None:
    """Keep it, in the place of an older one of the same file. Raises OSError."""
    write_table(_place(application.file), msgspec.to_builtins(application))


def kept_for(file: str) -> KeptApplication | None:
    """What was written into a settings file; ``None`` where nothing was, or what was kept is damaged."""
    try:
        return msgspec.convert(read_table(_place(file)), KeptApplication)
    except msgspec.ValidationError:
        return None


def forget(file: str) -> None:
    """Forget what was written into a settings file. Raises OSError."""
    kept = _place(file)
    if os.path.exists(kept):
        os.unlink(kept)


def _place(file: str) -> str:
    name = sha256(os.path.realpath(file).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return place("tuned", f"{name}.json")
