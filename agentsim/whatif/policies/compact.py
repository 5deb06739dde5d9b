"""Histories compacted at another moment than they were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session
from agentsim.rules.providers import rules_for
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import (
    SECOND,
    Regrown,
    changed,
    from_outside,
    last_marker,
    moved,
    profile_of,
    with_parents,
)
from agentsim.whatif.policies.summary_policy import SHRUNK, compacted, head_of

_ASSUMES = "A summary of that size lets the agent go on as it did, with the same requests."
_WORTH = 4
"""A history must be this many times as long as its summary."""
_CHANGES = "a summary instead of the history"


class CompactEarlier(Policy, frozen=True, kw_only=True):
    """The history is replaced by a summary as soon as a prompt is longer than ``at``."""

    name: ClassVar[str] = "compact-earlier"
    summary: ClassVar[str] = "Compact as soon as a prompt is longer than a limit; the summary reads the warm prefix."
    assumes: ClassVar[str] = _ASSUMES
    changes: ClassVar[str | None] = _CHANGES
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Run /compact at a good moment, or lower CLAUDE_AUTOCOMPACT_PCT_OVERRIDE.",
        "pi": "Raise the reserve of compaction in the settings.",
        "own-code": "Lower the trigger of the compaction that you do or ask the API for.",
    }
    stage: ClassVar[int] = 30
    slots: ClassVar[tuple[str, ...]] = ("compaction",)

    at: int = 0
    """Tokens of a prompt above which the next one is compacted; 0: half of the session's longest."""
    summary_tokens: int = 3000
    """Size of a summary."""
    instruction_tokens: int = 500
    """Size of the instruction that asks for it."""

    def unsuited(self, session: Session) -> str | None:
        """No prompt is that long, or none follows it."""
        return None if len(self.rewrite(session).requests) > len(session.requests) else "no history grows that long"

    def rewrite(self, session: Session) -> Session:
        """Compact the main lanes."""
        limit = self.at or longest(session) // 2

        def when(parent: Request, request: Request, sent: Prompt) -> int | None:
            if sent.tokens <= limit or request.start is None or not self.wants(request):
                return None
            if sent.tokens - sent.tokens_until(head_of(sent)) < _WORTH * self.summary_tokens:
                return None
            return parent.end if parent.end is not None and parent.end < request.start else request.start

        return compacted(session, when, self.summary_tokens, self.instruction_tokens)


class CompactLater(Policy, frozen=True, kw_only=True):
    """The recorded compaction is undone, and done at another limit."""

    name: ClassVar[str] = "compact-later"
    summary: ClassVar[str] = "Compact later than recorded, at a higher limit; the summary reads the warm prefix."
    assumes: ClassVar[str] = "The window holds the longer history, and the agent works with it as it did without."
    changes: ClassVar[str | None] = "the history for longer, then a summary"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Raise CLAUDE_AUTOCOMPACT_PCT_OVERRIDE, or choose a model with a larger window.",
        "pi": "Lower the reserve of compaction in the settings.",
        "own-code": "Raise the trigger of the compaction that you do or ask the API for.",
    }
    stage: ClassVar[int] = 30
    slots: ClassVar[tuple[str, ...]] = ("compaction",)
    needs_bodies: ClassVar[bool] = True

    at: int = 0
    """Tokens of a prompt above which the next one is compacted; 0: half as many again as where it was done."""
    summary_tokens: int = 3000
    """Size of a summary."""
    instruction_tokens: int = 500
    """Size of the instruction that asks for it."""

    def unsuited(self, session: Session) -> str | None:
        """Nothing is compacted."""
        return None if next(_compactions(session), None) is not None else "no history is compacted"

    def rewrite(self, session: Session) -> Session:
        """Undo the recorded compactions, then compact at the limit."""
        first = next(_compactions(session), 0)
        limit = self.at or first * 3 // 2

        def when(parent: Request, request: Request, sent: Prompt) -> int | None:
            if sent.tokens <= limit or request.start is None:
                return None
            if sent.tokens - sent.tokens_until(head_of(sent)) < _WORTH * self.summary_tokens:
                return None
            return parent.end if parent.end is not None and parent.end < request.start else request.start

        return compacted(_undone(session), when, self.summary_tokens, self.instruction_tokens)


