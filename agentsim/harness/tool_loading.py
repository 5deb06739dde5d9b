"""How a tool that is needed later reaches the model: the five strategies."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.harness.agent_steps import LoadTool, Tools
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import PromptLayout, ToolLoading
from agentsim.harness.prompt_part import PromptPart

PLACEHOLDER = "deferred placeholder"
SCAFFOLDING = "scaffolding of deferred tools"


def opening(layout: PromptLayout, loading: ToolLoading, needed: Sequence[LoadTool]) -> PromptLayout:
    """The layout with what a strategy puts in front of a conversation from its first request on. ``needed`` are the
    tools that will be loaded."""
    if loading.strategy == "all":
        return _with_all(layout, loading, needed)
    if loading.strategy in ("deferred", "fixed"):
        more = (
            (PromptPart(PLACEHOLDER, loading.placeholder), PromptPart(SCAFFOLDING, loading.scaffolding))
            if loading.strategy == "deferred"
            else (PromptPart("search_tools", loading.search_tool), PromptPart("call_tool", loading.call_tool))
        )
        return PromptLayout(tools=layout.tools + more, system=layout.system, project=layout.project)
    return layout


def _with_all(layout: PromptLayout, loading: ToolLoading, needed: Sequence[LoadTool]) -> PromptLayout:
    tools = list(layout.tools)
    for part in loading.catalogue:
        if not any(tool.name == part.name for tool in tools):
            tools.append(part)
    for step in needed:
        if not any(tool.name == step.name for tool in tools):
            place = next((at + 1 for at, tool in enumerate(tools) if tool.name == step.after), len(tools))
            tools.insert(place, PromptPart(step.name, step.tokens))
    return PromptLayout(tools=tuple(tools), system=layout.system, project=layout.project)


def is_looked_for(loading: ToolLoading) -> bool:
    """Whether the model finds a tool by a request of its own."""
    return bool(loading.search) and loading.strategy in ("deferred", "deferred_late", "fixed")


def load(thread: ConversationThread, step: LoadTool, loading: ToolLoading, *, found: bool = False) -> bool:
    """Bring a tool in; ``found`` by a call whose result it is. False where it is there already."""
    if loading.strategy == "all" and _position(thread, step.name) is not None:
        return False
    if loading.strategy in ("rewrite", "all"):
        change(thread, Tools(insert=step.name, tokens=step.tokens, after=step.after))
        return True
    if loading.strategy == "deferred_late" and (not len(thread.prompt) or thread.prompt[0].name != SCAFFOLDING):
        # Nobody knows where it stands; that everything was lost says that it stands in front.
        thread.insert("tools", PromptPart(SCAFFOLDING, loading.scaffolding), 0)
    if found or loading.strategy == "fixed":
        thread.append("user", "tool_result", step.tokens, step.name)
    else:
        thread.flush()
        thread.append("system", "tool_addition", step.tokens, step.name)
    return True


def change(thread: ConversationThread, step: Tools) -> None:
    """Rewrite the list of tools. A name that is not there: the tool comes in last, or nothing is removed."""
    thread.flush()
    if step.remove is not None:
        gone = _position(thread, step.remove)
        if gone is not None:
            thread.remove(gone)
    if step.insert is not None:
        after = None if step.after is None else _position(thread, step.after)
        thread.insert("tools", PromptPart(step.insert, step.tokens), thread.tools_end if after is None else after + 1)


def _position(thread: ConversationThread, name: str) -> int | None:
    return next((index for index in range(thread.tools_end) if thread.prompt[index].name == name), None)
