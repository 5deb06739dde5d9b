"""Answers in the shape of the chat completions API, whole or as a stream of chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentsim.core.dates import SECOND
from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece, count, piece_size
from agentsim.gateway.scripted_reply import Part, Say, Think, Use, pieces, tokens_of

_encode = msgspec.json.encode
_STOPS = {"tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_OPENING = {"role": "assistant", "content": "", "refusal": None}


def completion(answer: EmulatedAnswer) -> dict[str, Any]:
    """The whole completion."""
    said = "".join(part.text for part in answer.reply.parts if isinstance(part, Say))
    message: dict[str, Any] = {"role": "assistant", "content": said or None, "refusal": None}
    calls = [_call(part) for part in answer.reply.parts if isinstance(part, Use)]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _stop(answer)}
    return {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage_of(answer)}


def events(answer: EmulatedAnswer, *, include_usage: bool) -> Iterator[StreamPiece]:
    """The completion as chunks. Its usage comes in one of its own, to clients that ask for it."""
    head = _chunk_head(answer, include_usage)
    yield _chunk(head, 0, _OPENING)
    out = number = 0
    for part in answer.reply.parts:
        whole = tokens_of((part,), answer.asked.model)
        if isinstance(part, Use):
            opening = _call(part)
            kind = "custom" if isinstance(part.input, str) else "function"
            field = "input" if kind == "custom" else "arguments"
            text = opening[kind].pop(field)
            opening[kind][field] = ""
            yield _chunk(head, out, {"tool_calls": [{"index": number, **opening}]})
            for sent, piece in _sent(text, piece_size(answer)):
                yield _chunk(
                    head, out + whole * sent // len(text), {"tool_calls": [{"index": number, kind: {field: piece}}]}
                )
            number += 1
        elif isinstance(part, Say):
            for sent, piece in _sent(part.text, piece_size(answer)):
                yield _chunk(head, out + whole * sent // len(part.text), {"content": piece})
        out += whole
    yield from _closing(answer, head, out, include_usage)


class ChatStream:
    """A completion of one text, as chunks while it is being said. Mutable."""

    def __init__(self, *, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._head: dict[str, Any] = {}

    def opening(self, answer: EmulatedAnswer) -> bytes:
        """What comes first."""
        self._head = _chunk_head(answer, self._include_usage)
        return _chunk(self._head, 0, _OPENING).data

    def delta(self, text: str) -> bytes:
        """More of the text."""
        return _chunk(self._head, 0, {"content": text}).data

    def closing(self, answer: EmulatedAnswer) -> bytes:
        """What comes last, when the whole answer is known."""
        return b"".join(event.data for event in _closing(answer, self._head, 0, self._include_usage))


def _chunk_head(answer: EmulatedAnswer, include_usage: bool) -> dict[str, Any]:
    return _head(answer, "chat.completion.chunk") | ({"usage": None} if include_usage else {})


def _closing(answer: EmulatedAnswer, head: dict[str, Any], out: int, include_usage: bool) -> Iterator[StreamPiece]:
    yield _chunk(head, out, {}, _stop(answer))
    if include_usage:
        yield StreamPiece(out, b"data: " + _encode({**head, "choices": [], "usage": usage_of(answer)}) + b"\n\n")
    yield StreamPiece(out, b"data: [DONE]\n\n")


def usage_of(answer: EmulatedAnswer) -> dict[str, Any]:
    """The counters: the prompt's include what was read from the cache."""
    usage = answer.usage
    whole, output = count(usage.total_input), count(usage.output)
    return {
        "prompt_tokens": whole,
        "completion_tokens": output,
        "total_tokens": whole + output,
        "prompt_tokens_details": {
            "cached_tokens": count(usage.read),
            "cache_write_tokens": count(usage.write),
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": reasoning_of(answer), "audio_tokens": 0},
    }


def reasoning_of(answer: EmulatedAnswer) -> int:
    """How many tokens of the reply are reasoning."""
    return min(_reasoning(answer.reply.parts, answer.asked.model), count(answer.usage.output))


def _reasoning(parts: tuple[Part, ...], model: str) -> int:
    return tokens_of(tuple(part for part in parts if isinstance(part, Think)), model)


def _head(answer: EmulatedAnswer, kind: str) -> dict[str, Any]:
    return {
        "id": answer.id.replace("resp_", "chatcmpl-"),
        "object": kind,
        "created": answer.time // SECOND,
        "model": answer.asked.model,
        "service_tier": "default",
        "system_fingerprint": "fp_agentsim",
    }


def _stop(answer: EmulatedAnswer) -> str:
    return _STOPS.get(answer.reply.stop, "stop")


def _call(part: Use) -> dict[str, Any]:
    if isinstance(part.input, str):
        return {"id": part.id, "type": "custom", "custom": {"name": part.tool, "input": part.input}}
    arguments = _encode(part.input).decode()
    return {"id": part.id, "type": "function", "function": {"name": part.tool, "arguments": arguments}}


def _sent(text: str, size: int) -> Iterator[tuple[int, str]]:
    sent = 0
    for piece in pieces(text, size):
        sent += len(piece)
        yield sent, piece


def _chunk(head: dict[str, Any], tokens: int, delta: dict[str, Any], stop: str | None = None) -> StreamPiece:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
    return StreamPiece(tokens, b"data: " + _encode({**head, "choices": [choice]}) + b"\n\n")
