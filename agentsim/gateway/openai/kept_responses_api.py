"""What the server keeps, under addresses of its own: responses, their input, and conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Raw
from starlette.types import Receive, Scope, Send

from agentsim.core.dates import SECOND
from agentsim.gateway.emulator import Clock, Emulator
from agentsim.gateway.json_decoding import decode
from agentsim.gateway.openai.background_responses import BackgroundRun
from agentsim.gateway.openai.item_listing import Query, listed, number_of, page, query_of
from agentsim.gateway.openai.response_store import ResponseStore, StoredConversation, StoredTurn
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_receiving import body_of
from agentsim.gateway.response_sending import send_json, send_whole


class _ConversationBody(msgspec.Struct, gc=False):
    """A body of ``conversations``, or of the items added to one."""

    items: list[Raw] | None = None
    metadata: dict[str, Any] | None = None


_created = msgspec.json.Decoder(_ConversationBody)


class KeptResponses:
    """``/v1/responses/{id}`` and what is below it (``part``): an ASGI application."""

    def __init__(
        self, store: ResponseStore, emulator: Emulator, part: Literal["whole", "input_items", "cancel"] = "whole"
    ) -> None:
        self._store = store
        self._emulator = emulator
        self._part = part

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        id, method = scope["path_params"]["id"], scope["method"]
        if method not in _METHODS[self._part]:
            raise Refusal(405, f"this path takes {' and '.join(_METHODS[self._part][:2])}")
        if method == "POST":
            await body_of(scope["headers"], receive)
        turn = self._store.turn(id)
        if turn is None:
            raise Refusal(404, "no response with this id is kept")
        if method == "DELETE":
            self._store.forget(id)
            await send_json(send, 200, {"id": id, "object": "response", "deleted": True})
        elif method == "POST":
            await send_json(send, 200, self._cancelled(turn))
        else:
            await self._tell(id, turn, scope, receive, send)

    def _cancelled(self, turn: StoredTurn) -> dict[str, Any]:
        """The response, given up where it was on its way. Whoever cancels again, or too late, is told how it ended."""
        run = turn.run
        if run is None:
            raise Refusal(400, "only answers that are given in the background can be cancelled", path="response_id")
        if run.cancel():
            self._emulator.interrupted(run.answer, self._emulator.sessions.get(run.answer.asked.session))
        return run.told()

    async def _tell(self, id: str, turn: StoredTurn, scope: Scope, receive: Receive, send: Send) -> None:
        query = query_of(scope.get("query_string", b""))
        data = turn.response
        if self._part == "input_items":
            before = [] if turn.before is None else turn.before.history()
            data = msgspec.json.encode(page([*before, *turn.input], f"item_{id}", query))
        elif query.get("stream") == "true" and scope["method"] == "GET":
            await _streamed(turn.run).follow(send, receive, _starting_after(query))
            return
        elif turn.run is not None:
            data = msgspec.json.encode(turn.run.told())
        await send_whole(send, 200, data, b"application/json", head_only=scope["method"] == "HEAD")


_METHODS = {"whole": ("GET", "DELETE", "HEAD"), "input_items": ("GET", "HEAD"), "cancel": ("POST",)}


def _streamed(run: BackgroundRun | None) -> BackgroundRun:
    if run is None or not run.is_streamed:
        raise Refusal(400, "only answers in the background that began as a stream can be streamed again", path="stream")
    return run


def _starting_after(query: Query) -> int:
    """The number of the last event that a client has. Behind the last one of all there is nothing more to come."""
    found = number_of(query, "starting_after", 0, 10**9)
    return -1 if found is None else found


class KeptConversations:
    """``/v1/conversations`` and what is below it: an ASGI application."""

    def __init__(self, store: ResponseStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        params: Mapping[str, str] = scope.get("path_params", {})
        await send_json(send, 200, await self._serve(params.get("id"), scope, receive))

    async def _serve(self, id: str | None, scope: Scope, receive: Receive) -> dict[str, Any]:
        method = scope["method"]
        if id is None:
            if method != "POST":
                raise Refusal(405, "this path takes POST")
            body = await body_of(scope["headers"], receive)
            sent: _ConversationBody = decode(_created, body or b"{}")
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

    async def _items(self, thread: StoredConversation, scope: Scope, receive: Receive) -> dict[str, Any]:
        history = [] if thread.last is None else thread.last.history()
        if scope["method"] == "GET":
            return page(history, f"item_{thread.id}", query_of(scope.get("query_string", b"")))
        if scope["method"] != "POST":
            raise Refusal(405, "this path takes GET and POST")
        body = await body_of(scope["headers"], receive)
        sent: _ConversationBody = decode(_created, body)
        items = tuple(bytes(raw) for raw in sent.items or ())
        self._store.check_room(thread.last, len(body))
        self._store.keep(None, StoredTurn(thread.last, items, (), b""), thread)
        return listed(list(items), f"item_{thread.id}_{len(history)}")


def _told(thread: StoredConversation) -> dict[str, Any]:
    return {"id": thread.id, "object": "conversation", "created_at": thread.created, "metadata": thread.metadata}
