"""Answers that are told while they are being said: many at once, each at the pace of the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec

from agentsim.gateway.conversations import Conversation
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.emulator import ArrivedRequest, Emulator
from agentsim.gateway.model_voice import AnswerDelta, Listening, Voice, is_silent, served
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_receiving import ClientGone, Receive
from agentsim.gateway.response_sending import Send, begin_stream, hung_up, send_answer, send_part
from agentsim.gateway.scripted_reply import ChatRequest, Say, ScriptedReply, summed_up

_NOTHING = ScriptedReply((), "end_turn", 0)


class Manner(Protocol):
    """How an API tells an answer of one text as a stream."""

    def opening(self, answer: EmulatedAnswer) -> bytes:
        """What comes first. The answer's counters of its prompt are final, the others need not be."""
        ...

    def delta(self, text: str) -> bytes:
        """More of the text."""
        ...

    def closing(self, answer: EmulatedAnswer) -> bytes:
        """What comes last, when the whole answer is known."""
        ...


class LiveAnswers:
    """The answers of a real model to the requests of an endpoint."""

    def __init__(self, emulator: Emulator, voice: Voice) -> None:
        self._emulator = emulator
        self._voice = voice

    async def answer(
        self,
        asked: ChatRequest,
        conversation: Conversation,
        receive: Receive,
        send: Send,
        whole: Callable[[EmulatedAnswer], object],
        manner: Manner,
    ) -> None:
        """Answer a request. ``whole`` makes the body of a whole answer; it is called once for each that is complete.

        A client that hangs up ends its answer. Raises Refusal.
        """
        async with self._telling(asked, conversation, receive) as telling:
            if asked.stream:
                await telling.stream(send, whole, manner)
                return
            answer = await telling.to_its_end()
            if answer is not None:
                await send_answer(send, receive, answer, whole(answer))

    async def whole(self, asked: ChatRequest, conversation: Conversation, receive: Receive | None) -> EmulatedAnswer:
        """A whole answer, to be told by the caller. Without ``receive`` it goes on when the client leaves.

        Raises Refusal, ClientGone.
        """
        async with self._telling(asked, conversation, receive) as telling:
            answer = await telling.to_its_end()
        if answer is None:
            raise ClientGone
        return answer

    @asynccontextmanager
    async def _telling(
        self, asked: ChatRequest, conversation: Conversation, receive: Receive | None
    ) -> AsyncIterator[_Telling]:
        """An answer that is being said while the block runs. Raises Refusal."""
        arrived = self._emulator.arrive(asked, conversation)
        try:
            listening = self._voice.begin(arrived.asked)
        except ValueError as error:
            refusal = Refusal(400, str(error))
            self._emulator.refuse(arrived, conversation, refusal)
            raise refusal from None
        conversation.hold(arrived.placed, arrived.call, arrived.asked.prompt)
        gone = asyncio.ensure_future(_never() if receive is None else hung_up(receive))
        gone.add_done_callback(lambda _: listening.wake())
        telling = _Telling(self._emulator, arrived, conversation, listening, gone)
        try:
            yield telling
        except Refusal as refusal:
            telling.refuse(refusal)
            raise
        finally:
            listening.stop()
            telling.leave()
            gone.cancel()


async def _never() -> None:
    await asyncio.Event().wait()


class _Telling:
    """One answer on its way. Mutable."""

    def __init__(
        self,
        emulator: Emulator,
        arrived: ArrivedRequest,
        conversation: Conversation,
        listening: Listening,
        gone: asyncio.Future[None],
    ) -> None:
        self._emulator = emulator
        self._arrived = arrived
        self._conversation = conversation
        self._listening = listening
        self._gone = gone
        self._text: list[str] = []
        self._heard: AnswerDelta | None = None
        self._is_silent = is_silent(arrived.asked)
        self._is_settled = False

    async def to_its_end(self) -> EmulatedAnswer | None:
        """The whole answer; ``None`` when the client went away."""
        while await self._more() is not None:
            if self._is_over:
                return self._finish()
        return None

    async def stream(self, send: Send, whole: Callable[[EmulatedAnswer], object], manner: Manner) -> None:
        """Send the answer as it comes."""
        begun = False
        try:
            while (text := await self._more()) is not None:
                data = b""
                if not begun:
                    assert self._heard is not None
                    told = self._emulator.told(self._arrived, _NOTHING, self._heard.usage)
                    await begin_stream(send, told)
                    data = manner.opening(told)
                    begun = True
                if text and not self._is_silent:
                    data += manner.delta(text)
                if self._is_over:
                    answer = self._finish()
                    whole(answer)
                    await send_part(send, data + manner.closing(answer), last=True)
                    return
                if data:
                    await send_part(send, data)
        except TimeoutError:
            return  # the client takes nothing any more
        except Refusal as refusal:
            if not begun:
                raise
            path = "/v1/messages" if self._arrived.asked.dialect == "messages" else "/v1/responses"
            error = msgspec.json.encode(refusal.body(path))
            await send_part(send, b"event: error\ndata: " + error + b"\n\n", last=True)

    def refuse(self, refusal: Refusal) -> None:
        """The answer is an error."""
        self._is_settled = True
        self._conversation.forget(self._arrived.placed)
        self._emulator.refuse(self._arrived, self._conversation, refusal)

    def leave(self) -> None:
        """The answer is not told any further: if it was not whole, what there was of it goes into the trace."""
        if self._is_settled:
            return
        if self._heard is None:
            self._emulator.abandon(self._arrived, self._conversation)
        else:
            answer = self._finish(whole=False)
            self._emulator.interrupted(answer, self._conversation)

    @property
    def _is_over(self) -> bool:
        return self._heard is not None and self._heard.is_over

    async def _more(self) -> str | None:
        """Wait for more, which may be no text at all; ``None`` when the client went away. Raises Refusal when the
        model failed."""
        while True:
            text, heard = await self._listening.more()
            if self._gone.done():
                return None
            if heard is not None:
                break
        if heard.failure is not None:
            raise Refusal(500, heard.failure)
        self._text.append(text)
        self._heard = heard
        return text

    def _finish(self, *, whole: bool = True) -> EmulatedAnswer:
        arrived, heard = self._arrived, self._heard
        assert heard is not None
        self._is_settled = True
        reply = ScriptedReply((), "end_turn" if arrived.asked.silent else "max_tokens", 0)
        if not self._is_silent:
            parts = (Say("".join(self._text)),)
            reply = ScriptedReply(parts, "max_tokens" if heard.cut_short else "end_turn", heard.usage.output or 0)
            if arrived.asked.compacts:
                reply = summed_up(reply, arrived.asked.model)
        took = served(heard, arrived.time, silent=self._is_silent)
        return self._emulator.finish(arrived, self._conversation, reply, took, whole=whole)
