"""Answers on the wire: whole, or as a stream that keeps its pace and stops when nobody listens any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import msgspec

from agentsim.core.dates import SECOND
from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece
from agentsim.gateway.injected_faults import CUT, ERROR
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_receiving import Receive

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BATCH_BYTES = 16 * 1024
"""Events that are due together are sent together, up to about so many bytes."""

STALLED = 60.0
"""Seconds that a client may take none of a stream before it is dropped."""


async def send_json(send: Send, status: int, value: object, headers: dict[str, str] | None = None) -> None:
    """A JSON answer."""
    await send_whole(send, status, msgspec.json.encode(value), b"application/json", headers)


async def send_whole(
    send: Send, status: int, data: bytes, kind: bytes, headers: dict[str, str] | None = None, *, head_only: bool = False
) -> None:
    """A whole answer. ``head_only`` leaves the data out, but not its size."""
    found = [(b"content-type", kind), (b"content-length", str(len(data)).encode())]
    found += [(name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": found})
    await send({"type": "http.response.body", "body": b"" if head_only else data})


async def send_refusal(
    send: Send, path: str, refusal: Refusal, request_id: str | None = None, *, head_only: bool = False
) -> None:
    """An error answer. ``head_only`` leaves the words out."""
    ids = {} if request_id is None else {"request-id": request_id, "x-request-id": request_id}
    data = msgspec.json.encode(refusal.body(path, request_id))
    await send_whole(send, refusal.status, data, b"application/json", refusal.headers | ids, head_only=head_only)


async def send_answer(send: Send, receive: Receive, answer: EmulatedAnswer, value: object) -> None:
    """A whole answer, when its last token is due."""
    begun = asyncio.get_running_loop().time()
    if answer.breaks == ERROR:
        raise Refusal(500, "internal error (injected)", injected=True)
    await wait_until(begun + answer.pace.after(answer.reply.tokens) / SECOND)
    if answer.breaks == CUT:
        await begin_stream(send, answer, b"application/json")
        await send_part(send, msgspec.json.encode(value)[:50])
        raise ConnectionAbortedError
    await send_json(send, 200, value, {"request-id": answer.request_id, "x-request-id": answer.request_id})


async def send_stream(
    send: Send,
    receive: Receive,
    answer: EmulatedAnswer,
    events: Iterator[StreamPiece],
    *,
    begun: float | None = None,
    stop: asyncio.Event | None = None,
) -> bool:
    """A stream of events, each when its tokens are due. Returns False when the client went away before its end.

    ``begun`` is when the answer began, by the loop's clock, where that was not now: such a stream starts at once.
    ``stop`` ends it early."""
    loop = asyncio.get_running_loop()
    pace = answer.pace
    if begun is None:
        begun = loop.time()
        await wait_until(begun + pace.first_token / SECOND)
    await begin_stream(send, answer)
    gone = asyncio.ensure_future(hung_up(receive))
    stopped = asyncio.ensure_future((stop or asyncio.Event()).wait())
    try:
        batch = bytearray()
        for event in events:
            late = begun + pace.after(event.tokens) / SECOND - loop.time() if not pace.is_instant else 0.0
            if batch and (late > 0 or len(batch) >= BATCH_BYTES):
                await send_part(send, bytes(batch))
                batch.clear()
            if late > 0:
                await asyncio.wait((gone, stopped), timeout=late, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return False
            if stopped.done():
                break
            if answer.breaks is not None and event.tokens > 0 and 2 * event.tokens >= answer.reply.tokens:
                await send_part(send, bytes(batch) + (_broken(answer) if answer.breaks == ERROR else b""))
                if answer.breaks == CUT:
                    raise ConnectionAbortedError
                await send_part(send, b"", last=True)
                return True
            batch += event.data
        await send_part(send, bytes(batch), last=True)
    except TimeoutError:
        return False
    finally:
        gone.cancel()
        stopped.cancel()
    return True


def _broken(answer: EmulatedAnswer) -> bytes:
    """The event of an error in the middle of a stream."""
    path = {"messages": "/v1/messages", "gemini": "/v1beta/"}.get(answer.asked.dialect, "/v1/responses")
    error = msgspec.json.encode(Refusal(529, "overloaded (injected)").body(path))
    return b"event: error\ndata: " + error + b"\n\n"


async def wait_until(when: float) -> None:
    """Sleep until a time of the running loop."""
    late = when - asyncio.get_running_loop().time()
    if late > 0:
        await asyncio.sleep(late)


async def begin_stream(send: Send, answer: EmulatedAnswer, kind: bytes = b"text/event-stream; charset=utf-8") -> None:
    """The head of a stream."""
    headers = [
        (b"content-type", kind),
        (b"cache-control", b"no-cache"),
        (b"request-id", answer.request_id.encode()),
        (b"x-request-id", answer.request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def send_part(send: Send, data: bytes, *, last: bool = False) -> None:
    """A part of a stream. Raises TimeoutError when the client takes nothing for too long."""
    async with asyncio.timeout(STALLED):
        await send({"type": "http.response.body", "body": data, "more_body": not last})


async def hung_up(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
