"""Answers in the shape of the Messages API, whole or as a stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece, count, piece_size
from agentsim.gateway.scripted_reply import Part, Say, Think, Use, pieces, tokens_of

_encode = msgspec.json.encode
_SIGNATURE = "c2lnbmF0dXJlIG9mIGFuIGVtdWxhdGVkIG1vZGVs"


def message(answer: EmulatedAnswer) -> dict[str, Any]:
    """The whole message."""
    return _message(answer, [_block(part) for part in answer.reply.parts], answer.reply.stop, _usage(answer))


def events(answer: EmulatedAnswer) -> Iterator[StreamPiece]:
    """The message as server-sent events. Usage is told at the start, and again, with the final output, at the end."""
    yield _opening_of(answer)
    out = 0
    for index, part in enumerate(answer.reply.parts):
        yield _event("content_block_start", out, index=index, content_block=_opening(part))
        if index == 0:
            yield _event("ping", out)
        whole = tokens_of((part,), answer.asked.model)
        text, sent = _text(part), 0
        for piece in pieces(text, piece_size(answer)):
            sent += len(piece)
            yield _event("content_block_delta", out + whole * sent // len(text), index=index, delta=_delta(part, piece))
        if isinstance(part, Think):
            signature = {"type": "signature_delta", "signature": _SIGNATURE}
            yield _event("content_block_delta", out + whole, index=index, delta=signature)
        out += whole
        yield _event("content_block_stop", out, index=index)
    yield from _closing(answer, max(out, answer.reply.tokens))


class MessageStream:
    """A message of one text, as events while it is being said. Mutable."""

    def __init__(self) -> None:
        self._begun = False

    def opening(self, answer: EmulatedAnswer) -> bytes:
        """What comes first. The answer's counters of its prompt are final, the others need not be."""
        return _opening_of(answer).data

    def delta(self, text: str) -> bytes:
        """More of the text."""
        return self._begin() + _event("content_block_delta", 0, index=0, delta=_delta(Say(""), text)).data

    def closing(self, answer: EmulatedAnswer) -> bytes:
        """What comes last, when the whole answer is known."""
        data = b""
        if answer.reply.parts:
            data = self._begin() + _event("content_block_stop", 0, index=0).data
        return data + b"".join(event.data for event in _closing(answer, 0))

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        start = _event("content_block_start", 0, index=0, content_block=_opening(Say("")))
        return start.data + _event("ping", 0).data


def _opening_of(answer: EmulatedAnswer) -> StreamPiece:
    return _event("message_start", 0, message=_message(answer, [], None, _usage(answer) | {"output_tokens": 1}))


def _closing(answer: EmulatedAnswer, tokens: int) -> Iterator[StreamPiece]:
    delta = {"stop_reason": answer.reply.stop, "stop_sequence": answer.reply.stopped_at}
    told = {name: value for name, value in _usage(answer).items() if name not in ("service_tier", "inference_geo")}
    yield _event("message_delta", tokens, delta=delta, usage=told)
    yield _event("message_stop", tokens)


def _message(answer: EmulatedAnswer, content: list[Any], stop: str | None, usage: dict[str, Any]) -> dict[str, Any]:
    found = {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": answer.reply.stopped_at if stop is not None else None,
        "usage": usage,
    }
    if answer.asked.compare:
        found["diagnostics"] = _diagnostics(answer)
    return found


def _usage(answer: EmulatedAnswer) -> dict[str, Any]:
    usage = answer.usage
    counters = {
        "input_tokens": count(usage.fresh),
        "cache_creation_input_tokens": count(usage.write),
        "cache_read_input_tokens": count(usage.read),
        "cache_creation": {
            "ephemeral_5m_input_tokens": count(usage.write_short),
            "ephemeral_1h_input_tokens": count(usage.write_long),
        },
        "output_tokens": count(usage.output),
    }
    iteration = {"type": "message", **counters}
    return counters | {"iterations": [iteration], "service_tier": "standard", "inference_geo": "not_available"}


def _diagnostics(answer: EmulatedAnswer) -> dict[str, Any] | None:
    said = answer.diagnosis
    if said.reason is None:
        return None
    reason: dict[str, Any] = {"type": said.reason}
    if said.missed_tokens is not None:
        reason["cache_missed_input_tokens"] = said.missed_tokens
    return {"cache_miss_reason": reason}


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    if isinstance(part, Think):
        return {"type": "thinking", "thinking": part.text, "signature": _SIGNATURE}
    return {"type": "tool_use", "id": part.id, "name": part.tool, "input": _input(part)}


def _opening(part: Part) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text", "text": ""}
    if isinstance(part, Think):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "tool_use", "id": part.id, "name": part.tool, "input": {}}


def _delta(part: Part, piece: str) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text_delta", "text": piece}
    if isinstance(part, Think):
        return {"type": "thinking_delta", "thinking": piece}
    return {"type": "input_json_delta", "partial_json": piece}


def _text(part: Part) -> str:
    return _encode(_input(part)).decode() if isinstance(part, Use) else part.text


def _input(part: Use) -> dict[str, Any]:
    return {"input": part.input} if isinstance(part.input, str) else part.input


def _event(kind: str, tokens: int, **fields: Any) -> StreamPiece:
    data = _encode({"type": kind, **fields})
    return StreamPiece(tokens, b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n")
