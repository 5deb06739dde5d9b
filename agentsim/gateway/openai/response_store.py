"""What the server keeps of responses and conversations, so that a client need not send its history again.

A kept turn holds what is new in it and refers to the one before: a long conversation costs the memory of its content,
once. The oldest turns are forgotten when all of them together grow too large.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from agentsim.gateway.openai.background_responses import BackgroundRun
from agentsim.gateway.refusal import Refusal

MOST_BYTES = 128 * 2**20
"""Kept content of all turns together."""

MOST_HISTORY = 32 * 2**20
"""Content of one conversation."""

MOST_TURNS = 16_384
MOST_CONVERSATIONS = 4_096


class StoredTurn:
    """A request's new items and its answer, behind the turn before. Mutable: it counts who still needs it.

    ``run`` is the answer where it is given in the background; it holds about as much as the response."""

    __slots__ = ("before", "history_size", "holders", "input", "output", "response", "run", "size")

    def __init__(
        self,
        before: StoredTurn | None,
        input: tuple[bytes, ...],
        output: tuple[bytes, ...],
        response: bytes,
        run: BackgroundRun | None = None,
    ) -> None:
        self.before = before
        self.input = input
        self.output = output
        self.response = response
        self.run = run
        self.size = sum(map(len, input)) + sum(map(len, output)) + len(response) * (1 if run is None else 2)
        self.history_size: int = self.size + (0 if before is None else before.history_size)
        self.holders = 0

    def history(self) -> list[bytes]:
        """All items up to here, in order."""
        turns = []
        turn: StoredTurn | None = self
        while turn is not None:
            turns.append(turn)
            turn = turn.before
        return [item for turn in reversed(turns) for item in (*turn.input, *turn.output)]


class StoredConversation:
    """A conversation that the client named, and its last turn. Mutable."""

    __slots__ = ("created", "id", "last", "metadata")

    def __init__(self, id: str, created: int, metadata: dict[str, Any]) -> None:
        self.id = id
        self.created = created
        self.metadata = metadata
        self.last: StoredTurn | None = None


class ResponseStore:
    """Turns by the id of their response, and conversations. Mutable; its memory is bounded."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.size = 0
        self._most = most_bytes
        self._turns: OrderedDict[str, StoredTurn] = OrderedDict()
        self._threads: OrderedDict[str, StoredConversation] = OrderedDict()
        self._made = 0

    def turn(self, id: str) -> StoredTurn | None:
        """The turn with this response; ``None`` when it was not kept, or is forgotten by now."""
        return self._turns.get(id)

    def previous(self, id: str) -> StoredTurn:
        """The turn that a request continues. Raises Refusal (400)."""
        found = self._turns.get(id)
        if found is None:
            raise Refusal(
                400, "no response with this id is kept", path="previous_response_id", code="previous_response_not_found"
            )
        if found.run is not None and not found.run.has_ended:
            told = "was cancelled" if found.run.is_cancelled else "is still on its way"
            raise Refusal(400, f"the response {told}: nothing can follow it", path="previous_response_id")
        return found

    def check_room(self, before: StoredTurn | None, size: int) -> None:
        """Raise Refusal (400) where a conversation would grow too long with so many bytes more."""
        if before is not None and before.history_size + size > MOST_HISTORY:
            raise Refusal(400, "the conversation is too long to be kept here", code="context_length_exceeded")

    def keep(self, id: str | None, turn: StoredTurn, thread: StoredConversation | None = None) -> None:
        """Keep a turn under the id of its response, and as the last one of a conversation."""
        if id is None and thread is None:
            return
        self.size += turn.size
        if turn.before is not None:
            turn.before.holders += 1
        if thread is not None:
            turn.holders += 1
            before, thread.last = thread.last, turn
            if before is not None:
                self._release(before)
        if id is not None:
            turn.holders += 1
            self._turns[id] = turn
        while self._turns and (self.size > self._most or len(self._turns) > MOST_TURNS):
            self._release(self._turns.popitem(last=False)[1])
        while self.size > self._most and len(self._threads) > 1:
            self._drop(self._threads.popitem(last=False)[1])

    def forget(self, id: str) -> bool:
        """Forget a response; False when it is not known."""
        turn = self._turns.pop(id, None)
        if turn is None:
            return False
        self._release(turn)
        return True

    def new_thread(self, created: int, metadata: dict[str, Any], items: tuple[bytes, ...]) -> StoredConversation:
        """A new conversation, with items to begin with."""
        self._made += 1
        thread = StoredConversation(f"conv_agentsim_{self._made:08d}", created, metadata)
        self._threads[thread.id] = thread
        if items:
            self.keep(None, StoredTurn(None, items, (), b""), thread)
        if len(self._threads) > MOST_CONVERSATIONS:
            self._drop(self._threads.popitem(last=False)[1])
        return thread

    def thread(self, id: str) -> StoredConversation | None:
        """The conversation of this id."""
        return self._threads.get(id)

    def forget_thread(self, id: str) -> bool:
        """Forget a conversation; False when it is not known."""
        thread = self._threads.pop(id, None)
        if thread is None:
            return False
        self._drop(thread)
        return True

    def _drop(self, thread: StoredConversation) -> None:
        if thread.last is not None:
            self._release(thread.last)
            thread.last = None

    def _release(self, turn: StoredTurn) -> None:
        """One who needed the turn does not any more: without any other it goes, and what only it needed."""
        here: StoredTurn | None = turn
        while here is not None:
            here.holders -= 1
            if here.holders:
                return
            self.size -= here.size
            here = here.before
