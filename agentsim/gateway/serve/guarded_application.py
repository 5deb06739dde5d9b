"""An application behind the checks of who may talk to it."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Receive, Scope, Send

from agentsim.gateway import loopback_guard
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.response_sending import send_refusal
from agentsim.gateway.secret_removal import Secrets

logger = logging.getLogger("agentsim.gateway")


class Guarded:
    """Everything behind the checks of who may talk to the endpoint; a defect answers 500 and tells no content."""

    def __init__(self, app: ASGIApp, secrets: Secrets, *, only_json: bool = True) -> None:
        self._app = app
        self._secrets = secrets
        self._only_json = only_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then serve."""
        if scope["type"] != "http":
            return
        try:
            loopback_guard.check(scope, only_json=self._only_json)
        except Refusal as refusal:
            await send_refusal(send, scope["path"], refusal)
            return
        self._secrets.see(scope["headers"])
        try:
            await self._app(scope, receive, send)
        except ConnectionAbortedError:
            raise  # the answer had begun: the server closes the connection
        except Exception as error:
            # Its words could hold those of a body.
            logger.error("a request failed: %s", type(error).__name__)
            await send_refusal(send, scope["path"], Refusal(500, f"a defect of agentsim: {type(error).__name__}"))