class CompactBeforeExpiry(Policy, frozen=True, kw_only=True):
    """Where a pause outlives a long history's entry, it is compacted just before the entry ends."""

    name: ClassVar[str] = "compact-before-expiry"
    summary: ClassVar[str] = "Before a pause loses a long history's entry, compact it from the warm cache."
    assumes: ClassVar[str] = _ASSUMES
    changes: ClassVar[str | None] = _CHANGES
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Run /compact before a longer break.",
        "pi": "The extension pi-cached-compaction does it.",
        "own-code": "When nothing was sent for most of the lifetime, ask for the summary then.",
    }
    origin: ClassVar[str] = "pi-cached-compaction 0.2: histories of at least 140,000 tokens."
    stage: ClassVar[int] = 30
    slots: ClassVar[tuple[str, ...]] = ("compaction", "keep-alive")
    needs_markers: ClassVar[bool] = True

    at: int = 140_000
    """The least tokens of a history that is worth it."""
    margin: float = 15
    """Seconds before the end of the lifetime."""
    summary_tokens: int = 3000
    """Size of a summary."""
    instruction_tokens: int = 500
    """Size of the instruction that asks for it."""

    def unsuited(self, session: Session) -> str | None:
        """No pause loses a history of that size."""
        if len(self.rewrite(session).requests) > len(session.requests):
            return None
        return f"no pause loses a history of {self.at:,} tokens"

    def rewrite(self, session: Session) -> Session:
        """Compact before the pauses."""
        profile = profile_of(session)

        def when(parent: Request, request: Request, sent: Prompt) -> int | None:
            last = last_marker(sent)
            if request.start is None or parent.start is None or last is None or not self.wants(request):
                return None
            ttl = last.ttl
            moment = parent.start + int((ttl - self.margin) * SECOND)
            from_end = rules_for(parent.provider, parent.model, parent.start, profile).ttl_clock == "response_end"
            used = parent.end if from_end and parent.end is not None else parent.start
            alive = request.start - used <= ttl * SECOND
            return None if alive or sent.tokens < self.at or moment >= request.start else moment

        return compacted(session, when, self.summary_tokens, self.instruction_tokens)


def longest(session: Session) -> int:
    """Tokens of the longest prompt of a main lane."""
    return max((r.prompt.tokens for r in session.requests if r.prompt is not None and r.purpose == "main"), default=0)


def _compactions(session: Session) -> Iterator[int]:
    """Tokens of the prompts after which a history was compacted."""
    for request, parent in with_parents(session):
        if _is_compacted(request, parent):
            assert parent is not None
            assert parent.prompt is not None
            yield parent.prompt.tokens


def _is_compacted(request: Request, parent: Request | None) -> bool:
    if parent is None or parent.prompt is None or request.prompt is None or from_outside(request):
        return False
    if parent.lane != request.lane or request.purpose != "main":
        return False
    return request.prompt.tokens * SHRUNK < parent.prompt.tokens


def _undone(session: Session) -> Session:
    """The session as if no history had been compacted: no summaries, and what they replaced in their place."""
    grown = Regrown()
    histories: dict[str, list[Block]] = {}
    shifts: dict[str, int] = {}
    requests: list[Request] = []
    undone = False
    for request, parent in with_parents(session):
        prompt = request.prompt
        if prompt is None or from_outside(request):
            requests.append(request)
            continue
        if request.purpose == "summary":
            continue
        before = histories.get(parent.id) if parent is not None else None
        if before is None or parent is None or parent.prompt is None:
            blocks, shift = list(prompt), 0
        elif _is_compacted(request, parent):
            undone = True
            known = {block.digest for block in before}
            new = [block for block in list(prompt)[head_of(prompt) :] if block.digest not in known]
            blocks = before + new[1:]  # the first one is the summary
            shift = len(blocks) - len(prompt)
        else:
            shared, shift = parent.prompt.common_length(prompt), shifts[parent.id]
            keep = shared + shift if shared > head_of(prompt) else shared
            shift = shift if shared > head_of(prompt) else 0
            blocks = before[:keep] + list(prompt)[shared:]
        histories[request.id], shifts[request.id] = blocks, shift
        head = head_of(prompt)

        def place(position: int, head: int = head, shift: int = shift, size: int = len(blocks)) -> int:
            return position if position < head else min(position + shift, size - 1)

        requests.append(changed(request, grown.grow(request, blocks, moved(prompt.breakpoints, place))))
    return msgspec.structs.replace(session, requests=tuple(requests)) if undone else session
