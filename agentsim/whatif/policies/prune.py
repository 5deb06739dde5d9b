"""Old results are cleared less often: each clearing rewrites what stands behind it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import Regrown, changed, from_outside, with_parents

Spot = tuple[int, bytes]
"""A position in a prompt, and the digest of the block that stands there."""


class _Lane(msgspec.Struct):
    """What a lane still shows although it was cleared: full blocks by position and digest of the short ones."""

    full: dict[Spot, Block]
    waiting: int = 0


class PruneBatched(Policy, frozen=True, kw_only=True):
    """Clearings are saved up, and done together."""

    name: ClassVar[str] = "prune-batched"
    summary: ClassVar[str] = "Clear old results in batches, so that the prefix changes once instead of each time."
    assumes: ClassVar[str] = (
        "The longer prompts fit into the window, and the model is not worse for seeing old results."
    )
    changes: ClassVar[str | None] = "old results are seen for longer"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not offered; clearing that is done by the API has a least amount to clear.",
        "pi": "Prune in an extension only when much has come together.",
        "own-code": "Set clear_at_least of clear_tool_uses high, or clear every few turns.",
    }
    stage: ClassVar[int] = 28
    slots: ClassVar[tuple[str, ...]] = ("pruning",)
    needs_bodies: ClassVar[bool] = True

    every: int = 5
    """Clearings that are done together; 0: none before the history is compacted."""

    def unsuited(self, session: Session) -> str | None:
        """Nothing is cleared."""
        for request, parent in with_parents(session):
            if (
                parent is not None
                and parent.prompt is not None
                and request.prompt is not None
                and self.wants(request)
                and cleared(parent.prompt, request.prompt)
            ):
                return None
        return "no old results are cleared"

    def rewrite(self, session: Session) -> Session:
        """Show cleared blocks in full until enough clearings have come together."""
        grown = Regrown()
        lanes: dict[str, _Lane] = {}
        known: dict[str, dict[Spot, Block]] = {}
        requests = []
        for request, parent in with_parents(session):
            prompt = request.prompt
            if prompt is None or from_outside(request):
                requests.append(request)
                continue
            lane = lanes.setdefault(request.lane, _Lane({}))
            if parent is not None and parent.prompt is not None and self.wants(request):
                if found := cleared(parent.prompt, prompt):
                    lane.waiting += 1
                    for (place, short), full in found.items():
                        lane.full[place, short] = lane.full.get((place, full.digest), full)
                if self.every and lane.waiting >= self.every:
                    lane.waiting = 0
                    lane.full.clear()
            shared = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
            if parent is None or lane.full != known.get(parent.id):
                shared = 0  # other blocks are shown in full than in the request before
            known[request.id] = dict(lane.full)
            blocks = [
                lane.full.get((place, prompt[place].digest), prompt[place]) for place in range(shared, len(prompt))
            ]
            if parent is not None and shared:
                new = grown.continued(request, parent, shared, blocks, prompt.breakpoints)
            else:
                new = grown.grow(request, blocks, prompt.breakpoints)
            requests.append(changed(request, new))
        return msgspec.structs.replace(session, requests=tuple(requests))


class PruneAtCompaction(PruneBatched, frozen=True, kw_only=True):
    """Nothing is cleared before the history is compacted."""

    name: ClassVar[str] = "prune-at-compaction"
    summary: ClassVar[str] = "Clear old results only when the history is compacted anyway."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not offered: old results are cleared when the harness finds it right.",
        "pi": "Leave pruning to compaction.",
        "own-code": "Leave clear_tool_uses out of context_management.",
    }

    every: int = 0


def cleared(before: Prompt, after: Prompt) -> dict[Spot, Block]:
    """Blocks that became shorter in place while others kept their place: the full ones by place and short digest."""
    position = before.common_length(after)
    most = min(len(before), len(after))
    found: dict[Spot, Block] = {}
    same = 0
    for place in range(position, most):
        one, other = before[place], after[place]
        if one.digest == other.digest:
            same += 1
        elif (one.section, one.role, one.kind) != (other.section, other.role, other.kind):
            return found if same else {}
        elif one.section == "messages" and (other.tokens or 0) < (one.tokens or 0):
            found[place, other.digest] = one
        else:
            return found if same else {}
    return found if same or position == most - 1 else {}
