"""Prompts for rows: give a session that was logged without bodies prompts that behave as its rows did.

Policies work on prompts. A session log tells how large each prompt was, how much of it was read, and by its verdicts
why not more: that is enough to build prompts of anonymous blocks whose prefixes are equal where the provider found them
equal. What the log does not tell (which text changed) is not invented: a changed prefix becomes other blocks from the
place on where the read stopped.

A read that goes beyond all that was logged needs a call that no log shows. It is sent right after the reply that it
extends, in the lane of that reply, with its lifetimes; policies change it as they change that lane. It is in no total.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from agentsim.core.prompt import DIGEST_SIZE, Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.whatif.unlogged_calls import UNLOGGED, unlogged_call

SAME_PREFIX = frozenset(one.code for one in CAUSES.values() if one.prefix_kept)
"""Causes of a loss that left the prompt as it was: an expiry, the lookback, another model or cache, a dropped entry."""

LONGEST_HEAD = 50_000
"""Tokens that tools and system are taken to have at most, where nothing shows where they end."""

_SHORT, _LONG = 300, 3600
_REACH = 19
"""Blocks that may be appended before the documented lookback loses the entry in front of them."""
_MOST_MARKERS = 4


def rebuild(session: Session, verdicts: Sequence[Verdict]) -> Session:
    """The session with a prompt for every measured request, and with the calls that its reads show and no log does.

    ``verdicts`` are those of :func:`agentsim.diagnose.diagnose`, one per request. Requests that reported no counters
    keep no prompt. Settings are left out: what they did to the cache is in the prompts already.
    """
    return _Rebuilder(session, verdicts).session()


def with_known_parents(session: Session) -> Session:
    """The session, in which a request grew from the one before it in its lane where the log names no parents at all.

    Where a lane names some, a request without one began anew.
    """
    named = {request.lane for request in session.requests if request.parent is not None}
    last: dict[str, str] = {}
    requests: list[Request] = []
    for request in session.requests:
        before = last.get(request.lane)
        last[request.lane] = request.id
        if before is not None and request.lane not in named and request.prompt is None:
            request = msgspec.structs.replace(request, parent=before)
        requests.append(request)
    return msgspec.structs.replace(session, requests=tuple(requests)) if len(last) > len(named) else session


class _Rebuilder:
    def __init__(self, session: Session, verdicts: Sequence[Verdict]) -> None:
        self.source = session
        self.verdicts = verdicts
        self.prompts: dict[str, Prompt] = {}
        self.lifetimes: dict[str, int] = {}
        self.sent: dict[str, Request] = {}
        self.grown_from: dict[str, str] = {}
        self.requests: list[Request] = []
        self.fronts: dict[tuple[str, int], Prompt] = {}
        self.heads = self._heads()
        self.floors = self._floors()

    def session(self) -> Session:
        for request, verdict in zip(self.source.requests, self.verdicts, strict=True):
            self._add(request, verdict)
        return msgspec.structs.replace(self.source, requests=tuple(self.requests))

    def _heads(self) -> dict[str, int]:
        """By lane, the tokens of tools and system: the least that a first request or a loss still read.

        Where none read anything, what the lane's first request sent is the most that they can be. A lane that began
        with more went on from another one, and has its head.
        """
        least: dict[str, int] = {}
        firsts: dict[str, int] = {}
        forks: set[str] = set()
        seen: dict[tuple[str, int], int] = {}
        lane_of = {request.id: request.lane for request in self.source.requests}
        for request, verdict in zip(self.source.requests, self.verdicts, strict=True):
            usage = request.usage
            if usage is None or usage.total_input is None:
                continue
            if request.lane not in firsts:
                firsts[request.lane] = (usage.read or 0) + (usage.write or 0)
                if lane_of.get(request.parent or "", request.lane) != request.lane:
                    forks.add(request.lane)
            if usage.read and verdict.kind in ("first", "miss", "compaction"):
                seen[request.lane, usage.read] = seen.get((request.lane, usage.read), 0) + 1
                least[request.lane] = min(usage.read, least.get(request.lane, usage.read))
        found = {lane: min(least.get(lane, first), first) for lane, first in firsts.items()}
        own = [tokens for lane, tokens in found.items() if lane not in forks and 0 < tokens <= LONGEST_HEAD]
        common = min(own, default=LONGEST_HEAD)
        # What was read to the token again after a loss is a head, however long.
        known = {lane for lane, tokens in found.items() if seen.get((lane, tokens), 0) > 1}
        return {
            lane: min(tokens, common) if lane in forks or (tokens > LONGEST_HEAD and lane not in known) else tokens
            for lane, tokens in found.items()
        }

    def _floors(self) -> list[int]:
        """Reads that ended elsewhere than the request before: prompts need a block that ends there."""
        floors = set(self.heads.values())
        warm: dict[str, int] = {}
        for request in self.source.requests:
            usage = request.usage
            if usage is None or usage.total_input is None:
                continue
            read = usage.read or 0
            if read and read != warm.get(request.parent or ""):
                floors.add(read)
            warm[request.id] = read + (usage.write or 0)
        return sorted(floors)

    def _add(self, request: Request, verdict: Verdict) -> None:
        usage = request.usage
        if usage is None or usage.total_input is None:
            self.requests.append(msgspec.structs.replace(request, prompt=None, settings=()))
            return
        read, written, fresh = usage.read or 0, usage.write or 0, usage.fresh or 0
        parent = request.parent if request.parent in self.prompts else None
        ttl = _LONG if usage.write_long else _SHORT if usage.write_short else self.lifetimes.get(parent or "", _SHORT)
        base = _cut(self._base(request, verdict, parent, read), read + written)
        before = request.parent
        if self.requests and self.requests[-1].id == request.id + UNLOGGED:
            before = self.requests[-1].id
        split = read + (usage.write_long or 0) if usage.write_long and usage.write_short else None
        if split is not None and split < base.tokens and _end(base, split) is None:
            base = _cut(base, split)  # the price changes inside a block: what follows becomes other blocks
        warm = self._grown(request, verdict, base, read + written, split)
        self.prompts[request.id] = warm
        self.lifetimes[request.id] = _SHORT if split is not None else ttl
        prompt = warm.extend([_block(request.id, "tail", fresh)]) if fresh else warm
        lifetimes: dict[int, int] = {}
        if len(warm) and (written or read):
            places = [len(warm) - 1, _end(warm, split), _end(warm, read), _end(warm, self.heads[request.lane])]
            places += [_end(warm, floor) for floor in self._between(base.tokens, warm.tokens)]
            wanted = list(dict.fromkeys(place for place in places if place is not None))[:_MOST_MARKERS]
            long_until = _end(warm, split) if split is not None else None
            for place in wanted:
                lifetimes[place] = _LONG if long_until is not None and place <= long_until else ttl
            if long_until is not None:
                lifetimes = {place: _LONG if place <= long_until else _SHORT for place in lifetimes}
        markers = [Breakpoint(place, lifetimes[place]) for place in sorted(lifetimes)]
        new = msgspec.structs.replace(request, prompt=prompt.with_breakpoints(markers), settings=(), parent=before)
        self.sent[request.id] = new
        if parent is not None:
            self.grown_from[request.id] = parent
        self.requests.append(new)

    def _between(self, start: int, end: int) -> list[int]:
        return self.floors[bisect_right(self.floors, start) : bisect_right(self.floors, end)]

    def _grown(self, request: Request, verdict: Verdict, base: Prompt, total: int, split: int | None) -> Prompt:
        """The prompt that grew from ``base`` to so many tokens."""
        count = max(1, request.appended_blocks or 1)
        if verdict.kind != "miss":
            count = min(count, _REACH)
        head = self.heads[request.lane]
        start = base.tokens
        cuts = {start + (total - start) * (part + 1) // count for part in range(count)} if total > start else set()
        cuts.update(self._between(start, total))
        if split is not None and start < split < total:
            cuts.add(split)
        blocks: list[Block] = []
        for end in sorted(cut for cut in cuts if cut > start):
            # Lanes whose reads end at the same place share what stands before it.
            shared = end <= head
            owner = f"front of {request.model}" if shared else request.id
            blocks.append(_block(owner, str(end), end - start, section="system" if shared else "messages"))
            start = end
        while len(blocks) < count and total > base.tokens:  # blocks of no tokens still count for the lookback
            blocks.append(_block(request.id, f"empty {len(blocks)}", 0))
        warm = base.extend(blocks)
        for floor in self._between(base.tokens, warm.tokens):
            if (place := _end(warm, floor)) is not None:  # of several with that size the newest is read
                self.fronts[request.model, floor] = warm.front(place + 1)
        return warm

    def _base(self, request: Request, verdict: Verdict, parent: str | None, read: int) -> Prompt:
        """The prompt that this one keeps the front of."""
        if parent is None:
            return self._front(request, read)
        before = self.prompts[parent]
        if verdict.kind == "miss" and verdict.cause in SAME_PREFIX and before.tokens >= read:
            return before
        if verdict.kind == "recovered" and verdict.compared_with in self.prompts:
            return self.prompts[verdict.compared_with]
        if before.tokens == read:
            return before
        kept = _cut(before, read)
        longer = kept
        if kept.tokens < read:
            longer = kept.extend([_block(request.id, "unlogged", read - kept.tokens)])
        if verdict.kind in ("extended", "shorter", "hit") and not self._ends(parent, longer):
            self._unlogged(request, self.sent[parent], longer)
        return longer

    def _ends(self, parent: str, prompt: Prompt) -> bool:
        """Whether a request of the lane ended with this prompt."""
        sent: Request | None = self.sent.get(parent)
        while sent is not None:
            assert sent.prompt is not None
            if any(marker.position == len(prompt) - 1 for marker in sent.prompt.breakpoints):
                return sent.prompt.chain(len(prompt)) == prompt.digest
            if len(sent.prompt) < len(prompt):
                return False
            sent = self.sent.get(self.grown_from.get(sent.id, ""))
        return False

    def _front(self, request: Request, read: int) -> Prompt:
        """What a lane that begins shares with one that began before."""
        if read:
            known = self.fronts.get((request.model, read))
            if known is not None:
                return known
        empty = Prompt.of(())
        head = self.heads[request.lane]
        blocks: list[Block] = []
        start = 0
        for end in [*self._between(0, read)]:
            owner = f"front of {request.model}" if end <= head else f"before {request.id}"
            blocks.append(_block(owner, str(end), end - start, section="system" if end <= head else "messages"))
            start = end
        return empty.extend(blocks)

    def _unlogged(self, request: Request, parent: Request, prompt: Prompt) -> None:
        """A call that no log shows, right after the reply of the request that it grew from."""
        if not len(prompt):
            return
        marked = prompt.with_breakpoints([Breakpoint(len(prompt) - 1, self.lifetimes[parent.id])])
        self.requests.append(unlogged_call(request, parent, marked))


def _cut(prompt: Prompt, tokens: int) -> Prompt:
    """The longest front of whole blocks that has no more than so many tokens."""
    return prompt.front(length_within(prompt, tokens))


def length_within(prompt: Prompt, tokens: int) -> int:
    """How many leading blocks have no more than so many tokens."""
    low, high = 0, len(prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if prompt.tokens_until(middle) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _end(prompt: Prompt, tokens: int | None) -> int | None:
    """The position of the block that ends after so many tokens, where one does."""
    if not tokens:
        return None
    length = length_within(prompt, tokens)
    return length - 1 if length and prompt.tokens_until(length) == tokens else None


def _block(owner: str, name: str, tokens: int, *, section: str = "messages") -> Block:
    digest = blake2b(f"{owner}\0{name}\0{tokens}".encode(), digest_size=DIGEST_SIZE).digest()
    return Block(section=section, kind="text", digest=digest, tokens=tokens, origin="apportioned")  # type: ignore[arg-type]
