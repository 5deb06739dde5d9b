"""What answers requests: the modeled provider, a real engine, or a live endpoint, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import msgspec

from agentsim.core.session import Request, Usage

__all__ = ["NOTHING", "CacheBackend", "CacheLookup", "CannotEvict", "Served"]

NOTHING = Usage(fresh=0, write_short=0, write_long=0, read=0, output=0)
"""What a rejected request consumes."""


class CacheLookup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a backend found for a request that arrives at ``now``, before anything is changed.

    ``read`` are the tokens that will be read from the cache; ``None`` where only the answer tells (a live endpoint).
    ``hit``, ``hit_owner``, ``host`` and ``rejected`` are those of :class:`Served`. ``keep`` is how many blocks of what
    is kept of its prompt were left when it came; ``None``: all. ``found`` is the backend's own, and ``version`` says
    which state of the cache was looked at.
    """

    request: Request
    now: int
    read: int | None
    hit: int = 0
    hit_owner: str | None = None
    host: str | None = None
    rejected: str | None = None
    keep: int | None = None
    version: int = 0
    found: Any = None


class Served(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of one request.

    ``hit`` is how many leading blocks of its prompt were read from the cache (0: none), and ``hit_owner`` the id of the
    request that wrote that entry. ``written`` are the lengths (in blocks) of the prefixes that it wrote. ``rejected``
    says why the provider refused the request: it then consumed nothing and changed nothing. ``first_token`` and ``end``
    are times (nanoseconds, UTC) that the backend decided itself; ``None`` leaves those of the request. ``stored`` is
    what the request asked to be kept at a price, in token-seconds. ``host`` is which of several caches answered, where
    the backend has several.
    """

    usage: Usage
    hit: int = 0
    hit_owner: str | None = None
    written: tuple[int, ...] = ()
    rejected: str | None = None
    first_token: int | None = None
    end: int | None = None
    stored: int = 0
    host: str | None = None


class CannotEvict(RuntimeError):
    """A backend whose cache is not ours to take anything out of."""


class CacheBackend(ABC):
    """Answers requests in the order of their start, and keeps what it needs to answer the next ones.

    In two phases, because how long an answer takes depends on what is read, and from when on what it leaves behind can
    be read depends on how long it takes. Times are nanoseconds (UTC).
    """

    @abstractmethod
    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """What a request that arrives at ``now`` will be served. Changes nothing that can be observed.

        With ``keep`` as if all that is kept of its prompt behind the first so many blocks were evicted before. Of a
        request without a prompt nothing is known but the usage that it reports. Raises ValueError for a provider
        without known rules.
        """

    @abstractmethod
    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """Answer the request of ``lookup``, what :meth:`look_up` gave; what is served is what it said.

        Changes the cache: what the request reads is refreshed, what its breakpoints name is kept, and with a ``keep``
        of the look-up the rest is evicted first. A rejected request, and one without a prompt, change nothing.
        ``first_token`` and ``end`` are when the answer began and ended, where that is known. Raises ValueError for a
        request that came before one that was committed already, and for a look-up since which the cache has changed:
        so never commit one twice.
        """

    @abstractmethod
    def evict(self, request: Request, keep: int, now: int) -> None:
        """Lose what is kept of a request's prompt behind its first ``keep`` blocks at ``now``, as an early eviction
        does.

        Changes the cache; safe to call twice. Raises :class:`CannotEvict` where that is not ours to decide.
        """

    def serve(self, request: Request, now: int) -> Served:
        """Answer a request that arrives at ``now`` with the times that it carries: :meth:`look_up`, then
        :meth:`commit`, which say what changes and what is raised. The request itself is not changed."""
        lookup = self.look_up(request, now)
        first, end = request.first_token, request.end
        if request.start is not None and request.start != now:
            first = None if first is None else first - request.start + now
            end = None if end is None else end - request.start + now
        return self.commit(lookup, first_token=first, end=end)
