"""What the judgement by bodies knows about each request."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from agentsim.cache.entry_store import CacheEntry
from agentsim.cache.modeled_provider import ProviderQuery
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Usage
from agentsim.core.verdict import Divergence, Evidence, Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.rules.providers import ProviderRules


class RequestFacts(msgspec.Struct):
    """A request: how it was looked up, what it consumed, and how far its last breakpoint reaches.

    ``warm`` is that reach in blocks (0: it kept nothing), ``warm_tokens`` its size as the request's own usage tells it.
    ``had_long`` is True when it, or a request it grew from, asked for the long lifetime. ``number`` counts the requests
    in the order in which they came; ``last_loss`` is the latest of the conversation so far that lost something, itself
    included.
    """

    request: Request
    asked: ProviderQuery
    now: int
    usage: Usage
    warm: int = 0
    warm_tokens: int = 0
    had_long: bool = False
    verdict: Verdict | None = None
    number: int = 0
    last_loss: RequestFacts | None = None

    @property
    def prompt(self) -> Prompt:
        """Its prompt."""
        return self.asked.address.prompt

    @property
    def total(self) -> int:
        """Its input in tokens, as reported or else as its blocks add up."""
        total = self.usage.total_input
        return self.prompt.tokens if total is None else total


class CacheRead(msgspec.Struct, frozen=True):
    """What a request read (``tokens``, as reported or else as predicted) and the entry of that size, if one is known.

    ``model_hit`` is the entry that the model says it read, ``predicted`` the size of that entry. ``estimated`` is True
    when the two differ for a reason that is known to be uncertain: the size of the entry was only an estimate, or it
    had expired by its documented lifetime but not by the one that logs suggest.
    """

    tokens: int
    predicted: int
    reported: bool
    model_hit: CacheEntry | None
    entry: CacheEntry | None
    estimated: bool = False

    def length_in(self, prompt: Prompt) -> int:
        """How many leading blocks were read; by their sizes where no entry is known."""
        if self.entry is not None:
            return self.entry.length
        low, high = 0, len(prompt)
        while low < high:
            middle = (low + high + 1) // 2
            if prompt.tokens_until(middle) <= self.tokens:
                low = middle
            else:
                high = middle - 1
        return low


class Words(msgspec.Struct):
    """The sentences of a verdict, as they are found."""

    established: list[str] = msgspec.field(default_factory=list)
    to_check: list[str] = msgspec.field(default_factory=list)
    fix: str | None = None


class NamedCause(NamedTuple):
    """A cause, what it rests on, which others take part in it or remain possible, and where the prompts part."""

    cause: str
    evidence: Evidence
    alternatives: tuple[str, ...] = ()
    place: Divergence | None = None


SETTING_CAUSES = {name: one.code for one in CAUSES.values() for name in one.settings}
"""Causes by setting; any other setting in the key is AS407."""


def differing_settings(
    old: Request, new: Request, rules: ProviderRules, *, unknown: bool = False
) -> list[tuple[str, str | None, str | None]]:
    """Settings that differ by the rules and re-key something, with both values; with ``unknown`` also those of which
    the rules say nothing. A value that is the same as none is no difference."""
    before, after = dict(old.settings), dict(new.settings)
    found = []
    for rule in rules.settings:
        one, two = before.pop(rule.name, None), after.pop(rule.name, None)
        keyed = [None if value in rule.same_as_absent else value for value in (one, two)]
        if keyed[0] != keyed[1] and rule.sections:
            found.append((rule.name, one, two))
    if unknown:
        names = dict.fromkeys((*before, *after))
        found += [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]
    return found
