"""The shape of a summary, and of the parts that workers send home."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsim.core.session import Accounting, Problem
from agentsim.core.sums import known
from agentsim.diagnose.diagnosis_totals import Loss
from agentsim.diagnose.loss_findings import LossKind


class UnitLoss(msgspec.Struct, array_like=True, gc=False):
    """One miss of a unit, as far as the list of worst misses and the findings need it. ``row`` is its number in the
    session, 0 where that is not known; ``what`` is told of it beyond the cause."""

    request: str
    stamp: str | None
    cause: str
    tokens: int
    cost: int | None
    equivalents: int | None
    file: str
    line: int
    kind: LossKind
    what: str = ""
    row: int = 0


class UnitReport(msgspec.Struct, array_like=True, gc=False):
    """What one conversation adds to a summary: sums over its counted requests, its losses, and its requests'
    identities.

    The identities travel packed, as few conversations ever hold a request that another one holds: ``key_hashes`` has
    eight bytes for each, which hold within one process and its forks, and ``packed_keys`` themselves.
    """

    session: str
    project: str
    files: tuple[str, ...]
    first_stamp: str
    last_stamp: str
    key_hashes: bytes
    packed_keys: bytes
    requests: int
    fresh: int
    written: int
    read: int
    output: int
    cost: int
    equivalents: int
    unpriced: dict[str, int]
    unreported: int
    kinds: dict[str, int]
    unlogged: int
    unlogged_cost: int
    losses: list[UnitLoss]
    rows: int
    duplicate: int
    not_billable: int
    skipped: dict[str, int]
    problems: list[Problem]
    format: str = "claude-code"
    bare: int = 0
    """Requests without any counters: neither priced nor in ``unpriced``."""

    @property
    def priced(self) -> int:
        """How many requests the cost is of."""
        return self.requests - sum(self.unpriced.values()) - self.bare

    def identities(self) -> list[tuple[str, str]]:
        """The identities of its requests."""
        return msgspec.msgpack.decode(self.packed_keys, type=list[tuple[str, str]]) if self.packed_keys else []


def known_cost(parts: Sequence[UnitReport]) -> int | None:
    """What the requests of some reports cost; ``None`` where none of them has a price."""
    requests = sum(part.requests for part in parts)
    return known(sum(part.cost for part in parts), requests, requests - sum(part.priced for part in parts))


class SessionLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session in a summary. Money in picodollars, ``None`` where nothing that it is of has a price."""

    session: str
    project: str
    requests: int
    cost: int | None
    lost_cost: int | None
    misses: int
    hit_read: int
    hit_total: int
    first_stamp: str
    last_stamp: str
    files: tuple[str, ...] = ()
    format: str = ""
    copies: bool = False
    """Whether some of its requests are copies of another session's, or the other way round."""


class MissLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One miss in a summary, with the place of its line in the logs; ``row`` is its number in the session, which is in
    ``files``, and 0 where that is not known."""

    session: str
    request: str
    time: int | None
    cause: str
    lost: int
    lost_cost: int | None
    file: str
    line: int
    row: int = 0
    files: tuple[str, ...] = ()


class KindOfLoss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Losses of one kind in all sessions: how many in how many sessions, from when to when (nanoseconds), and what they
    cost in picodollars, of those that have a price. ``requests`` are (session, request) of each."""

    cause: str
    what: str
    losses: int
    sessions: int
    tokens: int
    cost: int | None
    first_time: int | None
    last_time: int | None
    requests: tuple[tuple[str, str], ...]


class SharedHead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Conversations of several sessions that began with tools and system text that an earlier one had sent, but for
    text that changes by itself. ``place`` is where they part and ``cause`` what that is. ``tokens`` were sent again
    while the earlier ones lay in the cache, for ``cost`` picodollars more than reading them, as far as known."""

    cause: str
    place: str
    conversations: int
    tokens: int
    cost: int | None


class FormatLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the sessions of one format add to a summary. Money in picodollars, ``None`` where no request has a price."""

    format: str
    sessions: int
    requests: int
    unpriced: int
    cost: int | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over many sessions, each request counted once. Money in picodollars, equivalents in micro-tokens.

    A sum is of what has a price, and ``None`` where nothing that it would be of has one.
    """

    sessions: int
    files: int
    requests: int
    duplicates: int
    cost: int | None
    equivalents: int | None
    fresh: int
    written: int
    read: int
    output: int
    hit_read: int
    hit_total: int
    losses: tuple[Loss, ...]
    lost_tokens: int
    lost_cost: int | None
    worst_sessions: tuple[SessionLine, ...]
    by_loss: tuple[SessionLine, ...] = ()
    """All sessions, those that lost most first."""
    worst_misses: tuple[MissLine, ...]
    unlogged: int
    unlogged_cost: int | None
    unpriced: tuple[tuple[str, int], ...]
    unreported: int
    kinds: tuple[tuple[str, int], ...]
    accounting: Accounting
    problems: tuple[Problem, ...]
    first_time: int | None
    last_time: int | None
    formats: tuple[FormatLine, ...] = ()
    kinds_of_loss: tuple[KindOfLoss, ...] = ()
    """What was lost more than once in the same way, the dearest first."""
    placeless: tuple[tuple[str, str], ...] = ()
    """(session, request) of the losses whose cause names no place."""
    shared_heads: tuple[SharedHead, ...] = ()
    """Heads that conversations would share, were it not for text in them that changes by itself."""
