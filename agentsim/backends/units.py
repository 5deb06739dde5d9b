"""A provider that keeps whole prefix units and finds them only as wholes (matching mode ``unit``).

Units end where a request's input ends, and where two requests were seen to part: the prefix that they share is kept
from then on. So of three requests that begin alike and go on differently, the third is the first to read what they
share. A hit is counted in whole multiples of a quantum. Nothing is billed for writing.

The documentation also names units at fixed intervals of long inputs, without the interval: they are not modeled. Nor
are units at the end of an output, whose content a prompt does not tell until it comes back as part of the next one.
"""

from __future__ import annotations

from agentsim.backends import Served
from agentsim.backends.in_force import RulesInForce, by_model
from agentsim.backends.in_order import SECOND, InOrder, output_of, readable_from
from agentsim.prompt import Prompt
from agentsim.providers import ProviderRules
from agentsim.session import Request, Usage


class _Unit:
    """A kept prefix. Times are nanoseconds."""

    __slots__ = ("expires", "owner", "readable")

    def __init__(self, readable: int, expires: int, owner: str) -> None:
        self.readable = readable
        self.expires = expires
        self.owner = owner


class UnitProvider(InOrder):
    """A :class:`agentsim.backends.CacheBackend` for rules whose matching mode is ``unit``. Deterministic.

    ``rules`` apply to every request; without them each request gets those of its own model and time.
    """

    def __init__(self, rules: ProviderRules | None = None) -> None:
        self._rules = RulesInForce(rules, by_model)
        self._units: dict[tuple[str, bytes], _Unit] = {}
        self._seen: set[tuple[str, bytes]] = set()
        """Every prefix of an earlier prompt, by model and chained digest."""

    def _answer(self, request: Request, prompt: Prompt, now: int) -> Served:
        rules = self._rules.of(request, now)
        found, length = self._find(request.model, prompt, now, rules)
        if found is not None:
            found.expires = max(found.expires, now + rules.ttl_short * SECOND)
        written = self._keep(request, prompt, now, rules)
        read = _whole(prompt.tokens_until(length), rules.quantum)
        return Served(
            usage=Usage(fresh=prompt.tokens - read, read=read, output=output_of(request)),
            hit=length if read else 0,
            hit_owner=found.owner if found is not None and read else None,
            written=written,
        )

    def would_read(self, request: Request, now: int) -> int:
        """Tokens of the prompt that would be read at ``now``. Changes nothing."""
        if request.prompt is None:
            return 0
        rules = self._rules.of(request, now)
        _, length = self._find(request.model, request.prompt, now, rules)
        return _whole(request.prompt.tokens_until(length), rules.quantum)

    def forget(self, request: Request, keep: int, now: int) -> None:
        """Lose what is kept of a request's prompt behind its first ``keep`` blocks, as an early eviction does."""
        for length in range(len(request.prompt or ()), keep, -1):
            assert request.prompt is not None
            self._units.pop((request.model, request.prompt.chain(length)), None)

    def _find(self, model: str, prompt: Prompt, now: int, rules: ProviderRules) -> tuple[_Unit | None, int]:
        """The longest unit that the prompt begins with, and its length in blocks."""
        for length in range(len(prompt), 0, -1):
            unit = self._units.get((model, prompt.chain(length)))
            if unit is not None and unit.readable <= now <= unit.expires:
                return unit, length
        return None, 0

    def _keep(self, request: Request, prompt: Prompt, now: int, rules: ProviderRules) -> tuple[int, ...]:
        """Keep the whole input, and the prefix that it shares with an earlier one and then leaves."""
        readable = readable_from(request, now, rules)
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
            if unit is not None and now <= unit.expires:
                continue
            self._units[key] = _Unit(readable, now + rules.ttl_short * SECOND, request.id)
            written.append(length)
        return tuple(written)


def _whole(tokens: int, quantum: int) -> int:
    return tokens - tokens % quantum
