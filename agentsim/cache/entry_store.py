"""The entries that a provider with breakpoints keeps, and the search for the longest one that can be read.

An entry stands for the prefix that ends at a breakpoint. It is found by its scope, its model, the settings in the key
of the section it ends in, and the chained digest of its blocks. Expired entries stay: a search that ignores lifetimes
must still find them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from agentsim.core.prompt import Prompt

SECTION_INDEX = {"tools": 0, "system": 1, "messages": 2}

Pairs = tuple[tuple[str, str], ...]
"""Settings in a key, as (name, value)."""

Identity = tuple[str, str, int, Pairs]
"""Whose entries: scope, model, index of the section that they end in, settings in the key of that section."""

Chain = Callable[[int], bytes]
"""The digest of the first so many blocks of a prompt, as the provider sees them."""

_OPENING_BLOCKS = 4
"""So many blocks of the messages make the opening of a conversation: agents with one task part soon after it."""


class CacheEntry:
    """What is kept at a breakpoint: the prefix of ``length`` blocks with ``digest``. Times are nanoseconds.

    ``used`` is when its lifetime last began to count. ``log`` holds the reads that may have passed through it, and
    ``seen`` is how many of them have been taken into account. Only the store changes an entry.
    """

    __slots__ = ("dead", "digest", "length", "log", "owner", "plain", "readable", "seen", "space", "ttl", "used")

    def __init__(
        self,
        space: Space,
        digest: bytes,
        plain: bytes,
        length: int,
        used: int,
        readable: int,
        ttl: int,
        owner: str,
        log: Log,
    ) -> None:
        self.space = space
        self.digest = digest
        self.plain = plain
        self.length = length
        self.used = used
        self.readable = readable
        self.ttl = ttl
        self.owner = owner
        self.log = log
        self.seen = 0
        self.dead = False


class Log:
    """Reads in the order of their times: when, from when the lifetime counts, how many blocks, and of which prompt."""

    __slots__ = ("latest", "reads", "times")

    def __init__(self) -> None:
        self.latest = 0
        self.times: list[int] = []
        self.reads: list[tuple[int, int, Address]] = []

    def add(self, now: int, used: int, length: int, address: Address) -> None:
        """Append a read."""
        self.latest = max(self.latest, used)
        self.times.append(now)
        self.reads.append((used, length, address))


class Space:
    """All entries of one identity, by digest."""

    __slots__ = ("entries", "identity")

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.entries: dict[bytes, CacheEntry] = {}


Spaces = tuple[Space, Space, Space]
"""Where a request's prefixes are kept, by the section in which they end."""


class Address:
    """A prompt as a provider looks it up: its digests, and the space of each section."""

    __slots__ = ("_opening", "chain", "prompt", "spaces")

    def __init__(self, prompt: Prompt, spaces: Spaces, chain: Chain | None = None) -> None:
        self._opening: int | None = None
        self.prompt = prompt
        self.spaces = spaces
        self.chain: Chain = prompt.chain if chain is None else chain

    def space_at(self, length: int) -> Space:
        """Where the prefix of so many blocks is kept."""
        return self.spaces[SECTION_INDEX[self.prompt[length - 1].section]]

    @property
    def opening(self) -> int:
        """How many blocks tell one conversation from another: tools, system, and the first few of the messages."""
        if self._opening is None:
            self._opening = self.prompt.section_end("system") + _OPENING_BLOCKS
        return self._opening


