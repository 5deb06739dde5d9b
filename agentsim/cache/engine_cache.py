"""The prefix cache of a self-hosted engine: blocks in a memory of limited size, the least recently used go first.

A prompt reads its longest prefix whose blocks are all there, in whole pages of ``rules.quantum`` tokens, and never its
very last token: an engine computes that one to have something to go on from. A request touches its blocks from the
last to the first, so that the end of a prompt is given up before its beginning. Requests take no time here: none holds
its blocks while others run. What a request generates is not kept, for a prompt does not tell it until it comes back.
"""

from __future__ import annotations

from collections import OrderedDict

from agentsim.cache import CacheLookup, Served
from agentsim.cache.prompt_cache import PromptCache, output_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class EngineCache(PromptCache):
    """A :class:`agentsim.cache.CacheBackend` for one engine. Deterministic.

    ``capacity`` is in tokens; ``None`` never gives a block up, which is the ceiling of what can be read.
    ``computes_last=False`` lets a whole prompt be read, as counts of shared blocks do.
    """

    def __init__(self, rules: ProviderRules, capacity: int | None = None, *, computes_last: bool = True) -> None:
        if capacity is not None and capacity < 0:
            raise ValueError("a capacity is a number of tokens")
        super().__init__()
        self._quantum = rules.quantum
        self._capacity = capacity
        self._computes_last = computes_last
        self._blocks: OrderedDict[tuple[str, bytes], tuple[int, str]] = OrderedDict()
        """Tokens of the pages that end in a block, and who wrote it, by model and chained digest; oldest first."""
        self.held = 0
        """Tokens in the cache."""
        self.evicted = 0
        """Tokens given up so far for want of room."""

    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        keys = [(request.model, prompt.chain(end)) for end in range(1, len(prompt) + 1)]
        length = next((at for at, key in enumerate(keys) if key not in self._blocks), len(keys))
        if keep is not None:
            length = min(length, keep)
        owner = self._blocks[keys[length - 1]][1] if length else None
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
        self._touch(keys, [self._whole(prompt.tokens_until(end)) for end in range(len(keys) + 1)], request.id)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=lookup.hit,
            hit_owner=lookup.hit_owner,
            written=(len(prompt),) if length < len(prompt) else (),
        )

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        for length in range(len(prompt), keep, -1):
            self.held -= self._blocks.pop((request.model, prompt.chain(length)), (0, ""))[0]

    def _touch(self, keys: list[tuple[str, bytes]], ends: list[int], owner: str) -> None:
        for at in range(len(keys) - 1, -1, -1):
            key = keys[at]
            if key in self._blocks:
                self._blocks.move_to_end(key)
            else:
                self._blocks[key] = (ends[at + 1] - ends[at], owner)
                self.held += ends[at + 1] - ends[at]
        while self._capacity is not None and self.held > self._capacity:
            _, (tokens, _) = self._blocks.popitem(last=False)
            self.held -= tokens
            self.evicted += tokens

    def _whole(self, tokens: int) -> int:
        return tokens - tokens % self._quantum
