"""A store that gives up what nobody can read any more, for runs that go on for long and ask nothing about the past."""

from __future__ import annotations

from agentsim.cache.entry_store import CacheEntry, PrefixStore

LEAST_CHANGES = 8192
"""Reads and writes between two looks at the whole store, at the least, unless another number is given."""


class ForgettingStore(PrefixStore):
    """Entries at breakpoints, without those whose lifetime is over: every search finds what it finds with them.

    It looks at all entries when there were twice as many reads and writes as entries were left the last time, so that
    one costs the same however long a run is. Not for those who look for expired entries.
    """

    def __init__(self, *, refresh_ancestors: bool = True, least_changes: int = LEAST_CHANGES) -> None:
        super().__init__(refresh_ancestors=refresh_ancestors)
        self._least_changes = self._until_next = least_changes

    def _advance(self, now: int) -> None:
        super()._advance(now)
        self._until_next -= 1
        if self._until_next <= 0:
            self._until_next = max(self._least_changes, 2 * self._forget(now))

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

    def _may_live(self, entry: CacheEntry, now: int) -> bool:
        """False for an entry that is over, whatever reads of its conversation are still to be taken into account."""
        last = entry.used if entry.log is self._common else max(entry.used, entry.log.latest)
        return not entry.dead and now <= last + entry.ttl

    def _catch_all_up(self) -> None:
        """Bring the entries of the common log up to date with its reads, each of which is looked at once, and empty it.

        The same as :meth:`_catch_up` of each of them, which would look at every read for every entry.
        """
        common = self._common
        entries: dict[bytes, list[CacheEntry]] = {}
        for space in self._spaces.values():
            for digest, entry in space.entries.items():
                if entry.log is common:
                    entries.setdefault(digest, []).append(entry)
        lengths = sorted({same[0].length for same in entries.values()})
        for number, (now, (used, length, address)) in enumerate(zip(common.times, common.reads, strict=True)):
            for shorter in lengths:
                if shorter > length:
                    break
                for entry in entries.get(address.chain(shorter), ()):
                    if (
                        number >= entry.seen
                        and now <= entry.used + entry.ttl
                        and address.spaces[entry.space.identity[2]] is entry.space
                    ):
                        entry.used = max(entry.used, used)
        for same in entries.values():
            for entry in same:
                entry.seen = 0
        common.times.clear()
        common.reads.clear()
