"""Prompts for rows: give a session that was logged without bodies prompts that behave as its rows did.

Policies work on prompts. A session log tells how large each prompt was, how much of it was read, and by its verdicts
why not more: that is enough to build prompts of anonymous blocks whose prefixes are equal where the provider found them
equal. What the log does not tell (which text changed) is not invented: a changed prefix becomes other blocks from the
place on where the read stopped.

Entries that no logged request wrote, yet a later one read, are written by context requests with ``counted=False``: the
prefix that every session of the harness shares, and calls that no log shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from agentsim.core.prompt import DIGEST_SIZE, Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session
from agentsim.core.verdict import Verdict

_SAME_PREFIX = frozenset({"AS201", "AS202", "AS203", "AS204", "AS205", "AS206", "AS301"})
"""Causes of a loss that left the prompt as it was."""

_SHORT, _LONG = 300, 3600
_REACH = 19
"""Blocks that may be appended before the documented lookback loses the entry in front of them."""


def rebuild(session: Session, verdicts: Sequence[Verdict]) -> Session:
    """The session with a prompt for every measured request, and context requests before those that need them.

    ``verdicts`` are those of :func:`agentsim.diagnose.diagnose`, one per request. Requests that reported no counters
    keep no prompt. Settings are left out: what they did to the cache is in the prompts already.
    """
    return _Rebuilder(session, verdicts).session()


class _Rebuilder:
    def __init__(self, session: Session, verdicts: Sequence[Verdict]) -> None:
        self.source = session
        self.verdicts = verdicts
        self.prompts: dict[str, Prompt] = {}
        self.lifetimes: dict[str, int] = {}
        self.requests: list[Request] = []
        self.floors = self._floors()

    def session(self) -> Session:
        for request, verdict in zip(self.source.requests, self.verdicts, strict=True):
            self._add(request, verdict)
        return msgspec.structs.replace(self.source, requests=tuple(self.requests))

    def _floors(self) -> dict[str, list[int]]:
        """By lane, the reads that were left of an unchanged prompt after a loss: its prompts need a block end there."""
        floors: dict[str, set[int]] = {}
        for request, verdict in zip(self.source.requests, self.verdicts, strict=True):
            usage = request.usage
            if usage is not None and usage.read and verdict.kind in ("first", "miss", "compaction"):
                floors.setdefault(request.lane, set()).add(usage.read)
        return {lane: sorted(reads) for lane, reads in floors.items()}

    def _add(self, request: Request, verdict: Verdict) -> None:
        usage = request.usage
        if usage is None or usage.total_input is None:
            self.requests.append(msgspec.structs.replace(request, prompt=None, settings=()))
            return
        read, written, fresh = usage.read or 0, usage.write or 0, usage.fresh or 0
        parent = request.parent if request.parent in self.prompts else None
        ttl = _LONG if usage.write_1h else _SHORT if usage.write_5m else self.lifetimes.get(parent or "", _SHORT)
        base = self._base(request, verdict, parent, read)
        length = read + written - base.tokens
        floors = self.floors.get(request.lane, [])
        if length < 0:
            base = _cut(base, read + written)
            length = read + written - base.tokens
        count = max(1, request.appended_blocks or 1)
        if verdict.kind != "miss":
            count = min(count, _REACH)
        warm = base.extend(_blocks(request.id, base.tokens, length, count, floors))
        self.prompts[request.id] = warm
        self.lifetimes[request.id] = ttl
        prompt = warm
        if fresh:
            prompt = warm.extend([_block(request.id, "tail", fresh)])
        markers: list[Breakpoint] = []
        if len(warm) and (written or read):
            places = {_boundary(warm, floors), _boundary(warm, [read]), len(warm) - 1}
            markers = [Breakpoint(place, ttl) for place in sorted(place for place in places if place is not None)]
        self.requests.append(msgspec.structs.replace(request, prompt=prompt.with_breakpoints(markers), settings=()))

    def _base(self, request: Request, verdict: Verdict, parent: str | None, read: int) -> Prompt:
        """The prompt that this one keeps the front of."""
        if parent is None:
            front = Prompt.of(_blocks(request.model, 0, read, 1, self.floors.get(request.lane, []), name="front "))
            self._context(request, front, _LONG)
            return front
        before = self.prompts[parent]
        if verdict.kind == "miss" and verdict.cause in _SAME_PREFIX:
            self._context(request, _cut(before, read), _LONG)
            return before
        if verdict.kind == "recovered" and verdict.compared_with in self.prompts:
            return self.prompts[verdict.compared_with]
        if before.tokens == read:
            return before
        if before.tokens < read:
            longer = before.extend([_block(request.id, "unlogged", read - before.tokens)])
            self._context(request, longer, self.lifetimes.get(parent, _SHORT), helper=True)
            return longer
        kept = _cut(before, read)
        if kept.tokens < read:
            kept = kept.extend([_block(request.id, "kept", read - kept.tokens)])
        self._context(request, kept, self.lifetimes.get(parent, _SHORT))
        return kept

    def _context(self, request: Request, prompt: Prompt, ttl: int, *, helper: bool = False) -> None:
        """Something outside the log kept this prefix readable: a request just before, in no total."""
        if not len(prompt):
            return
        when = request.start if request.start is not None else request.end
        moment = None if when is None else when - 1
        self.requests.append(
            Request(
                id=f"{request.id}/context",
                lane=f"{request.lane}/context",
                model=request.model,
                provider=request.provider,
                start=moment,
                first_token=moment,
                end=moment,
                purpose="helper" if helper else "probe",
                prompt=prompt.with_breakpoints([Breakpoint(len(prompt) - 1, ttl)]),
                counted=False,
            )
        )


def _cut(prompt: Prompt, tokens: int) -> Prompt:
    """The longest front of whole blocks that has no more than so many tokens."""
    low, high = 0, len(prompt)
    while low < high:
        middle = (low + high + 1) // 2
        if prompt.tokens_until(middle) <= tokens:
            low = middle
        else:
            high = middle - 1
    return prompt.replace_after(low, ())


def _boundary(prompt: Prompt, floors: list[int]) -> int | None:
    """The position of the last block of the shortest prefix that losses leave, where this prompt has a block end
    there."""
    for floor in floors:
        length = len(_cut(prompt, floor))
        if length and prompt.tokens_until(length) == floor:
            return length - 1
    return None


def _blocks(owner: str, start: int, tokens: int, count: int, floors: list[int], name: str = "") -> list[Block]:
    """``count`` blocks of so many tokens in all, split further where a floor lies inside them."""
    if tokens <= 0:
        return []
    ends = {start + tokens * (part + 1) // count for part in range(count)}
    ends |= {floor for floor in floors if start < floor < start + tokens}
    blocks: list[Block] = []
    for number, end in enumerate(sorted(ends)):
        if end > start:
            blocks.append(_block(owner, f"{name}{number}", end - start))
            start = end
    # Blocks of no tokens still count for the lookback.
    while len(blocks) < count:
        blocks.append(_block(owner, f"empty {len(blocks)}", 0))
    return blocks


def _block(owner: str, name: str, tokens: int) -> Block:
    digest = blake2b(f"{owner}\0{name}\0{tokens}".encode(), digest_size=DIGEST_SIZE).digest()
    return Block(
        section="system" if name.startswith("front") else "messages",
        kind="text",
        digest=digest,
        tokens=tokens,
        origin="apportioned",
    )
