"""The books of pages, operation by operation."""

from __future__ import annotations

import pytest

from agentsim.engine.page_list import PageList
from agentsim.engine.page_pool import BrokenPages, NoMover, OutOfPages, PagePool


def test_a_list_keeps_its_order() -> None:
    pages = PageList(5, full=True)
    assert list(pages) == [0, 1, 2, 3, 4]
    pages.remove(2)
    pages.push(2)
    assert list(pages) == [0, 1, 3, 4, 2]
    assert [pages.pop() for _ in range(5)] == [0, 1, 3, 4, 2]
    assert len(pages) == 0
    assert pages.oldest is None


def test_a_page_is_in_a_list_once() -> None:
    pages = PageList(2)
    pages.push(1)
    with pytest.raises(ValueError, match="already"):
        pages.push(1)
    with pytest.raises(ValueError, match="not in"):
        pages.remove(0)
    assert list(pages) == [1]
    pages.pop()
    with pytest.raises(IndexError):
        pages.pop()


def test_shared_pages_stay_until_the_last_reader_leaves() -> None:
    pool = PagePool(4)
    table = pool.allocate(3)
    pool.retain(table[:2])  # a second sequence begins with the same two pages
    pool.release(table)
    assert [pool.count(page) for page in table] == [1, 1, 0]
    assert len(pool.free) == 2
    pool.release(table[:2])
    assert len(pool.free) == 4


def test_a_second_release_raises_and_changes_nothing() -> None:
    pool = PagePool(3)
    first, second = pool.allocate(2)
    pool.release([first])
    with pytest.raises(ValueError, match="released already"):
        pool.release([second, first])
    assert pool.count(second) == 1
    pool.check_integrity([[second]])


def test_a_free_page_cannot_be_read() -> None:
    pool = PagePool(2)
    (page,) = pool.allocate(1)
    with pytest.raises(ValueError, match="free"):
        pool.retain([page, 1])
    assert pool.count(page) == 1


def test_too_many_pages_are_refused_whole() -> None:
    pool = PagePool(3)
    pool.allocate(2)
    with pytest.raises(OutOfPages):
        pool.allocate(2)
    assert len(pool.free) == 1


def test_kept_pages_wait_and_the_end_of_a_table_goes_first() -> None:
    pool = PagePool(4)
    table = pool.allocate(3)
    for page in table:
        pool.keep(page)
    pool.release(table)
    assert list(pool.idle) == table[::-1]
    assert pool.available == 4
    pool.forget(table[1])
    assert list(pool.idle) == [table[2], table[0]]
    assert len(pool.free) == 2


class Copies(NoMover):
    """Notes what is copied."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []

    def copy(self, source: int, target: int) -> None:
        self.made.append((source, target))


def test_a_shared_page_is_copied_before_it_is_written() -> None:
    copies = Copies()
    pool = PagePool(3, mover=copies)
    (page,) = pool.allocate(1)
    assert pool.own(page) == page  # its only reader writes in place
    pool.retain([page])
    own = pool.own(page)
    assert copies.made == [(page, own)]
    assert own != page
    assert (pool.count(page), pool.count(own)) == (1, 1)
    assert pool.own(page) == page  # the other reader is alone now
    pool.check_integrity([[page], [own]])


def test_a_kept_page_is_copied_before_its_only_reader_writes() -> None:
    copies = Copies()
    pool = PagePool(3, mover=copies)
    (page,) = pool.allocate(1)
    pool.keep(page)
    assert pool.must_copy(page)
    own = pool.own(page)
    assert copies.made == [(page, own)]
    assert own != page
    assert (pool.count(page), pool.count(own), len(pool.idle)) == (0, 1, 1)  # what is kept waits for its next reader
    assert not pool.must_copy(own)
    pool.check_integrity([[own]])
    pool.forget(page)
    assert pool.own(own) == own


@pytest.mark.parametrize("free", [0, 1])
def test_a_copy_needs_one_free_page(free: int) -> None:
    pool = PagePool(2 + free, mover=Copies())
    page, other = pool.allocate(2)
    pool.keep(page)
    if free:
        assert pool.own(page) not in (page, other)
    else:
        with pytest.raises(OutOfPages):
            pool.own(page)
        assert pool.count(page) == 1


def test_peak_is_the_most_that_was_read_at_once() -> None:
    pool = PagePool(5)
    pool.release(pool.allocate(3))
    pool.allocate(2)
    assert pool.peak == 3


@pytest.mark.parametrize(
    "tables", [[], [[0], [0]], [[0, 0]], [[0, 1]]], ids=["nobody holds it", "one too many", "twice", "a free one"]
)
def test_tables_that_contradict_the_counts_are_found(tables: list[list[int]]) -> None:
    pool = PagePool(2)
    pool.allocate(1)
    pool.check_integrity([[0]])
    with pytest.raises(BrokenPages):
        pool.check_integrity(tables)


@pytest.mark.parametrize(
    "damage",
    [
        lambda pool: pool.free.remove(3),
        lambda pool: pool.idle.push(3),
        lambda pool: pool._kept.__setitem__(3, 1),
        lambda pool: pool._kept.__setitem__(1, 0),
        lambda pool: pool._counts.__setitem__(3, -1),
    ],
)
def test_damaged_books_are_found(damage) -> None:
    pool = PagePool(4)
    table = pool.allocate(2)
    pool.keep(table[1])
    pool.release(table[1:])
    pool.check_integrity([table[:1]])
    damage(pool)
    with pytest.raises(BrokenPages):
        pool.check_integrity([table[:1]])
