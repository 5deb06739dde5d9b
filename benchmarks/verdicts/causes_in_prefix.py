"""Causes that change the prefix itself: tools, system text, history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.verdicts.cell_registry import CLAUDE, DEEPSEEK, IMPLICIT, OPENAI, cell, healthy, informed, loss
from benchmarks.verdicts.documented_rules import OPUS_48, SONNET_5, SONNET_46
from benchmarks.verdicts.simulated_agent import Agent, with_previous

NOTICE = "[Old tool result content cleared]"


@cell("tool-inserted")
def tool_inserted(a: Agent) -> None:
    a.warm()
    a.tools.insert(a.rng.randrange(0, len(a.tools)), a.content.tool())
    a.step(loss("tool-inserted", ("AS101",), "tools"))
    a.go_on()


@cell("tool-removed")
def tool_removed(a: Agent) -> None:
    a.warm()
    del a.tools[a.rng.randrange(0, len(a.tools))]
    a.step(loss("tool-removed", ("AS102",), "tools"))
    a.go_on()


@cell("tools-reordered")
def tools_reordered(a: Agent) -> None:
    a.warm()
    at = a.rng.randrange(0, len(a.tools) - 1)
    a.tools[at], a.tools[at + 1] = a.tools[at + 1], a.tools[at]
    a.step(loss("tools-reordered", ("AS103",), "tools"))
    a.go_on()


@cell("tool-edited")
def tool_edited(a: Agent) -> None:
    a.warm()
    tool = a.rng.choice(a.tools)
    tool["description"] = a.content.changed(tool["description"])
    a.step(loss("tool-edited", ("AS104",), "tools"))
    a.go_on()


@cell("server-gone")
def server_gone(a: Agent) -> None:
    """A tool server disconnects: its tools vanish together."""
    at = a.rng.randrange(0, len(a.tools))
    a.tools[at:at] = [a.content.tool(f"mcp__{a.content.words[7]}__{name}") for name in ("search", "fetch", "list")]
    a.warm()
    del a.tools[at : at + 3]
    a.since.append(("tools_removed", "mcp"))
    a.step(loss("server-gone", ("AS102",), "tools"))
    a.go_on()


@cell("server-joined")
def server_joined(a: Agent) -> None:
    """A tool server connects in mid-session, and its tools enter the list."""
    a.warm()
    at = a.rng.randrange(0, len(a.tools))
    a.tools[at:at] = [a.content.tool(f"mcp__{a.content.words[9]}__{name}") for name in ("query", "write")]
    a.since.append(("tools_added", "mcp"))
    a.step(loss("server-joined", ("AS101",), "tools"))
    a.go_on()


@cell("system-edited")
def system_edited(a: Agent) -> None:
    a.warm()
    a.system[-1] = a.content.changed(a.system[-1])
    a.step(loss("system-edited", ("AS110",), "system"))
    a.go_on()


@cell("system-clock")
def system_clock(a: Agent) -> None:
    """The minute stands in the system text; one request crosses into the next."""
    minute = a.rng.randrange(1, 40)
    a.system[0] += f"\nToday is 2026-10-05 and it is now 10:{minute:02d}."
    a.warm()
    a.system[0] = a.system[0].replace(f"10:{minute:02d}.", f"10:{minute + 1:02d}.")
    a.step(loss("system-clock", ("AS111",), "system"))
    a.go_on()


def _old_results(a: Agent) -> list[dict[str, Any]]:
    """Tool results of the older half of the history."""
    half = a.messages[: len(a.messages) // 2 + 1]
    return [block for message in half for block in message["content"] if block["type"] == "tool_result"]


@cell("message-edited")
def message_edited(a: Agent) -> None:
    a.warm(3)
    result = a.rng.choice(_old_results(a))
    result["content"] = a.content.changed(result["content"])
    a.step(loss("message-edited", ("AS120",), "messages"))
    a.go_on()


@cell("first-message-edited")
def first_message_edited(a: Agent) -> None:
    """The opening message is rendered anew, with a plan that changed."""
    a.warm()
    first = a.messages[0]["content"][0]
    first["text"] = a.content.changed(first["text"])
    a.step(loss("first-message-edited", ("AS120",), "messages"))
    a.go_on()


@cell("history-truncated")
def history_truncated(a: Agent) -> None:
    """A sliding window drops the oldest round behind the first message."""
    a.warm(a.rng.randrange(3, 6))
    del a.messages[1 : 1 + 2 * a.rng.randrange(1, 3)]
    truth = loss("history-truncated", ("AS121",), "messages")
    a.step(replace(truth, coarse=(*truth.coarse, "AS131")))
    a.go_on()


@cell("history-cleared")
def history_cleared(a: Agent) -> None:
    """Old tool results are replaced by a notice; half the harnesses write that down."""
    a.warm(a.rng.randrange(3, 6))
    for result in _old_results(a)[: a.rng.randrange(1, 3)]:
        result["content"] = NOTICE
    if a.rng.random() < 0.5:
        a.since.append(("clearing", ""))
    a.step(loss("history-cleared", ("AS122",), "messages"))
    a.go_on()


@cell("image-cleared", (CLAUDE, OPENAI))
def image_cleared(a: Agent) -> None:
    """The older of two images is replaced by a notice; the other stays."""
    a.messages[0]["content"].append(a.content.image())
    a.warm(1)
    a.messages[-1]["content"].append(a.content.image())
    a.send()
    a.step()
    a.messages[0]["content"][-1] = {"type": "text", "text": "[image removed to save context]"}
    a.step(loss("image-cleared", ("AS122",), "messages"))
    a.go_on()


@cell("injected-block-moved")
def injected_block_moved(a: Agent) -> None:
    """A block of state stands in front of the newest question, and is left out once that is history."""
    a.warm()
    a.answer_and_ask(1_200)
    state = {"type": "text", "text": "<state>" + a.content.text(30) + "</state>"}
    a.messages[-1]["content"].insert(0, state)
    a.send()
    a.messages[-1]["content"].remove(state)
    a.step(loss("injected-block-moved", ("AS123",), "messages"))
    a.go_on()


@cell("block-inserted")
def block_inserted(a: Agent) -> None:
    """A note is put between old messages."""
    a.warm(3)
    a.messages[2]["content"].append({"type": "text", "text": "<reminder>" + a.content.text(20) + "</reminder>"})
    a.step(loss("block-inserted", ("AS124",), "messages"))
    a.go_on()


@cell("results-reordered", (CLAUDE, OPENAI, DEEPSEEK, IMPLICIT))
def results_reordered(a: Agent) -> None:
    """Parallel results come in another order."""
    a.warm(1)
    a.step(calls=3)
    content = a.messages[-1]["content"]
    a.step()
    content[0], content[1] = content[1], content[0]
    a.step(loss("results-reordered", ("AS125",), "messages"))
    a.go_on()


@cell("message-clock")
def message_clock(a: Agent) -> None:
    """An old message holds a time and is rendered again on each request; here the time moved on."""
    at = a.rng.randrange(10, 50)
    a.messages[0]["content"][0]["text"] += f"\nNow: 2026-10-05T10:14:{at:02d}Z"
    a.warm()
    block = a.messages[0]["content"][0]
    block["text"] = block["text"].replace(f"10:14:{at:02d}", f"10:15:{at - 3:02d}")
    a.step(loss("message-clock", ("AS126",), "messages"))
    a.go_on()


@cell("white-space")
def white_space(a: Agent) -> None:
    """The line end of an old result is stripped."""
    a.warm(3)
    result = a.rng.choice(_old_results(a))
    result["content"] = result["content"].rstrip("\n")
    a.step(loss("white-space", ("AS128",), "messages"))
    a.go_on()


@cell("key-order")
def key_order(a: Agent) -> None:
    """The arguments of an old call come with their keys in another order."""
    a.warm(3)
    calls = [block for message in a.messages for block in message["content"] if block["type"] == "tool_use"]
    call = a.rng.choice(calls[: len(calls) // 2 + 1])
    call["input"] = dict(reversed(call["input"].items()))
    a.step(loss("key-order", ("AS129",), "messages"))
    a.go_on()


@cell("thinking-dropped", (CLAUDE,), models=(OPUS_48, SONNET_46, SONNET_5))
def thinking_dropped(a: Agent) -> None:
    """The harness sends the thinking of a finished turn no more."""
    a.thinks = True
    a.settings["thinking"] = {"type": "enabled", "budget_tokens": 8000}
    a.warm(3)
    a.answer_and_ask()
    for message in a.messages[:-2]:
        message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    a.send(loss("thinking-dropped", ("AS122", "AS121"), "messages"))
    a.go_on()


def _summary(a: Agent) -> list[dict[str, Any]]:
    text = "This session continues from an earlier conversation. Summary of it: " + a.content.text(150)
    return [{"role": "user", "content": [{"type": "text", "text": text}]}]


@cell("compaction-asked")
def compaction_asked(a: Agent) -> None:
    """A request asks for a summary of the whole; the next begins with it."""
    a.warm(4)
    a.answer_and_ask()
    a.messages[-1]["content"][-1]["text"] = "Write a detailed summary of the conversation so far, for who continues it."
    a.purpose = "summary"
    a.send()
    a.purpose = "main"
    a.messages = _summary(a)
    a.since.append(("compaction", "auto"))
    a.send(informed("compaction-asked", ("AS140",), ("AS131",)))
    a.go_on(2)


@cell("compaction-unlogged")
def compaction_unlogged(a: Agent) -> None:
    """The history is replaced by a summary that no logged request asked for."""
    a.warm(4)
    a.messages = _summary(a)
    a.send(informed("compaction-unlogged", ("AS140", "AS131"), ("AS130", "AS190", "AS121")))
    a.go_on(2)


@cell("harness-upgraded", (CLAUDE, OPENAI))
def harness_upgraded(a: Agent) -> None:
    """The harness is of another version after a restart: other tools, another system text."""
    a.warm()
    a.version = "2.1.251"
    tool = a.tools[0]
    tool["description"] = a.content.changed(tool["description"])
    a.system[-1] = a.content.changed(a.system[-1])
    a.step(loss("harness-upgraded", ("AS408", "AS104"), "tools"))
    a.go_on()


@cell("volatile-tail", (CLAUDE,))
def volatile_tail(a: Agent) -> None:
    """The marker stands on a block of state that the next request replaces."""
    truth = loss("volatile-tail", ("AS306", "AS123", "AS302"), "messages")
    a.warm(1)
    state: dict[str, Any] | None = None
    for number in range(4):
        if state is not None:
            a.messages[-1]["content"].remove(state)
        a.reply(words=(150, 300))
        state = {"type": "text", "text": f"<state>{a.content.text(25)}</state>"}
        a.messages[-1]["content"].append(state)
        a.send(truth if number else None)


@cell("string-for-list", (CLAUDE,), lead=True)
def string_for_list(a: Agent) -> None:
    """The first message is written as a string where it was a list of one text: the same to the provider."""
    a.marked = with_previous
    a.warm()
    a.messages[0] = {"role": "user", "content": a.messages[0]["content"][0]["text"]}
    a.step(healthy("string-for-list"))
    a.go_on()
