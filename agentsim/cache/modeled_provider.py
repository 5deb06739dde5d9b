"""A provider whose prompt cache follows dated rules: what each request reads, writes and pays for.

Beside looking up and committing, the parts that these are made of (ask, find, record, bill) are there for whoever asks
what a request would have read under other conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import msgspec

from agentsim.cache import CacheLookup, Served
from agentsim.cache.automatic_breakpoints import declines, looked_up, with_unasked
from agentsim.cache.bounded_store import ForgettingStore
from agentsim.cache.entry_store import Address, CacheEntry, Identity, Pairs, PrefixStore, Spaces
from agentsim.cache.fallback_credit import CLAIM, credited
from agentsim.cache.inner_entries import InnerEntries
from agentsim.cache.prompt_cache import PromptCache, readable_from
from agentsim.cache.rendered_prompts import Rendering
from agentsim.cache.rules_in_force import RulesInForce
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Request, Usage
from agentsim.rules.providers import ProviderRules, rules_for

_LEVELS = ("tools", "system", "messages")


class ProviderQuery(msgspec.Struct, frozen=True, gc=False):
    """A request as its provider looks it up: rules, address, its breakpoints in order, and its times.

    ``breakpoints`` include one that the provider sets unasked, and leave out those that it does not write; ``marked``
    are the positions of all that the request carries, and ``declined`` is True when it wants only those. ``usable`` are
    the breakpoints whose prefix is long enough to be kept; ``used`` is when the lifetime of what it reads or writes
    begins to count, ``readable`` when its entries can be read. ``inner`` are entries of the request before it
    that only this one shows, ``end`` is when its answer ends.
    """

    rules: ProviderRules
    address: Address
    breakpoints: tuple[Breakpoint, ...]
    usable: tuple[Breakpoint, ...]
    used: int
    readable: int
    rejected: str | None
    marked: frozenset[int] = frozenset()
    declined: bool = False
    inner: tuple[CacheEntry, ...] = ()
    end: int | None = None


class ModeledProvider(PromptCache):
    """A :class:`agentsim.cache.CacheBackend` that follows :class:`agentsim.rules.providers.ProviderRules`.

    ``rules`` apply to every request; without them each request gets those of its own model and time, under ``profile``.
    ``scope`` separates caches that share nothing (organizations, workspaces). With ``forgets`` it gives up what nobody
    can read any more: the answers are the same, and what expired cannot be asked for. ``outlives`` is for how many
    seconds entries of a short and of a long lifetime outlive it. Deterministic.
    """

    def __init__(
        self,
        rules: ProviderRules | None = None,
        *,
        profile: str | None = None,
        scope: str = "",
        forgets: bool = False,
        outlives: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__()
        self._rules = RulesInForce(rules, self._find_rules)
        self._profile = profile
        self._scope = scope
        self._rendering = Rendering()
        self._forgets = forgets
        self._outlives = outlives
        self._inner = InnerEntries(forgets=forgets)
        self._stores: dict[str, PrefixStore] = {}
        self._known_spaces: dict[tuple[str, str, int, Pairs], Spaces] = {}

    def _look_up(self, request: Request, prompt: Prompt, now: int, keep: int | None) -> CacheLookup:
        asked = self._query(request, prompt, now)
        version = self._order.version
        if asked.rejected is not None:
            return CacheLookup(request=request, now=now, read=0, rejected=asked.rejected, keep=keep, version=version)
        hit = (
            self._find_with(request, asked, now, keep)
            if asked.inner or keep is not None
            else self.find(request, asked, now)
        )
        length = 0 if hit is None else hit.length
        return CacheLookup(
            request=request,
            now=now,
            read=prompt.tokens_until(length),
            hit=length,
            hit_owner=None if hit is None else hit.owner,
            keep=keep,
            version=version,
            found=(asked, hit),
        )

    def _commit(self, lookup: CacheLookup, prompt: Prompt, first_token: int | None, end: int | None) -> Served:
        request, now = lookup.request, lookup.now
        asked, hit = lookup.found
        used, readable = _times(request, now, asked.rules, first_token, end)
        if used != asked.used or readable != asked.readable or end != asked.end:
            asked = msgspec.structs.replace(asked, used=used, readable=readable, end=end)
        for entry in asked.inner:
            if lookup.keep is None or entry.length <= lookup.keep:
                self.store_of(request).keep(entry)
        written = self.record(request, asked, now, hit)
        return Served(
            usage=self.bill(request, asked, hit),
            hit=lookup.hit,
            hit_owner=lookup.hit_owner,
            written=written,
            stored=self.stored(asked, written),
        )

    def _evict(self, request: Request, prompt: Prompt, keep: int, now: int) -> None:
        asked = self._query(request, prompt, now)
        for entry in asked.inner:
            self.store_of(request).keep(entry)
        _take_out(asked.address, keep)
        self._inner.forget(request.lane)

    def _find_with(self, request: Request, asked: ProviderQuery, now: int, keep: int | None) -> CacheEntry | None:
        """What a request would read with the entries that only it shows, and nothing left behind ``keep`` blocks."""
        store = self.store_of(request)
        for entry in asked.inner:
            store.keep(entry)
        gone = [] if keep is None else _take_out(asked.address, keep)
        try:
            return self.find(request, asked, now)
        finally:
            for entry in gone:
                entry.space.entries[entry.digest] = entry
            for entry in asked.inner:
                del entry.space.entries[entry.digest]

    def rules_of(self, request: Request, now: int) -> ProviderRules:
        """The rules in force for a request at a time."""
        return self._rules.of(request, now)

    def store_of(self, request: Request) -> PrefixStore:
        """The entries of the request's provider."""
        return self._stores[request.provider]

    def ask(self, request: Request, now: int) -> ProviderQuery:
        """A request with a prompt, as the provider looks it up at ``now``: entries that only it shows are kept now."""
        assert request.prompt is not None
        asked = self._query(request, request.prompt, now)
        for entry in asked.inner:
            self.store_of(request).keep(entry)
        return asked

    def _query(self, request: Request, prompt: Prompt, now: int) -> ProviderQuery:
        """A request as the provider looks it up at ``now``. Changes nothing that can be observed."""
        rules = self.rules_of(request, now)
        breakpoints = prompt.breakpoints
        if len(breakpoints) > 1 and any(a.position > b.position for a, b in pairwise(breakpoints)):
            breakpoints = tuple(sorted(breakpoints, key=_position))
        if any(marker.ttl > rules.ttl_long for marker in breakpoints):
            breakpoints = tuple(_within(marker, rules.ttl_long) for marker in breakpoints)
        rejected = None
        marked: frozenset[int] = frozenset()
        declined = False
        if rules.lookback_counts in ("breakpoint", "own"):
            marked = frozenset(marker.position for marker in breakpoints)
        if rules.implicit != "none":
            declined = declines(request)
            breakpoints = with_unasked(request, breakpoints, rules)
        elif len(breakpoints) > rules.breakpoints:
            if rules.on_excess == "reject":
                rejected = f"{len(breakpoints)} breakpoints, at most {rules.breakpoints} are accepted"
            breakpoints = breakpoints[-rules.breakpoints :]
        if rejected is None and rules.ttl_order == "long_first" and _is_out_of_order(breakpoints, rules.ttl_short):
            rejected = "a breakpoint with the long lifetime stands behind one with the short lifetime"
        usable = breakpoints
        if breakpoints and prompt.tokens_until(breakpoints[0].position + 1) < rules.minimum:
            usable = tuple(b for b in breakpoints if prompt.tokens_until(b.position + 1) >= rules.minimum)
        shift = 0 if request.start is None else now - request.start
        first = None if request.first_token is None else request.first_token + shift
        end = None if request.end is None else request.end + shift
        used, readable = _times(request, now, rules, first, end)
        chain = None
        if rules.shape_in_key or rules.thinking != "kept":
            chain = self._rendering.chain(request, prompt, rules)
        address = Address(prompt, self._spaces(request, rules), chain)
        inner: tuple[CacheEntry, ...] = ()
        if rules.server_tool_ttl and request.parent is not None:
            store, ttl = self._stores[request.provider], rules.server_tool_ttl
            inner = self._inner.made(request, address, store, ttl=ttl, minimum=rules.minimum)
        return ProviderQuery(
            rules, address, breakpoints, usable, used, readable, rejected, marked, declined, inner, end
        )

    def find(self, request: Request, asked: ProviderQuery, now: int) -> CacheEntry | None:
        """The entry that the request reads at ``now``. Changes nothing that can be observed."""
        if not asked.usable:
            return None
        rules = asked.rules
        if rules.lookback_counts in ("breakpoint", "own"):
            return self.store_of(request).find_at(asked.address, positions_of(asked), now)
        positions = [marker.position for marker in reversed(asked.usable)]
        store = self.store_of(request)
        found = store.find(asked.address, positions, now, rules.lookback, rules.lookback_counts == "run")
        if rules.fallback_credit and CLAIM in request.settings:
            there = credited(
                request, asked.address, store, partial(self._spaces_at, request, now), positions, now, rules.lookback
            )
            if there is not None and (found is None or there.length > found.length):
                return there
        return found

    def record(self, request: Request, asked: ProviderQuery, now: int, hit: CacheEntry | None) -> tuple[int, ...]:
        """Refresh what was read and keep what the breakpoints name. Returns the lengths of new prefixes, in blocks."""
        store = self.store_of(request)
        rules = asked.rules
        if hit is not None and rules.fallback_credit and hit.space is not asked.address.space_at(hit.length):
            hit = None  # a credit: this model has read nothing
        if hit is not None and rules.refresh != "none":
            store.touch(asked.address, hit, now, asked.used, ancestors=rules.refresh == "ancestors")
        if rules.server_tool_ttl and asked.breakpoints:
            through = asked.readable if asked.end is None else max(asked.readable, asked.end)
            self._inner.note(request, asked.address, asked.used, through, now)
        written = []
        read_length = 0 if hit is None else hit.length
        after = hit
        for marker in asked.usable:
            length = marker.position + 1
            if length == read_length:
                continue
            if length < read_length:
                # Everything up to the hit is in the cache: an entry here costs nothing, and a living one is refreshed.
                known = asked.address.space_at(length).entries.get(asked.address.chain(length))
                if known is not None and store.alive(known, now):
                    if rules.refresh == "ancestors":
                        store.refresh(known, asked.used)
                    continue
            entry = store.write(
                asked.address,
                length,
                now,
                used=asked.used,
                readable=asked.readable,
                ttl=_life(rules, marker.ttl),
                owner=request.id,
                after=after if length > read_length else None,
            )
            if length > read_length:
                written.append(length)
                after = entry
        return tuple(written)

    def bill(self, request: Request, asked: ProviderQuery, hit: CacheEntry | None) -> Usage:
        """What the request is billed for when it reads ``hit``.

        Read up to the hit (A), the long-lived price from there to the last long-lived breakpoint behind it (B), the
        short-lived price from there to the last breakpoint (C), and what follows as ordinary input. Where writing has
        no price of its own, all that was not read is ordinary input.
        """
        prompt = asked.address.prompt
        total = prompt.tokens + asked.rules.closing
        read = 0 if hit is None else prompt.tokens_until(hit.length)
        long_end = last = read
        if asked.usable:
            last = max(read, prompt.tokens_until(asked.usable[-1].position + 1))
            for marker in reversed(asked.usable):
                if marker.ttl > asked.rules.ttl_short:
                    long_end = max(read, prompt.tokens_until(marker.position + 1))
                    break
        output = None if request.usage is None else request.usage.output
        if asked.rules.write_fee == "none":
            return Usage(fresh=total - read, write_short=0, write_long=0, read=read, output=output)
        return Usage(
            fresh=total - last, write_short=last - long_end, write_long=long_end - read, read=read, output=output
        )

    def stored(self, asked: ProviderQuery, written: Sequence[int]) -> int:
        """Token-seconds of new entries, where storage is billed: each keeps its whole prefix for its lifetime."""
        if asked.rules.storage == "none":
            return 0
        lives = {marker.position + 1: marker.ttl for marker in asked.usable}
        return sum(asked.address.prompt.tokens_until(length) * lives[length] for length in written)

    def entry_of(self, request: Request, asked: ProviderQuery, length: int, ttl: int) -> CacheEntry:
        """The entry that a request would have written had a breakpoint of ``ttl`` seconds ended ``length`` blocks."""
        return self.store_of(request).entry(
            asked.address,
            length,
            used=asked.used,
            readable=asked.readable,
            ttl=_life(asked.rules, ttl),
            owner=request.id,
        )

    def _spaces_at(self, request: Request, now: int, model: str) -> Spaces | None:
        """Where the entries are that a request would read at another model; ``None`` where its rules are not known."""
        other = msgspec.structs.replace(request, model=model)
        try:
            return self._spaces(other, self.rules_of(other, now))
        except ValueError:
            return None

    def _find_rules(self, request: Request, now: int, marked: bool) -> ProviderRules:
        rules = rules_for(request.provider, request.model, now, self._profile, marked=marked)
        if rules.matching != "breakpoint":
            raise ValueError(f"the cache of {request.provider} does not match at breakpoints")
        short, long = self._outlives
        if not short and not long:
            return rules
        return rules.with_(
            lives_short=(rules.lives_short or rules.ttl_short) + short,
            lives_long=(rules.lives_long or rules.ttl_long) + long,
        )

    def _spaces(self, request: Request, rules: ProviderRules) -> Spaces:
        key = (request.provider, request.model, id(rules), request.settings)
        found = self._known_spaces.get(key)
        if found is None:
            store = self._stores.get(request.provider)
            if store is None:
                # A lookback over breakpoints counts those of expired entries too.
                over = self._forgets and rules.lookback_counts in ("block", "run")
                store = self._stores[request.provider] = ForgettingStore() if over else PrefixStore()
            tools, system, messages = identities_of(request, rules, self._scope)
            found = store.space(tools), store.space(system), store.space(messages)
            self._known_spaces[key] = found
        return found


