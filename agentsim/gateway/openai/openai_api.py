"""The OpenAI side of the endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.types import Receive, Send

from agentsim.bodies.openai_compaction import kept_of
from agentsim.bodies.openai_reader import Chat, Responses, raw_input
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.json_decoding import decode
from agentsim.gateway.openai import chat_reply, responses_reply
from agentsim.gateway.openai.background_responses import BackgroundRun
from agentsim.gateway.openai.openai_contract import Api, check
from agentsim.gateway.openai.openai_request import OpenAIBodies, chat_of, counted_of, responses_of
from agentsim.gateway.openai.response_store import ResponseStore, StoredConversation, StoredTurn
from agentsim.gateway.openai.server_compaction import asks_for_it, compacted
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_headers import asked_by, text_of
from agentsim.gateway.response_sending import send_answer, send_json, send_stream
from agentsim.gateway.scripted_reply import ChatRequest
from agentsim.gateway.streamed_answers import LiveAnswers
from agentsim.traces.capture_lanes import AskingAgent

_encode = msgspec.json.encode


class _ConversationId(msgspec.Struct, gc=False):
    """``conversation`` as an object."""

    id: str


_conversation = msgspec.json.Decoder(str | _ConversationId | None)


class OpenAIApi:
    """Both OpenAI APIs; they share what bodies have in common. Mutable."""

    def __init__(self, emulator: Emulator, live: LiveAnswers | None = None) -> None:
        self.store = ResponseStore()
        self._emulator = emulator
        self._live = live
        self._bodies = OpenAIBodies()

    async def completions(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/chat/completions``."""
        sent = chat_of(body)
        conversation, agent = self._conversation(headers, sent.prompt_cache_key)
        asked = self._bodies.chat(sent, conversation, agent)
        _check(sent, asked, "chat")
        include_usage = sent.stream_options is not None and bool(sent.stream_options.include_usage)
        if self._live is not None:
            manner = chat_reply.ChatStream(include_usage=include_usage)
            await self._live.answer(asked, conversation, receive, send, chat_reply.completion, manner)
            return
        answer = self._emulator.answer(asked, conversation)
        if not answer.asked.stream:
            await send_answer(send, receive, answer, chat_reply.completion(answer))
            return
        if not await send_stream(send, receive, answer, chat_reply.events(answer, include_usage=include_usage)):
            self._emulator.interrupted(answer, conversation)

    async def responses(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/responses``."""
        sent = responses_of(body)
        if sent.background and sent.store is False:
            raise Refusal(400, "an answer in the background has to be stored", path="background")
        conversation, agent = self._conversation(headers, sent.prompt_cache_key)
        before, thread = self._held(sent)
        self.store.check_room(before, len(body))
        history = [] if before is None else before.history()
        compacts = asks_for_it(sent)
        asked = self._bodies.responses(sent, conversation, history, compacts=compacts, agent=agent)
        if thread is not None:
            asked.echoed["conversation"] = {"id": thread.id}
        _check(sent, asked, "responses")

        def kept(answer: EmulatedAnswer, run: BackgroundRun | None = None) -> dict[str, Any]:
            """The whole response, which the server remembers from now on."""
            whole = responses_reply.response(answer)
            if sent.store is not False or thread is not None:
                behind, new = before, tuple(raw_input(sent.input))
                if compacts:
                    behind, new = None, kept_of([*history, *new])
                turn = StoredTurn(behind, new, tuple(_encode(item) for item in whole["output"]), _encode(whole), run)
                self.store.keep(answer.id if sent.store is not False else None, turn, thread)
            return whole

        if self._live is not None and not sent.background and not compacts:
            await self._live.answer(asked, conversation, receive, send, kept, responses_reply.ResponseStream())
            return
        answer = await self._answer(asked, conversation, None if sent.background else receive)
        run = BackgroundRun(answer) if sent.background else None
        whole = kept(answer, run)
        if run is not None:
            await run.answer_to(send, receive)
        elif not answer.asked.stream:
            await send_answer(send, receive, answer, whole)
        elif not await send_stream(send, receive, answer, responses_reply.events(answer)):
            self._emulator.interrupted(answer, conversation)
            self.store.forget(answer.id)

    async def compact(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/responses/compact``."""
        sent = responses_of(body)
        sent.stream = sent.background = None
        conversation, agent = self._conversation(headers, sent.prompt_cache_key)
        before, _ = self._held(sent)
        history = [] if before is None else before.history()
        asked = self._bodies.responses(sent, conversation, history, compacts=True, agent=agent)
        _check(sent, asked, "compact")
        answer = await self._answer(asked, conversation, receive)
        kept = kept_of([*history, *raw_input(sent.input)])
        await send_answer(send, receive, answer, compacted(answer, kept))

    async def input_tokens(self, body: bytes, _headers: Mapping[bytes, bytes], _receive: Receive, send: Send) -> None:
        """``POST /v1/responses/input_tokens``: the number that ``responses`` would bill in all."""
        sent = counted_of(body)
        before, _ = self._held(sent)
        tokens = self._bodies.counted(sent, [] if before is None else before.history())
        await send_json(send, 200, {"object": "response.input_tokens", "input_tokens": tokens})

    async def _answer(self, asked: ChatRequest, conversation: Conversation, receive: Receive | None) -> EmulatedAnswer:
        """An answer that is told when it is whole, whoever gives it."""
        if self._live is not None:
            return await self._live.whole(asked, conversation, receive)
        return self._emulator.answer(asked, conversation)

    def _held(self, sent: Responses) -> tuple[StoredTurn | None, StoredConversation | None]:
        """What the server holds of the conversation that a request continues. Raises Refusal (400)."""
        given = bytes(sent.conversation)
        named = decode(_conversation, given) if given else None
        id = named.id if isinstance(named, _ConversationId) else named
        if id is None:
            return (None if sent.previous_response_id is None else self.store.previous(sent.previous_response_id)), None
        if sent.previous_response_id is not None:
            raise Refusal(400, "cannot be used together with previous_response_id", path="conversation")
        thread = self.store.thread(id)
        if thread is None:
            raise Refusal(404, "no conversation with this id is kept", path="conversation")
        return thread.last, thread

    def _conversation(self, headers: Mapping[bytes, bytes], key: str | None) -> tuple[Conversation, AskingAgent | None]:
        found, agent = self._emulator.sessions.of(asked_by(headers), key)
        found.see_harness(text_of(headers, b"user-agent"))
        return found, agent


def _check(sent: Chat | Responses, asked: ChatRequest, api: Api) -> None:
    """Raise Refusal for what the contract of the model does not know."""
    rules = check(sent, api, marked=bool(asked.prompt.breakpoints))
    if rules.matching == "breakpoint" and isinstance(sent, Responses):
        asked.echoed.setdefault("prompt_cache_options", {"mode": "implicit", "ttl": "30m"})
