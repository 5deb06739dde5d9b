"""The engine as a backend: what each request reads and takes is measured, on real keys and values.

Requests run one after the other (:meth:`EngineBackend.serve`), or together on the clock of a simulation
(:meth:`EngineBackend.join`). Either way a block can be read once it is computed: what came at the same time is not
read. A model of one machine stands behind all model names of a trace; each has its own namespace, so that none reads
what another wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as TypingSequence
from dataclasses import dataclass

from agentsim.cache import NOTHING, CacheBackend, CacheLookup, Served
from agentsim.cache.prompt_cache import ArrivalOrder, as_reported, unknown
from agentsim.core.session import Request, Usage
from agentsim.engine.inference_engine import Engine
from agentsim.engine.sequence import Sequence
from agentsim.engine.token_chain import TokenChain
from agentsim.engine.trace_tokens import PromptTokens, TokenWriter
from agentsim.engine.virtual_time import EngineProcess, TimedSequence


@dataclass(frozen=True)
class MeasuredUsage:
    """What one request took. Tokens are the model's; times are nanoseconds. ``rate`` is in tokens a second, ``joined``
    is when it looked its prompt up, and ``pages`` when each page of the prompt was computed."""

    request: str
    prompt: int
    reused: int
    computed: int
    output: int
    time_to_first_token: int
    end: int
    rate: float | None
    generated: tuple[int, ...]
    joined: int
    pages: tuple[int, ...]


class JoinedRequest:
    """A request in the engine beside others. ``served`` is there once ``timed.done`` has happened."""

    def __init__(self, lookup: CacheLookup, timed: TimedSequence) -> None:
        self.lookup = lookup
        self.timed = timed
        self.served: Served | None = None


class EngineBackend(CacheBackend):
    """A :class:`agentsim.cache.CacheBackend` on an engine, which nobody else may use. Mutable.

    ``new_tokens`` are generated for each request. ``capacity`` is how many pages of prompts may stay in the cache
    between requests; ``None`` leaves that to the engine's memory. ``told`` is called with the tokens of each prompt
    that was answered.
    """

    def __init__(
        self,
        engine: Engine,
        writer: TokenWriter,
        *,
        new_tokens: int = 1,
        capacity: int | None = None,
        stop: bool = True,
        told: Callable[[int], None] | None = None,
    ) -> None:
        self.engine = engine
        self.writer = writer
        self.measured: list[MeasuredUsage] = []
        self._new_tokens = new_tokens
        self._capacity = capacity
        self._stop = None if stop else ()
        self._told = told
        self._order = ArrivalOrder()
        self._owners: dict[bytes, str] = {}
        self._chains: dict[str, TokenChain] = {}
        self._readable: dict[bytes, int] = {}
        """When a block that was computed for a request was there, for those that run one after the other."""

    def look_up(self, request: Request, now: int, *, keep: int | None = None) -> CacheLookup:
        """See :meth:`agentsim.cache.CacheBackend.look_up`. A prompt that the engine cannot hold is rejected."""
        written = None if request.prompt is None else self.writer.write(request)
        if written is None:
            return unknown(request, now)
        chain = self._chain(request, written)
        version = self._order.version
        refusal = self.engine.refusal(chain, self._new_tokens)
        if refusal is not None:
            return CacheLookup(
                request=request, now=now, read=0, rejected=f"prompt is too long: {refusal}", keep=keep, version=version
            )
        most = self._readable_at(chain, now)
        if keep is not None:
            most = min(most, self._whole_pages(written, keep))
        read = self.engine.cached(chain, now, most)
        return CacheLookup(
            request=request,
            now=now,
            read=read,
            hit=_blocks_within(written, read),
            hit_owner=self._owners.get(chain.digests[read // self.engine.page_size - 1]) if read else None,
            keep=keep,
            version=version,
            found=(written, chain),
        )

    def commit(self, lookup: CacheLookup, *, first_token: int | None = None, end: int | None = None) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.commit`. It takes the time that it takes, whatever is given."""
        request, now = lookup.request, lookup.now
        if lookup.rejected is not None:
            return Served(usage=NOTHING, rejected=lookup.rejected)
        if lookup.found is None:
            return as_reported(request)
        self._order.advance(lookup)
        written, chain = lookup.found
        if lookup.keep is not None:
            self._evict(written, chain, lookup.keep)
        self._chains[request.lane] = chain
        sequence = self._submit(lookup, lookup.read)
        self.engine.run()
        assert sequence.arrived is not None
        assert sequence.first_token is not None
        assert sequence.last_token is not None
        first, last = (now + at - sequence.arrived for at in (sequence.first_token, sequence.last_token))
        for digest in chain.digests[sequence.reused // self.engine.page_size :]:
            self._readable[digest] = min(first, self._readable.get(digest, first))
        pages = [now if at < sequence.reused // self.engine.page_size else first for at in range(len(chain.digests))]
        return self._served(lookup, sequence, now, first, last, now, pages)

    def join(self, process: EngineProcess, lookup: CacheLookup, reuse_limit: int | None = None) -> JoinedRequest:
        """A request that was just looked up, and not rejected, is in the engine from now on, beside the others there.

        What it reads is decided at the step that it joins, ``reuse_limit`` tokens at most.
        """
        self._chains[lookup.request.lane] = lookup.found[1]
        joined = JoinedRequest(lookup, process.add(lambda: self._submit(lookup, reuse_limit)))

        def done(timed: TimedSequence) -> None:
            joined.served = self._served(
                lookup, timed.sequence, lookup.now, timed.first_token, timed.end, timed.joined, timed.computed
            )

        joined.timed.when_over = done
        return joined

    def _submit(self, lookup: CacheLookup, reuse_limit: int | None) -> Sequence:
        chain: TokenChain = lookup.found[1]
        for digest in chain.digests:
            self._owners.setdefault(digest, lookup.request.id)
        return self.engine.submit(chain, self._new_tokens, stop=self._stop, start=lookup.now, reuse_limit=reuse_limit)

    def _readable_at(self, chain: TokenChain, now: int) -> int:
        """Tokens of the blocks in front of the first one that is not computed yet at a time."""
        for at, digest in enumerate(chain.digests):
            if self._readable.get(digest, now) > now:
                return at * self.engine.page_size
        return len(chain.digests) * self.engine.page_size

    def evict(self, request: Request, keep: int, now: int) -> None:
        """See :meth:`agentsim.cache.CacheBackend.evict`: in whole pages, with all that goes on from them."""
        written = None if request.prompt is None else self.writer.write(request)
        if written is not None:
            self._order.changed()
            self._evict(written, self._chain(request, written), keep)

    def _evict(self, written: PromptTokens, chain: TokenChain, keep: int) -> None:
        self.engine.cache.forget(chain, self._whole_pages(written, keep) // self.engine.page_size)

    def _whole_pages(self, written: PromptTokens, keep: int) -> int:
        """Tokens of the whole pages that the first blocks of a prompt fill."""
        tokens = written.ends[min(keep, len(written.ends)) - 1] if keep > 0 else 0
        return tokens - tokens % self.engine.page_size

    def _chain(self, request: Request, written: PromptTokens) -> TokenChain:
        """The tokens with their identity; what the lane's last prompt began with is not hashed again."""
        namespace = request.model.encode("utf-8", "replace")
        last = self._chains.get(request.lane)
        fresh = self.engine.chain((), namespace)
        if last is not None and last.root == fresh.root:
            fresh = last.fork(_common(last, written))
        fresh.extend(written.tokens[len(fresh) :])
        return fresh

    def _shrink(self) -> None:
        """Keep no more than the capacity, the most recently used."""
        if self._capacity is not None:
            self.engine.cache.evict(len(self.engine.pool.idle) - self._capacity)

    def _served(
        self,
        lookup: CacheLookup,
        sequence: Sequence,
        arrived: int,
        first: int,
        end: int,
        joined: int,
        pages: TypingSequence[int],
    ) -> Served:
        request = lookup.request
        written: PromptTokens = lookup.found[0]
        size = self.engine.page_size
        full, found = sequence.prompt_length // size, sequence.reused // size
        owner = self._owners.get(sequence.chain.digests[found - 1]) if found else None
        for digest in sequence.chain.digests[found:full]:
            self._owners[digest] = request.id
        generated = tuple(sequence.generated)
        computed = sequence.prompt_length - sequence.reused
        self.measured.append(
            MeasuredUsage(
                request=request.id,
                prompt=sequence.prompt_length,
                reused=sequence.reused,
                computed=computed,
                output=len(generated),
                time_to_first_token=first - arrived,
                end=end - arrived,
                rate=sequence.token_rate,
                generated=generated,
                joined=joined,
                pages=tuple(pages),
            )
        )
        self._shrink()
        if self._told is not None:
            self._told(len(written))
        return Served(
            usage=Usage(fresh=computed, read=sequence.reused, output=len(generated)),
            hit=_blocks_within(written, sequence.reused),
            hit_owner=owner,
            written=(len(written.ends),) if found < full else (),
            first_token=first,
            end=end,
        )


def _blocks_within(written: PromptTokens, tokens: int) -> int:
    """How many whole blocks lie in the first so many tokens."""
    return sum(stop <= tokens for stop in written.ends) if tokens else 0


def _common(last: TokenChain, written: PromptTokens) -> int:
    """How many tokens two prompts begin with in common, in whole blocks."""
    block, one, other = last.block, last.tokens, written.tokens
    low, high = 0, min(len(one), len(other)) // block
    while low < high:
        middle = (low + high + 1) // 2
        if one[low * block : middle * block] == other[low * block : middle * block]:
            low = middle
        else:
            high = middle - 1
    return low * block
