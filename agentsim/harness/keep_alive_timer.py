"""Keep-alive in a running harness: a timer that sends the last request again, as :mod:`agentsim.whatif.policies`
decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentsim.core.session import Request
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import KeepAlivePlan
from agentsim.harness.simulated_endpoint import SimulatedAnswer
from agentsim.harness.world import World
from agentsim.whatif.policies import parse
from agentsim.whatif.policies.keep_alive import KeepAlive as Preset

if TYPE_CHECKING:
    import simpy


class Warmer:
    """The timer of one conversation. Each real request sets it anew; a timer that was overtaken does nothing."""

    def __init__(self, world: World, thread: ConversationThread, rule: KeepAlivePlan) -> None:
        preset = parse(rule.preset)
        assert isinstance(preset, Preset)
        self._world = world
        self._thread = thread
        self._preset = preset
        self._current = 0
        self._stream = world.streams.stream(f"{thread.lane}/keep-alive")
        self._due: Iterator[Request] = iter(())

    def sent(self, answer: SimulatedAnswer) -> None:
        """A real request went out: the timer counts from it."""
        self._current += 1
        request = answer.request
        if not self._preset.may_refresh(request):
            return
        if self._preset.late:
            ttl = request.prompt.breakpoints[-1].ttl if request.prompt is not None else 0
            delay = int(min(self._preset.fraction * ttl, ttl - self._preset.margin))
            if delay > 0 and self._preset.late > (ttl - delay) // 2:
                self._world.recorder.meter.dropped_timers += 1
        self._due = self._preset.refreshes_after(request, None)
        self._schedule(self._current)

    def stop(self) -> None:
        """The harness is closed, or the history is another one now."""
        self._current += 1

    def _schedule(self, current: int) -> None:
        refresh = next(self._due, None)
        if refresh is None or refresh.start is None:
            return
        timer = self._world.clock.timeout(max(0, refresh.start - self._world.now))

        def fire(_timer: simpy.Event) -> None:
            if self._current == current:
                self._send(refresh)
                self._schedule(current)

        timer.callbacks.append(fire)

    def _send(self, refresh: Request) -> None:
        assert refresh.prompt is not None
        output = 0 if refresh.usage is None else refresh.usage.output or 0
        self._world.endpoint.send(
            self._thread,
            refresh.prompt,
            self._world.now,
            self._stream,
            output=output,
            purpose="keep_alive",
            like=refresh,
            parent=refresh.parent,
            stop_reason="max_tokens",
        )
