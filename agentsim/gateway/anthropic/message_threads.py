"""Conversations that the server of the Messages API holds (``thread``), so that each request sends what is new."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import msgspec
from msgspec import Raw

from agentsim.gateway.json_decoding import decode
from agentsim.gateway.refusal import Refusal

MOST_BYTES = 128 * 2**20
"""Kept content of all threads together; the oldest are forgotten beyond it."""

CREATE_ONLY = ("system", "tools")
"""What a thread keeps of the request that began it."""

UNSUPPORTED = ("cache_control", "context_management", "fallbacks")
"""Fields of a request that threads do not take."""

_fields = msgspec.json.Decoder(dict[str, Raw])
_list = msgspec.json.Decoder(list[Raw])
_encode = msgspec.json.encode
_ABSENT = (b"", b"null")


class _Thread(msgspec.Struct):
    type: str
    previous_message_id: str | None = None


_thread = msgspec.json.Decoder(_Thread)


class HeldThread(msgspec.Struct, frozen=True):
    """A thread up to one answer: what it was created with, and its messages."""

    head: dict[str, Raw]
    messages: tuple[bytes, ...]
    size: int


class MessageThreads:
    """Threads by the id of their last message. Mutable; its memory is bounded."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, HeldThread] = OrderedDict()
        self._continued: OrderedDict[str, None] = OrderedDict()
        self._size = 0

    def whole(self, body: bytes) -> tuple[bytes, HeldThread] | None:
        """The body as if the client had sent all of it, and the thread up to this request; ``None`` for a request that
        asks for no thread. Raises Refusal (400, 404)."""
        if b'"thread"' not in body:
            return None
        fields: dict[str, Raw] = decode(_fields, body)
        given = bytes(fields.pop("thread", Raw(b"")))
        if given in _ABSENT:
            return None
        thread: _Thread = decode(_thread, given)
        refused = [name for name in UNSUPPORTED if bytes(fields.get(name, Raw(b""))) not in _ABSENT]
        if refused:
            raise _error("a thread does not take this field", "thread_unsupported_request", {"unsupported": refused})
        new = tuple(bytes(one) for one in decode(_list, bytes(fields.get("messages", Raw(b"[]")))))
        if thread.type == "create":
            head = {name: fields[name] for name in CREATE_ONLY if name in fields}
            return _encode(fields), HeldThread(head, new, sum(map(len, new)))
        if thread.type != "continue" or thread.previous_message_id is None:
            raise Refusal(400, "must be create, or continue with a previous_message_id", path="thread.type")
        before = self._held.get(thread.previous_message_id)
        if before is None:
            if thread.previous_message_id in self._continued:
                raise _error("this message has been continued already", "thread_already_continued")
            raise _error("no thread with this message is held", "thread_not_found", status=404)
        for name in CREATE_ONLY:
            if name in fields and bytes(fields[name]) != bytes(before.head.get(name, Raw(b""))):
                raise _error(f"{name} differs from that of the thread", "thread_fingerprint_mismatch")
        messages = (*before.messages, *new)
        fields |= before.head
        fields["messages"] = Raw(b"[" + b",".join(messages) + b"]")
        return _encode(fields), HeldThread(before.head, messages, sum(map(len, messages)))

    def keep(self, id: str, thread: HeldThread, content: list[dict[str, Any]], previous: str | None) -> None:
        """An answer was given: the thread goes on behind it."""
        said = _encode({"role": "assistant", "content": content})
        if previous is not None and (old := self._held.pop(previous, None)) is not None:
            self._size -= old.size
            self._continued[previous] = None
            if len(self._continued) > 65_536:
                self._continued.popitem(last=False)
        self._held[id] = HeldThread(thread.head, (*thread.messages, said), thread.size + len(said))
        self._size += self._held[id].size
        while self._size > MOST_BYTES and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1].size


def previous_of(body: bytes) -> str | None:
    """The message that a thread is continued from."""
    fields: dict[str, Raw] = decode(_fields, body)
    thread: _Thread = decode(_thread, bytes(fields["thread"]))
    return thread.previous_message_id


def _error(reason: str, code: str, more: dict[str, Any] | None = None, *, status: int = 400) -> Refusal:
    return Refusal(status, reason, path="thread", details={"error_code": code, **(more or {})})
