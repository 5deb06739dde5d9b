"""Look a prompt up again with some of the provider's rules switched off: which ones restore a read that was lost?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Literal

import msgspec

from agentsim.cache.automatic_breakpoints import looked_up
from agentsim.cache.entry_store import SECTION_INDEX, CacheEntry, Identity, Space, reach
from agentsim.cache.modeled_provider import ModeledProvider, ProviderQuery
from agentsim.core.session import Request

Rule = Literal[
    "ttl", "lookback", "readability", "setting", "shape", "thinking", "model", "minimum", "marker", "unmarked"
]


class Relaxation(msgspec.Struct, frozen=True, gc=False):
    """One rule switched off. ``name`` is the setting that is ignored, for the rule "setting"."""

    rule: Rule
    name: str | None = None


Relaxed = tuple[Relaxation, ...]


class RelaxedLookup(msgspec.Struct, frozen=True):
    """A request whose read is to be restored up to ``target`` blocks, as things stood at ``now``.

    ``supposed`` is an entry that was never kept, because no breakpoint stood at its end (rule "marker") or because its
    prefix was below the minimum (rule "minimum"): it counts only while that rule is off.
    """

    provider: ModeledProvider
    request: Request
    asked: ProviderQuery
    now: int
    target: int
    supposed: CacheEntry | None = None
    supposed_by: Rule = "marker"


def smallest(question: RelaxedLookup, candidates: Sequence[Relaxation]) -> Relaxed | None:
    """The smallest set of rules that must be off for the read to be restored; ``None`` when no set restores it.

    Among sets of the same size the first counts, in the order of the candidates.
    """
    for size in (1, 2):
        for chosen in combinations(candidates, size):
            if find_relaxed(question, chosen) is not None:
                return chosen
    chosen = tuple(candidates)
    if len(chosen) < 3 or find_relaxed(question, chosen) is None:
        return None
    for relaxation in candidates:
        fewer = tuple(other for other in chosen if other is not relaxation)
        if find_relaxed(question, fewer) is not None:
            chosen = fewer
    return chosen


def find_relaxed(question: RelaxedLookup, relaxed: Relaxed) -> CacheEntry | None:
    """The entry of at least ``target`` blocks that is found with these rules off. Changes nothing."""
    rules = {relaxation.rule for relaxation in relaxed}
    asked, now = question.asked, question.now
    supposed = question.supposed if question.supposed_by in rules else None
    store = question.provider.store_of(question.request)
    spaces: dict[int, list[Space]] = {}  # by section, as far as they are asked for
    plain: dict[bytes, list[CacheEntry]] | None = None
    for position in _positions(question, rules, relaxed):
        length = position + 1
        level = SECTION_INDEX[asked.address.prompt[position].section]
        found: list[CacheEntry] = []
        if level not in spaces:
            spaces[level] = _spaces(question, relaxed, level)
            if rules & {"shape", "thinking"}:
                plain = _by_plain_digest(spaces[level])
        if plain is not None:
            found += plain.get(asked.address.prompt.chain(length), ())
        else:
            for space in spaces[level]:
                if (entry := space.entries.get(asked.address.chain(length))) is not None:
                    found.append(entry)
        if (
            supposed is not None
            and supposed.length == length
            and supposed.space in spaces[level]
            and (plain is not None or supposed.digest == asked.address.chain(length))
        ):
            found.append(supposed)
        for entry in found:
            if ("readability" in rules or entry.readable <= now) and ("ttl" in rules or store.alive(entry, now)):
                return entry
    return None


def _positions(question: RelaxedLookup, rules: set[Rule], relaxed: Relaxed) -> Iterator[int]:
    """The positions of entries that could restore the read, the last one first."""
    asked, first = question.asked, question.target - 1
    markers = asked.breakpoints if "minimum" in rules else asked.usable
    ends = {marker.position for marker in markers}
    if question.supposed is not None and question.supposed_by in rules:
        ends.add(question.supposed.length - 1)
    if "unmarked" in rules:
        ends.add(first)
    if not ends:
        return
    if "lookback" in rules:
        yield from range(max(ends), first - 1, -1)
        return
    if asked.rules.lookback_counts in ("breakpoint", "own"):
        yield from _by_breakpoints(question, ends, relaxed)
        return
    lowest = max(ends) + 1
    for end in sorted(ends, reverse=True):
        reach = _reach(question, end)
        for position in range(min(end, lowest - 1), max(reach, first - 1), -1):
            yield position
            lowest = position


def _by_breakpoints(question: RelaxedLookup, ends: set[int], relaxed: Relaxed) -> Iterator[int]:
    """Positions of breakpoints, where the provider looks for those and not for blocks."""
    asked = question.asked
    address = asked.address
    spaces: dict[int, list[Space]] = {}

    def kept(position: int) -> bool:
        level = SECTION_INDEX[address.prompt[position].section]
        if level not in spaces:
            spaces[level] = _spaces(question, relaxed, level)
        return any(address.chain(position + 1) in space.entries for space in spaces[level])

    marked = asked.marked | ends
    for position in looked_up(address.prompt, marked, max(ends), asked.rules, None if asked.declined else kept):
        if position < question.target - 1:
            return
        yield position


def _reach(question: RelaxedLookup, end: int) -> int:
    """The first position, downwards, that the lookback of a breakpoint does not test."""
    rules = question.asked.rules
    return reach(question.asked.address.prompt, end, rules.lookback, rules.lookback_counts == "run")


def _spaces(question: RelaxedLookup, relaxed: Relaxed, level: int) -> list[Space]:
    own = question.asked.address.spaces[level]
    ignored = {relaxation.name for relaxation in relaxed if relaxation.rule == "setting"}
    any_model = any(relaxation.rule == "model" for relaxation in relaxed)
    if not ignored and not any_model:
        return [own]
    return question.provider.store_of(question.request).spaces_like(_like(own.identity, ignored, any_model))


def _like(own: Identity, ignored: set[str | None], any_model: bool) -> Callable[[Identity], bool]:
    scope, model, level, pairs = own
    kept = tuple(pair for pair in pairs if pair[0] not in ignored)

    def wanted(other: Identity) -> bool:
        return (
            other[0] == scope
            and (any_model or other[1] == model)
            and other[2] == level
            and tuple(pair for pair in other[3] if pair[0] not in ignored) == kept
        )

    return wanted


def _by_plain_digest(spaces: list[Space]) -> dict[bytes, list[CacheEntry]]:
    """Entries by the digest of what was sent, not of what is rendered. Positions only go down: one section after the
    other."""
    found: dict[bytes, list[CacheEntry]] = {}
    for space in spaces:
        for entry in space.entries.values():
            found.setdefault(entry.plain, []).append(entry)
    return found
