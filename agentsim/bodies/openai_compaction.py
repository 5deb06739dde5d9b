"""Compaction in bodies of OpenAI's responses: the item that asks for it, and what it leaves of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agentsim.bodies.openai_reader import Responses, raw_input

TRIGGER = "compaction_trigger"
"""The type of an item that asks for a compaction."""


class _Item(msgspec.Struct, gc=False):
    """What tells an item's kind."""

    type: Any = None
    role: Any = None


_item = msgspec.json.Decoder(_Item)


def take_trigger(sent: Responses) -> bool:
    """Whether the input ends with the item that asks for a compaction, which is taken off it: no prompt has it."""
    if isinstance(sent.input, str) or not sent.input or not _is_trigger(bytes(sent.input[-1])):
        return False
    sent.input = sent.input[:-1]
    return True


def trigger_in(sent: Responses) -> int | None:
    """Where such an item stands in an input; ``None`` where there is none."""
    return next((index for index, raw in enumerate(raw_input(sent.input)) if _is_trigger(raw)), None)


def kept_of(items: Sequence[bytes]) -> tuple[bytes, ...]:
    """The items that a compaction leaves as they are: the messages of the user."""
    return tuple(raw for raw in items if (kind := _kind(raw)).role == "user" and kind.type in (None, "message"))


def _is_trigger(raw: bytes) -> bool:
    return TRIGGER.encode() in raw and bool(_kind(raw).type == TRIGGER)


def _kind(raw: bytes) -> _Item:
    try:
        return _item.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Item()
