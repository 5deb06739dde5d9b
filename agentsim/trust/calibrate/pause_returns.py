"""Returns to a prompt after a pause, as logs show them: what could have been read, and what was.

Only those count whose prompt went on as it was: where the history, a setting or the model changed, or a lookback was
exceeded, the loss says nothing about lifetimes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.diagnose.facts_from_session import facts_of

Outcome = Literal["kept", "partly", "lost"]

_ABOUT_TIME = frozenset(
    one.code for one in CAUSES.values() if one.prefix_kept and one.code.startswith(("AS2", "AS5", "AS9"))
)
"""Causes of losses that time, chance or the provider explain."""

_KEPT = ("hit", "extended", "recovered")


class PauseReturn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request that could have read what the one before it left. Times in nanoseconds, sizes in tokens.

    ``since_start`` and ``since_end`` are the pause, from the start and from the end of the request before. ``tier`` is
    the lifetime that was paid for: ``5m``, ``1h``, or ``unstated`` where a provider keeps prompts by itself.
    """

    session: str
    provider: str
    model: str
    tier: str
    since_start: int
    since_end: int | None
    expected: int
    read: int
    outcome: Outcome


class FitEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What logs hold for a fit: returns, and the reads of every request by provider and model.

    ``floors`` are reads of requests that lost their history: what survived, by (provider, model).
    """

    returns: tuple[PauseReturn, ...]
    reads: tuple[tuple[str, str, int], ...]
    floors: tuple[tuple[str, str, str, int], ...]
    """(provider, model, session, tokens)."""
    sessions: int


def returns_of(sessions: Iterable[Session]) -> FitEvidence:
    """The returns in sessions; requests that are copies of another session's do not count."""
    returns: list[PauseReturn] = []
    reads: list[tuple[str, str, int]] = []
    floors: list[tuple[str, str, str, int]] = []
    count = 0
    for session in sessions:
        count += 1
        returns += _of_session(session, reads, floors)
    return FitEvidence(returns=tuple(returns), reads=tuple(reads), floors=tuple(floors), sessions=count)


def _of_session(
    session: Session, reads: list[tuple[str, str, int]], floors: list[tuple[str, str, str, int]]
) -> Iterator[PauseReturn]:
    verdicts = diagnose(session).verdicts
    for request, row, verdict in zip(session.requests, facts_of(session), verdicts, strict=True):
        if not request.counted or not row.measured:
            continue
        if row.read:
            reads.append((request.provider, request.model, row.read))
        if verdict.kind == "miss" and row.read and row.parent is not None and row.read < row.parent.warm:
            floors.append((request.provider, request.model, session.id, row.read))
        parent = row.parent
        if parent is None or row.start is None or parent.start is None or row.start < parent.start:
            continue
        if parent.model != request.model or not parent.measured or not parent.warm:
            continue
        if verdict.kind in _KEPT:
            outcome: Outcome = "kept"
        elif verdict.kind == "miss" and verdict.cause in _ABOUT_TIME:
            # Where entries stand at breakpoints, what is left is the head. Caches without them lose the tail first.
            outcome = "partly" if row.automatic and row.read * 2 >= parent.warm else "lost"
        else:
            continue
        tier = {300: "5m", 3600: "1h"}.get(parent.ttl or 0, "unstated")
        if row.automatic:
            tier = "unstated"
        yield PauseReturn(
            session=session.id,
            provider=request.provider,
            model=request.model,
            tier=tier,
            since_start=row.start - parent.start,
            since_end=None if parent.end is None or row.start < parent.end else row.start - parent.end,
            expected=parent.warm,
            read=row.read,
            outcome=outcome,
        )
