"""A store that gives up what nobody can read any more, for runs that go on for long and ask nothing about the past."""

from __future__ import annotations

from agentsim.backends.store import Address, Entry, PrefixStore

LEAST_WRITES = 2048
"""Writes between two looks at the whole store, at the least, unless another number is given."""


class ForgettingStore(PrefixStore):
    """Entries at breakpoints, without those whose lifetime is over: every search finds what it finds with them.

    It looks at all entries whenever as many were written as were left the last time, so that a write costs the same
    however long a run is. Not for those who look for expired entries.
    """

    def __init__(self, *, refresh_ancestors: bool = True, least_writes: int = LEAST_WRITES) -> None:
        super().__init__(refresh_ancestors=refresh_ancestors)
        self._least_writes = self._until_next = least_writes

    def write(
        self,
        address: Address,
        length: int,
        now: int,
        *,
        used: int,
        readable: int,
        ttl: int,
        owner: str,
        after: Entry | None = None,
    ) -> Entry:
        """See :meth:`PrefixStore.write`."""
        self._until_next -= 1
        if self._until_next <= 0:
            self._until_next = max(self._least_writes, self._forget(now))
        return super().write(address, length, now, used=used, readable=readable, ttl=ttl, owner=owner, after=after)

    def _forget(self, now: int) -> int:
        """Give up what is over by ``now``. Returns how many entries are left."""
        self._catch_all_up()
        left = 0
        needed: set[int] = set()
        for space in self._spaces.values():
            kept = {digest: entry for digest, entry in space.entries.items() if self._may_live(entry, now)}
            # Addresses know the space and not its dictionary, so that this one may take its place.
            space.entries = kept
            left += len(kept)
            needed.update(id(entry.log) for entry in kept.values())
        self._logs = {key: log for key, log in self._logs.items() if id(log) in needed}
        return left

    def _may_live(self, entry: Entry, now: int) -> bool:
        """False for an entry that is over, whatever reads of its conversation are still to be taken into account."""
        last = entry.used if entry.log is self._common else max(entry.used, entry.log.latest)
        return not entry.dead and now <= last + entry.ttl

    def _catch_all_up(self) -> None:
        """Bring the entries of the common log up to date with its reads, each of which is looked at once, and empty it.

        The same as :meth:`_catch_up` of each of them, which would look at every read for every entry.
        """
        common = self._common
        entries = [entry for space in self._spaces.values() for entry in space.entries.values() if entry.log is common]
        lengths = sorted({entry.length for entry in entries})
        for number, (now, (used, length, address)) in enumerate(zip(common.times, common.reads, strict=True)):
            for shorter in lengths:
                if shorter > length:
                    break
                entry = address.space_at(shorter).entries.get(address.chain(shorter))
                if entry is None or entry.log is not common or number < entry.seen or entry.dead:
                    continue
                if now <= entry.used + entry.ttl:
                    entry.used = max(entry.used, used)
        for entry in entries:
            entry.seen = 0
        common.times.clear()
        common.reads.clear()
