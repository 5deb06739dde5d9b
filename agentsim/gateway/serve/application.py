"""The endpoint's paths, and what stands at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from agentsim.gateway.anthropic import messages_reply
from agentsim.gateway.anthropic.message_threads import MessageThreads, previous_of
from agentsim.gateway.anthropic.messages_request import MessagesBodies, asked_of, session_of
from agentsim.gateway.body_unpacking import encoding_of, unpacked
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.emulator import Emulator
from agentsim.gateway.gemini.gemini_api import GeminiModels, NamedCaches
from agentsim.gateway.openai.kept_responses_api import KeptConversations, KeptResponses
from agentsim.gateway.openai.openai_api import OpenAIApi
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.request_headers import asked_by, betas_of, text_of
from agentsim.gateway.request_receiving import MOST_BYTES, body_of
from agentsim.gateway.response_sending import send_answer, send_json, send_stream, send_whole
from agentsim.gateway.secret_removal import Secrets
from agentsim.gateway.serve.guarded_application import GuardedApplication
from agentsim.gateway.streamed_answers import LiveAnswers
from agentsim.rules.context_windows import window_of

Serve = Callable[[bytes, Mapping[bytes, bytes], Receive, Send], Awaitable[None]]
"""What answers a request: its body, its headers, and the way back."""

MODELS = (
    "claude-fable-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-sonnet-4-6",
    "claude-haiku-5-5",
    "gpt-6.1-sol",
    "gpt-5.6-sol",
    "gpt-5.5",
    "gpt-5.1-codex",
    "gpt-4.1",
    "gemini-3.8-flash",
    "gemini-3.1-pro-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
)
"""Models that are listed. Any other name is served too."""


class PostPath:
    """A path that takes a body: an ASGI application."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST":
            raise Refusal(405, "this path takes POST")
        body = await body_of(scope["headers"], receive)
        encoding = encoding_of(scope["headers"])
        if encoding:
            body = unpacked(body, encoding, MOST_BYTES)
        await self._serve(body, dict(scope["headers"]), receive, send)


class MessagesApi:
    """The Anthropic side."""

    def __init__(self, emulator: Emulator, live: LiveAnswers | None) -> None:
        self._emulator = emulator
        self._live = live
        self._bodies = MessagesBodies()
        self._threads = MessageThreads()

    async def messages(self, body: bytes, headers: Mapping[bytes, bytes], receive: Receive, send: Send) -> None:
        """``POST /v1/messages``."""
        threaded = self._threads.whole(body)
        previous = None
        if threaded is not None:
            previous, body = previous_of(body), threaded[0]
        sent = self._bodies.sent(body)
        conversation, agent = self._emulator.sessions.of(asked_by(headers), session_of(sent))
        conversation.see_harness(text_of(headers, b"user-agent"))
        prompt, settings = self._bodies.prompt(body, sent, conversation)
        settings = _with_betas(settings, betas_of(headers))
        asked = asked_of(sent, conversation.id, prompt, settings, agent)
        if self._live is not None:
            manner = messages_reply.MessageStream()

            def told(answer: EmulatedAnswer) -> dict[str, Any]:
                whole = messages_reply.message(answer)
                if threaded is not None:
                    self._threads.keep(answer.id, threaded[1], whole["content"], previous)
                return whole

            await self._live.answer(asked, conversation, receive, send, told, manner)
            return
        answer = self._emulator.answer(asked, conversation)
        if threaded is not None:
            self._threads.keep(answer.id, threaded[1], messages_reply.message(answer)["content"], previous)
        if not answer.asked.stream:
            await send_answer(send, receive, answer, messages_reply.message(answer))
        elif not await send_stream(send, receive, answer, messages_reply.events(answer)):
            self._emulator.interrupted(answer, conversation)

    async def count_tokens(self, body: bytes, _headers: Mapping[bytes, bytes], _receive: Receive, send: Send) -> None:
        """``POST /v1/messages/count_tokens``: the number that ``messages`` would bill in all."""
        sent = self._bodies.counted(body)
        prompt, _ = self._bodies.prompt(body, sent, None)
        await send_json(send, 200, {"input_tokens": prompt.tokens})


