"""Compaction on the server: a summary takes the place of the history, sealed so that only the provider can read it.

A client asks for it at an address of its own, or with a last item of its input. What is left are the messages of the
user, and behind them one item that stands for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentsim.bodies.openai_compaction import TRIGGER, take_trigger, trigger_in
from agentsim.bodies.openai_reader import Responses
from agentsim.core.dates import SECOND
from agentsim.gateway.emulated_answer import EmulatedAnswer
from agentsim.gateway.openai.item_listing import listed
from agentsim.gateway.openai.responses_reply import items_of, usage_of
from agentsim.gateway.refusal import Refusal


def asks_for_it(sent: Responses) -> bool:
    """Whether the input ends with the item that asks for a compaction, which is taken off it.

    Raises Refusal (400) where it stands anywhere else, or has nothing to sum up."""
    found = take_trigger(sent)
    misplaced = trigger_in(sent)
    if misplaced is not None:
        raise Refusal(400, f"a {TRIGGER} must be the last item", path=f"input[{misplaced}]")
    if found and not sent.input and sent.previous_response_id is None and bytes(sent.conversation) in (b"", b"null"):
        raise Refusal(400, "there is nothing to compact", path="input")
    return found


def compacted(answer: EmulatedAnswer, kept: Sequence[bytes]) -> dict[str, Any]:
    """The body of an answer: what was kept, the summary, and what making it took."""
    left = listed(list(kept), f"msg_{answer.id.removeprefix('resp_')}")["data"]
    return {
        "id": answer.id,
        "object": "response.compaction",
        "created_at": answer.time // SECOND,
        "output": [*({"status": "completed", **item} for item in left), *items_of(answer)],
        "usage": usage_of(answer),
    }
