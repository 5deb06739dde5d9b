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
from agentsim.gateway.refused_requests import RefusedRequest, RefusedRequests, refused_of
from agentsim.gateway.reply_shaping import shaped
from agentsim.gateway.request_diagnosis import Comparisons, RequestDiagnosis
from agentsim.gateway.request_headers import AskedBy
from agentsim.gateway.scripted_reply import ChatRequest, Dialect, ScriptedReply, summed_up
from agentsim.gateway.trace_writing import TraceFile
from agentsim.rules.context_windows import window_of
from agentsim.traces.capture_lanes import AskingAgent, CapturedCall

FORMAT = "agentsim"
DEFAULT_SESSION = "session"

SMALLEST_WINDOW = 8_000
"""No model of today takes less: a shorter prompt needs no look-up."""

MOST_UNFITTED = 20
"""Different offers of tools that are remembered."""

MOST_HOMELESS = 1000
"""Refusals that wait for a session to be told in; of those behind them only the count is known."""

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
        self.refused = RefusedRequests()
        self.unfitted: dict[tuple[str, ...], int] = {}
        """Tools that were offered where the script wanted to call others, and how often."""
        self._format = format
        self._conversations: dict[str, Conversation] = {}
        self._roots: dict[str, str] = {}
        """Sessions that another one began, and whose they are."""
        self._homeless: list[tuple[int, RefusedRequest]] = []
        """Refusals that came before there was any session to tell them in."""
        self._last: Conversation | None = None
        """The session of the last request that was answered."""

    def get(self, id: str | None) -> Conversation:
        """The session of this id, begun now when it is new."""
        id = id or DEFAULT_SESSION
        found = self._conversations.get(id)
        if found is None:
            found = self._conversations[id] = Conversation(id, self._format)
        return found

    def of(self, by: AskedBy, named: str | None = None) -> tuple[Conversation, AskingAgent | None]:
        """The session of a request, and the agent that asks in it. ``named`` is the session that its body names."""
        id = by.session or (named or "")[:200] or None
        if by.parent_session is not None and id is not None and by.parent_session != id:
            root = self._roots.get(by.parent_session, by.parent_session)
            self._roots[id] = root
            return self.get(root), AskingAgent(id, None if by.parent_session == root else by.parent_session)
        return self.get(id), by.agent

    def record(self, conversation: Conversation, request: Request) -> None:
        """A request belongs to the trace."""
        if self.trace is not None:
            for change in conversation.take_changes():
                self.trace.move(conversation.id, change.lane, change.to, change.purpose)
            for time, refused in self._homeless:
                self.tell(conversation, api_error(request.lane, time, refused.status, refused.told))
            self._homeless.clear()
            self._last = conversation
            self.trace.request(conversation.id, request, conversation.header)

    def tell(self, conversation: Conversation, event: Event) -> None:
        """An event belongs to the trace."""
        if self.trace is not None:
            self.trace.event(conversation.id, event, conversation.header)

    def turn_away(
        self, request: RefusedRequest, time: int, conversation: Conversation | None = None, lane: str | None = None
    ) -> None:
        """A request was refused. Where its session has no requests yet, or none is known, it is told in the last one
        that was answered in, or the next."""
        self.refused.add(request)
        if conversation is None or conversation.first_lane is None:
            conversation = self._last
        found = None if conversation is None else lane or conversation.first_lane
        if conversation is None or found is None:
            if len(self._homeless) < MOST_HOMELESS:
                self._homeless.append((time, request))
        else:
            self.tell(conversation, api_error(found, time, request.status, request.told))

    def unfit(self, tools: tuple[str, ...]) -> None:
        """A reply wanted to call tools, and none of them was among these."""
        if tools in self.unfitted or len(self.unfitted) < MOST_UNFITTED:
            self.unfitted[tools] = self.unfitted.get(tools, 0) + 1

    def known(self, id: str | None) -> Conversation | None:
        """The session of this id, if it has begun."""
        return self._conversations.get(id or DEFAULT_SESSION)

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
            for time, refused in self._homeless:
                self.tell(self.get(None), api_error("main", time, refused.status, refused.told))
            self._homeless.clear()
            self.trace.finish(lambda id: self._conversations[id].header())


