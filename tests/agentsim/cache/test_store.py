"""The store of entries, against a model that keeps everything in one dictionary and touches every ancestor at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.cache.bounded_store import ForgettingStore
from agentsim.cache.entry_store import Address, CacheEntry, PrefixStore
from agentsim.core.prompt import Prompt
from tests.agentsim.prompts import block, prompt, texts

TTL = 300


class DictModel:
    """Prefixes as tuples of names; each read walks its whole prefix and refreshes whatever still lives on it."""

    def __init__(self, lookback: int) -> None:
        self.lookback = lookback
        self.entries: dict[tuple[str, ...], list[int]] = {}  # prefix -> [last use, readable]

    def alive(self, prefix: tuple[str, ...], now: int) -> bool:
        return prefix in self.entries and now <= self.entries[prefix][0] + TTL

    def find(self, names: tuple[str, ...], markers: list[int], now: int) -> int:
        for marker in sorted(markers, reverse=True):
            for position in range(marker, max(marker - self.lookback, -1), -1):
                prefix = names[: position + 1]
                if self.alive(prefix, now) and self.entries[prefix][1] <= now:
                    return position + 1
        return 0

    def serve(self, names: tuple[str, ...], markers: list[int], now: int, used: int, wait: int) -> int:
        hit = self.find(names, markers, now)
        for length in range(1, hit + 1):
            if self.alive(names[:length], now):
                self.entries[names[:length]][0] = max(self.entries[names[:length]][0], used)
        for marker in markers:
            prefix = names[: marker + 1]
            readable = now + wait
            if self.alive(prefix, now):
                readable = min(readable, self.entries[prefix][1])
                used = max(used, self.entries[prefix][0])
            self.entries[prefix] = [used, readable]
        return hit


steps = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ab"), min_size=1, max_size=9),  # the blocks of a prompt
        st.sets(st.integers(0, 8), min_size=1, max_size=3),  # its breakpoints
        st.integers(0, 200),  # seconds since the request before
        st.sampled_from([0, 0, 20, 150]),  # seconds from its start to its end, from which lifetimes count here
        st.integers(0, 5),  # seconds until it can be read
    ),
    max_size=30,
)


@settings(max_examples=300)
@given(steps=steps, lookback=st.integers(1, 6), at_once=st.booleans(), least=st.sampled_from([0, 0, 1, 5]))
def test_the_store_agrees_with_a_model_that_refreshes_every_ancestor_at_once(steps, lookback, at_once, least):
    """So does the one that forgets, however often it does."""
    store, model = ForgettingStore(least_changes=least) if least else PrefixStore(), DictModel(lookback)
    space = store.space(("", "m", 2, ()))
    now = 0
    for number, (names, wanted, pause, lasts, wait) in enumerate(steps):
        now += pause
        used = now + lasts
        markers = sorted({min(marker, len(names) - 1) for marker in wanted})
        body = prompt([block(name, 1) for name in names])
        address = Address(body, (space, space, space))
        hit = store.find(address, markers[::-1], now, lookback)
        if hit is not None:
            store.touch(address, hit, now, used)
        after = None
        for marker in markers:
            known = space.entries.get(address.chain(marker + 1))
            if at_once and hit is not None and marker + 1 <= hit.length and known and store.alive(known, now):
                store.refresh(known, used)
                continue
            after = store.write(
                address, marker + 1, now, used=used, readable=now + wait, ttl=TTL, owner=str(number), after=after
            )
        assert (0 if hit is None else hit.length) == model.serve(tuple(names), markers, now, used, wait)


def address(store: PrefixStore, body: Prompt) -> Address:
    space = store.space(("", "m", 2, ()))
    return Address(body, (space, space, space))


def write(store: PrefixStore, at: Address, length: int, now: int, wait: int = 0) -> CacheEntry:
    return store.write(at, length, now, used=now, readable=now + wait, ttl=TTL, owner="w")


@pytest.mark.parametrize(("back", "found"), [(0, True), (19, True), (20, False)])
def test_an_entry_19_blocks_back_is_found_and_one_20_back_is_not(back, found):
    store = PrefixStore()
    at = address(store, prompt(texts(40)))
    write(store, at, 40 - back, 0)
    assert (store.find(at, [39], 1, 20) is not None) == found


def test_the_documented_case_a_breakpoint_at_35_sees_16_and_not_15():
    for block_number, seen in ((16, True), (15, False)):
        store = PrefixStore()
        at = address(store, prompt(texts(40)))
        write(store, at, block_number, 0)  # the entry that ends with this block, counted from 1
        assert (store.find(at, [35 - 1], 1, 20) is not None) == seen


def test_a_second_breakpoint_opens_a_window_of_its_own():
    store = PrefixStore()
    at = address(store, prompt(texts(60)))
    write(store, at, 25, 0)
    assert store.find(at, [59], 1, 20) is None
    found = store.find(at, [59, 30], 1, 20)
    assert found is not None
    assert found.length == 25


def test_the_longest_entry_wins_whatever_the_number_of_breakpoints():
    store = PrefixStore()
    at = address(store, prompt(texts(30)))
    for length in (5, 12, 18):
        write(store, at, length, 0)
    found = store.find(at, [29, 14, 4], 1, 20)
    assert found is not None
    assert found.length == 18


def test_reading_an_entry_keeps_its_ancestors_alive_and_ends_with_a_gap():
    store = PrefixStore()
    at = address(store, prompt(texts(3)))
    first, last = write(store, at, 1, 0), write(store, at, 3, 0)
    for now in (250, 500, 750):
        store.touch(at, last, now, now)
    assert store.alive(first, 750 + TTL)
    assert not store.alive(first, 750 + TTL + 1)
    store.touch(at, last, 1200, 1200)  # too late for the first entry, whatever happens afterwards
    assert not store.alive(first, 1200)


def test_without_refreshing_ancestors_only_the_entry_that_is_read_lives_on():
    store = PrefixStore(refresh_ancestors=False)
    at = address(store, prompt(texts(3)))
    first, last = write(store, at, 1, 0), write(store, at, 3, 0)
    store.touch(at, last, 250, 250)
    assert store.alive(last, 500)
    assert not store.alive(first, 500)


def test_an_entry_written_twice_at_once_can_be_read_when_the_first_one_can():
    store = PrefixStore()
    at = address(store, prompt(texts(3)))
    write(store, at, 3, 0, wait=5)
    write(store, at, 3, 2, wait=5)
    assert store.find(at, [2], 4, 20) is None
    assert store.find(at, [2], 5, 20) is not None


def test_time_does_not_run_backwards():
    store = PrefixStore()
    at = address(store, prompt(texts(3)))
    write(store, at, 3, 10)
    with pytest.raises(ValueError, match="order of their start"):
        write(store, at, 2, 9)


def test_entries_of_another_identity_are_not_found():
    store = PrefixStore()
    body = prompt(texts(3))
    one, other = store.space(("", "m", 2, ())), store.space(("", "m", 2, (("tool_choice", "x"),)))
    write(store, Address(body, (one, one, one)), 3, 0)
    assert store.find(Address(body, (other, other, other)), [2], 1, 20) is None


def test_refreshing_at_once_does_not_forget_an_earlier_read_that_counts_from_a_later_time():
    store = PrefixStore()
    at = address(store, prompt(texts(3)))
    first, last = write(store, at, 1, 0), write(store, at, 3, 0)
    store.touch(at, last, 10, 160)  # a long response: the lifetime counts from its end, for the first entry too
    store.refresh(first, 20)
    assert store.alive(first, 160 + TTL)
    assert not store.alive(first, 160 + TTL + 1)


talk = st.lists(
    st.tuples(
        st.sampled_from("xxxy"),  # which of two conversations goes on
        st.sampled_from([0, 0, 1, 3, 6, 20]),  # how many of its turns are taken back before
        st.integers(1, 9),  # how many turns follow
        st.sampled_from([5, 60, 120, 180, 290, 310]),  # seconds between them
        st.sampled_from([0, 0, 100, 250]),  # seconds from start to end, from which lifetimes count here
    ),
    min_size=2,
    max_size=12,
)


@settings(max_examples=300)
@given(steps=talk, least=st.sampled_from([1, 3, 7]))
def test_forgetting_changes_no_answer_of_growing_conversations(steps, least):
    stores = PrefixStore(), ForgettingStore(least_changes=least)
    turns = {"x": ["head"], "y": ["head"]}
    now = 0
    each = [
        (which, back * (not turn), pause, lasts) for which, back, more, pause, lasts in steps for turn in range(more)
    ]
    for number, (which, back, pause, lasts) in enumerate(each):
        now += pause
        names = turns[which]
        del names[max(1, len(names) - back) :]
        names.append(f"{which} {len(names)}")
        body = prompt([block(name, 1) for name in names])
        hits = []
        for store in stores:
            at = address(store, body)
            hit = store.find(at, [len(names) - 1], now, lookback=8)
            if hit is not None:
                store.touch(at, hit, now, now + lasts)
            hits.append(hit and (hit.length, hit.owner))
            for length in {1, len(names)} - {hit and hit.length}:
                known = at.space_at(length).entries.get(at.chain(length))
                if hit is None or length > hit.length or known is None or not store.alive(known, now):
                    store.write(at, length, now, used=now + lasts, readable=now, ttl=TTL, owner=str(number), after=hit)
        assert hits[0] == hits[1]


def test_what_is_over_is_given_up_with_all_that_belongs_to_it():
    store = ForgettingStore(least_changes=10)
    for number in range(200):
        at = address(store, prompt([block(f"start {number}", 1), *texts(9, prefix=f"{number} ")]))
        for length in (1, 9):
            write(store, at, length, now=100 * number)
        hit = store.find(at, [8], now=100 * number, lookback=20)
        assert hit is not None
        store.touch(at, hit, 100 * number, 100 * number)
    # Of three conversations in a lifetime two entries each, and at most ten writes more.
    (space,) = store.spaces_like(lambda _: True)
    assert len(space.entries) <= 4 * 2 + 10
    assert len(store._logs) <= 4 + 10
    assert len(store._common.reads) <= 10


def test_reads_of_one_model_do_not_keep_the_entries_of_another():
    store = ForgettingStore(least_changes=1)
    body = prompt(texts(2))
    one, other = (Address(body, (space,) * 3) for space in (store.space(("", name, 2, ())) for name in "mn"))
    write(store, one, 2, now=0)
    write(store, other, 2, now=0)
    for now in (200, 400, 600):
        hit = store.find(one, [1], now, lookback=20)
        assert hit is not None
        store.touch(one, hit, now, now)
    assert store.find(other, [1], 600, lookback=20) is None
    assert store.spaces_like(lambda identity: identity[1] == "n")[0].entries == {}
