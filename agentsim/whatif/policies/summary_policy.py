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

When = Callable[[Request, Request, Prompt], "int | None"]
"""Given the request before, the next one, and what the one before is sent as: when to compact between them
(nanoseconds, UTC), or ``None``."""

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
    """The session with its main lanes' histories replaced by summaries where ``when`` says so.

    The request for a summary reads the conversation's prefix. After it a prompt holds its head, what was kept, and what
    came since. A recorded replacement that does not stay is undone: its prompts go on behind the history.
    """
    cuts: dict[str, _CutFront | None] = {}
    sent: dict[str, Prompt] = {}
    requests: list[Request] = []
    asked: dict[str, Request] = {}  # by lane, the recorded request for a summary that nothing has followed yet
    for request, parent in with_parents(session):
        prompt = request.prompt
        if prompt is None or from_outside(request):
            requests.append(request)
            continue
        cut = cuts.get(parent.id) if parent is not None else None
        ours = cut is not None
        if cut is not None and (len(prompt) < cut.length or prompt.chain(cut.length) != cut.digest):
            cut = None  # the recorded history was replaced there anyway
        if request.purpose == "summary":
            asked[request.parent or ""] = request
        if is_compacted(request, parent):
            assert parent is not None
            if not stays(request, sent[parent.id], ours):
                base = sent[parent.id].extend(_new_behind(request, parent, session.completeness == "full"))
                cut = _CutFront(len(prompt), prompt.digest, head_of(prompt), base)
                summary = asked.get(parent.id) or asked.get("")
                requests = [one for one in requests if one is not summary]
        elif parent is not None and _goes_on(request, parent):
            assert parent.prompt is not None
            shared = parent.prompt.common_length(prompt)
            moment = when(parent, request, sent[parent.id]) if shared and shared >= _warm(parent.prompt) else None
            if moment is not None and head_of(prompt) < shared:
                before = sent[parent.id]
                requests.append(summary_request(parent, before, moment, shape.written, shape.instruction))
                kept = made_block("summary", "messages", shape.kept, prompt.chain(shared), role="user")
                base = prompt.front(head_of(prompt)).extend([kept])
                for again in _read_again(request, base, moment, shape):
                    requests.append(again)
                    assert again.prompt is not None
                    base = again.prompt
                cut = _CutFront(shared, prompt.chain(shared), head_of(prompt), base)
        cuts[request.id] = cut
        new = prompt
        if cut is not None and parent is not None:
            new = _shortened(prompt, cut, parent if cuts[parent.id] is cut else None, sent[parent.id])
        sent[request.id] = new
        requests.append(changed(request, new))
    return with_requests(session, requests)


def is_compacted(request: Request, parent: Request | None) -> bool:
    """Whether the recorded run replaced the history between two requests of a main lane."""
    if parent is None or parent.prompt is None or request.prompt is None or not _goes_on(request, parent):
        return False
    return request.prompt.tokens * SHRUNK < parent.prompt.tokens


def kept_after(session: Session) -> int:
    """Tokens that stand behind the head after a compaction: the session's own median, else those of its harness."""
    sizes = [
        request.prompt.tokens - request.prompt.tokens_until(head_of(request.prompt))
        for request, parent in with_parents(session)
        if request.prompt is not None and is_compacted(request, parent)
    ]
    return int(median(sizes)) if sizes else KEPT.get(session.harness or "", OTHERS_KEPT)


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
    return parent.prompt is not None and parent.lane == request.lane and request.purpose == "main"


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


def _new_behind(request: Request, parent: Request, bodies: bool) -> list[Block]:
    """What came to the conversation in a request whose history had been replaced: with bodies what is neither known
    nor the summary, which is the first; else the reply before it, by its size."""
    assert request.prompt is not None
    assert parent.prompt is not None
    if bodies:
        known = {block.digest for block in parent.prompt}
        new = [block for block in suffix(request.prompt, head_of(request.prompt)) if block.digest not in known]
        return new[1:]
    size = (parent.usage.output if parent.usage is not None else None) or 0
    return [made_block("reply", "messages", size, parent.prompt.digest, role="assistant")] if size else []


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
