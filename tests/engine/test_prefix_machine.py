"""Any order of operations on the pool and the prefix cache, beside a model that keeps whole prefixes in plain lists.

The model knows blocks by their tokens and not by digests, and says after every step what is where and in which order it
is given up. Moves of data fail before or after they happen, at random.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from agentsim.engine.page_pool import OutOfPages, PagePool
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.token_chain import TokenChain, root_digest

BLOCK = 2
EXAMPLES = 50_000 if os.environ.get("LONG_TESTS") else 500
ROOT = root_digest(b"weights")


class Broken(RuntimeError):
    """A move failed."""


class Memory:
    """What lies in pages and slots. Its moves fail when they are told to."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[int, ...]] = {}
        self.slots: dict[int, tuple[int, ...]] = {}
        self.failing: str | None = None

    def _fail(self, when: str) -> None:
        if self.failing == when:
            self.failing = None
            raise Broken

    def copy(self, source, target):
        self._fail("before")
        self.pages[target] = self.pages.get(source, ())
        self._fail("after")

    def save(self, pages, slots):
        assert len(pages) == len(slots)
        self._fail("before")
        for page, slot in zip(pages, slots, strict=True):
            self.slots[slot] = self.pages[page]
        self._fail("after")

    def load(self, slots, pages):
        assert len(pages) == len(slots)
        self._fail("before")
        for slot, page in zip(slots, pages, strict=True):
            self.pages[page] = self.slots[slot]
        self._fail("after")


class Live:
    """A sequence: its tokens, its table, and how many of its tokens are computed."""

    def __init__(self, tokens: tuple[int, ...], table: list[int], computed: int, start: int) -> None:
        self.chain = TokenChain(ROOT, BLOCK, tokens)
        self.table = table
        self.computed = computed
        self.registered = computed // BLOCK
        self.start = start

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(self.chain.tokens)