class ArrivedRequest(msgspec.Struct, frozen=True):
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
    where that is not the one whose API was spoken. ``window`` takes the place of each model's context window. Mutable.
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
        window: int | None = None,
    ) -> None:
        self.sessions = Sessions(trace, FORMAT)
        self.served = 0
        self._backends = backends
        self._recorded_as = recorded_as
        self._window = window
        self._replier = replier
        self._clock = clock
        self._pace = pace or Pace()
        self._faults = faults or Faults()
        self._comparisons = Comparisons()
        self._number = 0
        self._refusals = 0
        self._now = 0
        self._ahead = 0

    def answer(self, asked: ChatRequest, conversation: Conversation) -> EmulatedAnswer:
        """The answer to a request that is well formed. Raises Refusal for one that the provider refuses, or that an
        injected fault hits."""
        arrived = self.arrive(asked, conversation)
        asked = arrived.asked
        reply = ScriptedReply((), "end_turn", 0)
        if not asked.silent:
            reply = self._replier.reply(asked)
            if reply.unfitted:
                self.sessions.unfit(tuple(tool.name for tool in asked.tools))
            reply = shaped(reply, asked)
            if asked.compacts:
                reply = summed_up(reply, asked.model)
        served = self._backends[asked.provider].serve(self._request(arrived, reply), arrived.time)
        if served.rejected is not None:
            rejection = Refusal(400, served.rejected)
            self.refuse(arrived, conversation, rejection)
            raise rejection
        self._ahead += reply.pause
        return self.finish(arrived, conversation, reply, served)

    def arrive(self, asked: ChatRequest, conversation: Conversation) -> ArrivedRequest:
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
            agent=asked.agent,
        )
        try:
            self._faults.check(number)
            self._check_window(asked)
        except Refusal as refusal:
            self._tell_refusal(asked, conversation, call, refusal)
            raise
        placed = conversation.place(id, call)
        asked = msgspec.structs.replace(asked, purpose=placed.purpose)
        compared = self._comparisons.compare(asked, compacted=placed.after_compaction)
        return ArrivedRequest(id, number, now, asked, call, placed, compared)

    def _check_window(self, asked: ChatRequest) -> None:
        """Raise Refusal (400) for a prompt that is longer than the model takes."""
        tokens = asked.prompt.tokens
        if tokens <= (self._window or SMALLEST_WINDOW):
            return
        window = self._window or window_of(asked.model)
        if window is None or tokens <= window:
            return
        if asked.dialect == "gemini":
            told = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
            raise Refusal(400, told)
        if asked.dialect == "messages":
            raise Refusal(400, f"prompt is too long: {tokens} tokens > {window} maximum")
        reason = f"this model's maximum context length is {window} tokens; the input has {tokens} tokens"
        raise Refusal(400, reason, code="context_length_exceeded")

    def refuse(self, arrived: ArrivedRequest, conversation: Conversation, refusal: Refusal) -> None:
        """The request is not answered."""
        self._tell_refusal(arrived.asked, conversation, arrived.call, refusal)

    def abandon(self, arrived: ArrivedRequest, conversation: Conversation) -> None:
        """The client of a request that :meth:`Conversation.hold` holds went away before anything was said."""
        conversation.forget(arrived.placed)
        self._hung_up(arrived.asked)
        lane = conversation.lane_of(arrived.call)
        if lane is not None:
            self.sessions.tell(conversation, marker("interrupted", lane, max(self.clock(), arrived.time)))

    def finish(
        self,
        arrived: ArrivedRequest,
        conversation: Conversation,
        reply: ScriptedReply,
        served: Served,
        *,
        whole: bool = True,
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
        if self._faults.breaks(arrived.number) is not None:
            broken = RefusedRequest("injected", 200, PATHS[asked.dialect], "the answer breaks off (injected)")
            self.sessions.refused.add(broken)
            self.sessions.tell(conversation, marker("interrupted", placed.lane, now + 1))
        return self.told(arrived, reply, served.usage)

    def told(self, arrived: ArrivedRequest, reply: ScriptedReply, usage: Usage) -> EmulatedAnswer:
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
            breaks=self._faults.breaks(arrived.number),
        )

    def _request(self, arrived: ArrivedRequest, reply: ScriptedReply) -> Request:
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
        self._hung_up(answer.asked)
        lane = conversation.cut_short(answer.id, now)
        if lane is not None:
            self.sessions.tell(conversation, marker("interrupted", lane, now))

    def clock(self) -> int:
        """The time by the emulated clock, in nanoseconds UTC."""
        return self._clock() + self._ahead

    def turn_away(self, path: str, session: str | None, refusal: Refusal) -> str:
        """A request is refused, unless that was told before. Returns the id that its answer carries."""
        self._refusals += 1
        if not refusal.is_told:
            refusal.is_told = True
            now = max(self.clock(), self._now)
            self.sessions.turn_away(refused_of(path, refusal), now, self.sessions.known(session))
        return f"req_agentsim_e{self._refusals:07d}"

    def _tell_refusal(
        self, asked: ChatRequest, conversation: Conversation, call: CapturedCall, refusal: Refusal
    ) -> None:
        refusal.is_told = True
        lane = conversation.lane_of(call)
        self.sessions.turn_away(refused_of(PATHS[asked.dialect], refusal), call.start or 0, conversation, lane)

    def _hung_up(self, asked: ChatRequest) -> None:
        path = PATHS[asked.dialect]
        self.sessions.refused.add(RefusedRequest("hung up", 200, path, "the client left before the end"))


PATHS: dict[Dialect, str] = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models",
}
