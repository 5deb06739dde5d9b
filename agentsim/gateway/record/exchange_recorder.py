"""What passed through becomes a trace: each exchange is a request of its session once its answer is whole.

Nothing here may disturb what is being recorded: a body that cannot be read is counted and let go.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import time_ns

import msgspec

from agentsim.bodies import messages_replies, openai_replies, sse
from agentsim.bodies.api_shapes import Api
from agentsim.bodies.openai_compaction import kept_of, take_trigger
from agentsim.bodies.openai_reader import raw_input
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.session import Request
from agentsim.core.strict_decoding import BadRow
from agentsim.gateway.anthropic.messages_request import MessagesBodies, asked_of, session_of
from agentsim.gateway.body_unpacking import encoding_of, unpacked
from agentsim.gateway.conversations import IN_FLIGHT, Conversation, LanedBody, marker
from agentsim.gateway.emulator import FORMAT, PATHS, Sessions
from agentsim.gateway.openai.openai_request import OpenAIBodies, chat_of, responses_of
from agentsim.gateway.openai.response_store import ResponseStore, StoredTurn
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.refused_requests import RefusedRequest, refused_of
from agentsim.gateway.request_headers import asked_by, betas_of, text_of
from agentsim.gateway.scripted_reply import ChatRequest
from agentsim.gateway.trace_writing import TraceFile
from agentsim.traces.capture_lanes import AskingAgent, CapturedCall
from agentsim.traces.captured_usage import closing, counted_prompt, told_lifetime

MOST_KEPT = 64 * 2**20
"""Bytes of an answer that are kept to be read; of a longer one only the passing on is certain."""


class PendingExchange(msgspec.Struct, frozen=True):
    """A request on its way."""

    asked: ChatRequest
    conversation: Conversation
    placed: LanedBody
    call: CapturedCall
    history: StoredTurn | None = None
    """Of responses: the new items of the request, behind those that the server holds."""


class RecordedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. Times in nanoseconds UTC. ``whole`` is False when it broke off."""

    status: int
    data: bytes
    is_stream: bool
    request_id: str | None
    first_byte: int | None
    end: int
    whole: bool


