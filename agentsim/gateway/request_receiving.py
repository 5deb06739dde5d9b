"""The body of a request, taken in within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from agentsim.gateway.refusal import Refusal

MOST_BYTES = 32 * 2**20
"""The largest body that is accepted: what the provider accepts."""

MOST_DISCARDED = 4 * MOST_BYTES
"""What is read and thrown away of a body that is too large, so that its sender can read why it was refused."""

PATIENCE = 30.0
"""Seconds to wait for more of a body."""

LONGEST = 300.0
"""Seconds that a whole body may take, however steadily it drips."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGone(Exception):
    """The client closed the connection before its body was whole."""


async def body_of(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """The whole body. Raises Refusal when it is too large (413) or stops coming (408), ClientGone."""
    declared = next((value for name, value in headers if name == b"content-length"), b"0")
    size = int(declared) if declared.isdigit() and len(declared) < 16 else MOST_DISCARDED + 1
    if size > MOST_DISCARDED:
        raise _too_large()
    parts: list[bytes] = []
    taken = 0
    loop = asyncio.get_running_loop()
    last = loop.time() + LONGEST
    try:
        async with asyncio.timeout(PATIENCE) as limit:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                part = message.get("body", b"")
                taken += len(part)
                if taken > MOST_DISCARDED:
                    raise _too_large()
                if taken > MOST_BYTES:
                    parts.clear()
                elif part:
                    parts.append(part)
                if not message.get("more_body", False):
                    break
                limit.reschedule(min(loop.time() + PATIENCE, last))
    except TimeoutError:
        raise Refusal(408, "the body did not come in time", close=True) from None
    if taken > MOST_BYTES:
        raise _too_large()
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large() -> Refusal:
    return Refusal(413, f"the body is larger than {MOST_BYTES // 2**20} MiB", close=True)
