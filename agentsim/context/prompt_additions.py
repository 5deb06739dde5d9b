"""Blocks of a prompt as pieces of a context."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from agentsim.core.additions import PREVIEW, Addition, AdditionKind
from agentsim.core.prompt import Block

_KINDS: dict[str, AdditionKind] = {
    "tool_result": "result",
    "mcp_tool_result": "result",
    "web_search_tool_result": "result",
    "tool_use": "call",
    "server_tool_use": "call",
    "mcp_tool_use": "call",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "reasoning": "thinking",
    "image": "image",
    "compaction": "summary",
}


class BlockNames:
    """Makes pieces of the blocks of a lane's prompts. Results are named by their calls, in the order of those."""

    def __init__(self, content: bool = False) -> None:
        self._content = content
        self._open: deque[str] = deque()

    def additions_of(self, blocks: Iterable[Block]) -> list[Addition]:
        """One piece for each block that came."""
        return [self._addition(block) for block in blocks]

    def _addition(self, block: Block) -> Addition:
        kind, name = _kind_of(block), block.name
        if kind == "call" and name is not None:
            self._open.append(name)
        elif kind == "result":
            name = self._open.popleft() if self._open else name
        elif kind == "text":
            self._open.clear()
        return Addition(
            kind=kind,
            tokens=block.tokens or 0,
            name=name if kind in ("tools", "call", "result") else None,
            characters=len(block.text or ""),
            words=(block.text or "")[:PREVIEW] or None if self._content else None,
        )


def _kind_of(block: Block) -> AdditionKind:
    if block.section == "tools":
        return "tools"
    if block.section == "system":
        return "system"
    known = _KINDS.get(block.kind)
    if known is not None:
        return known
    if block.role == "assistant":
        return "text"
    if block.role in ("system", "developer"):
        return "harness"
    return "result" if block.role == "tool" else "user"
