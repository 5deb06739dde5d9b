"""The APIs whose calls can be read, told by the address that was called."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import unquote

Api = Literal["messages", "chat", "responses", "compact", "generate", "converse", "invoke"]
"""Whose shape a call has: Anthropic's Messages; OpenAI's Chat Completions and Responses (``compact`` has the body of a
response and asks for a summary of it); Gemini's generateContent; Bedrock's Converse, or InvokeModel with Claude's
body."""

OPENAI_APIS = frozenset(("chat", "responses", "compact"))

_ENDS: tuple[tuple[str, Api], ...] = (
    ("/messages", "messages"),
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    ("/responses/compact", "compact"),
    (":rawpredict", "messages"),
    (":streamrawpredict", "messages"),
    (":generatecontent", "generate"),
    (":streamgeneratecontent", "generate"),
    ("/converse", "converse"),
    ("/converse-stream", "converse"),
    ("/invoke", "invoke"),
    ("/invoke-with-response-stream", "invoke"),
)
_MODEL = re.compile(r"/models?/([^/:]+(?::\d+)?)(?::[a-zA-Z]+$|/(?:converse|invoke)[a-z-]*$)")


def api_of(url: str) -> Api | None:
    """The API that a URL is an endpoint of; ``None`` for any other (counting tokens, batches, files)."""
    path = _path(url).lower()
    return next((api for end, api in _ENDS if path.endswith(end)), None)


def model_in(url: str) -> str | None:
    """The model that a URL names: Gemini's, Bedrock's and Vertex' addresses do, and their bodies do not."""
    found = _MODEL.search(unquote(_path(url)))
    return found[1] if found else None


def _path(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rstrip("/")
