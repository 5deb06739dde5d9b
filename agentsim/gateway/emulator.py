"""The emulated provider: each request is placed in its session, billed by the modeled cache, answered and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from agentsim.cache import CacheBackend, Served
from agentsim.core.session import Event, Request, Usage
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.conversations import Conversation, LanedBody, api_error, marker
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.injected_faults import Faults
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_diagnosis import Comparisons, RequestDiagnosis
from agentsim.gateway.scripted_reply import ChatRequest, ScriptedReply, cut, summed_up
from agentsim.gateway.trace_writing import TraceFile
from agentsim.traces.capture_lanes import CapturedCall

FORMAT = "agentsim"
DEFAULT_SESSION = "session"

Clock = Callable[[], int]
"""The time now, in nanoseconds UTC."""


class Replier(Protocol):
    """What decides what is said."""

    def reply(self, asked: ChatRequest) -> ScriptedReply:
        """What is said to a request. The same request hears the same again."""


class Sessions:
    """The sessions of an endpoint, and the trace they land in. Mutable."""

    def __init__(self, trace: TraceFile | None, format: str) -> None:
        self.trace = trace
        self._format = format
        self._conversations: dict[str, Conversation] = {}

    def get(self, id: str | None) -> Conversation:
        """The session of this id, begun now when it is new."""
        id = id or DEFAULT_SESSION
        found = self._conversations.get(id)
        if found is None:
            found = self._conversations[id] = Conversation(id, self._format)
        return found

    def record(self, conversation: Conversation, request: Request) -> None:
        """A request belongs to the trace."""
        if self.trace is not None:
            self.trace.request(conversation.id, request, conversation.header)

    def tell(self, conversation: Conversation, event: Event) -> None:
        """An event belongs to the trace."""
        if self.trace is not None:
            self.trace.event(conversation.id, event, conversation.header)

    @property
    def failure(self) -> OSError | None:
        """Why the trace could not be written; ``None`` when it could."""
        return None if self.trace is None else self.trace.failure

    @property
    def requests(self) -> int:
        """How many requests the trace holds."""
        return 0 if self.trace is None else self.trace.requests

    def finish(self) -> None:
        """Write the trace out."""
        if self.trace is not None:
            self.trace.finish(lambda id: self._conversations[id].header())


class Arrived(msgspec.Struct, frozen=True):
    """A request that has its place, and no answer yet. ``time`` is when it came (nanoseconds, UTC), ``compared`` the
    provider's own diagnosis of it."""

    id: str
    number: int
    time: int
    asked: ChatRequest
    call: CapturedCall
    placed: LanedBody
    compared: RequestDiagnosis