def application(emulator: Emulator, secrets: Secrets, live: LiveAnswers | None = None) -> ASGIApp:
    """The whole endpoint. ``live`` answers in the place of the emulator."""
    messages = MessagesApi(emulator, live)
    openai = OpenAIApi(emulator, live)
    conversations = KeptConversations(openai.store, emulator.clock)
    routes = [
        Route("/", _FixedAnswer({"agentsim": "gateway"})),
        Route("/v1/models", _Models()),
        Route("/v1/messages", PostPath(messages.messages)),
        Route("/v1/messages/count_tokens", PostPath(messages.count_tokens)),
        Route("/v1/chat/completions", PostPath(openai.completions)),
        Route("/v1/responses", PostPath(openai.responses)),
        Route("/v1/responses/compact", PostPath(openai.compact)),
        Route("/v1/responses/input_tokens", PostPath(openai.input_tokens)),
        Route("/v1/responses/{id}", KeptResponses(openai.store, emulator)),
        Route("/v1/responses/{id}/input_items", KeptResponses(openai.store, emulator, "input_items")),
        Route("/v1/responses/{id}/cancel", KeptResponses(openai.store, emulator, "cancel")),
        *(Route(f"/v1/conversations{rest}", conversations) for rest in ("", "/{id}", "/{id}/items")),
    ]
    gemini_caches = NamedCaches(emulator)
    gemini = GeminiModels(emulator, live, gemini_caches, [name for name in MODELS if name.startswith("gemini")])
    own = [
        Route("/v1/models/{call:path}", _ModelCalls(gemini)),
        Route("/v1/cachedContents", gemini_caches),
        Route("/v1/cachedContents/{id}", gemini_caches),
        Route("/v1beta/models", gemini),
        Route("/v1beta/models/{call:path}", gemini),
        Route("/v1beta/cachedContents", gemini_caches),
        Route("/v1beta/cachedContents/{id}", gemini_caches),
    ]
    routes += [Route(route.path.removeprefix("/v1"), route.endpoint) for route in routes if route.path != "/"]
    routes += own
    # The bare router: the exact paths alone, no redirects, no error pages of a framework.
    return GuardedApplication(Router(routes, redirect_slashes=False, default=_not_found), secrets, emulator.turn_away)


class _FixedAnswer:
    """A fixed answer to GET and HEAD."""

    def __init__(self, value: object) -> None:
        self._data = msgspec.json.encode(value)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(405, "this path takes GET")
        await send_whole(send, 200, self._data, b"application/json", head_only=scope["method"] == "HEAD")


class _ModelCalls:
    """``GET /v1/models/{id}``: any name is one, as it is served too. What is called of a model (``{id}:METHOD``) is the
    Gemini API's."""

    def __init__(self, gemini: GeminiModels) -> None:
        self._gemini = gemini

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if ":" in scope["path_params"]["call"] and scope["method"] == "POST":
            await self._gemini(scope, receive, send)
        else:
            await _FixedAnswer(_described(scope["path_params"]["call"][:200]))(scope, receive, send)


class _Models:
    """``GET /v1/models``, as any of the clients reads it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listed = [_described(model) for model in MODELS]
        whole: dict[str, object] = {
            "object": "list",
            "data": listed,
            "has_more": False,
            "first_id": MODELS[0],
            "last_id": MODELS[-1],
        }
        whole["models"] = [{"name": f"models/{name}", "displayName": name} for name in MODELS if "gemini" in name]
        await _FixedAnswer(whole)(scope, receive, send)


def _described(model: str) -> dict[str, object]:
    window = window_of(model)
    return {
        "id": model,
        "type": "model",
        "object": "model",
        "display_name": model,
        "created_at": "2026-01-01T00:00:00Z",
        "created": 1767225600,
        "owned_by": "agentsim",
        "max_input_tokens": window,
        "context_window": window,
    }


async def _not_found(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise Refusal(404, "there is nothing at this path")


def _with_betas(settings: tuple[tuple[str, str], ...], betas: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The settings with the betas that a header names, as a body would name them."""
    if not betas or any(name == "betas" for name, _ in settings):
        return settings
    return tuple(sorted((*settings, ("betas", msgspec.json.encode(betas).decode()))))
