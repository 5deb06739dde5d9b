"""How a tool that is needed later reaches the model: the four strategies."""

from __future__ import annotations

from agentsim.harness.agent_steps import LoadTool, Tools
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import PromptLayout, PromptPart, ToolLoading

PLACEHOLDER = "deferred placeholder"
SCAFFOLDING = "scaffolding of deferred tools"


def opening(layout: PromptLayout, loading: ToolLoading) -> PromptLayout:
    """The layout with what a strategy puts in front of a conversation from its first request on."""
    if loading.strategy == "deferred":
        more = (PromptPart(PLACEHOLDER, loading.placeholder), PromptPart(SCAFFOLDING, loading.scaffolding))
    elif loading.strategy == "fixed":
        more = (PromptPart("search_tools", loading.search_tool), PromptPart("call_tool", loading.call_tool))
    else:
        return layout
    return PromptLayout(tools=layout.tools + more, system=layout.system, project=layout.project)


def load(thread: ConversationThread, step: LoadTool, loading: ToolLoading) -> None:
    """Bring a tool in."""
    if loading.strategy == "rewrite":
        change(thread, Tools(insert=step.name, tokens=step.tokens, after=step.after))
    elif loading.strategy == "fixed":
        thread.append("user", "tool_result", step.tokens, step.name)
    else:
        thread.flush()
        late = loading.strategy == "deferred_late"
        if late and (not len(thread.prompt) or thread.prompt[0].name != SCAFFOLDING):
            # Nobody knows where it stands; that everything was lost says that it stands in front.
            thread.insert("tools", PromptPart(SCAFFOLDING, loading.scaffolding), 0)
        thread.append("system", "tool_addition", step.tokens, step.name)


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
