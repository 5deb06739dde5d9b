"""Tools that come later are loaded by deferred discovery: their definitions stand where they were found."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.block_insertions import InsertedBlocks, laid_out, shared_messages
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import Regrown, changed, from_outside, made_block, with_parents

SCAFFOLD = made_block("scaffold of deferred tools", "tools", 0)
"""What the provider puts in front of everything once tools may come later. Its size is not published."""


class _Tools(msgspec.Struct):
    """The tools of one request under the policy: the fixed list, and what was added after how many message blocks."""

    fixed: list[Block]
    added: list[tuple[int, Block]]
    scaffold: bool


class DeferredTools(Policy, frozen=True, kw_only=True):
    """The list of tools of a lane's first request is kept; a tool that comes later is appended to the messages."""

    name: ClassVar[str] = "deferred-tools"
    summary: ClassVar[str] = (
        "Load tools that come later by deferred discovery, with a placeholder from the first request."
    )
    assumes: ClassVar[str] = (
        "The model finds and uses a tool that is defined late in the conversation as it does one at the front; a tool "
        "that was taken away stays defined."
    )
    changes: ClassVar[str | None] = "later tool definitions stand in the messages instead of at the front"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Keep tool search on (the default), and do not set alwaysLoad for MCP servers that come late.",
        "pi": "Built in for models that allow tool changes in mid-conversation.",
        "own-code": "Set defer_loading on tools that may come later, one of them from the first request on, and add a "
        "tool search tool.",
    }
    origin: ClassVar[str] = (
        "The placeholder is Pi's: without one, the first change of tools was measured as a full miss."
    )
    stage: ClassVar[int] = 12
    slots: ClassVar[tuple[str, ...]] = ("tools",)
    needs_bodies: ClassVar[bool] = True

    placeholder: bool = True
    """Whether a tool is deferred from the first request on."""

    def unaccounted(self, session: Session) -> int:
        """What early losses and other sessions make of a prompt with another front is not in the worlds: by so much, as
        measured."""
        return 50

    def unsuited(self, session: Session) -> str | None:
        """The tools of a lane never change."""
        return "the tools of no lane change" if not _changing_lanes(session) else None

    def rewrite(self, session: Session) -> Session:
        """Freeze the tools of each lane, and append what comes later."""
        grown = Regrown()
        states: dict[str, _Tools] = {}
        layouts: dict[str, InsertedBlocks] = {}
        requests = []
        for request, parent in with_parents(session):
            if request.prompt is None or from_outside(request):
                requests.append(request)
                continue
            before = states.get(parent.id) if parent is not None else None
            state = self._state(request, parent, before)
            states[request.id] = state
            was = layouts.get(parent.id) if parent is not None else None
            layout = layouts[request.id] = was if was is not None and state == before else _layout(state)
            requests.append(changed(request, laid_out(grown, request, layout, parent, was)))
        return msgspec.structs.replace(session, requests=tuple(requests))

    def _state(self, request: Request, parent: Request | None, before: _Tools | None) -> _Tools:
        prompt = request.prompt
        assert prompt is not None
        tools = _tools_of(prompt)
        if not tools:  # a summary or another call without tools is left alone
            return _Tools([], [], self.placeholder)
        if before is None or parent is None or parent.prompt is None:
            return _Tools(tools, [], self.placeholder)
        if parent.lane != request.lane and tools != _tools_of(parent.prompt):  # a lane with tools of its own
            return _Tools(tools, [], self.placeholder)
        head = prompt.section_end("system")
        kept = shared_messages(parent.prompt, prompt) if before.added else 0
        known = {block.digest for block in before.fixed} | {block.digest for _, block in before.added}
        new = [block for block in tools if block.digest not in known]
        if not self.wants(request) and tools != _tools_of(parent.prompt):
            return _Tools(tools, [], before.scaffold)
        # What stood behind a place that is no more (a rewind, a compaction) is found again at the end.
        added = [(after if after <= kept else len(prompt) - head, block) for after, block in before.added]
        added += [(len(prompt) - head, block) for block in new]
        return _Tools(before.fixed, added, before.scaffold or bool(new))


class DeferredToolsBare(DeferredTools, frozen=True, kw_only=True):
    """The same without a placeholder: the first tool that comes later loses everything once."""

    name: ClassVar[str] = "deferred-tools-bare"
    summary: ClassVar[str] = "The same without the placeholder: the first late tool loses the whole cache once."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Not a choice: tool search defers from the start.",
        "pi": "What versions without the placeholder did.",
        "own-code": "Set defer_loading only on the tools that come later.",
    }
    origin: ClassVar[str] = ""

    placeholder: bool = False


def _tools_of(prompt: Prompt) -> list[Block]:
    return [prompt[position] for position in range(prompt.section_end("tools"))]


def _changing_lanes(session: Session) -> set[str]:
    """Lanes in which a request has other tools than its parent, not only in another order."""
    lanes: set[str] = set()
    for request, parent in with_parents(session):
        if request.prompt is None or parent is None or parent.prompt is None or from_outside(request):
            continue
        if parent.lane != request.lane:
            continue
        end, before = request.prompt.section_end("tools"), parent.prompt.section_end("tools")
        if end == before and request.prompt.chain(end) == parent.prompt.chain(before):
            continue
        known = {block.digest for block in _tools_of(parent.prompt)}
        if known and end and known != {block.digest for block in _tools_of(request.prompt)}:
            lanes.add(request.lane)
    return lanes


def _layout(state: _Tools) -> InsertedBlocks:
    late = sorted(state.added, key=lambda entry: entry[0])
    return InsertedBlocks(
        front=tuple([SCAFFOLD] * state.scaffold + state.fixed),
        inserted=tuple(
            (after, (msgspec.structs.replace(block, section="messages", role="system", message=None, part=None),))
            for after, block in late
        ),
        behind=True,
    )
