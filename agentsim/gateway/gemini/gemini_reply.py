"""Answers in the shape of the Gemini API, whole or as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece, count, piece_size
from agentsim.gateway.openai.chat_reply import reasoning_of
from agentsim.gateway.scripted_reply import Part, Say, Think, Use, pieces, tokens_of

_encode = msgspec.json.encode
_STOPS = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
_SIGNATURE = "c2lnbmF0dXJlIG9mIGFuIGVtdWxhdGVkIG1vZGVs"


def generated(answer: EmulatedAnswer) -> dict[str, Any]:
    """The whole answer."""
    return _chunk(answer, [_part(part) for part in answer.reply.parts], is_last=True)


def events(answer: EmulatedAnswer) -> Iterator[StreamPiece]:
    """The answer as server-sent events, the last of them with the reason of its end."""
    out = 0
    for part in answer.reply.parts:
        whole = tokens_of((part,), answer.asked.model)
        if isinstance(part, Use):
            yield _event(answer, out + whole, [_part(part)])
        else:
            sent = 0
            for text in pieces(part.text, piece_size(answer)):
                sent += len(text)
                yield _event(answer, out + whole * sent // len(part.text), [_part(type(part)(text))])
        out += whole
    data = _encode(_chunk(answer, [{"text": ""}], is_last=True))
    yield StreamPiece(max(out, answer.reply.tokens), b"data: " + data + b"\r\n\r\n")


class GeminiStream:
    """An answer of one text, as events while it is being said. Mutable."""

    def __init__(self) -> None:
        self._answer: EmulatedAnswer | None = None

    def opening(self, answer: EmulatedAnswer) -> bytes:
        """What comes first: nothing yet."""
        self._answer = answer
        return b""

    def delta(self, text: str) -> bytes:
        """More of the text."""
        assert self._answer is not None
        return _event(self._answer, 0, [{"text": text}]).data

    def closing(self, answer: EmulatedAnswer) -> bytes:
        """What comes last, when the whole answer is known."""
        return b"data: " + _encode(_chunk(answer, [{"text": ""}], is_last=True)) + b"\r\n\r\n"


def usage_of(answer: EmulatedAnswer) -> dict[str, Any]:
    """The counters: the prompt's include what was read from a cache; those of thinking stand apart."""
    usage = answer.usage
    whole, output, thoughts = count(usage.total_input), count(usage.output), reasoning_of(answer)
    found = {
        "promptTokenCount": whole,
        "candidatesTokenCount": output - thoughts,
        "totalTokenCount": whole + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": whole}],
    }
    if usage.read:
        found["cachedContentTokenCount"] = usage.read
    if thoughts:
        found["thoughtsTokenCount"] = thoughts
    return found


def _chunk(answer: EmulatedAnswer, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = _STOPS.get(answer.reply.stop, "STOP")
    return {
        "candidates": [candidate],
        "usageMetadata": usage_of(answer),
        "modelVersion": answer.asked.model,
        "responseId": answer.id,
    }


def _event(answer: EmulatedAnswer, tokens: int, parts: list[dict[str, Any]]) -> StreamPiece:
    return StreamPiece(tokens, b"data: " + _encode(_chunk(answer, parts, is_last=False)) + b"\r\n\r\n")


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"text": part.text}
    if isinstance(part, Think):
        return {"text": part.text, "thought": True}
    value = {"input": part.input} if isinstance(part.input, str) else part.input
    return {"functionCall": {"id": part.id, "name": part.tool, "args": value}, "thoughtSignature": _SIGNATURE}
