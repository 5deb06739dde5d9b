"""Running an application on loopback ports, in this thread or beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator

import uvicorn
from starlette.types import ASGIApp

from agentsim.gateway.serve.http_connections import IDLE_SECONDS, protocol_class

BACKLOG = 2048
GRACE = 3
"""Seconds that answers under way may take when the server stops."""


class PortTaken(OSError):
    """The port cannot be listened on."""


def loopback_sockets(port: int) -> list[socket.socket]:
    """Sockets that listen on 127.0.0.1, and on ::1 where the machine has it, on one port (0: any free one).

    Raises PortTaken.
    """
    first = _listen(socket.AF_INET, "127.0.0.1", port)
    chosen = first.getsockname()[1]
    found = [first]
    with contextlib.suppress(PortTaken):
        found.append(_listen(socket.AF_INET6, "::1", chosen))
    return found


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    try:
        # The protocol is named because asyncio sends small answers at once (TCP_NODELAY) only where it is.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise PortTaken(error.errno, error.strerror) from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise PortTaken(error.errno, error.strerror) from None
    return made


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield


class Running:
    """A server on its sockets. ``url`` is where it can be reached; ``closing`` is awaited when it has stopped."""

    def __init__(
        self, app: ASGIApp, sockets: list[socket.socket], closing: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.sockets = sockets
        self._closing = closing
        self.port: int = sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        # No access log, and nothing of a request in any other: what clients send is private.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            http=protocol_class(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE,
            backlog=BACKLOG,
        )
        self._server = _Server(config)

    def stop(self) -> None:
        """Ask the server to stop. May be called from any thread."""
        self._server.should_exit = True

    def until_stopped(self, ready: Callable[[], None] | None = None) -> None:
        """Serve in this thread until SIGINT or SIGTERM, or until :meth:`stop`."""

        def leave(*_: object) -> None:
            self._server.force_exit = self._server.should_exit  # asked twice: wait for nobody
            self._server.should_exit = True

        before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            if ready is not None:
                ready()
            self._serve()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def beside(self) -> Iterator[Running]:
        """Serve in a thread of its own while the block runs."""
        thread = threading.Thread(target=self._serve, name="agentsim-gateway", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve_and_close())

    async def _serve_and_close(self) -> None:
        try:
            await self._server.serve(sockets=self.sockets)
        finally:
            if self._closing is not None:
                await self._closing()
