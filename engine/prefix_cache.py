"""The prefix cache: which page holds the keys and values of which block of which prefix.

A block is known by its chained digest (see :mod:`agentsim.engine.token_chain`), so that a page found is right for this
prefix and no other. A hit is the longest chain of full blocks, all of them there. Pages of a prefix are read by every
sequence that holds the pages before them, which gives two rules their force: a block is never idle later than its
parent, and so the end of a prefix is always given up before its beginning.

Blocks that the device gives up go to the host's memory, when there is some (:mod:`agentsim.engine.host_pages`), and
come back when they are hit. A lifetime can be imposed, by a clock that the caller owns: a block is readable for so long
after the start of the request that last read or wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from agentsim.engine.host_pages import HostTier
from agentsim.engine.page_pool import BrokenPages, OutOfPages, PagePool
from agentsim.engine.token_chain import TokenChain, block_digest

Order = Literal["tail_first", "head_first"]
"""Which end of a prefix is given up first. ``head_first`` is wrong: what is left cannot be reached."""


class Match(NamedTuple):
    """What is there of a prefix, block by block: page numbers, or the complement (``~slot``) of a slot of the host."""

    places: tuple[int, ...] = ()

    @property
    def restored(self) -> tuple[int, ...]:
        """The slots whose content must come back from the host."""
        return tuple(~place for place in self.places if place < 0)


class PrefixCache:
    """Pages by prefix, over a pool that it alone gives pages out of. Mutable; not for several threads at once.

    ``lifetime`` is in the units of the times that are passed in, ``None`` for no end. ``enabled=False`` finds and keeps
    nothing, and is otherwise the same.
    """

    def __init__(
        self,
        pool: PagePool,
        *,
        host_slots: int = 0,
        lifetime: int | None = None,
        order: Order = "tail_first",
        enabled: bool = True,
    ) -> None:
        self.pool = pool
        self.host = HostTier(host_slots)
        self.lifetime = lifetime
        self.order: Order = order
        self.enabled = enabled
        self.evicted = 0
        """Blocks that are nowhere any more, for want of room."""
        self.offloaded = 0
        """Blocks that went to the host."""
        self.restored = 0
        """Blocks that came back from it."""
        self._places: dict[bytes, int] = {}
        self._digest: list[bytes | None] = [None] * pool.size
        self._block: dict[bytes, tuple[bytes, bytes]] = {}
        """Of each known block its parent's digest and its tokens, to check it by."""
        self._used: dict[bytes, int] = {}
        self._roots: set[bytes] = set()

    def __len__(self) -> int:
        """How many blocks are known, on the device and the host."""
        return len(self._places)

    # Asking: none of these changes anything.

    def match(self, chain: TokenChain, most: int | None = None, now: int = 0) -> Match:
        """The longest prefix of full blocks that is there at ``now``, of at most ``most`` tokens."""
        if not self.enabled:
            return Match()
        digests = chain.digests
        limit = len(digests) if most is None else min(len(digests), most // self.pool.page_size)
        found: list[int] = []
        places, lifetime = self._places, self.lifetime
        for index in range(limit):
            digest = digests[index]
            place = places.get(digest)
            if place is None or (lifetime is not None and self._used[digest] + lifetime <= now):
                break
            found.append(place)
        return Match(tuple(found))

    def has_room(self, match: Match, fresh: int) -> bool:
        """Whether :meth:`take` would find enough pages."""
        pool = self.pool
        waking = sum([place >= 0 and not pool.count(place) for place in match.places])
        returning = sum([place < 0 for place in match.places])
        return pool.available - waking >= returning + fresh

    def digest_of(self, page: int) -> bytes | None:
        """The digest of the block in a page, ``None`` for one that no prefix leads to."""
        return self._digest[page]

    # Giving out and taking back.

    def take(self, match: Match, fresh: int, now: int = 0) -> list[int]:
        """A table of pages: those of the match, then ``fresh`` ones. The caller reads them until it releases them.

        ``match`` must come from the cache as it is now. Idle pages are given up for it as needed, and what lies on the
        host comes back. Raises OutOfPages when there is no room; a failed move leaves no reader behind either.
        """
        if not self.has_room(match, fresh):
            raise OutOfPages(f"{fresh} pages wanted, {self.pool.available} to be had")
        pool = self.pool
        slots = match.restored
        ready = [place for place in match.places if place >= 0] if slots else match.places
        pool.retain(ready)
        try:
            for slot in reversed(slots):
                self.host.touch(slot)
            new = self._allocate(len(slots) + fresh, frozenset(slots))
        except BaseException:
            self._release(ready)
            raise
        if slots:
            try:
                pool.mover.load(slots, new[: len(slots)])
            except BaseException:
                self._release([*ready, *new])
                raise
            for slot, page in zip(slots, new, strict=False):
                self._place(self.host.empty(slot), page)
            self.restored += len(slots)
        self._touch(match, new, now)
        if not slots:
            return [*ready, *new]
        returned = iter(new)
        return [place if place >= 0 else next(returned) for place in match.places] + list(returned)

    def allocate(self, number: int) -> list[int]:
        """So many pages of no prefix, each with one reader. Raises OutOfPages and changes nothing without room."""
        if number > self.pool.available:
            raise OutOfPages(f"{number} pages wanted, {self.pool.available} to be had")
        return self._allocate(number, frozenset())

    def own(self, page: int) -> int:
        """A page of the same content that its reader may write into: see
        :meth:`agentsim.engine.page_pool.PagePool.own`."""
        if self.pool.must_copy(page) and not self.pool.free:
            self.evict(1)
        return self.pool.own(page)

    def register(self, chain: TokenChain, index: int, page: int, now: int = 0) -> int:
        """Page ``page`` of a live table now holds block ``index`` of the chain, whose parent the same table holds.

        Returns the page that the table must hold from now on. That is another one when the block was known already, as
        when two requests computed it side by side: both then read the first one's page, and the other is released.
        """
        if not self.enabled:
            return page
        digest = chain.digests[index]
        place = self._places.get(digest)
        if place == page:
            return page
        if not index:
            self._roots.add(chain.root)
        if self._digest[page] is not None:
            raise ValueError(f"page {page} holds another block")
        if place is not None and place >= 0:
            self.pool.retain((place,))
            self._release((page,))
            page = place
        else:
            if place is not None:
                self.host.empty(~place)
            self.pool.keep(page)
            self._place(digest, page)
            self._block[digest] = (chain.parent(index), chain.packed(index))
        self._used[digest] = max(now, self._used.get(digest, now))
        return page

    def release(self, pages: Sequence[int]) -> None:
        """The reader of a table is gone. Raises ValueError for pages without readers and changes nothing then."""
        self._release(pages)

    def evict(self, number: int) -> int:
        """Give up idle pages, the least recently used first, at most ``number``; returns how many were. 0 is safe."""
        return self._evict(max(number, 0), frozenset())

    def offload(self) -> int:
        """Send all idle pages to the host, as far as it has room; the rest is given up. Returns how many were idle."""
        return self.evict(len(self.pool.idle))

    def clear(self) -> None:
        """Give up everything that nobody reads. Blocks that are being read stay known."""
        for page in list(self.pool.idle):
            self._drop_page(page)
        for slot in list(self.host.order):
            self._drop(self.host.empty(slot))

    def drop(self, page: int) -> None:
        """Give up one idle page out of turn. What lies behind it cannot be reached any more: for experiments."""
        if page not in self.pool.idle:
            raise ValueError(f"page {page} is not idle")
        self._drop_page(page)

    def forget(self, chain: TokenChain, index: int) -> int:
        """Give up block ``index`` of a chain and every block behind it, of whatever chain, but those that are being
        read. Returns how many. O(blocks)."""
        if index >= len(chain.digests):
            return 0
        behind: dict[bytes, list[bytes]] = {}
        for digest, (parent, _) in self._block.items():
            behind.setdefault(parent, []).append(digest)
        found: list[bytes] = []
        wanted = [chain.digests[index]]
        while wanted:
            digest = wanted.pop()
            found.append(digest)
            wanted += behind.get(digest, ())
        known = [digest for digest in found if digest in self._places]
        # The ends first: nothing is ever left behind a block that is gone.
        dropped = 0
        for digest in reversed(known):
            place = self._places[digest]
            if place < 0:
                self._drop(self.host.empty(~place))
            elif place in self.pool.idle:
                self._drop_page(place)
            else:
                continue
            dropped += 1
        return dropped

    def check_integrity(self, tables: Iterable[Sequence[int]]) -> None:
        """Raise BrokenPages unless all holds: the books of the pool, every known block in one place and recomputed from
        its tokens, its parent known and given up after it. O(pages + blocks). Changes nothing."""
        held = [tuple(table) for table in tables]
        pool = self.pool
        pool.check_integrity(held)
        for page in range(pool.size):
            digest = self._digest[page]
            if (digest is not None) != pool.is_kept(page):
                raise BrokenPages(f"page {page} is kept without a block, or the other way round")
            if digest is not None and self._places.get(digest) != page:
                raise BrokenPages(f"page {page} holds a block that is looked for elsewhere")
        on_host = {~place: digest for digest, place in self._places.items() if place < 0}
        if on_host != {slot: self.host.digest[slot] for slot in self.host.order}:
            raise BrokenPages("the host's slots and the known blocks differ")
        if len(self.host.free) + len(self.host.order) != self.host.slots:
            raise BrokenPages("the host's slots do not add up")
        if len(self._places) != len(self._block) or self._places.keys() != self._used.keys():
            raise BrokenPages("blocks are known in one book and not in another")
        for digest, (parent, block) in self._block.items():
            if block_digest(parent, block) != digest:
                raise BrokenPages("a block's digest is not that of its tokens")
        self._check_tables(held)
        if self.order == "tail_first":
            self._check_order()

    # The parts of the above.

    def _allocate(self, number: int, spared: frozenset[int]) -> list[int]:
        missing = number - len(self.pool.free)
        if missing > 0:
            self._evict(missing, spared)
        return self.pool.allocate(number)

    def _evict(self, number: int, spared: frozenset[int]) -> int:
        pool, host = self.pool, self.host
        victims: list[int] = []
        for page in pool.idle:
            if len(victims) == number:
                break
            victims.append(page)
        saved: list[int] = []
        if host.slots and victims:
            # Where not all fit, the later ones of them stay: they are the more recently used, and nearer to the root.
            wanted = min(len(victims), host.slots)
            for slot in host.droppable(wanted - len(host.free), spared):
                self._drop(host.empty(slot))
            saved = victims[max(0, len(victims) - len(host.free)) :]
            slots = [slot for slot, _ in zip(host.free, saved, strict=False)]
            pool.mover.save(saved, slots)
        for page in victims[: len(victims) - len(saved)]:
            self._drop_page(page)
        for page in saved:
            digest = self._digest[page]
            assert digest is not None
            self._digest[page] = None
            pool.forget(page)
            self._places[digest] = ~host.fill(digest)
        self.offloaded += len(saved)
        return len(victims)

    def _release(self, pages: Sequence[int]) -> None:
        self.pool.release(pages, tail_first=self.order == "tail_first")

    def _place(self, digest: bytes, page: int) -> None:
        self._places[digest] = page
        self._digest[page] = digest
        self.pool.keep(page)

    def _drop_page(self, page: int) -> None:
        digest = self._digest[page]
        assert digest is not None
        self._digest[page] = None
        self.pool.forget(page)
        self._drop(digest)

    def _drop(self, digest: bytes) -> None:
        del self._places[digest], self._block[digest], self._used[digest]
        self.evicted += 1

    def _touch(self, match: Match, new: Sequence[int], now: int) -> None:
        if self.lifetime is None:
            return
        returned = iter(new)
        for place in match.places:
            digest = self._digest[place if place >= 0 else next(returned)]
            assert digest is not None
            self._used[digest] = max(self._used[digest], now)

    def _is_over(self, digest: bytes | None, now: int) -> bool:
        assert digest is not None
        assert self.lifetime is not None
        return self._used[digest] + self.lifetime <= now

    def _check_tables(self, tables: Sequence[Sequence[int]]) -> None:
        """In a live table a block stands behind its parent."""
        for table in tables:
            before: bytes | None = None
            for at, page in enumerate(table):
                digest = self._digest[page]
                if digest is not None and at and self._block[digest][0] != before:
                    raise BrokenPages(f"page {page} stands behind a block that is not its parent")
                before = digest

    def _check_order(self) -> None:
        """A block's parent is there, and is given up after it."""
        turn = {self._digest[page]: at for at, page in enumerate(self.pool.idle)}
        on_host = {self.host.digest[slot]: at for at, slot in enumerate(self.host.order)}
        for digest, place in self._places.items():
            parent = self._block[digest][0]
            above = self._places.get(parent)
            if above is None:
                if parent not in self._roots:
                    raise BrokenPages("a block is known whose parent is not: it cannot be reached")
            elif place < 0:
                if above < 0 and on_host[parent] < on_host[digest]:
                    raise BrokenPages("a block on the host is given up after its parent")
            elif above < 0:
                raise BrokenPages("a block is on the device and its parent on the host")
            elif digest in turn:
                if parent in turn and turn[parent] < turn[digest]:
                    raise BrokenPages("an idle block is given up after its parent")
            elif parent in turn:
                raise BrokenPages("a block is being read and its parent is not")
