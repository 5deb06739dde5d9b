"""The engine as a cache backend: what a request reads, writes and takes is measured, on real keys and values.

Requests are served one after the other, each at its recorded time by the calendar, and take as long as they take: what
is measured is added to that time. A model of one machine stands behind all model names of a trace; each has its own
namespace, so that none reads what another wrote.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentsim.cache import Served
from agentsim.core.session import Request, Usage
from agentsim.engine.inference_engine import Engine
from agentsim.engine.sequence import Sequence
from agentsim.engine.token_chain import TokenChain
from agentsim.engine.trace_tokens import PromptTokens, TokenWriter


@dataclass(frozen=True)
class MeasuredUsage:
    """What one request took. Tokens are the model's; times are nanoseconds. ``rate`` is in tokens a second."""

    request: str
    prompt: int
    reused: int
    computed: int
    output: int
    time_to_first_token: int
    end: int
    rate: float | None
    generated: tuple[int, ...]


class EngineBackend:
    """A :class:`agentsim.cache.CacheBackend` on an engine, which nobody else may use. Mutable.

    ``new_tokens`` are generated for each request. ``capacity`` is how many pages of prompts may stay in the cache
    between requests; ``None`` leaves that to the engine's memory.
    """

    def __init__(
        self,
        engine: Engine,
        writer: TokenWriter,
        *,
        new_tokens: int = 1,
        capacity: int | None = None,
        stop: bool = True,
    ) -> None:
        self.engine = engine
        self.writer = writer
        self.measured: list[MeasuredUsage] = []
        self._new_tokens = new_tokens
        self._capacity = capacity
        self._stop = None if stop else ()
        self._now: int | None = None
        self._owners: dict[bytes, str] = {}
        self._chains: dict[str, TokenChain] = {}

    def serve(self, request: Request, now: int) -> Served:
        """See :meth:`agentsim.cache.CacheBackend.serve`. A prompt that the engine cannot hold is rejected."""
        if self._now is not None and now < self._now:
            raise ValueError("requests must be served in the order of their start")
        self._now = now
        written = self.writer.write(request)
        if written is None:
            return Served(usage=request.usage or Usage())
        chain = self._chain(request, written)
        try:
            sequence = self.engine.submit(chain, self._new_tokens, stop=self._stop, start=now)
        except ValueError as error:
            return Served(usage=Usage(), rejected=f"prompt is too long: {error}")
        self.engine.run()
        self._shrink()
        return self._served(request, written, sequence, now)

    def _chain(self, request: Request, written: PromptTokens) -> TokenChain:
        """The tokens with their identity; what the lane's last prompt began with is not hashed again."""
        namespace = request.model.encode("utf-8", "replace")
        last = self._chains.get(request.lane)
        fresh = self.engine.chain((), namespace)
        if last is not None and last.root == fresh.root:
            fresh = last.fork(_common(last, written))
        fresh.extend(written.tokens[len(fresh) :])
        self._chains[request.lane] = fresh
        return fresh

    def _shrink(self) -> None:
        """Keep no more than the capacity, the most recently used."""
        if self._capacity is not None:
            self.engine.cache.evict(len(self.engine.pool.idle) - self._capacity)

    def _served(self, request: Request, written: PromptTokens, sequence: Sequence, now: int) -> Served:
        assert sequence.arrived is not None
        assert sequence.first_token is not None
        assert sequence.last_token is not None
        owner = None
        if sequence.reused:
            owner = self._owners.get(sequence.chain.digests[sequence.reused // self.engine.page_size - 1])
        full = sequence.prompt_length // self.engine.page_size
        for digest in sequence.chain.digests[sequence.reused // self.engine.page_size : full]:
            self._owners[digest] = request.id
        first, end = (at - sequence.arrived for at in (sequence.first_token, sequence.last_token))
        generated = tuple(sequence.generated)
        computed = sequence.prompt_length - sequence.reused
        self.measured.append(
            MeasuredUsage(
                request=request.id,
                prompt=sequence.prompt_length,
                reused=sequence.reused,
                computed=computed,
                output=len(generated),
                time_to_first_token=first,
                end=end,
                rate=sequence.token_rate,
                generated=generated,
            )
        )
        blocks = sum(stop <= sequence.reused for stop in written.ends) if sequence.reused else 0
        length = len(written.ends)
        return Served(
            usage=Usage(fresh=computed, read=sequence.reused, output=len(generated)),
            hit=blocks,
            hit_owner=owner,
            written=(length,) if sequence.reused < full * self.engine.page_size else (),
            first_token=now + first,
            end=now + end,
        )


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
