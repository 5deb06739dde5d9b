"""Replacing a history by a summary: what the policies that decide when to do it share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from types import MappingProxyType

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.whatif.policies.session_rewriting import (
    changed,
    from_outside,
    made_block,
    moved,
    suffix,
    with_parents,
    with_requests,
)


class Occasion(msgspec.Struct, frozen=True, gc=False):
    """When a history is compacted (nanoseconds, UTC), and whether that is as the next request is about to be sent: the
    summary then is of its new content too, as harnesses compact; else the request before it is all there is."""

    moment: int
    upon_sending: bool


When = Callable[[Request, Request, Prompt, Prompt], "Occasion | None"]
"""Given the request before, the next one, what the one before was sent as, and what the next one would be sent as: the
occasion to compact between them, or ``None``."""

Stays = Callable[[Request, Prompt, bool], bool]
"""Given a request whose history was replaced in the recorded run, what the one before is sent as, and whether that one
is under a summary of ours: whether the recorded replacement stays."""

SHRUNK = 2
"""A prompt with less than 1/SHRUNK of its parent's tokens was compacted."""

LONGEST_HEAD = 50_000
"""Tokens that tools and system are taken to have at most, where nothing but a marker shows where they end."""

KEPT: Mapping[str, int] = MappingProxyType({"claude-code": 13_800, "codex": 20_000, "pi": 22_000})
"""Tokens that stand behind tools and system after a compaction: the summary and what the harness keeps or puts back.

Claude Code: 13,800 in the recorded session with a window of 200,000 (2.1.5); 31,200 in that with a million (2.1.219),
which also kept its last messages. Codex 0.142: 20,400 in the recorded session. Pi: 20,000 that it keeps
(keepRecentTokens) and a summary. Of others nothing is recorded: what the model wrote for a summary.
"""
OTHERS_KEPT = 3_000
FEWEST_KEPT, MOST_KEPT = 3_000, 31_200
"""What a compaction leaves at least and at most: a summary alone, and the largest of the recorded sessions."""

WRITTEN = 5_000
"""Tokens that the model writes for a summary, at most: 2,429 and 5,150 in the recorded sessions."""

REREAD: Mapping[str, tuple[int, int]] = MappingProxyType({"claude-code": (2_600, 2)})
"""Tokens that come back after a compaction because they are read again, and in how many requests: 2,593 tokens of files
that had been read before, in the one recorded session of Claude Code that shows it (2.1.5). Of others nothing is
recorded."""


