"""The OpenAI side of the endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Receive, Send

from agentsim.gateway import chat_reply, responses_reply
from agentsim.gateway.conversations import Conversation
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.headers import session_named, text_of
from agentsim.gateway.openai_request import OpenAIBodies, chat_of, responses_of
from agentsim.gateway.sending import send_answer, send_stream


class OpenAIApi:
    """Both OpenAI APIs; they share what bodies have in common. Mutable."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._bodies = OpenAIBodies()

    async def completions(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/chat/completions``."""
        sent = chat_of(body)
        conversation = self._conversation(headers, sent.prompt_cache_key)
        answer = self._emulator.answer(self._bodies.chat(sent, conversation), conversation)
        if not answer.asked.stream:
            await send_answer(send, receive, answer, chat_reply.completion(answer))
            return
        include_usage = sent.stream_options is not None and bool(sent.stream_options.include_usage)
        if not await send_stream(send, receive, answer, chat_reply.events(answer, include_usage=include_usage)):
            self._emulator.interrupted(answer, conversation)

    async def responses(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/responses``."""
        sent = responses_of(body)
        conversation = self._conversation(headers, sent.prompt_cache_key)
        answer = self._emulator.answer(self._bodies.responses(sent, conversation), conversation)
        if not answer.asked.stream:
            await send_answer(send, receive, answer, responses_reply.response(answer))
        elif not await send_stream(send, receive, answer, responses_reply.events(answer)):
            self._emulator.interrupted(answer, conversation)

    def _conversation(self, headers: Mapping[bytes, bytes], key: str | None) -> Conversation:
        found = self._emulator.sessions.get(session_named(headers) or (key or "")[:200] or None)
        found.see_harness(text_of(headers, b"user-agent"))
        return found
