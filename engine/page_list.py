"""Pages in an order, linked through two arrays: adding one, taking one out and popping cost the same however many there
are. No page is looked for, and nothing is allocated."""

from __future__ import annotations

from collections.abc import Iterator

_OUT = -1


class PageList:
    """A doubly linked list of page numbers, oldest first. A page is in it once or not at all. Mutable."""

    __slots__ = ("_after", "_before", "_end", "_length")

    def __init__(self, pages: int, *, full: bool = False) -> None:
        """A list for the page numbers below ``pages``: empty, or holding all of them in their order."""
        end = pages  # one place more than there are pages: it stands before the oldest and after the newest
        self._after: list[int]
        self._before: list[int]
        if full:
            self._after = [*range(1, pages + 1), 0]
            self._before = [end, *range(pages)]
        else:
            self._after = [_OUT] * pages + [end]
            self._before = [_OUT] * pages + [end]
        self._end = end
        self._length = pages if full else 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, page: int) -> bool:
        return self._after[page] != _OUT

    def __iter__(self) -> Iterator[int]:
        page = self._after[self._end]
        while page != self._end:
            yield page
            page = self._after[page]

    @property
    def oldest(self) -> int | None:
        """The page that :meth:`pop` would give. Changes nothing."""
        return self._after[self._end] if self._length else None

    def push(self, page: int) -> None:
        """Add a page as the newest. Raises ValueError when it is in the list already, which stays as it was."""
        after, before, end = self._after, self._before, self._end
        if after[page] != _OUT:
            raise ValueError(f"page {page} is in this list already")
        last = before[end]
        after[last] = page
        before[page] = last
        after[page] = end
        before[end] = page
        self._length += 1

    def remove(self, page: int) -> None:
        """Take a page out, wherever it stands. Raises ValueError when it is not in the list."""
        after, before = self._after, self._before
        following = after[page]
        if following == _OUT:
            raise ValueError(f"page {page} is not in this list")
        previous = before[page]
        after[previous] = following
        before[following] = previous
        after[page] = _OUT
        self._length -= 1

    def pop(self) -> int:
        """Take out the oldest page. Raises IndexError when there is none."""
        page = self._after[self._end]
        if page == self._end:
            raise IndexError("no page in this list")
        self.remove(page)
        return page
