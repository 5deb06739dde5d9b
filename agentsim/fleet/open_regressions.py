"""Regressions that were found and that nobody has acknowledged yet: told until they are, or are gone.

The periods before the last one take a regression in as the weeks go by, and would call it usual. So each keeps the span
that it was found against, in a small file beside the tables of a sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal

import msgspec

from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.regression_watch import GroupChange, Reference, Watch, watch

NAME = "regressions.json"
_LARGEST = 2**20


class OpenRegression(msgspec.Struct, frozen=True, kw_only=True):
    """A group that became worse: the days it was held against then, and the last day of the period that showed it."""

    dimension: str
    name: str
    before_first: date
    before_last: date
    found: date

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return self.dimension, self.name


class OpenState(msgspec.Struct, frozen=True):
    """What became of an open regression: it is ``open`` still, with how it stands now; ``gone``; or ``silent``, where
    the last period has too few sessions to tell."""

    regression: OpenRegression
    state: Literal["open", "gone", "silent"]
    change: GroupChange | None = None


class OpenFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    version: Literal[1] = 1
    open: tuple[OpenRegression, ...] = ()


def read_open(folder: str) -> tuple[OpenRegression, ...]:
    """The open regressions of a sweep. A file that is no such file counts as none. Raises OSError."""
    path = Path(folder) / NAME
    try:
        with path.open("rb") as stream:
            return msgspec.json.decode(stream.read(_LARGEST), type=OpenFile).open
    except (FileNotFoundError, msgspec.MsgspecError):
        return ()


def look_again(
    folder: str, known: Sequence[OpenRegression], seen: Watch, *, days: int, least: float
) -> tuple[OpenState, ...]:
    """How those stand that the last period does not show by itself: each against the days that it was found against.

    A regression is gone when its lost share is less than ``least`` above what it was then.
    """
    told = {(change.dimension, change.name) for change in seen.worse}
    states = []
    for one in known:
        if one.key in told:
            continue
        by = () if one.dimension == "all" else (one.dimension,)
        against = Reference(days=(one.before_first, one.before_last))
        try:
            now = watch(folder, days=days, until=seen.last, by=by, least=least, against=against)
        except ValueError:
            states.append(OpenState(one, "silent"))
            continue
        change = next((found for found in now.changes if (found.dimension, found.name) == one.key), None)
        if change is None:
            states.append(OpenState(one, "silent"))
        else:
            states.append(OpenState(one, "open" if change.last - change.before >= least else "gone", change))
    return tuple(states)


def keep_open(
    folder: str, known: Sequence[OpenRegression], seen: Watch, states: Sequence[OpenState], acknowledged: Sequence[str]
) -> None:
    """Write down what is open now: what was and is not gone, and what the last period showed anew. What is
    acknowledged (``version claude-code 2.1.300``) is usual from now on. Raises OSError."""
    gone = {state.regression.key for state in states if state.state == "gone"}
    kept = {one.key: one for one in known if one.key not in gone}
    for change in seen.worse:
        kept.setdefault(
            (change.dimension, change.name),
            OpenRegression(
                dimension=change.dimension,
                name=change.name,
                before_first=seen.before_first,
                before_last=seen.before_last,
                found=seen.last,
            ),
        )
    left = tuple(kept[key] for key in sorted(kept) if words_of(*key) not in acknowledged)
    if left or known:
        folders.write_document(folder, NAME, msgspec.to_builtins(OpenFile(open=left)))


def words_of(dimension: str, name: str) -> str:
    """What a group is called."""
    return "everything" if dimension == "all" else f"{dimension} {name}"
