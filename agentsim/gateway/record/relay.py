"""Passing requests on to a real provider, and its answers back, as they come: each piece at once, none changed."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Callable

import httpx2
from starlette.types import Receive, Scope, Send

from agentsim.gateway.record.exchange_recorder import MOST_KEPT, ExchangeRecorder, PendingExchange, RecordedResponse
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_receiving import body_of

_BETWEEN_TWO = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
"""Headers that concern one connection only."""

_OURS = frozenset((b"host", b"content-length", b"accept-encoding", b"expect"))
CONNECT_SECONDS = 30.0
ANSWER_SECONDS = 1800.0


class Relay:
    """An ASGI application that passes everything on to ``upstream``, and tells a recorder what passed."""

    def __init__(self, upstream: str, recorder: ExchangeRecorder, clock: Callable[[], int] = time.time_ns) -> None:
        self._upstream = upstream.rstrip("/")
        self._recorder = recorder
        self._clock = clock
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        body = await body_of(scope["headers"], receive)
        now = self._clock()
        sending = asyncio.ensure_future(self._client_now().send(self._request(scope, body), stream=True))
        await asyncio.sleep(0)  # the request is on its way before it is looked at
        recording = None
        if scope["method"] == "POST":
            recording = self._recorder.begin(scope["path"], dict(scope["headers"]), body, now)
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                sending.cancel()
                self._finish(recording, 200, b"", False, None, None, whole=False)
                return
            try:
                response = sending.result()
            except httpx2.HTTPError as error:
                self._finish(recording, 502, b"", False, None, None, whole=False)
                unreachable = Refusal(502, f"the upstream cannot be reached: {type(error).__name__}")
                unreachable.is_told = recording is not None
                raise unreachable from None
            await self._pass_back(response, recording, send, gone)
        finally:
            gone.cancel()

    async def close(self) -> None:
        """Close the connections to the upstream."""
        if self._client is not None:
            await self._client.aclose()

    async def _pass_back(
        self, response: httpx2.Response, recording: PendingExchange | None, send: Send, gone: asyncio.Future[None]
    ) -> None:
        kept: list[bytes] = []
        size = 0
        first: int | None = None
        whole = False
        headers = [(name.lower(), value) for name, value in response.headers.raw]
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": response.status_code,
                    "headers": [pair for pair in headers if pair[0] not in _BETWEEN_TWO],
                }
            )
            async for piece in response.aiter_raw():
                if first is None:
                    first = self._clock()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if recording is not None and size < MOST_KEPT:
                    kept.append(piece)
                    size += len(piece)
                if gone.done():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            whole = True
        except httpx2.HTTPError:
            # The upstream broke off: so does the answer, which the client notices as it would have without us.
            raise ConnectionAbortedError from None
        finally:
            await response.aclose()
            found = dict(headers)
            is_stream = found.get(b"content-type", b"").startswith(b"text/event-stream")
            request_id = found.get(b"request-id") or found.get(b"x-request-id")
            data = _plain(b"".join(kept), found.get(b"content-encoding", b""))
            self._finish(recording, response.status_code, data, is_stream, request_id, first, whole=whole)

    def _finish(
        self,
        recording: PendingExchange | None,
        status: int,
        data: bytes,
        is_stream: bool,
        request_id: bytes | None,
        first: int | None,
        *,
        whole: bool,
    ) -> None:
        if recording is not None:
            self._recorder.finish(
                recording,
                RecordedResponse(
                    status=status,
                    data=data,
                    is_stream=is_stream,
                    request_id=None if request_id is None else request_id.decode("latin-1")[:200],
                    first_byte=first,
                    end=self._clock(),
                    whole=whole,
                ),
            )

    def _request(self, scope: Scope, body: bytes) -> httpx2.Request:
        query = scope["query_string"]
        url = self._upstream + scope["raw_path"].decode("ascii") + (f"?{query.decode('ascii')}" if query else "")
        headers = [(name, value) for name, value in scope["headers"] if name not in _OURS and name not in _BETWEEN_TWO]
        # An answer that is not compressed can be read, and each of its pieces passed on at once.
        headers.append((b"accept-encoding", b"identity"))
        content = body if body or scope["method"] == "POST" else None
        return self._client_now().build_request(scope["method"], url, headers=headers, content=content)

    def _client_now(self) -> httpx2.AsyncClient:
        """The client, made in the loop that it serves."""
        if self._client is None:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
            timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, pool=None)
            self._client = httpx2.AsyncClient(limits=limits, timeout=timeout, follow_redirects=False)
            self._client.headers.clear()
        return self._client


def _plain(data: bytes, encoding: bytes) -> bytes:
    """An answer without its compression, within the limit; as it is when it was compressed in an unknown way."""
    if encoding.lower() not in (b"gzip", b"deflate"):
        return data
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(data, MOST_KEPT)
    except zlib.error:
        return data


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