class Emulator:
    """Answers requests of all dialects. Not for several threads at once: the cache sees one request after the other.

    ``backends`` are the caches by provider. ``recorded_as`` is the provider by whose rules the trace is to be judged,
    where that is not the one whose API was spoken. Mutable.
    """

    def __init__(
        self,
        *,
        backends: Mapping[str, CacheBackend],
        replier: Replier,
        clock: Clock,
        trace: TraceFile | None = None,
        pace: Pace | None = None,
        faults: Faults | None = None,
        recorded_as: str | None = None,
    ) -> None:
        self.sessions = Sessions(trace, FORMAT)
        self.served = 0
        self._backends = backends
        self._recorded_as = recorded_as
        self._replier = replier
        self._clock = clock
        self._pace = pace or Pace()
        self._faults = faults or Faults()
        self._comparisons = Comparisons()
        self._number = 0
        self._now = 0
        self._ahead = 0

    def answer(self, asked: ChatRequest, conversation: Conversation) -> EmulatedAnswer:
        """The answer to a request that is well formed. Raises Refusal for one that the provider refuses, or that an
        injected fault hits."""
        arrived = self.arrive(asked, conversation)
        asked = arrived.asked
        reply = ScriptedReply((), "end_turn", 0)
        if not asked.silent:
            reply = cut(self._replier.reply(asked), asked.max_tokens, asked.model)
            if asked.compacts:
                reply = summed_up(reply, asked.model)
        served = self._backends[asked.provider].serve(self._request(arrived, reply), arrived.time)
        if served.rejected is not None:
            rejection = Refusal(400, served.rejected)
            self.refuse(arrived, conversation, rejection)
            raise rejection
        self._ahead += reply.pause
        return self.finish(arrived, conversation, reply, served)

    def arrive(self, asked: ChatRequest, conversation: Conversation) -> Arrived:
        """A request is here and has its lane. Raises Refusal where an injected fault hits it."""
        self._number += 1
        number = self._number
        now = self._now = max(self.clock(), self._now)
        id = f"msg_agentsim_{number:08d}" if asked.dialect == "messages" else f"resp_agentsim_{number:08d}"
        call = CapturedCall(
            prompt=asked.prompt,
            model=asked.model,
            settings=asked.settings,
            start=now,
            end=now,
            max_tokens=asked.max_tokens,
            tools=len(asked.tools),
            messages=asked.messages,
            summarises=asked.compacts,
        )
        try:
            self._faults.check(number)
        except Refusal as refusal:
            self._tell_refusal(conversation, call, refusal)
            raise
        placed = conversation.place(id, call)
        asked = msgspec.structs.replace(asked, purpose=placed.purpose)
        compared = self._comparisons.compare(asked, compacted=placed.after_compaction)
        return Arrived(id, number, now, asked, call, placed, compared)

    def refuse(self, arrived: Arrived, conversation: Conversation, refusal: Refusal) -> None:
        """The request is not answered."""
        self._tell_refusal(conversation, arrived.call, refusal)

    def abandon(self, arrived: Arrived, conversation: Conversation) -> None:
        """The client of a request that :meth:`Conversation.hold` holds went away before anything was said."""
        conversation.forget(arrived.placed)
        lane = conversation.lane_of(arrived.call)
        if lane is not None:
            self.sessions.tell(conversation, marker("interrupted", lane, max(self.clock(), arrived.time)))

    def finish(
        self, arrived: Arrived, conversation: Conversation, reply: ScriptedReply, served: Served, *, whole: bool = True
    ) -> EmulatedAnswer:
        """The request is answered, and belongs to the trace now. ``whole`` is False for an answer that broke off."""
        asked, placed, now = arrived.asked, arrived.placed, arrived.time
        request = self._request(arrived, reply)
        if placed.after_compaction:
            self.sessions.tell(conversation, marker("compaction", placed.lane, now, request))
        request = msgspec.structs.replace(
            request,
            usage=served.usage,
            diagnosis=arrived.compared.diagnosis,
            provider=self._recorded_as or request.provider,
            first_token=request.first_token if served.first_token is None else served.first_token,
            end=request.end if served.end is None else served.end,
            stop_reason=request.stop_reason if whole else None,
        )
        self._comparisons.remember(arrived.id, asked)
        ended = msgspec.structs.replace(arrived.call, end=request.end)
        conversation.settle(placed, ended, asked.prompt)
        self.sessions.record(conversation, request)
        self.served += 1
        return self.told(arrived, reply, served.usage)

    def told(self, arrived: Arrived, reply: ScriptedReply, usage: Usage) -> EmulatedAnswer:
        """What a client is told of a reply and its counters, which need not be the last ones. Changes nothing."""
        return EmulatedAnswer(
            id=arrived.id,
            request_id=f"req_agentsim_{arrived.number:08d}",
            asked=arrived.asked,
            reply=reply,
            usage=usage,
            time=arrived.time,
            pace=self._pace,
            diagnosis=arrived.compared.diagnosis,
            reusable=arrived.compared.reusable,
        )

    def _request(self, arrived: Arrived, reply: ScriptedReply) -> Request:
        asked, placed, now = arrived.asked, arrived.placed, arrived.time
        return Request(
            id=placed.id,
            lane=placed.lane,
            model=asked.model,
            start=now,
            provider=asked.provider,
            parent=placed.parent,
            purpose=placed.purpose,
            first_token=now + self._pace.first_token,
            end=now + self._pace.after(reply.tokens),
            prompt=asked.prompt,
            settings=asked.settings,
            usage=Usage(output=reply.tokens),
            stop_reason=reply.stop,
        )

    def interrupted(self, answer: EmulatedAnswer, conversation: Conversation) -> None:
        """The client went away before the answer's end, or cancelled it."""
        now = max(self.clock(), answer.time)
        lane = conversation.cut_short(answer.id, now)
        if lane is not None:
            self.sessions.tell(conversation, marker("interrupted", lane, now))

    def clock(self) -> int:
        """The time by the emulated clock, in nanoseconds UTC."""
        return self._clock() + self._ahead

    def _tell_refusal(self, conversation: Conversation, call: CapturedCall, refusal: Refusal) -> None:
        lane = conversation.lane_of(call)
        if lane is not None:
            self.sessions.tell(conversation, api_error(lane, call.start or 0, refusal.status))
