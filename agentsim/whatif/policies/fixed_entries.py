"""Two fixed tools, one to search tools and one to call them: the list of tools never changes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.whatif.policies.block_insertions import InsertedBlocks, laid_out, shared_messages
from agentsim.whatif.policies.policy import Policy
from agentsim.whatif.policies.session_rewriting import Regrown, from_outside, made_block, with_parents, with_requests


class FixedEntries(Policy, frozen=True, kw_only=True):
    """All tools are behind two entries; a description is appended when a tool is first needed."""

    name: ClassVar[str] = "fixed-entries"
    summary: ClassVar[str] = (
        "Only search_tools and call_tool in the list; a description is appended when it is first needed."
    )
    assumes: ClassVar[str] = (
        "The model finds each tool with one search, and calls it as well through an entry as by its own name."
    )
    changes: ClassVar[str | None] = "two tools instead of all; descriptions come with the first use"
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Put tools behind one MCP server that offers a search and a call.",
        "pi": "Write an extension with two tools that look up and call the others.",
        "own-code": "Declare search_tools and call_tool, and answer a search with the definition as text.",
    }
    stage: ClassVar[int] = 12
    slots: ClassVar[tuple[str, ...]] = ("tools",)
    needs_bodies: ClassVar[bool] = True

    entry_tokens: int = 150
    """Size of each of the two entries."""
    search_tokens: int = 60
    """What the model writes to search for one tool."""
    searches: bool = True
    """Whether each search is a request of its own."""

    def unsuited(self, session: Session) -> str | None:
        """No request declares tools."""
        if not any(r.prompt is not None and r.prompt.section_end("tools") for r in session.requests):
            return "no request declares tools"
        return None

    def rewrite(self, session: Session) -> Session:
        """Replace the tools, append descriptions at first use, add the searches."""
        grown = Regrown()
        names = ("search_tools", "call_tool")
        entries = tuple(made_block(name, "tools", self.entry_tokens, kind="tool") for name in names)
        layouts: dict[str, InsertedBlocks] = {}
        found: dict[str, dict[bytes, int]] = {}
        requests: list[Request] = []
        for request, parent in with_parents(session):
            prompt = request.prompt
            if prompt is None or from_outside(request) or not prompt.section_end("tools"):
                if prompt is not None:
                    grown.keep(request)
                requests.append(request)
                continue
            start = _kept(parent, prompt)
            known = found.get(parent.id, {}) if parent is not None else {}
            known = {digest: place for digest, place in known.items() if place <= start}
            news = _first_uses(prompt, start, known)
            for tool in news:
                known[tool.digest] = start
            found[request.id] = known
            was = layouts.get(parent.id) if parent is not None else None
            layout = layouts[request.id] = self._layout(prompt, entries, known)
            new = laid_out(grown, request, layout, parent, was)
            if news and self.searches and parent is not None and request.start is not None:
                end = len(new) - (len(prompt) - prompt.section_end("system") - start)
                requests.append(self._search(request, parent, new, end))
            requests.append(msgspec.structs.replace(request, prompt=new))
        return with_requests(session, requests)

    def _layout(self, prompt: Prompt, entries: tuple[Block, ...], known: dict[bytes, int]) -> InsertedBlocks:
        """The entries instead of the tools, and each tool that was found where it was first needed."""
        late: list[tuple[int, tuple[Block, ...]]] = []
        for position in range(prompt.section_end("tools")):
            tool = prompt[position]
            if tool.digest in known:
                words = made_block(f"search for {tool.name}", "messages", self.search_tokens, kind="tool_use")
                answer = msgspec.structs.replace(tool, section="messages", kind="tool_result", message=None, part=None)
                late.append((known[tool.digest], (msgspec.structs.replace(words, role="assistant"), answer)))
        return InsertedBlocks(front=entries, inserted=tuple(sorted(late, key=lambda entry: entry[0])), behind=False)

    def _search(self, request: Request, parent: Request, prompt: Prompt, end: int) -> Request:
        """The request whose answer is the call that the recorded one was sent with: it ends with the descriptions."""
        assert request.start is not None
        start = min(request.start, parent.end if parent.end is not None else request.start)
        ttl = max((marker.ttl for marker in prompt.breakpoints), default=300)
        markers = [marker for marker in prompt.breakpoints if marker.position < end - 1]
        if prompt.breakpoints:
            markers.append(Breakpoint(end - 1, ttl))
        return msgspec.structs.replace(
            request,
            id=f"{request.id}/search",
            start=start,
            first_token=start,
            end=request.start,
            prompt=prompt.replace_after(end, (), markers),
            usage=Usage(output=self.search_tokens),
            iterations=(),
            stop_reason="tool_use",
        )


def _head(prompt: Prompt) -> int:
    return prompt.section_end("system")


def _kept(parent: Request | None, prompt: Prompt) -> int:
    """How many leading message blocks the parent had already."""
    if parent is None or parent.prompt is None:
        return 0
    return shared_messages(parent.prompt, prompt)


def _first_uses(prompt: Prompt, start: int, known: dict[bytes, int]) -> list[Block]:
    """The tools that are called behind the first ``start`` message blocks and were not found before."""
    called = {
        prompt[position].name
        for position in range(_head(prompt) + start, len(prompt))
        if prompt[position].kind == "tool_use"
    }
    tools = [prompt[position] for position in range(prompt.section_end("tools"))]
    return [tool for tool in tools if tool.name in called and tool.digest not in known]
