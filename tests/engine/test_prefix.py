"""The prefix cache, operation by operation."""

from __future__ import annotations

import sys
from hashlib import blake2b

import pytest

from agentsim.engine.page_pool import BrokenPages, OutOfPages, PagePool
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.token_chain import TokenChain, root_digest

ROOT = root_digest(b"weights")


def chain(*tokens: int, root: bytes = ROOT, block: int = 2) -> TokenChain:
    return TokenChain(root, block, tokens)


def run(cache: PrefixCache, tokens: TokenChain, now: int = 0, beside: tuple[list[int], ...] = ()) -> list[int]:
    """A request from its arrival to the last page computed, ``beside`` other live tables. Returns its table."""
    match = cache.match(tokens, len(tokens) - 1, now)
    table = cache.take(match, cache.pool.pages_for(len(tokens)) - len(match.places), now)
    for index in range(len(match.places), len(tokens.digests)):
        table[index] = cache.register(tokens, index, table[index], now)
    cache.check_integrity([table, *beside])
    return table


def test_identity_covers_weights_namespace_settings_and_everything_before() -> None:
    roots = {
        root_digest(weights, namespace, settings)
        for weights, namespace, settings in [(b"a", b"", b""), (b"", b"a", b""), (b"", b"", b"a"), (b"a", b"b", b"")]
    }
    assert len(roots) == 4
    # Two prompts that end alike have nothing in common after the first block that differs.
    left, right = chain(1, 2, 5, 6), chain(1, 3, 5, 6)
    assert set(left.digests).isdisjoint(right.digests)
    assert chain(1, 2, 9, 9).digests[0] == left.digests[0]
    assert chain(1, 2, root=root_digest(b"weights", b"tenant")).digests[0] != left.digests[0]


def test_tokens_do_not_run_into_each_other() -> None:
    # 256 followed by 0, and 0 followed by 1: the same bytes if tokens were written without a fixed width.
    assert chain(256, 0).digests != chain(0, 1).digests


def test_growing_hashes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []

    def counting(data, **options):
        hashed.append(len(data))
        return blake2b(data, **options)

    monkeypatch.setattr("agentsim.engine.token_chain.blake2b", counting)
    tokens = chain(*range(100))  # 50 blocks
    fork = tokens.fork(90)  # 45 blocks, known
    fork.extend(range(10))  # 5 more
    for token in range(4):
        fork.append(token)  # 2 more
    assert len(hashed) == 50 + 5 + 2
    assert fork.digests == chain(*range(90), *range(10), *range(4)).digests


def test_a_hit_is_the_longest_chain_of_full_blocks() -> None:
    cache = PrefixCache(PagePool(8, 2))
    cache.release(run(cache, chain(1, 2, 3, 4, 5)))
    assert len(cache.match(chain(1, 2, 3, 4, 5, 6)).places) == 2  # the 5 filled no block
    assert len(cache.match(chain(1, 2, 3, 9)).places) == 1
    assert len(cache.match(chain(3, 4)).places) == 0  # the same tokens elsewhere
    assert len(cache.match(chain(1, 2, 3, 4), most=3).places) == 1  # the last token must be computed


def test_matching_changes_nothing() -> None:
    cache = PrefixCache(PagePool(4, 2))
    cache.release(run(cache, chain(1, 2, 3, 4)))
    before = (list(cache.pool.idle), list(cache.pool.free), len(cache))
    cache.match(chain(1, 2, 3, 4))
    assert (list(cache.pool.idle), list(cache.pool.free), len(cache)) == before


def test_the_least_recently_used_chain_loses_its_tail_first() -> None:
    cache = PrefixCache(PagePool(6, 2))
    old = run(cache, chain(1, 2, 3, 4, 5, 6))
    cache.release(old)
    new = run(cache, chain(7, 8, 9, 10, 11, 12))
    cache.release(new)
    # Exactly this order: the older chain from its end, then the newer one from its end.
    assert list(cache.pool.idle) == [old[2], old[1], old[0], new[2], new[1], new[0]]
    cache.release(run(cache, chain(1, 2, 99)))  # 1 page read again, 1 page of old's tail given up for the new tokens
    assert list(cache.pool.idle) == [old[1], new[2], new[1], new[0], old[0]]


def test_what_is_being_read_is_never_given_up() -> None:
    cache = PrefixCache(PagePool(4, 2))
    held = run(cache, chain(1, 2, 3, 4))
    cache.release(run(cache, chain(5, 6, 7, 8), beside=(held,)))
    assert cache.evict(0) == cache.evict(-1) == 0
    assert cache.evict(10) == 2
    with pytest.raises(OutOfPages):
        cache.allocate(3)
    assert len(cache.match(chain(1, 2, 3, 4)).places) == 2
    cache.check_integrity([held])


