"""An emulated answer: what is said, what it is billed, and when."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from agentsim.core.session import ProviderDiagnosis, Usage
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.scripted_reply import ChatRequest, ScriptedReply


class EmulatedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """All that a rendering of an answer needs. ``time`` is when the request arrived (nanoseconds, UTC)."""

    id: str
    request_id: str
    asked: ChatRequest
    reply: ScriptedReply
    usage: Usage
    time: int
    pace: Pace
    diagnosis: ProviderDiagnosis = ProviderDiagnosis()
    reusable: int | None = None
    breaks: int | None = None
    """How it breaks off in its middle on purpose (:mod:`agentsim.gateway.injected_faults`); ``None``: it does not."""


class StreamPiece(NamedTuple):
    """A piece of a stream, and how many tokens of the reply are out once it is sent; less than none where it does not
    wait for the first one."""

    tokens: int
    data: bytes


PIECE = 24
"""Characters of a delta where tokens are paced: about six tokens."""

BIG_PIECE = 2048
"""Characters of a delta where nothing waits."""


def piece_size(answer: EmulatedAnswer) -> int:
    """How many characters a delta has."""
    return PIECE if answer.pace.per_token else BIG_PIECE


def count(value: int | None) -> int:
    """A counter as a provider writes it."""
    return 0 if value is None else value
