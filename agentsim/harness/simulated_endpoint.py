"""Sends requests to the backend and works out how long each answer takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from agentsim.cache import CacheBackend
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Purpose, Request, Usage
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import Service
from agentsim.harness.random_streams import Stream
from agentsim.harness.simulation_recorder import SimulationRecorder
from agentsim.harness.task_account import CompactionMeter

if TYPE_CHECKING:
    import simpy


class PendingAnswer(Protocol):
    """An answer that takes its own time: ``first`` and ``done`` happen with its first token and its end, and ``answer``
    is there then."""

    first: simpy.Event
    done: simpy.Event
    answer: SimulatedAnswer | None


class SimulatedAnswer(NamedTuple):
    """What came back, and when. Where it is ``pending``, only the request is known yet."""

    request: Request
    read: int
    first_token: int
    end: int
    rejected: str | None
    cost: int | None
    pending: PendingAnswer | None = None


class LiveEndpoint(Protocol):
    """What takes its own time to answer: a real engine on the clock of the simulation."""

    def start(self, clock: simpy.Environment) -> None:
        """A simulation begins, on this clock."""
        ...

    def send(
        self,
        request: Request,
        recorder: SimulationRecorder,
        following: CompactionMeter | None,
        compacting: CompactionMeter | None,
        *,
        first_token: int | None = None,
        took: int | None = None,
    ) -> SimulatedAnswer:
        """A request arrives now. It is recorded when it is answered; its answer is pending, unless it is refused.

        ``first_token`` and ``took`` are durations that the plan has set: the answer takes so long at least.
        """
        ...


class SimulatedEndpoint:
    """One backend with its service times. Requests arrive in the order of the clock. Mutable.

    ``live`` answers in the place of the backend, and takes its own time for it.
    """

    def __init__(
        self,
        backend: CacheBackend,
        service: Service,
        recorder: SimulationRecorder,
        provider: str,
        live: LiveEndpoint | None = None,
    ) -> None:
        self._live = live
        self._backend = backend
        self._service = service
        self._recorder = recorder
        self._provider = provider

    def send(
        self,
        thread: ConversationThread,
        prompt: Prompt,
        now: int,
        stream: Stream,
        *,
        output: int,
        purpose: Purpose = "main",
        took: int | None = None,
        first_token: int | None = None,
        delay: int = 0,
        stop_reason: str | None = None,
        lane: str | None = None,
        model: str | None = None,
        parent: str | None = None,
        like: Request | None = None,
        following: CompactionMeter | None = None,
        compacting: CompactionMeter | None = None,
    ) -> SimulatedAnswer:
        """Serve one request that arrives now. ``took`` and ``first_token`` are durations that the plan has set;
        ``delay`` comes on top of them. ``like`` is a request whose model and settings this one has.

        The answer is known at once, and the caller waits until its end; or it is pending, and the caller waits for it.
        """
        asked = Request(
            id=self._recorder.next_id(),
            lane=lane or thread.lane,
            model=model or thread.model if like is None else like.model,
            start=now,
            provider=self._provider,
            parent=parent,
            purpose=purpose,
            prompt=prompt,
            settings=thread.settings if like is None else like.settings,
            usage=Usage(output=output),
            stop_reason=stop_reason,
            harness_version=thread.version,
        )
        if self._live is not None:
            return self._live.send(asked, self._recorder, following, compacting, first_token=first_token, took=took)
        lookup = self._backend.look_up(asked, now)
        if first_token is None:
            first_token = self._first_token(prompt.tokens - (lookup.read or 0), stream)
        if took is None:
            took = first_token + output * SECOND // self._service.output_rate
        begin = now + delay
        first, end = begin + min(first_token, took), begin + took
        served = self._backend.commit(lookup, first_token=first, end=end)
        # What is rejected has no first token; a backend that takes its own time says when.
        if served.rejected is not None:
            first = end = now
        else:
            first = first if served.first_token is None else served.first_token
            end = max(end if served.end is None else served.end, first)
        answered = None if served.rejected is not None else first
        request = msgspec.structs.replace(asked, usage=served.usage, first_token=answered, end=end)
        cost = self._recorder.served(request, served, first, end, following, compacting)
        return SimulatedAnswer(request, served.usage.read or 0, first, end, served.rejected, cost)

    def _first_token(self, uncached: int, stream: Stream) -> int:
        """How long the first token takes: a wait, and time for what is not read from the cache."""
        service = self._service
        wait = service.first_token.draw(stream)
        return wait if service.uncached_rate is None else wait + uncached * SECOND // service.uncached_rate

    def compact_inside(
        self, thread: ConversationThread, prompt: Prompt, now: int, output: int, compacting: CompactionMeter
    ) -> tuple[Usage, int | None, int | None]:
        """The call that a provider makes inside a request to summarise its history: its usage and its price."""
        if self._live is not None:
            raise ValueError("only a provider compacts inside a request: choose another harness.compaction.method")
        request = Request(
            id=f"inside-{now}",
            lane=thread.lane,
            model=thread.model,
            start=now,
            provider=self._provider,
            purpose="summary",
            prompt=prompt,
            settings=thread.settings,
            usage=Usage(output=output),
        )
        served = self._backend.serve(request, now)
        cost, equivalents = self._recorder.inside(request, served.usage, compacting)
        return served.usage, cost, equivalents
