"""Serve the app to a browser on this machine: each connection runs it anew, over a web socket."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

from agentsim.report.clean import clean
from agentsim.report.exits import ExitCode, Failure

HOST = "127.0.0.1"
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self' ws://127.0.0.1:* ws://localhost:*; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page fetches nothing from elsewhere, and no other page may frame it."""
_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve(paths: tuple[str, ...], *, session: str | None, follow: bool, port: int) -> int:
    """Serve until Ctrl-C. Binds to loopback only. Raises Failure when the port is taken."""
    command = [sys.executable, "-m", "agentsim.cli", "tui"]
    command += ["--session", session] if session is not None else []
    command += ["--follow"] if follow else []
    server = LocalServer(shlex.join([*command, "--", *paths]), port)
    try:
        server.serve()
    except OSError as error:
        remedy = "choose another with --port"
        reason = f"port {port} cannot be used: {error.strerror or error}"
        raise Failure(reason, remedy=remedy, code=ExitCode.USAGE) from None
    return ExitCode.OK


def is_ours(host: str | None, port: int) -> bool:
    """Whether a Host header names this machine and our port: a page of another site that resolves its own name to
    loopback does not get in."""
    if host is None:
        return False
    name, colon, number = host.rpartition(":")
    if not colon or name.endswith(":"):
        name, number = host, "80"
    return name.lower().rstrip(".") in _NAMES and number == str(port)


@web.middleware
async def _refuse_strangers(request: web.Request, handler: Handler) -> web.StreamResponse:
    port = request.app[PORT]
    origin = request.headers.get("Origin")
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not is_ours(hosts[0], port):
        raise web.HTTPMisdirectedRequest(text="this server answers to its own loopback address only\n")
    if origin is not None and not is_ours(urlsplit(origin).netloc, port):
        raise web.HTTPForbidden(text="requests from other sites are refused\n")
    answer = await handler(request)
    if not answer.prepared:
        answer.headers["Content-Security-Policy"] = POLICY
    return answer


PORT = web.AppKey("port", int)
PAGE = os.path.join(os.path.dirname(__file__), "web_page")


async def _keyboard_script(request: web.Request) -> web.StreamResponse:
    return web.FileResponse(os.path.join(PAGE, "take-keyboard.js"))


class LocalServer(Server):
    """The server of textual-serve, for requests to our own loopback address only."""

    def __init__(self, command: str, port: int) -> None:
        super().__init__(command, host=HOST, port=port, title="agentsim", templates_path=PAGE)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app[PORT] = self.port
        app.router.add_get("/take-keyboard.js", _keyboard_script)
        app.middlewares.append(_refuse_strangers)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say where the app is."""
        sys.stdout.write(clean(f"agentsim is at {self.public_url} (Ctrl-C ends it)") + "\n")
        sys.stdout.flush()

    def initialize_logging(self) -> None:
        """No log: it would repeat words of the command line to the terminal."""
