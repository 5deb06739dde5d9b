"""Subagents that are started together: forks of the parent or fresh ones, with a common brief."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from agentsim.harness.agent_steps import Child, FanOut
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.world import GaveUp

if TYPE_CHECKING:
    import simpy

    from agentsim.harness.running_agent import RunningAgent


def run(agent: RunningAgent, step: FanOut) -> Generator[simpy.Event, Any, None]:
    """The parent's request that starts the subagents, the subagents, and their answers as results."""
    world = agent.world
    clock, style = world.clock, world.plan.harness.fan_out
    yield from agent.exchange(step.text, step.took, step.first_token, stop_reason="tool_use")
    agent.append_answer(0, step.text, ())
    yield from agent.wait(step.pause, "starting subagents", "tools")
    works = [_work_of(step, child) for child in step.children]
    children = [_child(agent, step, work) for work in works]
    slots = None
    if style.limit is not None:
        from simpy import Resource

        slots = Resource(clock, style.limit)
    began = world.now
    running = []
    for index, (child, work) in enumerate(zip(children, works, strict=True)):
        if index == 1 and style.wait != "none":
            first = children[0].sent
            assert first is not None
            if style.wait_at_most is not None:
                # Whoever takes its own time to answer may not have begun by then.
                yield first | clock.timeout(style.wait_at_most)
                answer = first.value if first.triggered else None
            else:
                answer = yield first
            until = began if answer is None else answer.first_token if style.wait == "first_token" else answer.end
            if style.wait_at_most is not None:
                until = min(until, began + style.wait_at_most)
            if until > world.now:
                yield clock.timeout(until - world.now)
        if index and style.stagger:
            yield clock.timeout(style.stagger)
        running.append(clock.process(_work(child, step, work, slots)))
    yield clock.all_of(running)
    # In no stage of the account: the lanes of the subagents say what the time went into.
    world.recorder.span(agent.thread.lane, f"{len(children)} subagents", None, began, world.now)
    agent.peak = max(agent.peak, *(child.peak for child in children))
    for work in works:
        agent.thread.append("user", "tool_result", work.reply, "subagent")


def _work_of(step: FanOut, child: int | Child) -> Child:
    """What a subagent does, written out."""
    return child if isinstance(child, Child) else Child(own=child, steps=step.rounds, reply=step.reply)


def _child(parent: RunningAgent, step: FanOut, work: Child) -> RunningAgent:
    world = parent.world
    plan = world.plan
    parent.children += 1
    lane = f"{parent.thread.lane}/sub{parent.children}"
    world.recorder.lane(lane, "subagent", parent.thread.lane)
    if plan.harness.fan_out.fork:
        thread = parent.thread.fork(lane, plan.marks.subagent_ttl)
    else:
        thread = parent.fresh_thread(lane)
    thread.model = work.model or step.model or plan.harness.fan_out.model or parent.thread.model
    for part in step.shared:
        thread.share("user", PromptPart(part.name, part.tokens))
    if plan.harness.fan_out.mark:
        thread.mark_shared()
    thread.append("user", "text", work.own)
    child = parent.subagent(lane, thread)
    child.sent = world.clock.event()
    return child


def _work(
    child: RunningAgent, step: FanOut, work: Child, slots: simpy.Resource | None
) -> Generator[simpy.Event, Any, None]:
    if slots is not None:
        with slots.request() as slot:
            yield slot
            yield from _steps(child, step, work)
    else:
        yield from _steps(child, step, work)


def _steps(child: RunningAgent, step: FanOut, work: Child) -> Generator[simpy.Event, Any, None]:
    try:
        for one in work.steps:
            yield from child.do(one)
        yield from child.exchange(work.reply, step.child_took, step.first_token, stop_reason="end_turn")
    except GaveUp:
        if child.sent is not None and not child.sent.triggered:
            child.sent.succeed(None)
