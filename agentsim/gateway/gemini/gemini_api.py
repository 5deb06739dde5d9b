"""The Gemini side of the endpoint: what is generated and counted, the models, and caches with names."""

from __future__ import annotations

import datetime
import re
from collections import OrderedDict
from typing import Any

from starlette.types import Receive, Scope, Send

from agentsim.core.dates import SECOND
from agentsim.gateway.body_unpacking import encoding_of, unpacked
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.gemini import gemini_reply
from agentsim.gateway.gemini.gemini_request import (
    CachedBody,
    GeminiBody,
    HeldCache,
    asked_of,
    body_of,
    cached_of,
    counted_of,
    prompt_of,
    update_of,
)
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_headers import asked_by, text_of
from agentsim.gateway.request_receiving import MOST_BYTES
from agentsim.gateway.request_receiving import body_of as received
from agentsim.gateway.response_sending import send_answer, send_json, send_stream
from agentsim.gateway.scripted_reply import ChatRequest
from agentsim.gateway.streamed_answers import LiveAnswers
from agentsim.rules.context_windows import window_of

MOST_CACHES = 1_000
AN_HOUR = 3600
_LIFETIME = re.compile(r"(\d{1,9})(?:\.\d+)?s")


class GeminiModels:
    """``/v1beta/models`` and what is below it: an ASGI application."""

    def __init__(self, emulator: Emulator, live: LiveAnswers | None, caches: NamedCaches, models: list[str]) -> None:
        self._emulator = emulator
        self._live = live
        self._caches = caches
        self._models = models

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        model, colon, call = scope["path_params"].get("call", "").rpartition(":")
        if not colon:
            model = call
            if scope["method"] not in ("GET", "HEAD"):
                raise Refusal(404, "there is nothing at this path")
            found = [_described(name) for name in self._models]
            await send_json(send, 200, _described(model) if model else {"models": found})
            return
        if scope["method"] != "POST":
            raise Refusal(405, "this path takes POST")
        body = unpacked(await received(scope["headers"], receive), encoding_of(scope["headers"]), MOST_BYTES)
        if call == "countTokens":
            sent = counted_of(body)
            await send_json(send, 200, {"totalTokens": prompt_of(sent, model).tokens})
        elif call in ("generateContent", "streamGenerateContent"):
            await self._generate(body_of(body), model, scope, receive, send, stream=call.startswith("stream"))
        else:
            raise Refusal(404, "there is no such method")

    async def _generate(
        self, sent: GeminiBody, model: str, scope: Scope, receive: Receive, send: Send, *, stream: bool
    ) -> None:
        headers = dict(scope["headers"])
        conversation, agent = self._emulator.sessions.of(asked_by(headers))
        conversation.see_harness(text_of(headers, b"user-agent"))
        held = None if sent.cached_content is None else self._caches.held(sent.cached_content)
        if held is not None and (sent.system_instruction is not None or sent.tools):
            raise Refusal(400, "a cache holds tools and system instruction: neither may be sent beside it")
        asked = asked_of(sent, model, conversation, stream=stream, held=held)
        asked = asked if agent is None else _of_agent(asked, agent)
        if self._live is not None:
            manner = gemini_reply.GeminiStream()
            await self._live.answer(asked, conversation, receive, send, gemini_reply.generated, manner)
            return
        answer = self._emulator.answer(asked, conversation)
        if not stream:
            await send_answer(send, receive, answer, gemini_reply.generated(answer))
        elif b"alt=sse" not in scope.get("query_string", b""):
            await send_answer(send, receive, answer, [gemini_reply.generated(answer)])
        elif not await send_stream(send, receive, answer, gemini_reply.events(answer)):
            self._emulator.interrupted(answer, conversation)


class NamedCaches:
    """``/v1beta/cachedContents`` and what is below it: an ASGI application. Mutable."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._held: OrderedDict[str, tuple[HeldCache, dict[str, Any]]] = OrderedDict()
        self._made = 0

    def held(self, name: str) -> HeldCache:
        """What a cache of this name holds. Raises Refusal (403), as the provider does for one that it has not."""
        found = self._held.get(name)
        if found is None or _expired(found[1], self._emulator.clock()):
            raise Refusal(403, "CachedContent not found (or permission denied)", path="cachedContent")
        return found[0]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        id, method = scope["path_params"].get("id"), scope["method"]
        body = await received(scope["headers"], receive) if method in ("POST", "PATCH") else b""
        body = unpacked(body, encoding_of(scope["headers"]), MOST_BYTES)
        if id is None:
            listed = [about for _, about in self._held.values()]
            made = self._make(cached_of(body), dict(scope["headers"])) if method == "POST" else None
            await send_json(send, 200, {"cachedContents": listed} if made is None else made)
            return
        name = f"cachedContents/{id}"
        held = self.held(name)
        if method == "DELETE":
            del self._held[name]
            await send_json(send, 200, {})
            return
        about = self._held[name][1]
        if method == "PATCH":
            seconds = _seconds(update_of(body).ttl)
            about |= self._times(seconds)
            self._held[name] = (HeldCache(held.body, seconds), about)
        await send_json(send, 200, about)

    def _make(self, sent: CachedBody, headers: dict[bytes, bytes]) -> dict[str, Any]:
        """Keep a cache. Its content is written now, which a request of its own stands for in the trace."""
        self._made += 1
        model = (sent.model or "").removeprefix("models/")
        held = HeldCache(sent, _seconds(sent.ttl))
        prompt = prompt_of(sent, model, held)
        conversation, _ = self._emulator.sessions.of(asked_by(headers))
        asked = ChatRequest(
            dialect="gemini",
            provider="gemini",
            model=model,
            session=conversation.id,
            prompt=prompt,
            settings=(),
            tools=(),
            turn=0,
            messages=len(sent.contents),
            max_tokens=1,
            silent=True,
        )
        self._emulator.answer(asked, conversation)
        name = f"cachedContents/agentsim{self._made:08d}"
        about = {
            "name": name,
            "model": sent.model,
            "displayName": sent.display_name or "",
            "usageMetadata": {"totalTokenCount": prompt.tokens},
            **self._times(held.seconds),
        }
        self._held[name] = (held, about)
        if len(self._held) > MOST_CACHES:
            self._held.popitem(last=False)
        return about

    def _times(self, seconds: int) -> dict[str, str]:
        now = self._emulator.clock()
        return {"createTime": _utc(now), "updateTime": _utc(now), "expireTime": _utc(now + seconds * SECOND)}


def _of_agent(asked: ChatRequest, agent: Any) -> ChatRequest:
    import msgspec

    return msgspec.structs.replace(asked, agent=agent)


def _expired(about: dict[str, Any], now: int) -> bool:
    return str(about["expireTime"]) <= _utc(now)


def _seconds(ttl: str | None) -> int:
    found = _LIFETIME.fullmatch(ttl or "")
    if ttl is not None and found is None:
        raise Refusal(400, "must be seconds, such as 3600s", path="ttl")
    return AN_HOUR if found is None else int(found[1])


def _utc(time: int) -> str:
    return datetime.datetime.fromtimestamp(time // SECOND, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _described(model: str) -> dict[str, object]:
    return {
        "name": f"models/{model}",
        "displayName": model,
        "inputTokenLimit": window_of(model) or 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens", "createCachedContent"],
    }
