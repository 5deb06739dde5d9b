"""Tools in one order: the one in which they first came."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import Regrown, changed, from_outside, moved, suffix, with_parents


class ToolOrder(Policy, frozen=True, kw_only=True):
    """A lane's tools keep the order of its first request; new ones come last."""

    name: ClassVar[str] = "tool-order"
    summary: ClassVar[str] = "Tools always in the same order, new ones last."
    assumes: ClassVar[str] = "The model does not care in which order its tools are listed."
    changes: ClassVar[str | None] = "the same tools, in another order"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Give MCP servers fixed names, so that they are listed in the same order each time.",
        "pi": "Register tools in a fixed order.",
        "own-code": "Sort the tools by name, or keep a list that only grows.",
    }
    stage: ClassVar[int] = 10
    needs_bodies: ClassVar[bool] = True

    def unsuited(self, session: Session) -> str | None:
        """The tools keep their order already."""
        return "the tools keep their order already" if self.rewrite(session) == session else None

    def rewrite(self, session: Session) -> Session:
        """Put the tools of each request in the order of its lane."""
        grown = Regrown()
        orders: dict[str, list[Block]] = {}
        before: dict[str, list[Block]] = {}
        wanted_before: dict[str, list[Block]] = {}
        requests: list[Request] = []
        for request, parent in with_parents(session):
            prompt = request.prompt
            if prompt is None or from_outside(request):
                requests.append(request)
                continue
            end = prompt.section_end("tools")
            tools = [prompt[position] for position in range(end)]
            order = orders.get(parent.id, []) if parent is not None and parent.lane == request.lane else []
            if parent is not None and parent.lane != request.lane and tools == before.get(parent.id):
                order = orders[parent.id]
            rank = {_key(block): number for number, block in enumerate(order)}
            wanted = sorted(tools, key=lambda block: rank.get(_key(block), len(rank)))
            if not self.wants(request) and tools != before.get(parent.id if parent is not None else ""):
                wanted, order = tools, []
            known = {_key(block) for block in order}
            orders[request.id] = order + [block for block in wanted if _key(block) not in known]
            before[request.id] = tools
            if wanted == tools:
                grown.keep(request)
                requests.append(request)
                continue
            kept = wanted_before.get(parent.id) if parent is not None else None
            wanted_before[request.id] = wanted
            shared = parent.prompt.common_length(prompt) if parent is not None and parent.prompt is not None else 0
            places = {id(block): number for number, block in enumerate(wanted)}

            def place(
                position: int, end: int = end, tools: list[Block] = tools, places: dict[int, int] = places
            ) -> int:
                # A marker on the last tool ends the list, whichever tool is last.
                return position if position >= end - 1 else places[id(tools[position])]

            markers = moved(prompt.breakpoints, place)
            if parent is not None and kept == wanted and shared >= end:
                new = grown.continued(request, parent, shared, suffix(prompt, shared), markers)
            else:
                new = grown.grow(request, [*wanted, *suffix(prompt, end)], markers)
            requests.append(changed(request, new))
        return msgspec.structs.replace(session, requests=tuple(requests))


def _key(block: Block) -> str | bytes:
    return block.name or block.digest
