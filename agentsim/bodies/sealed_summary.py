"""Summaries as the emulated provider seals them: opaque to a client, and readable where they come back.

A compaction item carries its summary where only the provider can read it. What other providers sealed stays closed.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

_SEAL = "agentsim1."
_MOST_TURNS = 1_000_000


class SealedSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A summary, and how many times the assistant had spoken in what it stands for."""

    turns: int
    text: str


_decoder = msgspec.json.Decoder(SealedSummary)


def sealed(summary: SealedSummary) -> str:
    """What a client is given of a summary."""
    return _SEAL + base64.urlsafe_b64encode(msgspec.json.encode(summary)).decode()


def opened(content: object) -> SealedSummary | None:
    """The summary in a sealed content; ``None`` for what was sealed elsewhere, or is no such content at all."""
    if not isinstance(content, str) or not content.startswith(_SEAL):
        return None
    try:
        found = _decoder.decode(base64.urlsafe_b64decode(content[len(_SEAL) :]))
    except (ValueError, binascii.Error, RecursionError):  # MsgspecError and UnicodeError are ValueErrors
        return None
    return found if 0 <= found.turns <= _MOST_TURNS else None