class PrefixStore:
    """Entries at breakpoints. Times only move forward: an earlier ``now`` than before is a ValueError.

    ``refresh_ancestors`` says whether reading an entry also starts the lifetime of the entries in front of it on the
    same chain anew. They are not touched at once: the reads are logged, and an entry that looks expired is brought up
    to date when it is next asked for. So a read costs the same however long the chain is. Each conversation has a log
    of its own, so that many of them at once do not slow each other down; entries too short to belong to one use a
    common log, which holds all reads.
    """

    def __init__(self, *, refresh_ancestors: bool = True) -> None:
        self._refresh_ancestors = refresh_ancestors
        self._spaces: dict[Identity, Space] = {}
        self._common = Log()
        self._logs: dict[bytes, Log] = {}
        self._now: int | None = None

    def space(self, identity: Identity) -> Space:
        """The space of an identity, made when it is new."""
        found = self._spaces.get(identity)
        if found is None:
            found = self._spaces[identity] = Space(identity)
        return found

    def spaces_like(self, wanted: Callable[[Identity], bool]) -> list[Space]:
        """The spaces whose identity satisfies a condition, in the order in which they were made. Changes nothing."""
        return [space for identity, space in self._spaces.items() if wanted(identity)]

    def alive(self, entry: CacheEntry, now: int) -> bool:
        """Whether an entry's lifetime still runs at ``now``. Changes nothing that can be observed."""
        if now <= entry.used + entry.ttl:
            return not entry.dead
        if entry.dead or not self._refresh_ancestors:
            return False
        self._catch_up(entry)
        return not entry.dead and now <= entry.used + entry.ttl

    def find(
        self, address: Address, positions: Sequence[int], now: int, lookback: int, runs: bool = False
    ) -> CacheEntry | None:
        """The longest entry that can be read at ``now``, among the ``lookback`` positions that end with a breakpoint.

        ``positions`` are the breakpoints, the last one first. With ``runs``, blocks of a run of tool_use (or of
        tool_result) count as one position. Changes nothing.
        """
        chain, prompt = address.chain, address.prompt
        spaces = address.spaces
        tools, system, messages = spaces[0].entries, spaces[1].entries, spaces[2].entries
        floor = -1
        for position in positions:
            stop = max(position - lookback, -1) if not runs else reach(prompt, position, lookback, runs)
            # The windows of two breakpoints may overlap: what the later one tested need not be tested again.
            start = position if floor < 0 else min(position, floor)
            while start > stop:
                digest = chain(start + 1)
                # Looking in all three is cheaper than asking each time which section the block belongs to.
                if digest in messages or digest in system or digest in tools:
                    entry = spaces[SECTION_INDEX[prompt[start].section]].entries.get(digest)
                    if entry is not None and entry.readable <= now and self.alive(entry, now):
                        return entry
                start -= 1
            floor = stop
            if floor < 0:
                break
        return None

    def find_at(self, address: Address, positions: Iterable[int], now: int) -> CacheEntry | None:
        """The first entry that can be read at ``now`` among those that end with these blocks. Changes nothing."""
        for position in positions:
            entry = address.space_at(position + 1).entries.get(address.chain(position + 1))
            if entry is not None and entry.readable <= now and self.alive(entry, now):
                return entry
        return None

    def touch(self, address: Address, entry: CacheEntry, now: int, used: int, *, ancestors: bool = True) -> None:
        """Refresh an entry that a request reads at ``now``: its lifetime counts from ``used``.

        That of its ancestors does, too, unless ``ancestors`` is False: models of one provider may differ in that.
        """
        self._advance(now)
        if entry.dead:  # it was read all the same: the provider kept it longer than the rules say
            entry.dead = False
            entry.seen = len(entry.log.reads)
        entry.used = max(entry.used, used)
        if self._refresh_ancestors and ancestors:
            self._common.add(now, used, entry.length, address)
            if entry.log is not self._common:
                entry.log.add(now, used, entry.length, address)

    def refresh(self, entry: CacheEntry, used: int) -> None:
        """Bring a living ancestor of the entry just read (see :meth:`touch`) up to date, which spares doing it later.

        Without refreshing ancestors this does nothing.
        """
        if self._refresh_ancestors:
            entry.used = max(entry.used, used)
            if entry.log.latest <= used:  # no read before this one counts from a later time
                entry.seen = len(entry.log.reads)

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
        after: CacheEntry | None = None,
    ) -> CacheEntry:
        """Keep the prefix of ``length`` blocks. ``ttl`` is in nanoseconds; ``after`` is an entry in front of it, if
        known.

        Where a living entry stands already (two requests sent together), the earlier readability and the later end of
        the lifetime count.
        """
        self._advance(now)
        new = self.entry(address, length, used=used, readable=readable, ttl=ttl, owner=owner, after=after)
        old = new.space.entries.get(new.digest)
        if old is not None and self.alive(old, now):
            if used + ttl < old.used + old.ttl:
                new.used, new.ttl = old.used, old.ttl
            if old.readable <= readable:
                new.readable, new.owner = old.readable, old.owner
        self.keep(new)
        return new

    def keep(self, entry: CacheEntry) -> None:
        """Keep an entry in the place of whatever stood there: reads from now on count for it."""
        entry.seen = len(entry.log.reads)
        entry.space.entries[entry.digest] = entry

    def entry(
        self,
        address: Address,
        length: int,
        *,
        used: int,
        readable: int,
        ttl: int,
        owner: str,
        after: CacheEntry | None = None,
    ) -> CacheEntry:
        """An entry as :meth:`write` would make it, without keeping it: to ask what would be had it been written."""
        space = address.space_at(length)
        plain = address.prompt.chain(length)
        if after is not None and after.log is not self._common:
            log = after.log  # the same conversation, known without counting its blocks
        else:
            log = self._log(address, length)
        return CacheEntry(space, address.chain(length), plain, length, used, readable, ttl, owner, log)

    def rewind_to(self, entry: CacheEntry, written: int) -> None:
        """Let an entry that was not kept take part in the reads logged since ``written``."""
        entry.seen = bisect_left(entry.log.times, written)

    def _log(self, address: Address, length: int) -> Log:
        """Where reads through a prefix of so many blocks are logged."""
        if length < address.opening:
            return self._common
        key = address.chain(address.opening)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = Log()
        return log

    def _catch_up(self, entry: CacheEntry) -> None:
        times, reads = entry.log.times, entry.log.reads
        index, level = entry.seen, entry.space.identity[2]
        while index < len(reads) and times[index] <= entry.used + entry.ttl:
            used, length, address = reads[index]
            index += 1
            if (
                length >= entry.length
                and address.spaces[level] is entry.space
                and address.chain(entry.length) == entry.digest
            ):
                entry.used = max(entry.used, used)
        entry.seen = index
        # Reads are logged in the order of their times: one after the lifetime ended came too late, and so do all later.
        entry.dead = index < len(reads)

    def _advance(self, now: int) -> None:
        if self._now is not None and now < self._now:
            raise ValueError("requests must be served in the order of their start")
        self._now = now


def reach(prompt: Prompt, position: int, lookback: int, runs: bool) -> int:
    """The first block, downwards, that a breakpoint at ``position`` does not reach (-1: it reaches all)."""
    if not runs:
        return max(position - lookback, -1)
    counted = 0
    last: str | None = None
    while position >= 0:
        kind = prompt[position].kind
        if kind != last or kind not in ("tool_use", "tool_result"):
            counted += 1
            if counted > lookback:
                return position
        last = kind
        position -= 1
    return -1
