"""Who computes what in the next step.

Each step runs a batch: one token for every sequence that generates, and as much of the prompts that came in as a budget
of tokens allows (*chunked prefill*), so that a long prompt does not stop the others. Sequences come and go between any
two steps (*continuous batching*). They are admitted in the order of their arrival, when pages for their whole prompt
are to be had. When a sequence needs a page and there is none, the one that was admitted last gives up all of its pages
and waits at the head of the queue; it is computed again later, as far as the cache does not remember it. The oldest is
never given up for another, so that something always gets finished.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence as Row
from typing import NamedTuple

from agentsim.engine.page_pool import OutOfPages
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.sequence import Sequence, SequenceState
from agentsim.engine.token_chain import TokenChain


class Share(NamedTuple):
    """A sequence's part of a step: the tokens from ``start`` on, ``length`` of them. ``samples`` when that is all of
    them, so that the next one can be chosen."""

    sequence: Sequence
    start: int
    length: int
    samples: bool


class Scheduler:
    """The sequences of an engine, and the pages that they hold. Mutable.

    ``step_tokens`` is the budget of a step, ``step_sequences`` how many sequences may run at once.
    ``keep_generated=False`` keeps no block that holds a generated token, as a cache of prompts alone would.
    ``await_prefixes`` admits nobody while someone who runs is still computing blocks of the same prompt: it then reads
    them, as if the two had come one after the other, where both would have computed them side by side. With
    ``join_at_once`` nobody waits for the budget of a step: who comes looks its prompt up in the next one, whatever is
    left to compute in it.
    """

    def __init__(
        self,
        cache: PrefixCache,
        *,
        step_tokens: int = 512,
        step_sequences: int = 16,
        keep_generated: bool = True,
        await_prefixes: bool = False,
        join_at_once: bool = False,
    ) -> None:
        if step_tokens < 1 or step_sequences < 1:
            raise ValueError("a step has room for at least one token of one sequence")
        self.cache = cache
        self.step_tokens = step_tokens
        self.step_sequences = step_sequences
        self.keep_generated = keep_generated
        self.await_prefixes = await_prefixes
        self.join_at_once = join_at_once
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        """In the order in which they were admitted."""

    @property
    def tables(self) -> list[Row[int]]:
        """The block tables of all live sequences. Changes nothing."""
        return [sequence.pages for sequence in self.running]

    def fits(self, chain: TokenChain, new_tokens: int) -> bool:
        """Whether the pool could hold such a sequence if it were alone. Changes nothing."""
        return self.cache.pool.pages_for(max(len(chain) + new_tokens - 1, len(chain))) <= self.cache.pool.size

    def refusal(self, chain: TokenChain, new_tokens: int) -> str | None:
        """Why such a sequence could never run; ``None`` when it could. Changes nothing."""
        if not len(chain) or new_tokens < 1:
            return "a sequence has at least one token, and generates at least one"
        if not self.fits(chain, new_tokens):
            pool = self.cache.pool
            longest = len(chain) + new_tokens - 1
            return f"{longest} tokens do not fit into {pool.size} pages of {pool.page_size}"
        return None

    def add(self, sequence: Sequence) -> None:
        """A sequence comes in and waits. Raises ValueError for one that could never run."""
        refusal = self.refusal(sequence.chain, sequence.new_tokens)
        if refusal is not None:
            raise ValueError(refusal)
        self.waiting.append(sequence)

    def plan(self) -> list[Share]:
        """The next step. Gives out pages, admits and preempts; computes nothing. Safe to call again when the step it
        planned failed."""
        shares: list[Share] = []
        budget = self.step_tokens
        preempted = False
        for sequence in list(self.running):
            if budget < 1 or sequence.state is not SequenceState.RUNNING:
                continue  # a later one may have been given up for one before it, but never the other way round
            count = min(len(sequence.chain) - sequence.computed, budget)
            preempted |= self._make_room(sequence, sequence.computed + count)
            if sequence.state is SequenceState.RUNNING:
                shares.append(_share(sequence, count))
                budget -= count
        if preempted:
            return shares
        while self.waiting and (budget > 0 or self.join_at_once) and len(self.running) < self.step_sequences:
            sequence = self.waiting[0]
            if not self._admit(sequence):
                break
            count = min(len(sequence.chain) - sequence.computed, budget)
            if count:
                shares.append(_share(sequence, count))
                budget -= count
        return shares

    def settle(self, share: Share, token: int | None, *, stops: bool = False) -> None:
        """A share was computed, and ``token`` chosen when it samples. ``stops``: the sequence ends with that token."""
        sequence = share.sequence
        sequence.computed = share.start + share.length
        sequence.computed_tokens += share.length
        self._register(sequence)
        if token is None:
            return
        sequence.chain.append(token)
        if stops or len(sequence.chain) - sequence.prompt_length >= sequence.new_tokens:
            sequence.stopped = stops
            self._leave(sequence, SequenceState.FINISHED)

    def abort(self, sequence: Sequence) -> None:
        """A sequence is not wanted any more; its pages are free for others. Safe to call twice."""
        if sequence.state is SequenceState.WAITING:
            self.waiting.remove(sequence)
            sequence.state = SequenceState.ABORTED
        elif sequence.state is SequenceState.RUNNING:
            self._leave(sequence, SequenceState.ABORTED)

    def fork(self, sequence: Sequence, serial: int, seed: int) -> Sequence:
        """Another sequence that continues from where a running one is. They share all pages, and whoever writes into a
        shared one first gets its own copy. Raises ValueError for one that has not generated anything yet."""
        if sequence.state is not SequenceState.RUNNING or len(sequence.chain) == sequence.prompt_length:
            raise ValueError("only a sequence that is generating can be forked")
        twin = Sequence(
            serial,
            sequence.chain.fork(len(sequence.chain)),
            sequence.new_tokens,
            temperature=sequence.temperature,
            seed=seed,
            stop=sequence.stop,
            start=sequence.start,
        )
        twin.prompt_length = sequence.prompt_length
        self.cache.pool.retain(sequence.pages)
        twin.pages = list(sequence.pages)
        twin.computed, twin.registered = sequence.computed, sequence.registered
        twin.reused = sequence.reused
        twin.arrived, twin.first_token = sequence.arrived, sequence.first_token
        twin.last_token, twin.token_times = sequence.last_token, list(sequence.token_times)
        twin.state = SequenceState.RUNNING
        self.running.append(twin)
        return twin

    def check_integrity(self) -> None:
        """Raise BrokenPages unless the books are right and every running sequence holds the pages it needs."""
        self.cache.check_integrity(self.tables)
        for sequence in self.running:
            assert sequence.state is SequenceState.RUNNING
            assert len(sequence.pages) >= self.cache.pool.pages_for(sequence.computed)
            for index in range(sequence.registered):
                assert self.cache.digest_of(sequence.pages[index]) == sequence.chain.digests[index]
        for sequence in self.waiting:
            assert sequence.state is SequenceState.WAITING
            assert not sequence.pages

    def _admit(self, sequence: Sequence) -> bool:
        cache = self.cache
        tokens = len(sequence.chain)
        # The last token is always computed: its scores say what comes next.
        most = tokens - 1 if sequence.reuse_limit is None else min(tokens - 1, sequence.reuse_limit)
        match = cache.match(sequence.chain, most, sequence.start)
        if self.await_prefixes and self._is_coming(sequence, len(match.places)):
            return False
        fresh = cache.pool.pages_for(tokens) - len(match.places)
        # A spare page for each that runs, or the newcomer would be thrown out again at once.
        if not cache.has_room(match, fresh + len(self.running)):
            return False
        sequence.pages = cache.take(match, fresh, sequence.start)
        self.waiting.popleft()
        self.running.append(sequence)
        sequence.state = SequenceState.RUNNING
        sequence.computed = len(match.places) * cache.pool.page_size
        sequence.registered = len(match.places)
        if not sequence.preemptions:
            sequence.reused = sequence.computed
            sequence.restored = len(match.restored) * cache.pool.page_size
        return True

    def _is_coming(self, sequence: Sequence, block: int) -> bool:
        """Whether someone who runs is about to compute this block of the sequence's prompt."""
        page_size, digests = self.cache.pool.page_size, sequence.chain.digests
        if not self.cache.enabled or block >= (len(sequence.chain) - 1) // page_size:
            return False
        return any(
            other.computed < other.prompt_length
            and block < other.prompt_length // page_size
            and other.chain.digests[block] == digests[block]
            for other in self.running
        )

    def _make_room(self, sequence: Sequence, tokens: int) -> bool:
        """Pages for a running sequence's next share, and a last page that is its own; gives up others for it, or the
        sequence itself. Returns whether any was given up."""
        cache, given_up = self.cache, False
        first = sequence.computed // cache.pool.page_size
        while sequence.state is SequenceState.RUNNING:
            missing = cache.pool.pages_for(tokens) - len(sequence.pages)
            try:
                if first < len(sequence.pages) and cache.pool.must_copy(sequence.pages[first]):
                    sequence.pages[first] = cache.own(sequence.pages[first])
                if missing > 0:
                    sequence.pages += cache.allocate(missing)
                break
            except OutOfPages:
                given_up = True
                self._preempt(self.running[-1])
        return given_up

    def _preempt(self, sequence: Sequence) -> None:
        self._leave(sequence, SequenceState.WAITING)
        sequence.computed = sequence.registered = 0
        sequence.preemptions += 1
        self.waiting.appendleft(sequence)

    def _leave(self, sequence: Sequence, state: SequenceState) -> None:
        self.cache.release(sequence.pages)
        self.running.remove(sequence)
        sequence.pages = []
        sequence.state = state

    def _register(self, sequence: Sequence) -> None:
        page_size = self.cache.pool.page_size
        tokens = sequence.computed if self.keep_generated else min(sequence.computed, sequence.prompt_length)
        while sequence.registered < tokens // page_size and self.cache.enabled:
            index = sequence.registered
            sequence.pages[index] = self.cache.register(sequence.chain, index, sequence.pages[index], sequence.start)
            sequence.registered += 1


def _share(sequence: Sequence, count: int) -> Share:
    samples = sequence.computed + count == len(sequence.chain)
    return Share(sequence, sequence.computed, count, samples)
