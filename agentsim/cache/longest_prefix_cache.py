"""A provider that keeps every prompt by itself and reads the longest prefix it has seen (matching mode
``longest_prefix``), counted in whole multiples of a quantum above a minimum. Nothing is billed for writing, unless a
request asks for the long lifetime where the provider lets it choose (``ttl_chosen``).

A prefix ends where a block ends: what two blocks have in common inside is not counted, because a prompt does not tell.
Each prefix lives from its last use; reading a longer one uses it too. Where use does not prolong a life (rule
``refresh``: ``none``), it lives from when it was kept.
"""

from __future__ import annotations

from agentsim.cache import CacheLookup, Served
from agentsim.cache.prompt_cache import UnmarkedCache, output_of, readable_from
from agentsim.cache.rules_in_force import RulesInForce, by_interface
from agentsim.core.dates import SECOND
from agentsim.core.lifetimes import seconds_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules

RETENTION = "prompt_cache_retention"
"""The setting by which a request chooses how long its prompt is kept."""

Key = tuple[str, tuple[tuple[str, str], ...]]
"""Whose prefixes they are: a model, and the settings that its cache tells apart."""


class _Run:
    """Consecutive prefixes that one request was the first to send. They live and are refreshed together."""

    __slots__ = ("before", "life", "owner", "readable", "used")

    def __init__(self, before: _Run | None, owner: str, readable: int, used: int, life: int) -> None:
        self.before = before
        self.life = life
        self.owner = owner
        self.readable = readable
        self.used = used


class LongestPrefixProvider(UnmarkedCache):
    """A :class:`agentsim.cache.CacheBackend` for rules whose matching mode is ``longest_prefix``. Deterministic.

    ``rules`` apply to every request; without them each request gets those of its own model and time.
    """

    def __init__(self, rules: ProviderRules | None = None) -> None:
        super().__init__(RulesInForce(rules, _rules_of))
        self._runs: dict[Key, dict[bytes, _Run]] = {}

    def _find(
        self, request: Request, prompt: Prompt, now: int, rules: ProviderRules, most: int
    ) -> tuple[_Run | None, int]:
        if _is_cached(request, rules):
            runs = self._runs.get(_key(request, rules), {})
            for length in range(min(len(prompt), most), 0, -1):
                run = runs.get(prompt.chain(length))
                if run is not None and run.readable <= now <= run.used + run.life:
                    return run, length
        return None, 0

    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        request, now, read = lookup.request, lookup.now, lookup.read or 0
        rules, found, length = lookup.found
        output = output_of(request)
        new = prompt.tokens - read
        if not _is_cached(request, rules):
            return Served(usage=Usage(fresh=new, read=read, output=output))
        runs = self._runs.setdefault(_key(request, rules), {})
        life = _life(request, prompt, rules)
        run = found if rules.refresh != "none" else None
        while run is not None and run.used < now:
            run.used = now
            run = run.before
        readable = readable_from(request, now, rules, first_token, end)
        written = self._keep(runs, request, prompt, now, found, length, life, readable)
        usage = Usage(fresh=new, read=read, output=output)
        if life > rules.ttl_short * SECOND and rules.write_fee != "none":
            usage = Usage(fresh=0, write_long=new, read=read, output=output)
        return Served(usage=usage, hit=lookup.hit, hit_owner=lookup.hit_owner, written=written)

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        runs = self._runs.get(_key(request, self._rules.of(request, now)), {})
        for length in range(len(prompt), keep, -1):
            runs.pop(prompt.chain(length), None)

    def _keep(
        self,
        runs: dict[bytes, _Run],
        request: Request,
        prompt: Prompt,
        now: int,
        before: _Run | None,
        length: int,
        life: int,
        readable: int,
    ) -> tuple[int, ...]:
        """Keep every longer prefix of the prompt, from the time at which it can be read."""
        if length == len(prompt):
            return ()
        run = _Run(before, request.id, readable, now, life)
        for end in range(length + 1, len(prompt) + 1):
            digest = prompt.chain(end)
            old = runs.get(digest)
            if old is None or old.readable > readable or now > old.used + old.life:
                runs[digest] = run
        return (len(prompt),)


def _rules_of(request: Request, now: int, marked: bool) -> ProviderRules:
    rules = by_interface(request, now, marked)
    if rules.matching != "longest_prefix":
        raise ValueError(f"the rules of {request.provider} match by {rules.matching}")
    return rules


def _is_cached(request: Request, rules: ProviderRules) -> bool:
    """False for a request that did not opt in where its provider asks for that."""
    return not rules.needs_setting or any(name == rules.needs_setting for name, _ in request.settings)


def _life(request: Request, prompt: Prompt, rules: ProviderRules) -> int:
    """How long what the request sends is kept after its last use, in nanoseconds.

    A retention that the request names (``24h``, or ``in_memory`` for the shorter one) comes first.
    """
    retention = next((value for name, value in request.settings if name == RETENTION), None)
    if retention is not None:
        return min(seconds_of(retention.strip('"')) or rules.ttl_short, rules.ttl_long) * SECOND
    if rules.ttl_chosen and any(marker.ttl > rules.ttl_short for marker in prompt.breakpoints):
        return rules.ttl_long * SECOND
    return (rules.ttl_long if rules.ttl_unasked == "long" else rules.ttl_short) * SECOND


def _key(request: Request, rules: ProviderRules) -> Key:
    given = dict(request.settings)
    pairs = []
    for rule in rules.settings:
        value = given.get(rule.name)
        if rule.sections and value is not None and value not in rule.same_as_absent:
            pairs.append((rule.name, value))
    return request.model, tuple(pairs)