def _life(rules: ProviderRules, asked: int) -> int:
    """How long an entry lives, in nanoseconds: as long as was asked, unless its tier was seen to live otherwise."""
    seen = rules.lives_short if asked <= rules.ttl_short else rules.lives_long
    return (seen or asked) * SECOND


def positions_of(asked: ProviderQuery) -> Iterator[int]:
    """The positions that a request looks up, the last one first, where its provider goes by breakpoints."""
    address = asked.address

    def kept(position: int) -> bool:
        return address.chain(position + 1) in address.space_at(position + 1).entries

    marked = asked.marked.union(marker.position for marker in asked.usable)
    start = asked.usable[-1].position
    for position in looked_up(address.prompt, marked, start, asked.rules, None if asked.declined else kept):
        if address.prompt.tokens_until(position + 1) < asked.rules.minimum:
            return
        yield position


def identities_of(request: Request, rules: ProviderRules, scope: str) -> Sequence[Identity]:
    """Whose entries a request reads and writes, for prefixes that end in tools, in system and in messages."""
    given = dict(request.settings)
    identities = []
    for index, section in enumerate(_LEVELS):
        pairs = []
        for rule in rules.settings:
            value = given.get(rule.name)
            if section in rule.sections and value is not None and value not in rule.same_as_absent:
                pairs.append((rule.name, value))
        identities.append((scope, request.model, index, tuple(pairs)))
    return identities


def _position(marker: Breakpoint) -> int:
    return marker.position


def _within(marker: Breakpoint, longest: int) -> Breakpoint:
    """A breakpoint with the longest lifetime that its model offers, where it asks for a longer one."""
    return marker if marker.ttl <= longest else Breakpoint(marker.position, longest)


def _is_out_of_order(breakpoints: Sequence[Breakpoint], short: int) -> bool:
    seen_short = False
    for marker in breakpoints:
        if marker.ttl <= short:
            seen_short = True
        elif seen_short:
            return True
    return False


def _times(
    request: Request, now: int, rules: ProviderRules, first_token: int | None, end: int | None
) -> tuple[int, int]:
    """When the lifetime of what a request reads or writes begins to count, and when its entries can be read."""
    used = now if rules.ttl_clock == "request_start" or end is None else end
    return used, readable_from(request, now, rules, first_token, end)


def _take_out(address: Address, keep: int) -> list[CacheEntry]:
    """Take the entries of a prompt behind its first ``keep`` blocks out of their spaces. Returns them."""
    gone = []
    for length in range(len(address.prompt), keep, -1):
        entry = address.space_at(length).entries.pop(address.chain(length), None)
        if entry is not None:
            gone.append(entry)
    return gone
