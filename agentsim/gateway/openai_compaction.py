"""Compaction on the server: a summary takes the place of the history, sealed so that only the provider can read it.

A client asks for it at an address of its own, or with a last item of its input. What comes back are the messages of the
user, and behind them one item that stands for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agentsim.bodies.openai_reader import Responses, raw_input
from agentsim.gateway.answer import Answer
from agentsim.gateway.openai_listing import listed
from agentsim.gateway.pace import SECOND
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.responses_reply import items_of, usage_of

_TRIGGER = "compaction_trigger"


class _Item(msgspec.Struct, gc=False):
    """What tells an item's kind."""

    type: Any = None
    role: Any = None


_item = msgspec.json.Decoder(_Item)


def take_trigger(sent: Responses) -> bool:
    """Whether the input ends with the item that asks for a compaction, which is taken off it.

    Raises Refusal (400) where it stands anywhere else, or has nothing to sum up."""
    raws = raw_input(sent.input)
    for index, raw in enumerate(raws):
        if _TRIGGER.encode() not in raw or _kind(raw).type != _TRIGGER:
            continue
        if index + 1 < len(raws):
            raise Refusal(400, f"a {_TRIGGER} must be the last item", path=f"input[{index}]")
        if index == 0 and sent.previous_response_id is None and bytes(sent.conversation) in (b"", b"null"):
            raise Refusal(400, "there is nothing to compact", path="input")
        sent.input = [msgspec.Raw(one) for one in raws[:-1]]
        return True
    return False


def kept_of(items: Sequence[bytes]) -> tuple[bytes, ...]:
    """The items that a compaction leaves as they are: the messages of the user."""
    return tuple(raw for raw in items if (kind := _kind(raw)).role == "user" and kind.type in (None, "message"))


def compacted(answer: Answer, kept: Sequence[bytes]) -> dict[str, Any]:
    """The body of an answer: what was kept, the summary, and what making it took."""
    left = listed(list(kept), f"msg_{answer.id.removeprefix('resp_')}")["data"]
    return {
        "id": answer.id,
        "object": "response.compaction",
        "created_at": answer.time // SECOND,
        "output": [*({"status": "completed", **item} for item in left), *items_of(answer)],
        "usage": usage_of(answer),
    }


def _kind(raw: bytes) -> _Item:
    try:
        return _item.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Item()