class ExchangeRecorder:
    """Makes a trace of exchanges. Mutable.

    ``unread`` counts the exchanges that could not be understood.
    """

    def __init__(self, trace: TraceFile, upstream: str = "") -> None:
        self.sessions = Sessions(trace, FORMAT)
        self.unread = 0
        self._upstream = upstream
        self._messages = MessagesBodies(checked=False)
        self._openai = OpenAIBodies()
        self._store = ResponseStore()
        self._number = 0

    def begin(self, path: str, headers: Mapping[bytes, bytes], body: bytes, now: int) -> PendingExchange | None:
        """A request that is on its way; ``None`` when there is nothing to record of it. Never raises."""
        try:
            body = unpacked(body, encoding_of(headers.items()), MOST_KEPT)
            if path.endswith("/messages"):
                return self._begin_messages(headers, body, now)
            if path.endswith("/chat/completions"):
                chat = chat_of(body)
                conversation, agent = self._conversation(headers, None)
                return self._place(self._openai.chat(chat, conversation, agent), conversation, now)
            if path.endswith(("/responses", "/responses/compact")):
                return self._begin_responses(headers, body, now, compacts=path.endswith("/compact"))
        except Exception:  # whatever is wrong with it, the harness must not notice
            self.unread += 1
        return None

    def finish(self, recording: PendingExchange, answered: RecordedResponse) -> None:
        """The answer is there: the request belongs to the trace now. Never raises."""
        try:
            self._finish(recording, answered)
        except Exception:  # as above
            self.unread += 1

    def turn_away(self, path: str, session: str | None, refusal: Refusal) -> None:
        """A request was refused here, and not passed on, or could not be."""
        if not refusal.is_told:
            refusal.is_told = True
            self.sessions.turn_away(refused_of(path, refusal), time_ns(), self.sessions.known(session))

    def _begin_messages(self, headers: Mapping[bytes, bytes], body: bytes, now: int) -> PendingExchange:
        sent = self._messages.sent(body)
        conversation, agent = self._conversation(headers, session_of(sent))
        prompt, settings = self._messages.prompt(body, sent, conversation)
        betas = betas_of(headers)
        if betas and not any(name == "betas" for name, _ in settings):
            settings = tuple(sorted((*settings, ("betas", msgspec.json.encode(betas).decode()))))
        return self._place(asked_of(sent, conversation.id, prompt, settings, agent), conversation, now)

    def _begin_responses(
        self, headers: Mapping[bytes, bytes], body: bytes, now: int, *, compacts: bool
    ) -> PendingExchange:
        sent = responses_of(body)
        triggered = take_trigger(sent)
        if bytes(sent.conversation) not in (b"", b"null"):
            raise Refusal(400, "what the provider holds of it was not seen", path="conversation")
        before = None if sent.previous_response_id is None else self._store.previous(sent.previous_response_id)
        self._store.check_room(before, len(body))
        conversation, agent = self._conversation(headers, None)
        history = [] if before is None else before.history()
        asked = self._openai.responses(sent, conversation, history, compacts=compacts or triggered, agent=agent)
        recording = self._place(asked, conversation, now)
        new = tuple(raw_input(sent.input))
        if compacts or triggered:  # the answer of the first lists what is left by itself
            before, new = None, () if compacts else kept_of([*history, *new])
        return msgspec.structs.replace(recording, history=StoredTurn(before, new, (), b""))

    def _conversation(
        self, headers: Mapping[bytes, bytes], named: str | None
    ) -> tuple[Conversation, AskingAgent | None]:
        found, agent = self.sessions.of(asked_by(headers), named)
        found.see_harness(text_of(headers, b"user-agent"))
        return found, agent

    def _place(self, asked: ChatRequest, conversation: Conversation, now: int) -> PendingExchange:
        call = CapturedCall(
            prompt=asked.prompt,
            model=asked.model,
            settings=asked.settings,
            start=now,
            end=now + IN_FLIGHT,
            max_tokens=asked.max_tokens,
            tools=len(asked.tools),
            messages=asked.messages,
            summarises=asked.compacts,
            agent=asked.agent,
        )
        self._number += 1
        placed = conversation.place(f"#{self._number}", call)
        placed.state.remember(placed.id, call, asked.prompt, placed.purpose)
        return PendingExchange(asked, conversation, placed, call)

    def _finish(self, recording: PendingExchange, answered: RecordedResponse) -> None:
        asked, conversation, placed = recording.asked, recording.conversation, recording.placed
        start = recording.call.start or 0
        if answered.status >= 400:
            conversation.forget(placed)
            failed = RefusedRequest("refused", answered.status, PATHS[asked.dialect], "the provider's answer")
            self.sessions.turn_away(failed, start, conversation, placed.lane)
            return
        said = _reply_of(asked, answered)
        if said is None:
            conversation.forget(placed)
            self.sessions.tell(conversation, marker("interrupted", placed.lane, start))
            return
        reply = said.reply
        if recording.history is not None and reply.id is not None and answered.whole:
            new = recording.history
            self._store.keep(reply.id, StoredTurn(new.before, new.input, said.output, b""))
        api: Api = "responses" if asked.dialect == "gemini" else asked.dialect
        usage = told_lifetime(api, reply.usage, recording.call)
        behind = closing(api, usage, asked.prompt)
        prompt = counted_prompt(asked.prompt, usage, placed.before, behind=behind)
        call = msgspec.structs.replace(recording.call, end=answered.end)
        is_last = placed.state.last is not None and placed.state.last.id == placed.id
        placed = conversation.renamed(placed, answered.request_id or reply.id)
        if is_last:
            conversation.remember(placed, call, prompt)
        request = Request(
            id=placed.id,
            lane=placed.lane,
            model=asked.model,
            start=start,
            provider=provider_of(address=self._upstream, api=asked.dialect, model=asked.model, shown=reply.provider),
            parent=placed.parent,
            purpose=placed.purpose,
            first_token=answered.first_byte,
            end=answered.end,
            prompt=prompt,
            settings=asked.settings,
            usage=usage,
        )
        request = messages_replies.with_reply(request, reply, whole=answered.whole)
        if placed.after_compaction:
            self.sessions.tell(conversation, marker("compaction", placed.lane, start, request))
        conversation.use(placed)
        self.sessions.record(conversation, request)
        if not answered.whole:
            self.sessions.tell(conversation, marker("interrupted", placed.lane, answered.end))


def _reply_of(asked: ChatRequest, answered: RecordedResponse) -> openai_replies.OpenAIReply | None:
    """What the answer says; ``None`` when it broke off before it said anything. Raises BadRow, Refusal."""
    try:
        if asked.dialect == "messages":
            read = sse.read_stream if answered.is_stream else messages_replies.read_message
            return openai_replies.OpenAIReply(read(answered.data))
        told = openai_replies.read_stream if answered.is_stream else openai_replies.read_answer
        return told(answered.data)
    except (BadRow, Refusal):
        if answered.whole:
            raise
        return None
