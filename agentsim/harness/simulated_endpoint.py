"""Sends requests to the backend and works out how long each answer takes."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from agentsim.cache import CacheBackend, Served
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.core.prompt import Prompt
from agentsim.core.session import Purpose, Request, Usage
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import SECOND, Service
from agentsim.harness.random_streams import Stream
from agentsim.harness.simulation_recorder import SimulationRecorder
from agentsim.harness.task_account import CompactionMeter


@runtime_checkable
class Foresees(Protocol):
    """A backend that can say what a request would read, without serving it."""

    def would_read(self, request: Request, now: int) -> int:
        """Tokens of the prompt that would be read at ``now``. Changes nothing that can be observed."""
        ...


class SimulatedAnswer(NamedTuple):
    """What came back, and when."""

    request: Request
    read: int
    first_token: int
    end: int
    rejected: str | None
    cost: int | None


class SimulatedEndpoint:
    """One backend with its service times. Requests arrive in the order of the clock. Mutable."""

    def __init__(self, backend: CacheBackend, service: Service, recorder: SimulationRecorder, provider: str) -> None:
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

        The answer is known at once; the caller waits until its end.
        """
        request = Request(
            id=self._recorder.next_id(),
            lane=lane or thread.lane,
            model=model or thread.model,
            start=now,
            provider=self._provider,
            parent=parent,
            purpose=purpose,
            prompt=prompt,
            settings=thread.settings,
            usage=Usage(output=output),
            stop_reason=stop_reason,
            harness_version=thread.version,
        )
        if like is not None:
            msgspec.structs.force_setattr(request, "model", like.model)
            msgspec.structs.force_setattr(request, "settings", like.settings)
        first, end, served = self._serve(request, now, now + delay, stream, output, took, first_token)
        if served.rejected is not None:
            first = end = now
            msgspec.structs.force_setattr(request, "first_token", None)
            msgspec.structs.force_setattr(request, "end", now)
        elif served.first_token is not None or served.end is not None:
            first = served.first_token or first
            end = max(served.end or end, first)
            msgspec.structs.force_setattr(request, "first_token", first)
            msgspec.structs.force_setattr(request, "end", end)
        cost = self._recorder.served(request, served, first, end, following, compacting)
        return SimulatedAnswer(request, served.usage.read or 0, first, end, served.rejected, cost)

    def compact_inside(
        self, thread: ConversationThread, prompt: Prompt, now: int, output: int, compacting: CompactionMeter
    ) -> tuple[Usage, int | None, int | None]:
        """The call that a provider makes inside a request to summarise its history: its usage and its price."""
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
        served: Served = self._backend.serve(request, now)
        cost, equivalents = self._recorder.inside(request, served.usage, compacting)
        return served.usage, cost, equivalents

    def _serve(
        self,
        request: Request,
        now: int,
        begin: int,
        stream: Stream,
        output: int,
        took: int | None,
        first_token: int | None,
    ) -> tuple[int, int, Served]:
        """Times of the first token and the end, and what the backend says.

        How long the first token takes depends on what is read, and when an entry can be read depends on the first
        token: the look-up comes first, then the times, then what the request leaves behind.
        """
        backend, service = self._backend, self._service
        if first_token is None:
            first_token = service.first_token.draw(stream)
            rate = service.uncached_rate
        else:
            rate = None
        assert request.prompt is not None
        if rate is not None and not isinstance(backend, ModeledProvider):
            known = backend.would_read(request, now) if isinstance(backend, Foresees) else 0
            first_token += (request.prompt.tokens - known) * SECOND // rate
            rate = None
        if rate is None:
            first, end = _set_times(request, begin, first_token, output, took, service)
            return first, end, backend.serve(request, now)
        assert isinstance(backend, ModeledProvider)
        asked = backend.ask(request, now)
        hit = None if asked.rejected is not None else backend.find(request, asked, now)
        read = 0 if hit is None else request.prompt.tokens_until(hit.length)
        first_token += (request.prompt.tokens - read) * SECOND // rate
        first, end = _set_times(request, begin, first_token, output, took, service)
        if asked.rejected is not None:
            return first, end, backend.serve(request, now)
        rules = asked.rules
        readable = first if rules.readable == "first_token" else end if rules.readable == "response_end" else now
        used = end if rules.ttl_clock == "response_end" else now
        asked = msgspec.structs.replace(asked, readable=readable, used=used)
        written = backend.record(request, asked, now, hit)
        usage = backend.bill(request, asked, hit)
        stored = backend.stored(asked, written)
        if hit is None:
            return first, end, Served(usage=usage, written=written, stored=stored)
        return first, end, Served(usage=usage, hit=hit.length, hit_owner=hit.owner, written=written, stored=stored)


def _set_times(
    request: Request, begin: int, first_token: int, output: int, took: int | None, service: Service
) -> tuple[int, int]:
    if took is None:
        took = first_token + output * SECOND // service.output_rate
    first_token = min(first_token, took)
    # Frozen for everybody else; nobody else has seen this request yet.
    msgspec.structs.force_setattr(request, "first_token", begin + first_token)
    msgspec.structs.force_setattr(request, "end", begin + took)
    return begin + first_token, begin + took
