"""The bookkeeping of K/V pages: which are free, which are read by whom, which only wait to be read again.

A page is in exactly one of three states:

- *free*: nothing in it is of use;
- *referenced*: at least one live block table holds it (its count says how many);
- *idle*: no table holds it, but a cache keeps its content for whoever comes back. Idle pages are given up when free
  ones run out, the least recently used first.

Nothing here touches K/V data, so that it can be tested without any: what must be moved is told to a :class:`Mover`,
always before the books change, so that a move that fails leaves the books as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from agentsim.engine.page_list import PageList


class OutOfPages(RuntimeError):
    """There are not so many pages to be had. Nothing was changed."""


class BrokenPages(AssertionError):
    """The books contradict themselves, or the tables of the live sequences."""


class Mover(Protocol):
    """Moves the content of pages. Raising is allowed: the books then stay as they were."""

    def copy(self, source: int, target: int) -> None:
        """Copy one page over another."""
        ...

    def save(self, pages: Sequence[int], slots: Sequence[int]) -> None:
        """Copy pages into slots of the host's memory."""
        ...

    def load(self, slots: Sequence[int], pages: Sequence[int]) -> None:
        """Copy slots of the host's memory into pages."""
        ...


class NoMover:
    """Moves nothing: for books without data."""

    def copy(self, source: int, target: int) -> None:
        """Do nothing."""

    def save(self, pages: Sequence[int], slots: Sequence[int]) -> None:
        """Do nothing."""

    def load(self, slots: Sequence[int], pages: Sequence[int]) -> None:
        """Do nothing."""


class PagePool:
    """Pages with their counts of readers. Every operation costs O(pages it names), whatever the size of the pool.

    ``size`` is the number of pages, ``page_size`` how many tokens one holds. Mutable; not for several threads at once.
    """

    def __init__(self, size: int, page_size: int = 16, mover: Mover | None = None) -> None:
        if size < 1 or page_size < 1:
            raise ValueError("a pool has at least one page, and a page at least one token")
        self.size = size
        self.page_size = page_size
        self.mover: Mover = mover or NoMover()
        self.free = PageList(size, full=True)
        self.idle = PageList(size)
        """Kept pages that nobody reads, the least recently used first: the order in which they are given up."""
        self.peak = 0
        """The most pages that were referenced at once."""
        self._counts = [0] * size
        self._kept = bytearray(size)

    @property
    def available(self) -> int:
        """How many pages could be had: free ones, and idle ones once they are given up. Changes nothing."""
        return len(self.free) + len(self.idle)

    @property
    def referenced(self) -> int:
        """How many pages live tables hold. Changes nothing."""
        return self.size - self.available

    def count(self, page: int) -> int:
        """How many live tables hold a page. Changes nothing."""
        return self._counts[page]

    def is_kept(self, page: int) -> bool:
        """Whether a cache wants the page to stay when its last reader has left. Changes nothing."""
        return bool(self._kept[page])

    def pages_for(self, tokens: int) -> int:
        """How many pages hold so many tokens. Changes nothing."""
        return -(-tokens // self.page_size)

    def allocate(self, number: int) -> list[int]:
        """Take so many free pages (not idle ones), each with one reader. Raises OutOfPages when fewer are free."""
        if number > len(self.free):
            raise OutOfPages(f"{number} pages wanted, {len(self.free)} free")
        pages = [self.free.pop() for _ in range(number)]
        for page in pages:
            self._counts[page] = 1
        self._note_peak()
        return pages

    def retain(self, pages: Sequence[int]) -> None:
        """One more reader for each page; idle ones become referenced. Raises ValueError for a free page, and changes
        nothing then."""
        counts, idle, kept = self._counts, self.idle, self._kept
        for page in pages:
            if not counts[page] and not kept[page]:
                raise ValueError(f"page {page} is free: nothing of use is in it")
        for page in pages:
            if not counts[page]:
                idle.remove(page)
            counts[page] += 1
        self._note_peak()

    def release(self, pages: Sequence[int], *, tail_first: bool = True) -> None:
        """One reader fewer for each page of a table, which is given from its beginning on.

        Pages whose last reader leaves become idle when they are kept, else free. The end of the table goes first, so
        that it is also given up first; ``tail_first=False`` does the wrong thing, to show what that costs. Raises
        ValueError when a page has no reader, or is named twice, and changes nothing then.
        """
        counts, kept = self._counts, self._kept
        for page in pages:
            if counts[page] < 1:
                raise ValueError(f"page {page} has no reader: it was released already")
        if len(set(pages)) != len(pages):
            raise ValueError("a table holds a page once")
        free, idle = self.free, self.idle
        for page in reversed(pages) if tail_first else pages:
            counts[page] -= 1
            if not counts[page]:
                (idle if kept[page] else free).push(page)

    def keep(self, page: int) -> None:
        """The content of a referenced page is worth keeping from now on. Safe to call twice. Raises ValueError."""
        if not self._counts[page]:
            raise ValueError(f"page {page} has no reader: it may not hold what its reader would say")
        self._kept[page] = 1

    def forget(self, page: int) -> None:
        """A page is no longer worth keeping: an idle one becomes free, a referenced one will. Safe to call twice."""
        if self._kept[page] and not self._counts[page]:
            self.idle.remove(page)
            self.free.push(page)
        self._kept[page] = 0

    def must_copy(self, page: int) -> bool:
        """Whether a reader that wants to write into the page needs its own copy first. Changes nothing."""
        return self._counts[page] > 1 or bool(self._kept[page])

    def own(self, page: int) -> int:
        """A page with the same content that its reader may write into: itself, or a copy where others read it too (or
        a cache keeps it). The reader then no longer reads the old one. Raises OutOfPages when there is no page free."""
        if not self._counts[page]:
            raise ValueError(f"page {page} has no reader")
        if not self.must_copy(page):
            return page
        if not self.free:
            raise OutOfPages("a copy needs one free page")
        target = self.free.oldest
        assert target is not None
        self.mover.copy(page, target)
        self.allocate(1)
        self.release((page,))
        return target

    def check_integrity(self, tables: Iterable[Sequence[int]]) -> None:
        """Raise BrokenPages unless every page is in exactly one state and its count is that of the live tables (all of
        them). O(pages + entries of the tables). Changes nothing."""
        held = [0] * self.size
        for table in tables:
            if len(set(table)) != len(table):
                raise BrokenPages("a table holds a page twice")
            for page in table:
                held[page] += 1
        if held != self._counts:
            wrong = [page for page in range(self.size) if held[page] != self._counts[page]]
            raise BrokenPages(f"pages {wrong[:5]}: counted {self._counts[wrong[0]]}, held by {held[wrong[0]]}")
        free, idle = set(self.free), set(self.idle)
        if len(free) != len(self.free) or len(idle) != len(self.idle):
            raise BrokenPages("a list and its length differ")
        for page in range(self.size):
            states = (page in free) + (page in idle) + (held[page] > 0)
            if states != 1:
                raise BrokenPages(f"page {page} is in {states} states")
            if page in idle and not self._kept[page]:
                raise BrokenPages(f"page {page} is idle, but nobody keeps it")
            if page in free and self._kept[page]:
                raise BrokenPages(f"page {page} is free, but kept")
        if len(free) + len(idle) + self.referenced != self.size:
            raise BrokenPages("free, idle and referenced pages do not add up")

    def _note_peak(self) -> None:
        self.peak = max(self.peak, self.size - len(self.free) - len(self.idle))
