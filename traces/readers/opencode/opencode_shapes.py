"""The shapes of OpenCode's records, as far as they are used. Every field may be absent."""

from __future__ import annotations

import msgspec

from agentsim.bodies.messages_usage import ABSENT
from agentsim.core.strict_decoding import Count


class Cache(msgspec.Struct, frozen=True, gc=False):
    """``tokens.cache``."""

    read: Count | None = None
    write: Count | None = None


class AnswerTokens(msgspec.Struct, frozen=True, gc=False):
    """``tokens`` of an answer or of one of its steps."""

    input: Count | None = None
    output: Count | None = None
    total: Count | None = None
    cache: Cache = Cache()


class Times(msgspec.Struct, gc=False):
    """Milliseconds since the epoch."""

    created: int | float | None = None
    completed: int | float | None = None
    start: int | float | None = None


class AnswerError(msgspec.Struct, gc=False):
    """``error`` of an answer."""

    name: str | None = None


class MessageInfo(msgspec.Struct, gc=False):
    """A message without its parts."""

    id: str | None = None
    sessionID: str | None = None
    role: str | None = None
    modelID: str | None = None
    providerID: str | None = None
    time: Times | None = None
    tokens: AnswerTokens | None = None
    finish: str | None = None
    cost: msgspec.Raw = ABSENT
    error: AnswerError | None = None
    mode: msgspec.Raw = ABSENT
    path: msgspec.Raw = ABSENT
    summary: msgspec.Raw = ABSENT


class MessagePart(msgspec.Struct, gc=False):
    """A part of a message."""

    type: str | None = None
    tool: msgspec.Raw = ABSENT
    time: Times | None = None
    tokens: AnswerTokens | None = None


class OpenCodeMessage(msgspec.Struct, gc=False):
    """A message with its parts. ``place`` is its number in its file, from 1."""

    info: MessageInfo = msgspec.field(default_factory=MessageInfo)
    parts: list[MessagePart] = msgspec.field(default_factory=list)
    place: int = 0


class About(msgspec.Struct, gc=False):
    """What is known about a session."""

    id: str | None = None
    parentID: str | None = None
    projectID: str | None = None
    title: str | None = None
    version: str | None = None


class Export(msgspec.Struct, gc=False):
    """The document that ``opencode export`` writes. Messages are decoded one by one."""

    info: About = msgspec.field(default_factory=About)
    messages: list[msgspec.Raw] = msgspec.field(default_factory=list)


exports = msgspec.json.Decoder(Export)
messages = msgspec.json.Decoder(OpenCodeMessage)
infos = msgspec.json.Decoder(MessageInfo)
parts = msgspec.json.Decoder(MessagePart)
