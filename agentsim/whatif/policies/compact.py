"""Histories compacted at another moment than they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Session
from agentsim.rules.providers import rules_for
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import last_marker, profile_of, with_parents
from agentsim.whatif.policies.summary_policy import (
    FEWEST_KEPT,
    KEPT,
    MOST_KEPT,
    OTHERS_KEPT,
    REREAD,
    WRITTEN,
    CompactionShape,
    Occasion,
    When,
    compacted,
    head_of,
    is_compacted,
    own_kept,
)

_ASSUMES = "A summary of that size lets the agent go on as it did, after it has read again what it needs."
_WORTH = 2
"""A history must be this many times as long as what is kept of it."""
MISCOUNTED = (3, 100)
"""By what share a harness's count of tokens, which estimates what no reply has counted yet, may be off."""
_CHANGES = "a summary instead of the history"
DEFAULT_LIMIT = 167_000
"""Where Claude Code compacts in a window of 200,000 tokens: 33,000 before its end. The same for every session."""


class _Compacting(Policy, frozen=True, kw_only=True):
    """What all policies that compact are told."""

    changes: ClassVar[str | None] = _CHANGES
    stage: ClassVar[int] = 30
    slots: ClassVar[tuple[str, ...]] = ("compaction",)
    doubts: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"summary_tokens": FEWEST_KEPT, "reread": False, "own_first": True},
        {"summary_tokens": MOST_KEPT, "reread_tokens": 6_000, "reread_requests": 4, "own_first": True},
    )

    summary_tokens: int = 0
    """Size of what stands in place of the history; 0: as in the session's own compactions, else in its harness's."""
    instruction_tokens: int = 500
    """Size of the instruction that asks for it."""
    reread: bool = True
    """Whether the agent reads again what it needs."""
    reread_tokens: int = 0
    """Tokens that it reads again; 0: as in recorded sessions of its harness, where there are any."""
    reread_requests: int = 2
    """Requests in which it does."""
    own_first: bool = False
    """Whether the session's own compactions tell what stands in place of the history, where it has any."""

    def unaccounted(self, session: Session) -> int:
        """What came to a history between its last request and its summary is estimated, and where a log shows
        compactions without their summaries their price is too."""
        shown = any(request.purpose == "summary" for request in session.requests)
        return 20 if shown or own_kept(session) is None else 100

    def shape(self, session: Session) -> CompactionShape:
        """The sizes for a session."""
        own = own_kept(session) if self.own_first or not self.summary_tokens else None
        kept = own or self.summary_tokens or KEPT.get(session.harness or "", OTHERS_KEPT)
        known, requests = REREAD.get(session.harness or "", (0, self.reread_requests))
        again = self.reread_tokens or known
        return CompactionShape(
            kept=kept,
            written=min(kept, WRITTEN),
            instruction=self.instruction_tokens,
            reread=again if self.reread else 0,
            requests=self.reread_requests if self.reread_tokens else requests,
        )

    def above(self, limit: int, shape: CompactionShape) -> When:
        """Compact as a prompt longer than a limit is about to be sent, where there is enough to replace."""

        def when(parent: Request, request: Request, sent: Prompt, coming: Prompt) -> Occasion | None:
            if coming.tokens <= limit or request.start is None or not self.wants(request):
                return None
            if coming.tokens - coming.tokens_until(head_of(coming)) < _WORTH * shape.kept:
                return None
            return Occasion(request.start, upon_sending=True)

        return when


class CompactEarlier(_Compacting, frozen=True, kw_only=True):
    """The history is replaced by a summary as soon as a prompt is longer than ``at``."""

    name: ClassVar[str] = "compact-earlier"
    summary: ClassVar[str] = "Compact as soon as a prompt is longer than a limit; the summary reads the warm prefix."
    assumes: ClassVar[str] = _ASSUMES
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set autoCompactWindow to 33,000 more than the limit (/autocompact), or run /compact.",
        "pi": "Raise compaction.reserveTokens: the window less the limit.",
        "own-code": "Lower the trigger of the compaction that you do or ask the API for.",
    }

    at: int = DEFAULT_LIMIT
    """Tokens of a prompt that is compacted instead of being sent."""

    def doubted(self) -> tuple[Policy, ...]:
        """Another size of what is left, and a harness that counts somewhat more tokens or fewer than are billed."""
        off = self.at * MISCOUNTED[0] // MISCOUNTED[1]
        return (
            *super().doubted(),
            msgspec.structs.replace(self, at=self.at - off),
            msgspec.structs.replace(self, at=self.at + off),
        )

    def unsuited(self, session: Session) -> str | None:
        """No prompt is that long, or none follows it."""
        if longest(session) <= self.at or self.rewrite(session) is session:
            return f"no history grows beyond {self.at:,} tokens"
        return None

    def rewrite(self, session: Session) -> Session:
        """Compact the main lanes. Recorded compactions stay, but for those that a shorter history would not have had;
        what a person asked for stays always."""
        shape = self.shape(session)
        by_hand = {event.before for event in session.events if event.kind == "compaction" and event.detail == "manual"}

        def stays(request: Request, sent: Prompt, ours: bool) -> bool:
            return not ours or sent.tokens > self.at or request.id in by_hand

        found = compacted(session, self.above(self.at, shape), shape, stays)
        return found if any(r.id.endswith("/summary") for r in found.requests) else session


