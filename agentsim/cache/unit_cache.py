"""A provider that keeps whole prefix units and finds them only as wholes (matching mode ``unit``).

Units end where a request's input ends, where its output ends, and where two requests were seen to part: the prefix
that they share is kept from then on. So of three requests that begin alike and go on differently, the third is the
first to read what they share. A hit is counted in whole multiples of a quantum. Nothing is billed for writing.

What an output was is not known until it comes back: the blocks of the assistant that follow an earlier input are taken
for the reply to it, for as many replies as that input was sent times. The documentation also names units at fixed
intervals of long inputs, without the interval: they are not modeled.
"""

from __future__ import annotations

from agentsim.cache import CacheLookup, Served
from agentsim.cache.prompt_cache import UnmarkedCache, output_of, readable_from
from agentsim.cache.rules_in_force import RulesInForce, by_model
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules


class _Unit:
    """A kept prefix, and the replies to it where it is a whole input. Times are nanoseconds.

    ``sent`` is how many requests had it as their input, ``ended`` when the latest reply did, ``replies`` are the
    digests of the prefixes that end with one and have come back, ``lost`` those that were evicted.
    """

    __slots__ = ("ended", "expires", "lost", "owner", "readable", "replies", "sent")

    def __init__(self, readable: int, expires: int, owner: str) -> None:
        self.readable = readable
        self.expires = expires
        self.owner = owner
        self.sent = 0
        self.ended = readable
        self.replies: list[bytes] = []
        self.lost: set[bytes] = set()

    def replied(self, digest: bytes, now: int) -> bool:
        """Whether a prefix that goes on with blocks of the assistant can be read as this input and a reply to it."""
        known = digest in self.replies or (digest not in self.lost and len(self.replies) + len(self.lost) < self.sent)
        return known and self.ended <= now <= self.expires

    def lose(self, digest: bytes) -> None:
        """The reply that ends with a prefix is not kept any more."""
        if digest in self.replies:
            self.replies.remove(digest)
        if len(self.replies) + len(self.lost) < self.sent:
            self.lost.add(digest)


class UnitProvider(UnmarkedCache):
    """A :class:`agentsim.cache.CacheBackend` for rules whose matching mode is ``unit``. Deterministic.

    ``rules`` apply to every request; without them each request gets those of its own model and time.
    """

    def __init__(self, rules: ProviderRules | None = None) -> None:
        super().__init__(RulesInForce(rules, by_model))
        self._units: dict[tuple[str, bytes], _Unit] = {}
        self._seen: set[tuple[str, bytes]] = set()
        """Every prefix of an earlier prompt, by model and chained digest."""

    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        request, now, read = lookup.request, lookup.now, lookup.read or 0
        rules, found, length = lookup.found
        if found is not None:
            found.expires = max(found.expires, now + rules.ttl_short * SECOND)
            digest = prompt.chain(length)
            if self._units.get((request.model, digest)) is not found and digest not in found.replies:
                found.replies.append(digest)
        readable = readable_from(request, now, rules, first_token, end)
        written = self._keep(request, prompt, now, rules, readable, readable if end is None else end)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=lookup.hit,
            hit_owner=lookup.hit_owner,
            written=written,
        )

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        for length in range(len(prompt), keep, -1):
            self._units.pop((request.model, prompt.chain(length)), None)
            asked = self._units.get((request.model, prompt.chain(_reply_start(prompt, length))))
            if asked is not None:
                asked.lose(prompt.chain(length))

    def _find(
        self, request: Request, prompt: Prompt, now: int, rules: ProviderRules, most: int
    ) -> tuple[_Unit | None, int]:
        model = request.model
        for length in range(min(len(prompt), most), 0, -1):
            unit = self._units.get((model, prompt.chain(length)))
            if unit is not None and unit.readable <= now <= unit.expires:
                return unit, length
            start = _reply_start(prompt, length)
            asked = self._units.get((model, prompt.chain(start))) if start < length else None
            if asked is not None and asked.replied(prompt.chain(length), now):
                return asked, length
        return None, 0

    def _keep(
        self, request: Request, prompt: Prompt, now: int, rules: ProviderRules, readable: int, ended: int
    ) -> tuple[int, ...]:
        """Keep the whole input, and the prefix that it shares with an earlier one and then leaves."""
        model = request.model
        shared = 0
        for length in range(len(prompt), 0, -1):
            if (model, prompt.chain(length)) in self._seen:
                shared = length
                break
        for length in range(shared + 1, len(prompt) + 1):
            self._seen.add((model, prompt.chain(length)))
        written = []
        for length in dict.fromkeys((shared, len(prompt))):
            if prompt.tokens_until(length) < max(rules.minimum, 1):
                continue
            key = (model, prompt.chain(length))
            unit = self._units.get(key)
            if unit is None or now > unit.expires:
                unit = self._units[key] = _Unit(readable, now + rules.ttl_short * SECOND, request.id)
                written.append(length)
            if length == len(prompt):
                unit.sent += 1 - len(unit.lost)
                unit.lost.clear()
                unit.ended = ended
        return tuple(written)


def _reply_start(prompt: Prompt, length: int) -> int:
    """Where the blocks of the assistant begin that end a prefix, if the prompt goes on with others; else its end."""
    if length < len(prompt) and prompt[length].role == "assistant":
        return length
    start = length
    while start > 0 and prompt[start - 1].role == "assistant" and prompt[start - 1].section == "messages":
        start -= 1
    return start
