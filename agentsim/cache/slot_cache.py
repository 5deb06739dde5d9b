"""A server with slots: each holds the tokens of the last request that it answered (matching mode ``slot``).

A request goes to the free slot that shares most of its prompt, when that is enough of it, and else to the one that was
idle for longest. What both begin with stays; the rest is computed and overwrites what the slot held. The very last
token is always computed. A model that cannot go back to any token goes back to a checkpoint.

With a capacity, what a slot loses is copied to other memory first, and a request that shares more with such a copy
gets it back: the copy is used up by that.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.cache import CacheLookup, Served
from agentsim.cache.prompt_cache import PromptCache, output_of
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class _SlotPrompt:
    """A prompt that was computed: by whom, when it was last used, and until when its slot is busy (nanoseconds)."""

    __slots__ = ("busy", "model", "owner", "prompt", "used")

    def __init__(self, prompt: Prompt, model: str, owner: str, used: int, busy: int) -> None:
        self.prompt = prompt
        self.model = model
        self.owner = owner
        self.used = used
        self.busy = busy


class SlotCache(PromptCache):
    """A :class:`agentsim.cache.CacheBackend` for one server with ``rules.slots`` slots. Deterministic."""

    def __init__(self, rules: ProviderRules) -> None:
        super().__init__()
        self._rules = rules
        self._slots: list[_SlotPrompt | None] = [None] * rules.slots
        self._copies: list[_SlotPrompt] = []
        """What slots lost, the oldest first."""

    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        slots, copies = self._left(self._slots, now), self._left(self._copies, now)
        if keep is not None:
            slots, copies = ([_cut(held, request, prompt, keep) for held in some] for some in (slots, copies))
        index, length = self._choose(slots, request, prompt, now)
        held, copy = slots[index], None
        for number, one in enumerate(copies):
            shared = _shared(one, request, prompt)
            if shared > length:
                held, copy, length = one, number, shared
        read = 0 if held is None else self._read(held, prompt, length)
        return CacheLookup(
            request=request,
            now=now,
            read=read,
            hit=length if read else 0,
            hit_owner=held.owner if held is not None and read else None,
            host=f"slot {index}",
            keep=keep,
            version=self._order.version,
            found=(index, copy, length),
        )

    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        request, now, read = lookup.request, lookup.now, lookup.read or 0
        index, copy, length = lookup.found
        self._slots, copies = self._left(self._slots, now), self._left(self._copies, now)
        self._copies = [one for number, one in enumerate(copies) if one is not None and number != copy]
        held = self._slots[index]
        if held is not None and (copy is not None or length < len(held.prompt)):
            self._put_away(held)
        self._slots[index] = _SlotPrompt(prompt, request.model, request.id, now, now if end is None else end)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=lookup.hit,
            hit_owner=lookup.hit_owner,
            written=(len(prompt),) if length < len(prompt) else (),
            host=lookup.host,
        )

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        self._slots = [_cut(held, request, prompt, keep) for held in self._slots]
        self._copies = [cut for held in self._copies if (cut := _cut(held, request, prompt, keep)) is not None]

    def _choose(
        self, slots: Sequence[_SlotPrompt | None], request: Request, prompt: Prompt, now: int
    ) -> tuple[int, int]:
        """The slot for a request, and how many blocks it shares with what is held there."""
        free = [i for i, held in enumerate(slots) if held is None or held.busy <= now]
        choice = free or list(range(len(slots)))
        shared = {i: _shared(slots[i], request, prompt) for i in choice}
        best = max(choice, key=lambda i: (shared[i], -i))
        if shared[best] and prompt.tokens_until(shared[best]) * 100 > self._rules.slot_similarity * prompt.tokens:
            return best, shared[best]
        idle = min(choice, key=lambda i: (_used(slots[i]), i))
        return idle, shared[idle]

    def _read(self, held: _SlotPrompt, prompt: Prompt, length: int) -> int:
        """Tokens that need not be computed, when so many blocks are the same."""
        tokens = prompt.tokens_until(length)
        step = self._rules.checkpoint_step
        if step and length < len(held.prompt):
            tokens -= tokens % step
        tokens = max(0, min(tokens, prompt.tokens - 1))
        tokens -= tokens % self._rules.quantum
        return tokens if tokens >= self._rules.minimum else 0

    def _left(self, held: Sequence[_SlotPrompt | None], now: int) -> list[_SlotPrompt | None]:
        """What is held, without what was idle for longer than anything is kept. Changes nothing."""
        life = self._rules.ttl_short * SECOND
        return [one if one is not None and now <= one.used + life else None for one in held]

    def _put_away(self, held: _SlotPrompt) -> None:
        """Copy what a slot loses, as far as there is room: the oldest copies go first."""
        if held.prompt.tokens > self._rules.capacity:
            return
        self._copies.append(held)
        while sum(copy.prompt.tokens for copy in self._copies) > self._rules.capacity:
            del self._copies[0]


def _cut(held: _SlotPrompt | None, request: Request, prompt: Prompt, keep: int) -> _SlotPrompt | None:
    """What is held, without more than the first ``keep`` blocks of a prompt."""
    if held is None or _shared(held, request, prompt) <= keep:
        return held
    return _SlotPrompt(held.prompt.replace_after(keep, ()), held.model, held.owner, held.used, held.busy)


def _shared(held: _SlotPrompt | None, request: Request, prompt: Prompt) -> int:
    """Leading blocks that a request has in common with what is held."""
    return 0 if held is None or held.model != request.model else held.prompt.common_length(prompt)


def _used(held: _SlotPrompt | None) -> int:
    return -1 if held is None else held.used
