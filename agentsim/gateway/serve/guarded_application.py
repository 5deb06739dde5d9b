"""An application behind the checks of who may talk to it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from agentsim.gateway import loopback_guard
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_headers import session_named
from agentsim.gateway.request_receiving import ClientGone
from agentsim.gateway.response_sending import send_refusal
from agentsim.gateway.secret_removal import Secrets

logger = logging.getLogger("agentsim.gateway")

TurnAway = Callable[[str, str | None, Refusal], str | None]
"""Learns of each request that is refused, by its path and session, and gives the id that the answer carries."""


class GuardedApplication:
    """Everything behind the checks of who may talk to the endpoint. What is refused behind them is answered here, and
    told; a defect answers 500 and tells no content."""

    def __init__(self, app: ASGIApp, secrets: Secrets, turn_away: TurnAway, *, only_json: bool = True) -> None:
        self._app = app
        self._secrets = secrets
        self._turn_away = turn_away
        self._only_json = only_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then serve."""
        if scope["type"] != "http":
            return
        try:
            loopback_guard.check(scope, only_json=self._only_json)
            self._secrets.see(scope["headers"])
            await self._app(scope, receive, send)
        except ClientGone:
            return
        except Refusal as refusal:
            await self._refuse(scope, send, refusal)
        except ConnectionAbortedError:
            raise  # the answer had begun: the server closes the connection
        except Exception as error:
            # Its words could hold those of a body.
            logger.error("a request failed: %s", type(error).__name__)
            await self._refuse(scope, send, Refusal(500, f"a defect of agentsim: {type(error).__name__}"))

    async def _refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        path = scope["path"]
        id = self._turn_away(path, session_named(dict(scope["headers"])), refusal)
        await send_refusal(send, path, refusal, id, head_only=scope["method"] == "HEAD")
