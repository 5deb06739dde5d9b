"""An agent as its mechanisms see it: compaction and subagents need not know how it goes through its steps."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from agentsim.harness.agent_steps import Step, ToolCall
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.random_streams import Stream
from agentsim.harness.simulated_endpoint import SimulatedAnswer
from agentsim.harness.task_account import CompactionMeter
from agentsim.harness.world import World

if TYPE_CHECKING:
    import simpy


class RunningAgent(Protocol):
    """What a mechanism may read and change of an agent. :class:`agentsim.harness.agent.Agent` is the one there is."""

    world: World
    thread: ConversationThread
    service: Stream
    children: int
    summaries: int
    peak: int
    compacted: CompactionMeter | None
    sent: simpy.Event | None

    def do(self, step: Step) -> Iterable[simpy.Event]:
        """Do one step: what to wait for, one after the other."""

    def exchange(
        self, output: int, took: int | None, first_token: int | None, *, stop_reason: str
    ) -> Generator[simpy.Event, Any, SimulatedAnswer]:
        """A request, and the wait for its answer."""

    def wait(self, duration: int, name: str, stage: str) -> Generator[simpy.Event, Any, None]:
        """Time that passes."""

    def append_answer(self, thinking: int, text: int, calls: tuple[ToolCall, ...]) -> None:
        """What the model said becomes part of the conversation."""

    def event(self, kind: Any, detail: str | None = None) -> None:
        """Something that bears on the cache happened."""

    def subagent(self, lane: str, thread: ConversationThread) -> RunningAgent:
        """A child with a conversation of its own."""

    def fresh_thread(self, lane: str) -> ConversationThread:
        """The conversation of a subagent that starts without its parent's."""