class PoolMachine(RuleBasedStateMachine):
    part = 0

    @initialize(pages=st.integers(1, 14), slots=st.sampled_from((0, 0, 1, 3, 20)), lifetime=st.sampled_from((None, 4)))
    def begin(self, pages, slots, lifetime):
        self.memory = Memory()
        self.pool = PagePool(pages, BLOCK, self.memory)
        self.cache = PrefixCache(self.pool, host_slots=slots, lifetime=lifetime)
        self.live: list[Live] = []
        self.now = 0
        # The model: whole prefixes, oldest first.
        self.idle: list[tuple[int, ...]] = []
        self.read: set[tuple[int, ...]] = set()
        self.host: list[tuple[int, ...]] = []
        self.used: dict[tuple[int, ...], int] = {}

    # One draw a step keeps Hypothesis fast; what it draws decides the operation and all of its choices.
    @rule(seed=st.integers(0, 2**32 - 1))
    def operate(self, seed):
        dice = random.Random(f"{self.part}/{seed}")
        operations = (
            *(self.start,) * 6, *(self.compute_all,) * 5, *(self.compute,) * 4, *(self.extend,) * 3, *(self.fork,) * 2,
            *(self.finish,) * 5, *(self.evict,) * 2, self.wait, self.release_twice, self.sweep,
        )  # fmt: skip
        operation = dice.choice(operations)
        self.memory.failing = dice.choice((None, None, None, None, "before", "after"))
        try:
            operation(dice)
        except Broken:
            self.follow_eviction()
        self.memory.failing = None

    def start(self, dice):
        tokens = tuple(dice.choices((0, 1), (5, 1), k=dice.randint(1, 9)))
        chain = TokenChain(ROOT, BLOCK, tokens)
        match = self.cache.match(chain, len(tokens) - 1, self.now)
        hit = self.longest(tokens, len(tokens) - 1)
        assert len(match.places) == hit
        fresh = self.pool.pages_for(len(tokens)) - hit
        prefixes = [tokens[: BLOCK * (at + 1)] for at in range(hit)]
        waking = [prefix for prefix in prefixes if prefix in self.idle]
        returning = [prefix for prefix in prefixes if prefix in self.host]
        room = len(self.pool.free) + len(self.idle) - len(waking) >= fresh + len(returning)
        assert self.cache.has_room(match, fresh) == room
        if not room:
            with pytest.raises(OutOfPages):
                self.cache.take(match, fresh, self.now)
            return
        for prefix in waking:
            self.idle.remove(prefix)
            self.read.add(prefix)
        for prefix in reversed(returning):
            self.host.remove(prefix)
            self.host.append(prefix)
        missing = fresh + len(returning) - len(self.pool.free)
        pressed = self.pressed(missing, returning)
        try:
            table = self.cache.take(match, fresh, self.now)
        except Broken:
            # Nobody reads what was woken for nothing.
            self.expected = pressed
            self.settle_failure(waking)
            return
        self.idle, self.host = pressed
        for prefix in returning:
            self.host.remove(prefix)
            self.read.add(prefix)
        for at, prefix in enumerate(prefixes):
            assert self.memory.pages[table[at]] == prefix[-BLOCK:], "a hit reads another block"
            self.used[prefix] = max(self.used[prefix], self.now)
        for page in table[hit:]:
            self.memory.pages[page] = ()
        self.live.append(Live(tokens, table, hit * BLOCK, self.now))

    def pressed(self, missing, spared):
        """The idle blocks and the host's, after so many pages had to be given up."""
        idle, host = list(self.idle), list(self.host)
        if missing <= 0:
            return idle, host
        victims, idle = idle[:missing], idle[missing:]
        slots = self.cache.host.slots
        if slots:
            while host and host[0] not in spared and slots - len(host) < min(len(victims), slots):
                host.pop(0)
            room = slots - len(host)
            host += victims[max(0, len(victims) - room) :]
        return idle, host

    def settle_failure(self, waking):
        """A move failed in the middle of a start: the books show how far it came, and must be one of the two."""
        idle, host = self.expected
        known = [self.prefix_of(page) for page in self.pool.idle]
        woken = list(reversed(waking))
        for prefix in waking:
            self.read.discard(prefix)
        assert known in ([*self.idle, *woken], [*idle, *woken])
        if known == [*self.idle, *woken]:
            self.idle = known  # nothing was given up, but what lay on the host may have made room
            self.follow_host()
        else:
            self.idle, self.host = known, host

    def follow_host(self):
        """Room was made on the host for what then did not come: the oldest are gone."""
        there = [self.prefix_of_digest(digest) for digest in self.host_digests()]
        assert there == self.host[len(self.host) - len(there) :]
        self.host = there

    def follow_eviction(self):
        """A move failed in an eviction: nothing idle was given up."""
        self.follow_host()

    def compute_all(self, dice):
        if self.live:
            one = dice.choice(self.live)
            while one.computed < len(one.chain) and self.compute_block(one):
                pass

    def compute(self, dice):
        if self.live:
            self.compute_block(dice.choice(self.live))

    def compute_block(self, one):
        """The next block of a sequence is computed: written, and known when it is full. False where that fails."""
        end = min(len(one.chain), (one.computed // BLOCK + 1) * BLOCK)
        if end == one.computed:
            return False
        at = one.computed // BLOCK
        if self.pool.count(one.table[at]) > 1:
            if not self.pool.free and not self.idle:
                with pytest.raises(OutOfPages):
                    self.cache.own(one.table[at])
                return False
            before = self.memory.pages[one.table[at]]
            pressed = (self.idle, self.host) if self.pool.free else self.pressed(1, ())
            old = one.table[at]
            try:
                one.table[at] = self.cache.own(old)
            except Broken:
                # Either the page was given up and the copy failed, or neither happened.
                if [self.prefix_of(page) for page in self.pool.idle] == pressed[0]:
                    self.idle, self.host = pressed
                    return False
                raise
            self.idle, self.host = pressed
            assert one.table[at] != old
            assert self.memory.pages[one.table[at]] == self.memory.pages[old] == before
        page = one.table[at]
        assert self.pool.count(page) == 1
        assert not self.pool.is_kept(page)
        self.memory.pages[page] = one.tokens[at * BLOCK : end]
        one.computed = end
        if end % BLOCK:
            return True
        prefix = one.tokens[:end]
        one.table[at] = self.cache.register(one.chain, at, page, one.start)
        known = prefix in self.read or prefix in self.idle
        assert (one.table[at] != page) == known
        # A block that was given up and is written again is a new one: nobody has read it later than this request.
        self.used[prefix] = max(self.used[prefix], one.start) if known or prefix in self.host else one.start
        if prefix in self.idle:
            self.idle.remove(prefix)
        if prefix in self.host:
            self.host.remove(prefix)
        self.read.add(prefix)
        return True

    def extend(self, dice):
        """A sequence gets more tokens, and pages for them."""
        if not self.live:
            return
        one = dice.choice(self.live)
        if one.computed < len(one.chain) or len(one.chain) > 12:
            return
        more = dice.choices((0, 1), k=dice.randint(1, 3))
        need = self.pool.pages_for(len(one.chain) + len(more)) - len(one.table)
        if need > self.pool.available:
            with pytest.raises(OutOfPages):
                self.cache.allocate(need)
            return
        pressed = self.pressed(need - len(self.pool.free), ())
        pages = self.cache.allocate(need)
        self.idle, self.host = pressed
        for page in pages:
            self.memory.pages[page] = ()
        one.table += pages
        one.chain.extend(more)

    def fork(self, dice):
        """A second sequence reads the same pages, the unfinished last one among them."""
        done = [one for one in self.live if one.computed == len(one.chain)]
        if not done:
            return
        one = dice.choice(done)
        self.pool.retain(one.table)
        self.live.append(Live(one.tokens, list(one.table), one.computed, one.start))

    def finish(self, dice):
        if not self.live:
            return
        one = self.live.pop(dice.randrange(len(self.live)))
        self.cache.release(one.table)
        still = {page for other in self.live for page in other.table}
        for at in range(len(one.table) - 1, -1, -1):
            prefix = one.tokens[: (at + 1) * BLOCK]
            if one.table[at] not in still and prefix in self.read and self.cache.digest_of(one.table[at]):
                self.read.remove(prefix)
                self.idle.append(prefix)

    def evict(self, dice):
        number = dice.randint(0, 4)
        pressed = self.pressed(min(number, len(self.idle)), ())
        assert self.cache.evict(number) == min(number, len(self.idle))
        self.idle, self.host = pressed

    def wait(self, dice):
        self.now += dice.randint(1, 3)

    def sweep(self, dice):
        if dice.random() < 0.2:
            self.cache.clear()
            self.idle, self.host = [], []

    def release_twice(self, _dice):
        """What has no reader cannot lose one, nor can a page lose two at once."""
        unread = [*self.pool.free, *self.pool.idle]
        if unread:
            with pytest.raises(ValueError, match="released already"):
                self.cache.release(unread[:1])
        if self.live:
            page = self.live[0].table[0]
            with pytest.raises(ValueError, match="once"):
                self.cache.release((page, page))

    def longest(self, tokens, most):
        """How many blocks of these tokens are there: counted block by block, over whole prefixes."""
        lifetime, found = self.cache.lifetime, 0
        while (found + 1) * BLOCK <= most:
            prefix = tokens[: (found + 1) * BLOCK]
            if prefix not in self.read and prefix not in self.idle and prefix not in self.host:
                break
            if lifetime is not None and self.used[prefix] + lifetime <= self.now:
                break
            found += 1
        return found

    def prefix_of(self, page):
        return self.prefix_of_digest(self.cache.digest_of(page))

    def prefix_of_digest(self, digest):
        """The prefix of a digest, found by hashing all that the model knows."""
        for prefix in (*self.read, *self.idle, *self.host):
            if TokenChain(ROOT, BLOCK, prefix).digests[-1] == digest:
                return prefix
        return None

    def host_digests(self):
        return [self.cache.host.digest[slot] for slot in self.cache.host.order]

    @invariant()
    def all_is_well(self):
        if not hasattr(self, "cache"):
            return
        self.cache.check_integrity([one.table for one in self.live])
        # What is given up next, exactly, on the device and on the host.
        assert [self.cache.digest_of(page) for page in self.pool.idle] == [digest(prefix) for prefix in self.idle]
        assert self.host_digests() == [digest(prefix) for prefix in self.host]
        assert len(self.cache) == len(self.read) + len(self.idle) + len(self.host)
        for one in self.live:
            for at in range(one.computed // BLOCK):
                assert self.memory.pages[one.table[at]] == one.tokens[at * BLOCK : (at + 1) * BLOCK]
        for slot in self.cache.host.order:
            block = self.memory.slots[slot]
            assert len(block) == BLOCK


DIGESTS: dict[tuple[int, ...], bytes] = {}


def digest(prefix):
    found = DIGESTS.get(prefix)
    if found is None:
        found = DIGESTS[prefix] = TokenChain(ROOT, BLOCK, prefix).digests[-1]
    return found


@pytest.mark.slow
@pytest.mark.timeout(600 if EXAMPLES == 500 else 0)
@pytest.mark.parametrize("part", range(2))
def test_any_interleaving(part):
    """2 x 500 runs of 100 steps: 100,000 steps, and all invariants after each. LONG_TESTS=1 takes a hundred times as
    many."""

    class Machine(PoolMachine):
        pass

    Machine.part = part  # other dice than the other part's
    run_state_machine_as_test(Machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=100))


def test_a_block_written_again_is_as_old_as_its_writer():
    """Two requests of time 0 hold one prefix; its block is read at 3 and given up, then the other writes it again.
    That copy was never read at 3, and ends at the lifetime after 0."""
    pool = PagePool(2, BLOCK, Memory())
    cache = PrefixCache(pool, lifetime=4)
    chain = TokenChain(ROOT, BLOCK, (0, 0))
    first, second = cache.allocate(1), cache.allocate(1)
    assert cache.register(chain, 0, first[0], 0) == first[0]
    cache.release(first)
    cache.release(cache.take(cache.match(chain, now=3), 0, 3))
    assert cache.match(chain, now=6).places == (first[0],)  # read at 3: readable until 7
    assert cache.evict(1) == 1
    assert cache.register(chain, 0, second[0], 0) == second[0]
    assert cache.match(chain, now=3).places == (second[0],)
    assert cache.match(chain, now=4).places == ()
