"""What answers requests: the modeled provider, a real engine, or a live endpoint, behind one interface."""

from __future__ import annotations

from typing import Protocol

import msgspec

from agentsim.core.session import Request, Usage

__all__ = ["CacheBackend", "Served"]


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


class CacheBackend(Protocol):
    """Answers requests in the order of their start, and keeps what it needs to answer the next ones."""

    def serve(self, request: Request, now: int) -> Served:
        """Answer a request that arrives at ``now`` (nanoseconds, UTC).

        Changes the cache: what the request reads is refreshed, what its breakpoints name is kept. Never call it twice
        for one request, and never with an earlier ``now`` than before (ValueError). The request is not changed. A
        request without a prompt changes nothing, and its reported usage is returned.
        """
        ...
