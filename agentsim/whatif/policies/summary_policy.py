"""Replacing a history by a summary: what the policies that decide when to do it share."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.whatif.policies.session_rewriting import (
    SECOND,
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

SHRUNK = 2
"""A prompt with less than 1/SHRUNK of its parent's tokens was compacted."""


class _Cut(msgspec.Struct, frozen=True):
    """A history that was replaced: so many leading blocks of a prompt with this chained digest became a summary."""

    length: int
    digest: bytes
    head: int
    summary: Block


def compacted(session: Session, when: When, summary_tokens: int, instruction_tokens: int) -> Session:
    """The session with its main lanes' histories replaced by summaries where ``when`` says so.

    The request for a summary reads the conversation's prefix. After it a prompt holds its head, the summary, and what
    came since.
    """
    cuts: dict[str, _Cut | None] = {}
    sent: dict[str, Prompt] = {}
    requests: list[Request] = []
    for request, parent in with_parents(session):
        prompt = request.prompt
        if prompt is None or from_outside(request):
            requests.append(request)
            continue
        cut = cuts.get(parent.id) if parent is not None else None
        if cut is not None and (len(prompt) <= cut.length or prompt.chain(cut.length) != cut.digest):
            cut = None  # the recorded history was replaced there anyway
        if (
            parent is not None
            and parent.prompt is not None
            and parent.lane == request.lane
            and request.purpose == "main"
        ):
            shared = parent.prompt.common_length(prompt)
            moment = when(parent, request, sent[parent.id]) if shared and shared >= _warm(parent.prompt) else None
            if moment is not None and head_of(prompt) < shared:
                requests.append(summary_request(parent, sent[parent.id], moment, summary_tokens, instruction_tokens))
                summary = made_block("summary", "messages", summary_tokens, prompt.chain(shared), role="user")
                cut = _Cut(shared, prompt.chain(shared), head_of(prompt), summary)
        cuts[request.id] = cut
        new = prompt
        if cut is not None and parent is not None:
            new = _shortened(prompt, cut, parent if cuts[parent.id] is cut else None, sent[parent.id])
        sent[request.id] = new
        requests.append(changed(request, new))
    return with_requests(session, requests)


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
    """How many leading blocks are tools and system; without sections, what the first of several markers ends."""
    head = prompt.section_end("system")
    if not head and len(prompt.breakpoints) > 1:
        head = min(marker.position for marker in prompt.breakpoints) + 1
    return head


def _warm(prompt: Prompt) -> int:
    """How many leading blocks the last marker ends."""
    return max((marker.position for marker in prompt.breakpoints), default=len(prompt) - 1) + 1


def _shortened(prompt: Prompt, cut: _Cut, parent: Request | None, before: Prompt) -> Prompt:
    """A prompt under a cut. ``parent`` is the request before where it was under the same cut, sent as ``before``."""
    shift = cut.length - cut.head - 1

    def place(position: int) -> int:
        if position < cut.head:
            return position
        return position - shift if position >= cut.length else -1

    markers: list[Breakpoint] = moved(prompt.breakpoints, place)
    shared = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
    if shared >= cut.length:
        return before.replace_after(shared - shift, suffix(prompt, shared), markers)
    kept = min(before.common_length(prompt), cut.head)
    blocks = [prompt[position] for position in range(kept, cut.head)]
    return before.replace_after(kept, [*blocks, cut.summary, *suffix(prompt, cut.length)], markers)
