"""Answers that are given in the background: a client asks again how far they are, follows them late, or cancels them.

What is said is settled when the request comes, and its pace is known, so that how far an answer is follows from the
time alone: nothing runs for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic
from typing import Any

import msgspec
from starlette.types import Receive, Send

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece
from agentsim.gateway.openai.responses_reply import events, response, unfinished
from agentsim.gateway.response_sending import send_json, send_stream
from agentsim.gateway.scripted_reply import tokens_of


class BackgroundRun:
    """An answer on its way. Mutable: it may be cancelled, which sets ``stop``. ``begun`` is by the monotonic clock."""

    __slots__ = ("_cancelled", "answer", "begun", "stop")

    def __init__(self, answer: EmulatedAnswer) -> None:
        # Nothing of its request but what the answer repeats: a run is kept as long as its response is.
        asked = msgspec.structs.replace(answer.asked, prompt=Prompt.of(()), settings=(), tools=(), heard="")
        self.answer = msgspec.structs.replace(answer, asked=asked)
        self.begun = monotonic()
        self.stop = asyncio.Event()
        self._cancelled: int | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether its client asked for a stream."""
        return self.answer.asked.stream

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled before its end."""
        return self._cancelled is not None

    @property
    def has_ended(self) -> bool:
        """Whether all of it is said."""
        return not self.is_cancelled and self._elapsed() >= self.answer.pace.after(self.answer.reply.tokens)

    async def answer_to(self, send: Send, receive: Receive) -> None:
        """Answer the request that began it: with the response before anything of it is said, or with its stream."""
        if self.is_streamed:
            await self.follow(send, receive)
            return
        named = {"request-id": self.answer.request_id, "x-request-id": self.answer.request_id}
        await send_json(send, 200, unfinished(self.answer, "queued", 0), named)

    async def follow(self, send: Send, receive: Receive, after: int = -1) -> None:
        """Send its stream behind the event of this number. It goes on when the client leaves."""
        await send_stream(send, receive, self.answer, self._events(after), begun=self.begun, stop=self.stop)

    def told(self) -> dict[str, Any]:
        """The response as it is now: while it is on its way, with the items that are whole."""
        if self.has_ended:
            return response(self.answer)
        elapsed = self._elapsed()
        status = "cancelled" if self.is_cancelled else "in_progress"
        if status == "in_progress" and elapsed < self.answer.pace.first_token:
            status = "queued"
        tokens = whole = 0
        for part in self.answer.reply.parts:
            tokens += tokens_of((part,), self.answer.asked.model)
            if self.answer.pace.after(tokens) > elapsed:
                break
            whole += 1
        return unfinished(self.answer, status, whole)

    def cancel(self) -> bool:
        """Say no more of it. False where it has ended, or was cancelled before."""
        if self.is_cancelled or self.has_ended:
            return False
        self._cancelled = self._elapsed()
        self.stop.set()
        return True

    def _events(self, after: int) -> Iterator[StreamPiece]:
        """Its stream behind the event of this number, as far as it was said or will be."""
        for number, event in enumerate(events(self.answer, queued=True)):
            if self._cancelled is not None and self.answer.pace.after(event.tokens) > self._cancelled:
                return
            if number > after:
                yield event

    def _elapsed(self) -> int:
        """Nanoseconds since it began, until it was cancelled."""
        return round((monotonic() - self.begun) * SECOND) if self._cancelled is None else self._cancelled
