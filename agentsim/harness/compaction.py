"""Compaction: the history is replaced by a summary. Its three costs are collected apart.

The summary can be asked for at the end of the conversation itself (the warm prefix is read), in a separate request
without it, or be made by the provider inside the next request.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Usage
from agentsim.harness.conversation_thread import ConversationThread, block_of
from agentsim.harness.plan import Compaction
from agentsim.harness.task_account import CompactionMeter

if TYPE_CHECKING:
    import simpy

    from agentsim.harness.running_agent import RunningAgent

Inside = tuple[Usage, int | None, int | None]
"""A call inside the next request: its usage, and its price."""


def compact(agent: RunningAgent, rule: Compaction) -> Generator[simpy.Event, Any, tuple[int, Inside | None]]:
    """Summarise the conversation of an agent. Returns what the next request has inside, and how long that takes."""
    world, thread = agent.world, agent.thread
    thread.flush()
    before = thread.prompt.tokens
    meter = CompactionMeter(thread.lane, rule.method, world.now, before)
    size = rule.summary.draw(agent.service)
    delay, inside = 0, None
    if rule.method == "server":
        service = world.plan.service
        prompt = thread.prompt.with_breakpoints(thread.breakpoints(len(thread.prompt) - 1))
        inside = world.endpoint.compact_inside(thread, prompt, world.now, size, meter)
        delay = service.first_token.draw(agent.service) + size * SECOND // service.output_rate
    else:
        yield from _ask(agent, rule, size, meter)
    thread.summarise(size, tail(thread, rule.keep))
    if rule.attached:
        thread.append("user", "text", rule.attached, "attached files")
    meter.after = thread.tokens
    world.recorder.meter.compactions.append(meter)
    agent.compacted = meter
    agent.event("compaction", f"{before} to {meter.after} tokens")
    return delay, inside


def _ask(agent: RunningAgent, rule: Compaction, size: int, meter: CompactionMeter) -> Generator[simpy.Event, Any, None]:
    world, thread = agent.world, agent.thread
    agent.summaries += 1
    content = f"{thread.lane} summary {agent.summaries}"
    lane, parent = thread.lane, thread.parent
    if rule.method == "reuse_prefix":
        request = block_of("messages", "text", content, rule.instruction, role="user", name="instruction")
        prompt = thread.prompt.extend([request], thread.breakpoints(len(thread.prompt)))
    else:
        history = thread.prompt.tokens - thread.prompt.tokens_until(thread.system_end)
        transcript = history * rule.transcript // 1_000_000 + rule.instruction
        lane, parent = f"{thread.lane}/summary", None
        if agent.summaries == 1:
            world.recorder.lane(lane, "summary", thread.lane)
        prompt = Prompt.of(
            [
                block_of("system", "text", "summary system", rule.system, name="summary system", message=0),
                block_of("messages", "text", content, transcript, role="user", name="transcript", message=0, part=0),
            ]
        )
    now = world.now
    answer = world.endpoint.send(
        thread,
        prompt,
        now,
        agent.service,
        output=size,
        purpose="summary",
        lane=lane,
        model=rule.model,
        parent=parent,
        stop_reason="end_turn",
        compacting=meter,
    )
    if answer.pending is not None:
        yield answer.pending.done
    else:
        yield world.clock.timeout(answer.end - now)


def tail(thread: ConversationThread, keep: int) -> int:
    """The first block of the tail that is kept: at most ``keep`` tokens, and no result without its call."""
    prompt = thread.prompt
    end = prompt.tokens
    at = len(prompt)
    while at > thread.project_end and end - prompt.tokens_until(at - 1) <= keep:
        at -= 1
    while at < len(prompt) and prompt[at].kind in ("tool_result", "tool_use"):
        at += 1
    return at
