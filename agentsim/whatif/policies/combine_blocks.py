"""Many small text blocks of one message become one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import (
    Regrown,
    changed,
    from_outside,
    made_block,
    moved,
    rules_of,
    with_parents,
)


class CombineBlocks(Policy, frozen=True, kw_only=True):
    """Where a turn adds more blocks than the lookback spans, neighbouring texts of a message are joined."""

    name: ClassVar[str] = "combine-blocks"
    summary: ClassVar[str] = (
        "Join neighbouring text blocks of a message where a turn adds more than the lookback spans."
    )
    assumes: ClassVar[str] = "The model answers the same when the same texts come in one block instead of several."
    changes: ClassVar[str | None] = "the same texts, in fewer blocks"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Mention fewer files in one message, or a folder that the agent then reads in parts.",
        "pi": "Attach files in one block, or fewer at a time.",
        "own-code": "Join the texts that you add in one turn into one content block.",
    }
    stage: ClassVar[int] = 25
    needs_bodies: ClassVar[bool] = True

    least: int = 0
    """Blocks that a turn must add before its texts are joined; 0: as many as the lookback spans."""

    def unaccounted(self, session: Session) -> int:
        """Which entries a prompt of fewer blocks finds where others were dropped is not in the worlds: as measured, by
        so much."""
        return 85

    def unsuited(self, session: Session) -> str | None:
        """No turn adds that many texts."""
        return "no turn adds more text blocks than the lookback spans" if not self._runs(session) else None

    def rewrite(self, session: Session) -> Session:
        """Join the blocks, in the request that adds them and in all that keep them."""
        runs = self._runs(session)
        grown = Regrown()
        requests = []
        for request in session.requests:
            if request.prompt is None or from_outside(request):
                requests.append(request)
                continue
            blocks, places = _joined(request, runs)
            if len(blocks) == len(request.prompt):
                grown.keep(request)
                requests.append(request)
                continue
            markers = moved(request.prompt.breakpoints, places.__getitem__)
            requests.append(changed(request, grown.grow(request, blocks, markers)))
        return msgspec.structs.replace(session, requests=tuple(requests))

    def _runs(self, session: Session) -> dict[bytes, int]:
        """How many blocks to join, by the chained digest of the prompt up to the last of them."""
        runs: dict[bytes, int] = {}
        for request, parent in with_parents(session):
            prompt = request.prompt
            if prompt is None or from_outside(request) or not self.wants(request):
                continue
            start = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
            start = max(start, prompt.section_end("system"))
            if len(prompt) - start < (self.least or rules_of(request).lookback):
                continue
            for first, last in _texts(request, start):
                runs[prompt.chain(last + 1)] = last + 1 - first
        return runs


def _texts(request: Request, start: int) -> list[tuple[int, int]]:
    """Runs of text blocks of one message without a marker inside: the positions of their first and last blocks."""
    prompt = request.prompt
    assert prompt is not None
    marked = {marker.position for marker in prompt.breakpoints}
    found: list[tuple[int, int]] = []
    first = start
    while first < len(prompt):
        last = first
        if prompt[first].kind == "text":
            while last not in marked and last + 1 < len(prompt) and _same_message(prompt[last], prompt[last + 1]):
                last += 1
        if last > first:
            found.append((first, last))
        first = last + 1
    return found


def _same_message(one: Block, other: Block) -> bool:
    return other.kind == "text" and (one.message, one.role) == (other.message, other.role) and one.message is not None


def _joined(request: Request, runs: dict[bytes, int]) -> tuple[Sequence[Block], list[int]]:
    """The blocks with runs joined, and where each old position went."""
    prompt = request.prompt
    assert prompt is not None
    blocks: list[Block] = []
    places: list[int] = []
    for position, block in enumerate(prompt):
        count = runs.get(prompt.chain(position + 1))
        places.append(len(blocks))
        blocks.append(block)
        if count is not None:
            parts = blocks[-count:]
            joined = made_block("joined", "messages", 0, *(part.digest for part in parts), role=block.role)
            text = None if any(part.text is None for part in parts) else "\n".join(part.text or "" for part in parts)
            tokens = sum(part.tokens or 0 for part in parts)
            blocks[-count:] = [
                msgspec.structs.replace(joined, tokens=tokens, text=text, message=block.message, part=parts[0].part)
            ]
            places[-count:] = [len(blocks) - 1] * count
    return blocks, places
