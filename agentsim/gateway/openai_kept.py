"""What the server keeps, under addresses of its own: responses, their input, and conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from starlette.types import Receive, Scope, Send

from agentsim.gateway.decoding import decode
from agentsim.gateway.emulator import Clock
from agentsim.gateway.openai_store import ResponseStore, Thread, Turn, listed
from agentsim.gateway.receiving import ClientGone, body_of
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.sending import send_json, send_refusal, send_whole

SECOND = 10**9


class _Created(msgspec.Struct, gc=False):
    """A body of ``conversations``, or of the items added to one."""

    items: list[Raw] | None = None
    metadata: dict[str, Any] | None = None


_created = msgspec.json.Decoder(_Created)


class KeptResponses:
    """``/v1/responses/{id}`` and ``/v1/responses/{id}/input_items``: an ASGI application."""

    def __init__(self, store: ResponseStore, *, items: bool = False) -> None:
        self._store = store
        self._items = items

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            id, method = scope["path_params"]["id"], scope["method"]
            turn = self._store.turn(id)
            if turn is None:
                raise Refusal(404, "no response with this id is kept")
            if method in ("GET", "HEAD"):
                await self._tell(id, turn, scope, send)
            elif method == "DELETE" and not self._items:
                self._store.forget(id)
                await send_json(send, 200, {"id": id, "object": "response", "deleted": True})
            else:
                raise Refusal(405, "this path takes GET" if self._items else "this path takes GET and DELETE")
        except Refusal as refusal:
            await send_refusal(send, scope["path"], refusal)

    async def _tell(self, id: str, turn: Turn, scope: Scope, send: Send) -> None:
        if b"stream=true" in scope.get("query_string", b""):
            raise Refusal(400, "only answers that run in the background can be streamed again", path="stream")
        data = turn.response
        if self._items:
            before = [] if turn.before is None else turn.before.history()
            data = msgspec.json.encode(listed([*before, *turn.input], f"item_{id}"))
        await send_whole(send, 200, data, b"application/json", head_only=scope["method"] == "HEAD")


class KeptConversations:
    """``/v1/conversations`` and what is below it: an ASGI application."""

    def __init__(self, store: ResponseStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            params: Mapping[str, str] = scope.get("path_params", {})
            value = await self._serve(params.get("id"), scope, receive)
            await send_json(send, 200, value)
        except ClientGone:
            return
        except Refusal as refusal:
            await send_refusal(send, scope["path"], refusal)

    async def _serve(self, id: str | None, scope: Scope, receive: Receive) -> dict[str, Any]:
        method = scope["method"]
        if id is None:
            if method != "POST":
                raise Refusal(405, "this path takes POST")
            body = await body_of(scope["headers"], receive)
            sent: _Created = decode(_created, body or b"{}")
            items = tuple(bytes(raw) for raw in sent.items or ())
            return _told(self._store.new_thread(self._clock() // SECOND, sent.metadata or {}, items))
        thread = self._store.thread(id)
        if thread is None:
            raise Refusal(404, "no conversation with this id is kept")
        if scope["path"].endswith("/items"):
            return await self._items(thread, scope, receive)
        if method == "DELETE":
            self._store.forget_thread(id)
            return {"id": id, "object": "conversation.deleted", "deleted": True}
        if method == "GET":
            return _told(thread)
        raise Refusal(405, "this path takes GET and DELETE")

    async def _items(self, thread: Thread, scope: Scope, receive: Receive) -> dict[str, Any]:
        history = [] if thread.last is None else thread.last.history()
        if scope["method"] == "GET":
            if b"order=asc" not in scope.get("query_string", b""):
                return _reversed(listed(history, f"item_{thread.id}"))
            return listed(history, f"item_{thread.id}")
        if scope["method"] != "POST":
            raise Refusal(405, "this path takes GET and POST")
        body = await body_of(scope["headers"], receive)
        sent: _Created = decode(_created, body)
        items = tuple(bytes(raw) for raw in sent.items or ())
        self._store.check_room(thread.last, len(body))
        self._store.keep(None, Turn(thread.last, items, (), b""), thread)
        return listed(list(items), f"item_{thread.id}_{len(history)}")


def _told(thread: Thread) -> dict[str, Any]:
    return {"id": thread.id, "object": "conversation", "created_at": thread.created, "metadata": thread.metadata}


def _reversed(listing: dict[str, Any]) -> dict[str, Any]:
    """The newest item first, as the API lists them unless told otherwise."""
    data = listing["data"][::-1]
    return listing | {"data": data, "first_id": listing["last_id"], "last_id": listing["first_id"]}
