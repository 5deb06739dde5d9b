"""The prefix cache of a self-hosted engine: blocks in a memory of limited size, the least recently used go first.

A prompt reads its longest prefix whose blocks are all there, in whole pages of ``rules.quantum`` tokens, and never its
very last token: an engine computes that one to have something to go on from. A request touches its blocks from the
last to the first, so that the end of a prompt is given up before its beginning. A block can be read once it is computed
(rule ``readable``: ``request_start``, one after the other until the first token), or once its prompt is. No request
holds its blocks while others run. What one generates is not kept, for a prompt does not tell it until it comes back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from agentsim.cache import CacheLookup, Served
from agentsim.cache.prompt_cache import PromptCache, first_token_at, output_of, readable_from
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class _KeptBlock:
    """Tokens of the pages that end in a block, who wrote it, and when it can be read (nanoseconds)."""

    __slots__ = ("owner", "readable", "tokens")

    def __init__(self, tokens: int, owner: str, readable: int) -> None:
        self.tokens = tokens
        self.owner = owner
        self.readable = readable


class EngineCache(PromptCache):
    """A :class:`agentsim.cache.CacheBackend` for one engine. Deterministic.

    ``capacity`` is in tokens; ``None`` never gives a block up, which is the ceiling of what can be read.
    ``computes_last=False`` lets a whole prompt be read, and at once, as counts of shared blocks do. ``computed`` tells
    when each block of a request's prompt was computed, where that was measured.
    """

    def __init__(
        self,
        rules: ProviderRules,
        capacity: int | None = None,
        *,
        computes_last: bool = True,
        computed: Callable[[Request], Sequence[int]] | None = None,
    ) -> None:
        if capacity is not None and capacity < 0:
            raise ValueError("a capacity is a number of tokens")
        super().__init__()
        self._rules = rules
        self._quantum = rules.quantum
        self._capacity = capacity
        self._computes_last = computes_last
        self._computed = computed
        self._blocks: OrderedDict[tuple[str, bytes], _KeptBlock] = OrderedDict()
        """By model and chained digest; the least recently used first."""
        self.held = 0
        """Tokens in the cache."""
        self.evicted = 0
        """Tokens given up so far for want of room."""

    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        keys = [(request.model, prompt.chain(end)) for end in range(1, len(prompt) + 1)]
        length = 0
        for key in keys:
            block = self._blocks.get(key)
            if block is None or block.readable > now:
                break
            length += 1
        if keep is not None:
            length = min(length, keep)
        owner = self._blocks[keys[length - 1]].owner if length else None
        reach = prompt.tokens_until(length)
        if self._computes_last:
            reach = max(0, min(reach, prompt.tokens - 1))
        read = self._whole(reach)
        return CacheLookup(
            request=request,
            now=now,
            read=read,
            hit=length if read else 0,
            hit_owner=owner if read else None,
            keep=keep,
            version=self._order.version,
            found=(keys, length),
        )

    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        request, read = lookup.request, lookup.read or 0
        keys, length = lookup.found
        times = self._times(lookup, prompt, first_token, end)
        self._touch(keys, [self._whole(prompt.tokens_until(end)) for end in range(len(keys) + 1)], times, request.id)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=lookup.hit,
            hit_owner=lookup.hit_owner,
            written=(len(prompt),) if length < len(prompt) else (),
        )

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        for length in range(len(prompt), keep, -1):
            gone = self._blocks.pop((request.model, prompt.chain(length)), None)
            self.held -= 0 if gone is None else gone.tokens

    def _times(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Sequence[int]:
        """When each block of a prompt is computed, if it was not before."""
        request, now, rules = lookup.request, lookup.now, self._rules
        if self._computed is not None:
            return self._computed(request)
        if not self._computes_last:
            return [now] * len(prompt)
        if rules.readable != "request_start":
            return [readable_from(request, now, rules, first_token, end)] * len(prompt)
        lasts, read = first_token_at(request, now, rules, first_token, end) - now, lookup.read or 0
        ends = (prompt.tokens_until(length) for length in range(1, len(prompt) + 1))
        new = max(prompt.tokens - read, 1)
        return [now - (-lasts * max(0, end - read)) // new if lasts > 0 else now for end in ends]

    def _touch(self, keys: list[tuple[str, bytes]], ends: list[int], times: Sequence[int], owner: str) -> None:
        for at in range(len(keys) - 1, -1, -1):
            key = keys[at]
            known = self._blocks.get(key)
            if known is not None:
                self._blocks.move_to_end(key)
                if times[at] < known.readable:  # two compute it side by side, and this one has it first
                    known.readable = times[at]
            else:
                self._blocks[key] = _KeptBlock(ends[at + 1] - ends[at], owner, times[at])
                self.held += ends[at + 1] - ends[at]
        while self._capacity is not None and self.held > self._capacity:
            _, gone = self._blocks.popitem(last=False)
            self.held -= gone.tokens
            self.evicted += gone.tokens

    def _whole(self, tokens: int) -> int:
        return tokens - tokens % self._quantum