class CompactLater(_Compacting, frozen=True, kw_only=True):
    """The recorded compaction is undone, and done at another limit."""

    name: ClassVar[str] = "compact-later"
    summary: ClassVar[str] = "Compact later than recorded, at a higher limit; the summary reads the warm prefix."
    assumes: ClassVar[str] = "The window holds the longer history, and the agent works with it as it did without."
    changes: ClassVar[str | None] = "the history for longer, then a summary"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Set autoCompactWindow to 33,000 more than the limit, in a model with that window.",
        "pi": "Lower compaction.reserveTokens: the window less the limit.",
        "own-code": "Raise the trigger of the compaction that you do or ask the API for.",
    }
    needs_bodies: ClassVar[bool] = True

    at: int = 0
    """Tokens of a prompt above which the next one is compacted; 0: half as many again as where it was done."""

    def unsuited(self, session: Session) -> str | None:
        """Nothing is compacted."""
        return None if next(_compactions(session), None) is not None else "no history is compacted"

    def rewrite(self, session: Session) -> Session:
        """Undo the recorded compactions, and compact at the limit."""
        limit = self.at or next(_compactions(session), 0) * 3 // 2
        shape = self.shape(session)
        return compacted(session, self.above(limit, shape), shape, lambda _request, sent, _ours: sent.tokens > limit)


class CompactBeforeExpiry(_Compacting, frozen=True, kw_only=True):
    """Where a pause outlives a long history's entry, it is compacted just before the entry ends."""

    name: ClassVar[str] = "compact-before-expiry"
    summary: ClassVar[str] = "Before a pause loses a long history's entry, compact it from the warm cache."
    assumes: ClassVar[str] = _ASSUMES
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Run /compact before a longer break.",
        "pi": "The extension pi-cached-compaction does it.",
        "own-code": "When nothing was sent for most of the lifetime, ask for the summary then.",
    }
    origin: ClassVar[str] = "pi-cached-compaction 0.2: histories of at least 140,000 tokens."
    slots: ClassVar[tuple[str, ...]] = ("compaction", "keep-alive")
    needs_markers: ClassVar[bool] = True

    at: int = 140_000
    """The least tokens of a history that is worth it."""
    margin: float = 15
    """Seconds before the end of the lifetime."""

    def unsuited(self, session: Session) -> str | None:
        """No pause loses a history of that size."""
        if len(self.rewrite(session).requests) > len(session.requests):
            return None
        return f"no pause loses a history of {self.at:,} tokens"

    def rewrite(self, session: Session) -> Session:
        """Compact before the pauses."""
        profile = profile_of(session)

        def when(parent: Request, request: Request, sent: Prompt, coming: Prompt) -> Occasion | None:
            last = last_marker(sent)
            if request.start is None or parent.start is None or last is None or not self.wants(request):
                return None
            ttl = last.ttl
            moment = parent.start + int((ttl - self.margin) * SECOND)
            from_end = rules_for(parent.provider, parent.model, parent.start, profile).ttl_clock == "response_end"
            used = parent.end if from_end and parent.end is not None else parent.start
            alive = request.start - used <= ttl * SECOND
            if alive or sent.tokens < self.at or moment >= request.start:
                return None
            return Occasion(moment, upon_sending=False)

        return compacted(session, when, self.shape(session))


def longest(session: Session) -> int:
    """Tokens of the longest prompt of a conversation."""
    return max(
        (r.prompt.tokens for r in session.requests if r.prompt is not None and r.purpose in ("main", "subagent")),
        default=0,
    )


def _compactions(session: Session) -> Iterator[int]:
    """Tokens of the prompts after which a history was compacted."""
    for request, parent in with_parents(session):
        if is_compacted(request, parent):
            assert parent is not None
            assert parent.prompt is not None
            yield parent.prompt.tokens
