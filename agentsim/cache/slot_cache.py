"""A server with slots: each holds the tokens of the last request that it answered (matching mode ``slot``).

A request goes to the free slot that shares most of its prompt, when that is enough of it, and else to the one that was
idle for longest. What both begin with stays; the rest is computed and overwrites what the slot held. The very last
token is always computed. A model that cannot go back to any token goes back to a checkpoint.

With a capacity, what a slot loses is copied to other memory first, and a request that shares more with such a copy
gets it back: the copy is used up by that.
"""

from __future__ import annotations

from agentsim.cache import Served
from agentsim.cache.arrival_order import SECOND, InOrder, output_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class _Held:
    """A prompt that was computed: by whom, when it was last used, and until when its slot is busy (nanoseconds)."""

    __slots__ = ("busy", "model", "owner", "prompt", "used")

    def __init__(self, prompt: Prompt, model: str, owner: str, used: int, busy: int) -> None:
        self.prompt = prompt
        self.model = model
        self.owner = owner
        self.used = used
        self.busy = busy


class SlotCache(InOrder):
    """A :class:`agentsim.cache.CacheBackend` for one server with ``rules.slots`` slots. Deterministic."""

    def __init__(self, rules: ProviderRules) -> None:
        self._rules = rules
        self._slots: list[_Held | None] = [None] * rules.slots
        self._copies: list[_Held] = []
        """What slots lost, the oldest first."""

    def _answer(self, request: Request, prompt: Prompt, now: int) -> Served:
        self._unload(now)
        index, length = self._choose(request, prompt, now)
        held = self._slots[index]
        copy, copied = self._best_copy(request, prompt)
        if copied > length:
            assert copy is not None
            self._copies.remove(copy)
            self._put_away(held)
            held, length = copy, copied
        elif held is not None and length < len(held.prompt):
            self._put_away(held)
        read = 0 if held is None else self._read(held, prompt, length)
        busy = now if request.end is None or request.start is None else request.end - request.start + now
        self._slots[index] = _Held(prompt, request.model, request.id, now, busy)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=length if read else 0,
            hit_owner=held.owner if held is not None and read else None,
            written=(len(prompt),) if length < len(prompt) else (),
            host=f"slot {index}",
        )

    def _choose(self, request: Request, prompt: Prompt, now: int) -> tuple[int, int]:
        """The slot for a request, and how many blocks it shares with what is held there."""
        free = [i for i, held in enumerate(self._slots) if held is None or held.busy <= now]
        choice = free or list(range(len(self._slots)))
        shared = {i: _shared(self._slots[i], request, prompt) for i in choice}
        best = max(choice, key=lambda i: (shared[i], -i))
        if shared[best] and prompt.tokens_until(shared[best]) * 100 > self._rules.slot_similarity * prompt.tokens:
            return best, shared[best]
        idle = min(choice, key=lambda i: (_used(self._slots[i]), i))
        return idle, shared[idle]

    def _read(self, held: _Held, prompt: Prompt, length: int) -> int:
        """Tokens that need not be computed, when so many blocks are the same."""
        tokens = prompt.tokens_until(length)
        step = self._rules.checkpoint_step
        if step and length < len(held.prompt):
            tokens -= tokens % step
        tokens = max(0, min(tokens, prompt.tokens - 1))
        tokens -= tokens % self._rules.quantum
        return tokens if tokens >= self._rules.minimum else 0

    def _unload(self, now: int) -> None:
        """Empty what was idle for longer than anything is kept."""
        life = self._rules.ttl_short * SECOND
        self._slots = [held if held is not None and now <= held.used + life else None for held in self._slots]
        self._copies = [held for held in self._copies if now <= held.used + life]

    def _best_copy(self, request: Request, prompt: Prompt) -> tuple[_Held | None, int]:
        found, length = None, 0
        for copy in self._copies:
            shared = _shared(copy, request, prompt)
            if shared > length:
                found, length = copy, shared
        return found, length

    def _put_away(self, held: _Held | None) -> None:
        """Copy what a slot loses, as far as there is room: the oldest copies go first."""
        if held is None or held.prompt.tokens > self._rules.capacity:
            return
        self._copies.append(held)
        while sum(copy.prompt.tokens for copy in self._copies) > self._rules.capacity:
            del self._copies[0]


def _shared(held: _Held | None, request: Request, prompt: Prompt) -> int:
    """Leading blocks that a request has in common with what is held."""
    return 0 if held is None or held.model != request.model else held.prompt.common_length(prompt)


def _used(held: _Held | None) -> int:
    return -1 if held is None else held.used