def test_a_match_is_not_given_up_to_make_room_for_its_own_request() -> None:
    cache = PrefixCache(PagePool(4, 2))
    cache.release(run(cache, chain(1, 2, 3, 4, 5, 6, 7, 8)))
    wanted = chain(1, 2, 3, 4, 9, 9, 9, 9)
    match = cache.match(wanted)
    assert len(match.places) == 2
    table = cache.take(match, 2)  # exactly the other two pages
    assert table[:2] == list(match.places)
    assert not cache.has_room(match, 1)


def test_two_that_compute_the_same_end_with_one_page() -> None:
    cache = PrefixCache(PagePool(4, 2))
    tokens = chain(1, 2, 3, 4)
    first, second = cache.allocate(2), cache.allocate(2)  # side by side: neither found anything
    for index in range(2):
        first[index] = cache.register(tokens, index, first[index])
        second[index] = cache.register(tokens, index, second[index])
    assert first == second
    assert [cache.pool.count(page) for page in first] == [2, 2]
    assert len(cache.pool.free) == 2
    cache.check_integrity([first, second])


def test_a_lifetime_counts_from_the_last_request_that_read_or_wrote() -> None:
    cache = PrefixCache(PagePool(8, 2), lifetime=300)
    tokens = chain(1, 2, 3, 4, 5)
    cache.release(run(cache, tokens, now=0))
    assert len(cache.match(tokens, now=299).places) == 2
    assert len(cache.match(tokens, now=300).places) == 0
    cache.release(run(cache, chain(1, 2, 8), now=299))  # reads the first block alone
    assert len(cache.match(tokens, now=500).places) == 1
    cache.check_integrity([])


def test_blocks_go_to_the_host_and_come_back() -> None:
    moves: list[tuple[str, list[int], list[int]]] = []

    class Moves:
        def copy(self, source: int, target: int) -> None:
            raise AssertionError

        def save(self, pages, slots) -> None:
            moves.append(("save", list(pages), list(slots)))

        def load(self, slots, pages) -> None:
            moves.append(("load", list(slots), list(pages)))

    cache = PrefixCache(PagePool(3, 2, Moves()), host_slots=2)
    table = run(cache, chain(1, 2, 3, 4, 5, 6))
    cache.release(table)
    assert cache.offload() == 3
    # Three pages, two slots: the end of the chain is given up.
    assert moves == [("save", [table[1], table[0]], [0, 1])]
    assert (cache.evicted, cache.offloaded) == (1, 2)
    match = cache.match(chain(1, 2, 3, 4, 9))
    assert match.restored == (1, 0)  # the first block lies in the second slot
    again = cache.take(match, 1)
    assert moves[1] == ("load", [1, 0], again[:2])
    assert len(cache.host) == 0
    cache.check_integrity([again])


def test_head_first_leaves_what_cannot_be_reached() -> None:
    cache = PrefixCache(PagePool(3, 2), order="head_first")
    tokens = chain(1, 2, 3, 4, 5, 6)
    cache.release(run(cache, tokens))
    cache.evict(1)
    assert len(cache.match(tokens).places) == 0
    assert len(cache) == 2
    cache.order = "tail_first"  # as the rule would have it
    with pytest.raises(BrokenPages, match="cannot be reached"):
        cache.check_integrity([])


def test_a_block_behind_another_parent_is_found() -> None:
    cache = PrefixCache(PagePool(4, 2))
    table = run(cache, chain(1, 2, 3, 4))
    other = run(cache, chain(5, 6), beside=(table,))
    with pytest.raises(BrokenPages, match="parent"):
        cache.check_integrity([[*other, table[1]], table[:1]])


def test_a_cache_that_is_off_keeps_nothing() -> None:
    cache = PrefixCache(PagePool(4, 2), enabled=False)
    cache.release(run(cache, chain(1, 2, 3, 4)))
    assert cache.match(chain(1, 2, 3, 4)).places == ()
    assert len(cache.pool.free) == 4


def lines_run(action) -> int:
    """How many lines of Python an action executes."""
    count = 0

    def trace(frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def test_admission_costs_the_same_in_a_pool_ten_times_larger() -> None:
    prompt = chain(*range(1, 6002))  # 3,000 full blocks and a token

    def cost(pages: int) -> int:
        cache = PrefixCache(PagePool(pages, 2))
        cache.release(run(cache, prompt))
        number = 10_000
        while len(cache.pool.free) > 1:  # all pages idle but one
            tokens = [number + at for at in range(2 * min(len(cache.pool.free) - 1, 500))]
            cache.release(run(cache, chain(*tokens)))
            number += 1_000

        def admit() -> None:
            match = cache.match(prompt, len(prompt) - 1)
            assert len(match.places) == 3_000
            assert cache.has_room(match, 1)
            cache.take(match, 1)

        return lines_run(admit)

    small, large = cost(4_000), cost(40_000)
    assert small == large
    assert small < 30 * 3_000