class CompactionShape(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in tokens: ``kept`` stands in place of the history, ``written`` is the model's output for it,
    ``instruction`` asks for it; ``reread`` comes back in so many ``requests`` after it."""

    kept: int
    written: int
    instruction: int
    reread: int = 0
    requests: int = 0


class _CutFront(msgspec.Struct, frozen=True):
    """What stands now for the first ``length`` blocks of prompts that have this chained digest there."""

    length: int
    digest: bytes
    head: int
    base: Prompt


def compacted(session: Session, when: When, shape: CompactionShape, stays: Stays = lambda *_: True) -> Session:
    """The session with its conversations' histories replaced by summaries where ``when`` says so.

    The request for a summary reads the conversation's prefix. After it a prompt holds its head, what was kept, and what
    came since; a conversation that another one begins with is short there too. A recorded replacement that does not
    stay is undone: its prompts go on behind the history, and what was read again after it is not read twice.
    """
    first = _Compaction(session, when, shape, stays, {})
    found = first.session()
    if not any(first.undone.values()):
        return found
    return _Compaction(session, when, shape, stays, first.undone).session()


class _Compaction:
    """One walk through a session. ``instead`` says, by lane, how many summaries of ours came in place of recorded
    ones: what the agent read again after those stands in the log already, and so does a summary's price where the log
    has none."""

    def __init__(
        self, session: Session, when: When, shape: CompactionShape, stays: Stays, instead: Mapping[str, int]
    ) -> None:
        self._source = session
        self._when, self._shape, self._stays = when, shape, stays
        self._instead = dict(instead)
        self._shows_summaries = any(request.purpose == "summary" for request in session.requests)
        self._cuts: dict[str, _CutFront | None] = {}
        self._sent: dict[str, Prompt] = {}
        self._requests: list[Request] = []
        self._asked: dict[str, Request] = {}  # by request, the recorded summary of it that nothing has followed yet
        self._ends: dict[bytes, Request] = {}
        self._growth: dict[str, int] = {}
        self.undone: dict[str, int] = {}

    def session(self) -> Session:
        """The session, rewritten."""
        pairs = list(with_parents(self._source))
        following = {parent.id: request for request, parent in reversed(pairs) if parent is not None}
        for request, parent in pairs:
            if request.prompt is None or from_outside(request):
                self._requests.append(request)
            else:
                self._add(request, parent or self._begun_with(request.prompt), parent, following.get(request.id))
        return with_requests(self._source, self._requests)

    def _begun_with(self, prompt: Prompt) -> Request | None:
        """The request of another conversation that one without a parent goes on from: its prompt begins with it."""
        if not self._ends:
            return None
        for length in range(len(prompt), head_of(prompt), -1):
            found = self._ends.get(prompt.chain(length))
            if found is not None:
                return found
        return None

    def _add(self, request: Request, origin: Request | None, parent: Request | None, following: Request | None) -> None:
        prompt = request.prompt
        assert prompt is not None
        cut = self._cuts.get(origin.id) if origin is not None else None
        inherited = cut is not None
        if cut is not None and (len(prompt) < cut.length or prompt.chain(cut.length) != cut.digest):
            cut = None  # the recorded history was replaced there anyway
        if request.purpose == "summary":
            self._asked[request.parent or ""] = request
        if is_compacted(request, parent):
            assert parent is not None
            if not self._stays(request, self._sent[parent.id], inherited):
                cut = self._undo(request, parent)
        elif parent is not None and _goes_on(request, parent):
            cut = self._ours(request, parent, following, cut) or cut
        self._cuts[request.id] = cut
        new = prompt
        if cut is not None and origin is not None:
            under = origin if self._cuts.get(origin.id) is cut else None
            new = _shortened(prompt, cut, under, self._sent[origin.id])
        self._sent[request.id] = new
        self._requests.append(changed(request, new))
        self._ends[prompt.chain(_warm(prompt))] = request

    def _undo(self, request: Request, parent: Request) -> _CutFront:
        """A recorded replacement did not happen."""
        assert request.prompt is not None
        self.undone[request.lane] = self.undone.get(request.lane, 0) + 1
        summary = self._asked.get(parent.id) or self._asked.get("")
        bodies = self._source.completeness == "full"
        blocks = _asked_with(summary, parent, None if bodies else self._shape.instruction) if summary else None
        if blocks is None:
            blocks = _new_behind(request, parent, None if bodies else self._usual_growth(request.lane))
        if summary is not None:
            self._requests = [one for one in self._requests if one.id != summary.id]
        base = self._sent[parent.id].extend(blocks)
        return _CutFront(len(request.prompt), request.prompt.digest, head_of(request.prompt), base)

    def _usual_growth(self, lane: str) -> int:
        """Tokens that usually came to a conversation between two requests, its reply included: the median."""
        if lane not in self._growth:
            grown = [
                request.prompt.tokens - parent.prompt.tokens
                for request, parent in with_parents(self._source)
                if parent is not None
                and request.lane == lane == parent.lane
                and request.prompt is not None
                and parent.prompt is not None
                and request.prompt.tokens > parent.prompt.tokens
            ]
            self._growth[lane] = int(median(grown)) if grown else 0
        return self._growth[lane]

    def _ours(
        self, request: Request, parent: Request, following: Request | None, cut: _CutFront | None
    ) -> _CutFront | None:
        """Compact between two requests, where there is occasion to."""
        prompt, shape = request.prompt, self._shape
        assert prompt is not None
        assert parent.prompt is not None
        before = self._sent[parent.id]
        shared = parent.prompt.common_length(prompt)
        if not shared or shared < _warm(parent.prompt):
            return None
        coming = prompt
        if cut is not None:
            coming = _shortened(prompt, cut, parent if self._cuts[parent.id] is cut else None, before)
        occasion = self._when(parent, request, before, coming)
        if occasion is None:
            return None
        if occasion.upon_sending:
            shared = max(shared, _kept_on(request, following))
        if head_of(prompt) >= shared:
            return None
        last, whole = (request, coming) if occasion.upon_sending else (parent, before)
        asks = summary_request(last, whole, occasion.moment, shape.written, shape.instruction)
        instead = self._instead.get(request.lane, 0) > 0
        if instead:
            self._instead[request.lane] -= 1
        known = instead and not self._shows_summaries
        self._requests.append(msgspec.structs.replace(asks, parent=parent.id, counted=asks.counted and not known))
        kept = made_block("summary", "messages", shape.kept, prompt.chain(shared), role="user")
        base = prompt.front(head_of(prompt)).extend([kept])
        for again in () if instead else _read_again(request, base, occasion.moment, shape):
            self._requests.append(again)
            assert again.prompt is not None
            base = again.prompt
        return _CutFront(shared, prompt.chain(shared), head_of(prompt), base)


def is_compacted(request: Request, parent: Request | None) -> bool:
    """Whether the recorded run replaced the history between two requests of a conversation."""
    if parent is None or parent.prompt is None or request.prompt is None or not _goes_on(request, parent):
        return False
    return request.prompt.tokens * SHRUNK < parent.prompt.tokens


def own_kept(session: Session) -> int | None:
    """Tokens that stand behind the head after the session's own compactions: the median; ``None`` without any."""
    sizes = [
        request.prompt.tokens - request.prompt.tokens_until(head_of(request.prompt))
        for request, parent in with_parents(session)
        if request.prompt is not None and is_compacted(request, parent)
    ]
    return int(median(sizes)) if sizes else None


def summary_request(
    before: Request, prompt: Prompt, when: int, summary_tokens: int, instruction_tokens: int
) -> Request:
    """The request that asks for a summary of what ``before`` was sent with, reading its prefix."""
    instruction = made_block("instruction to summarise", "messages", instruction_tokens, role="user")
    asked = prompt.extend([instruction], prompt.breakpoints)  # what it adds is never read again: no marker of its own
    return msgspec.structs.replace(
        before,
        id=f"{before.id}/summary",
        parent=before.id,
        purpose="summary",
        start=when,
        first_token=when + 2 * SECOND,
        end=when + 20 * SECOND,
        prompt=asked,
        usage=Usage(output=summary_tokens),
        iterations=(),
        stop_reason="end_turn",
    )


def head_of(prompt: Prompt) -> int:
    """How many leading blocks are tools and system; without sections, what the first of several markers ends, unless
    that is more than they can be."""
    head = prompt.section_end("system")
    if not head and len(prompt.breakpoints) > 1:
        head = min(marker.position for marker in prompt.breakpoints) + 1
        if prompt.tokens_until(head) > LONGEST_HEAD:
            return 0
    return head


def _goes_on(request: Request, parent: Request) -> bool:
    return parent.prompt is not None and parent.lane == request.lane and request.purpose in ("main", "subagent")


def _read_again(request: Request, base: Prompt, moment: int, shape: CompactionShape) -> Iterator[Request]:
    """The requests in which the agent reads again what the summary left out, one after the other.

    They stand between the summary and the request that goes on, however short that time was: each reads what the one
    before it wrote, as it would had the log moved on to make room for them.
    """
    if not shape.reread or not shape.requests:
        return
    assert request.prompt is not None
    last = max(request.prompt.breakpoints, key=lambda marker: marker.position, default=None)
    for number in range(1, shape.requests + 1):
        size = shape.reread * number // shape.requests - shape.reread * (number - 1) // shape.requests
        piece = made_block(f"read again {number}", "messages", size, base.digest, role="user")
        markers = [] if last is None else [Breakpoint(len(base), last.ttl)]
        base = base.extend([piece], markers)
        room = max((moment if request.start is None else request.start) - moment, 0)
        when = moment + room * number // (shape.requests + 1)
        yield msgspec.structs.replace(
            request,
            id=f"{request.id}/again-{number}",
            start=when,
            first_token=when,
            end=when,
            prompt=base,
            usage=Usage(output=100),
            iterations=(),
            stop_reason="tool_use",
        )


def _asked_with(summary: Request, parent: Request, instruction: int | None) -> list[Block] | None:
    """What the recorded request for a summary held beside its instruction, and what the one before it had sent;
    ``None`` where it does not go on from that. With bodies the instruction is the last block; without them it is taken
    to have so many tokens."""
    assert parent.prompt is not None
    if summary.prompt is None:
        return None
    shared = summary.prompt.common_length(parent.prompt)
    if instruction is None:
        return suffix(summary.prompt, shared)[:-1] if shared == len(parent.prompt) else None
    if shared < _warm(parent.prompt):
        return None
    size = max(0, summary.prompt.tokens - parent.prompt.tokens - instruction)
    return [made_block("since then", "messages", size, parent.prompt.digest, role="user")] if size else []


def _new_behind(request: Request, parent: Request, growth: int | None) -> list[Block]:
    """What came to the conversation before its history was replaced: with bodies what is neither known nor the
    summary, which is the first; else the reply before it, and as much as usually came between two requests."""
    assert request.prompt is not None
    assert parent.prompt is not None
    if growth is None:
        known = {block.digest for block in parent.prompt}
        new = [block for block in suffix(request.prompt, head_of(request.prompt)) if block.digest not in known]
        return new[1:]
    size = max((parent.usage.output if parent.usage is not None else None) or 0, growth)
    return [made_block("since then", "messages", size, parent.prompt.digest, role="assistant")] if size else []


def _kept_on(request: Request, following: Request | None) -> int:
    """How many leading blocks of a request are its conversation from now on: what the next one goes on from, else all
    that its last marker ends."""
    assert request.prompt is not None
    length = _warm(request.prompt)
    if following is None or following.prompt is None:
        return length
    return min(length, request.prompt.common_length(following.prompt))


def _warm(prompt: Prompt) -> int:
    """How many leading blocks the last marker ends."""
    return max((marker.position for marker in prompt.breakpoints), default=len(prompt) - 1) + 1


def _shortened(prompt: Prompt, cut: _CutFront, parent: Request | None, before: Prompt) -> Prompt:
    """A prompt under a cut. ``parent`` is the request before where it was under the same cut, sent as ``before``."""
    shift = len(cut.base) - cut.length
    last = max((marker.position for marker in prompt.breakpoints), default=-1)

    def place(position: int) -> int:
        if position >= cut.length:
            return position + shift
        if position == last:
            return len(cut.base) - 1
        return position if position < cut.head else -1

    markers: list[Breakpoint] = moved(prompt.breakpoints, place)
    shared = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
    if shared >= cut.length:
        return before.replace_after(shared + shift, suffix(prompt, shared), markers)
    return cut.base.extend(suffix(prompt, cut.length), markers)
