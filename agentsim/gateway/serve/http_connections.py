"""HTTP connections that cannot be used to hold the endpoint up.

A connection that sends nothing, or a head that never ends, is dropped. Where too many are idle, the one that has been
for the longest time makes room, so that somebody who means it is always served.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""How long a request's head may take."""

HEAD_BYTES = 64 * 1024
IDLE_SECONDS = 5
"""How long a connection is kept open between requests."""

MOST_IDLE = 100
"""Connections that are not being served, and have not just come."""

GRACE_SECONDS = 1.0
"""How long a connection may be idle before it has to make room: many clients may connect at once, and mean it."""

MOST_YOUNG = 1000
"""Connections that are not being served, however young."""

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain\r\ncontent-length: 29\r\n"
    b"connection: close\r\n\r\nthe head is larger than 64 KiB"[:-1]
)


class Connection(HttpToolsProtocol):
    """A connection with limits on its head."""

    _idle: dict[Connection, float] = {}  # noqa: RUF012 - shared on purpose: since when, the oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True
        self._refused = False
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes in, within the limits."""
        if self._in_head:
            self._head_bytes += len(data)
        if not self._refused:
            super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES:
            self._refuse()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_BYTES:
            self._refuse()
            return
        self._head_came()
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request: a head is next."""
        self._in_head = True
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next head."""
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle is not None and self.cycle.response_complete:
            self._await_head()

    def _refuse(self) -> None:
        self._refused = True
        if not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def _await_head(self) -> None:
        now = self.loop.time()
        self._idle[self] = now
        while len(self._idle) > MOST_IDLE:
            oldest, since = next(iter(self._idle.items()))
            if now - since < GRACE_SECONDS and len(self._idle) <= MOST_YOUNG:
                break
            oldest._drop()
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._drop)

    def _head_came(self) -> None:
        self._idle.pop(self, None)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _drop(self) -> None:
        self._head_came()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()


def protocol_class() -> type[Any]:
    """The class that the server makes connections of, with a list of idle ones of its own."""
    return type("Connection", (Connection,), {"_idle": {}})
