"""Entries that a provider makes inside a request: behind the results of tools that it runs itself.

Such a request goes on with the results of its tools, and each time the provider keeps what it has so far, if the
request carries a breakpoint at all. A prompt does not tell what was answered; the prompt that grows from it does. So
these entries are brought into the cache when that one comes, as they were made: nobody can ask for them before.
"""

from __future__ import annotations

from agentsim.cache.entry_store import Address, CacheEntry, PrefixStore
from agentsim.core.dates import SECOND
from agentsim.core.session import Request

LONGEST = 3600 * SECOND
"""No entry of this kind lives longer."""

LEAST_LANES = 256
"""Lanes that are remembered whatever time has passed."""


class InnerEntries:
    """The requests of one provider that may have made such entries. Mutable.

    With ``forgets`` those are given up whose entries are over.
    """

    def __init__(self, *, forgets: bool = False) -> None:
        self._most = LEAST_LANES if forgets else None
        self._answered: dict[str, tuple[Address, int, int, str]] = {}
        """The last one of each lane: its prompt, when the lifetime of what it keeps begins, when that can be read, and
        its id."""

    def note(self, request: Request, address: Address, used: int, readable: int, now: int) -> None:
        """A request with a breakpoint was answered: what grows from it may show results of tools, and they can be read
        from ``readable`` on."""
        self._answered[request.lane] = address, used, readable, request.id
        if self._most is not None and len(self._answered) > self._most:
            self._answered = {lane: one for lane, one in self._answered.items() if now <= one[1] + LONGEST}
            self._most = max(LEAST_LANES, 2 * len(self._answered))

    def forget(self, lane: str) -> None:
        """What the last request of a lane made is not to be found any more."""
        self._answered.pop(lane, None)

    def made(
        self, request: Request, address: Address, store: PrefixStore, *, ttl: int, minimum: int
    ) -> tuple[CacheEntry, ...]:
        """The entries that the request from which this one grew made, as far as this one's prompt shows them, and
        without those that are kept. ``ttl`` is in seconds; prefixes of less than ``minimum`` tokens are not kept.
        Changes nothing."""
        before = self._answered.get(request.lane)
        if before is None or before[3] != request.parent:
            return ()
        there, used, readable, owner = before
        prompt = address.prompt
        start = len(there.prompt)
        found: list[CacheEntry] = []
        for position in range(start, len(prompt)):
            block = prompt[position]
            if block.role != "assistant":
                break
            if not block.kind.endswith("_tool_result") or block.kind == "mcp_tool_result":
                continue
            if prompt.chain(start) != there.prompt.chain(start):
                return ()  # it is no answer to that request
            made = Address(prompt, there.spaces, address.chain)
            length = position + 1
            if prompt.tokens_until(length) < minimum or made.chain(length) in made.space_at(length).entries:
                continue
            found.append(store.entry(made, length, used=used, readable=readable, ttl=ttl * SECOND, owner=owner))
        return tuple(found)
