"""Answers in the shape of the responses API, whole or as a stream of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agentsim.bodies.sealed_summary import SealedSummary, sealed
from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.gateway.emulated_answer import EmulatedAnswer, StreamPiece, count, piece_size
from agentsim.gateway.openai.chat_reply import reasoning_of
from agentsim.gateway.scripted_reply import Part, Say, Think, pieces, tokens_of

_encode = msgspec.json.encode


def response(answer: EmulatedAnswer) -> dict[str, Any]:
    """The whole response."""
    status = "incomplete" if answer.reply.stop == "max_tokens" else "completed"
    return _response(answer, status, items_of(answer), usage_of(answer))


def unfinished(answer: EmulatedAnswer, status: str, count: int) -> dict[str, Any]:
    """The response while it is on its way, or where it was given up: with its first ``count`` items, and no usage."""
    return _response(answer, status, items_of(answer)[:count], None)


def items_of(answer: EmulatedAnswer) -> list[dict[str, Any]]:
    """All items of the response."""
    return [_item(answer, index, part) for index, part in enumerate(answer.reply.parts)]


def events(answer: EmulatedAnswer, *, queued: bool = False) -> Iterator[StreamPiece]:
    """The response as server-sent events. Usage comes with the last one. ``queued``: it waits before it begins."""
    stream = _Stream(answer)
    yield from stream.waiting() if queued else stream.opening()
    for index, part in enumerate(answer.reply.parts):
        whole = tokens_of((part,), answer.asked.model)
        yield from stream.item(index, part, _item(answer, index, part), whole)
        stream.out += whole
    yield stream.closing()


class ResponseStream:
    """A response of one text, as events while it is being said. Mutable."""

    def __init__(self) -> None:
        self._stream: _Stream | None = None
        self._begun = False

    def opening(self, answer: EmulatedAnswer) -> bytes:
        """What comes first."""
        self._stream = _Stream(answer)
        return _joined(self._stream.opening())

    def delta(self, text: str) -> bytes:
        """More of the text."""
        assert self._stream is not None
        place = _place(0, _item(self._stream.answer, 0, Say("")))
        return self._begin() + self._stream.delta(0, place, text).data

    def closing(self, answer: EmulatedAnswer) -> bytes:
        """What comes last, when the whole answer is known."""
        assert self._stream is not None
        data = b""
        for part in answer.reply.parts:
            assert isinstance(part, Say)
            item = _item(answer, 0, part)
            done = self._stream.text_done(0, _place(0, item), part.text, item)
            data = self._begin() + _joined(done)
            data += self._stream.event("response.output_item.done", output_index=0, item=item).data
        self._stream.answer = answer
        return data + self._stream.closing().data

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        assert self._stream is not None
        return _joined(self._stream.text_opening(0, _item(self._stream.answer, 0, Say(""))))


def _joined(events: Iterator[StreamPiece]) -> bytes:
    return b"".join(event.data for event in events)


def _place(index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"item_id": item["id"], "output_index": index}


class _Stream:
    """A stream of numbered events. Mutable."""

    def __init__(self, answer: EmulatedAnswer) -> None:
        self.answer = answer
        self.out = 0
        self.number = 0

    def event(self, kind: str, tokens: int = 0, **fields: Any) -> StreamPiece:
        data = _encode({"type": kind, "sequence_number": self.number, **fields})
        self.number += 1
        return StreamPiece(self.out + tokens, b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n")

    def opening(self) -> Iterator[StreamPiece]:
        for kind in ("response.created", "response.in_progress"):
            yield self.event(kind, response=_response(self.answer, "in_progress", [], None))

    def waiting(self) -> Iterator[StreamPiece]:
        opening = _response(self.answer, "queued", [], None)
        yield self.event("response.created", -1, response=opening)
        yield self.event("response.queued", -1, response=opening)
        yield self.event("response.in_progress", response=_response(self.answer, "in_progress", [], None))

    def closing(self) -> StreamPiece:
        done = response(self.answer)
        return self.event(f"response.{done['status']}", response=done)

    def text_opening(self, index: int, item: dict[str, Any]) -> Iterator[StreamPiece]:
        opening = item | {"status": "in_progress", "content": []}
        yield self.event("response.output_item.added", output_index=index, item=opening)
        empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield self.event("response.content_part.added", **_place(index, item), content_index=0, part=empty)

    def delta(self, tokens: int, place: dict[str, Any], text: str) -> StreamPiece:
        return self.event("response.output_text.delta", tokens, **place, content_index=0, delta=text, logprobs=[])

    def text_done(self, tokens: int, place: dict[str, Any], text: str, item: dict[str, Any]) -> Iterator[StreamPiece]:
        yield self.event("response.output_text.done", tokens, **place, content_index=0, text=text, logprobs=[])
        part = item["content"][0]
        yield self.event("response.content_part.done", tokens, **place, content_index=0, part=part)

    def item(self, index: int, part: Part, item: dict[str, Any], whole: int) -> Iterator[StreamPiece]:
        place = _place(index, item)
        opening = item | {"status": "in_progress"} if "status" in item else dict(item)
        if item["type"] == "compaction":
            yield self.event("response.output_item.added", output_index=index, item=opening | {"encrypted_content": ""})
            yield self.event("response.compaction.compacting", **place)
        elif isinstance(part, Say):
            yield from self.text_opening(index, item)
            for sent, piece in self._pieces(part.text, whole):
                yield self.delta(sent, place, piece)
            yield from self.text_done(whole, place, part.text, item)
        elif isinstance(part, Think):
            yield self.event("response.output_item.added", output_index=index, item=opening | {"summary": []})
            empty = {"type": "summary_text", "text": ""}
            yield self.event("response.reasoning_summary_part.added", **place, summary_index=0, part=empty)
            for sent, piece in self._pieces(part.text, whole):
                yield self.event("response.reasoning_summary_text.delta", sent, **place, summary_index=0, delta=piece)
            yield self.event("response.reasoning_summary_text.done", whole, **place, summary_index=0, text=part.text)
            yield self.event(
                "response.reasoning_summary_part.done", whole, **place, summary_index=0, part=item["summary"][0]
            )
        else:
            free = isinstance(part.input, str)
            field = "input" if free else "arguments"
            name = "response.custom_tool_call_input" if free else "response.function_call_arguments"
            yield self.event("response.output_item.added", output_index=index, item=opening | {field: ""})
            for sent, piece in self._pieces(item[field], whole):
                yield self.event(f"{name}.delta", sent, **place, delta=piece)
            told = {field: item[field]} if free else {field: item[field], "name": part.tool}
            yield self.event(f"{name}.done", whole, **place, **told)
        yield self.event("response.output_item.done", whole, output_index=index, item=item)

    def _pieces(self, text: str, whole: int) -> Iterator[tuple[int, str]]:
        sent = 0
        for piece in pieces(text, piece_size(self.answer)):
            sent += len(piece)
            yield whole * sent // len(text), piece


def _item(answer: EmulatedAnswer, index: int, part: Part) -> dict[str, Any]:
    number = f"{answer.id.removeprefix('resp_')}_{index}"
    if isinstance(part, Say) and answer.asked.compacts:
        content = sealed(SealedSummary(answer.asked.turn, part.text))
        return {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": content}
    if isinstance(part, Say):
        text = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    if isinstance(part, Think):
        return {"id": f"rs_{number}", "type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}]}
    if isinstance(part.input, str):
        return {
            "id": f"ctc_{number}",
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": part.id,
            "name": part.tool,
            "input": part.input,
        }
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": part.id,
        "name": part.tool,
        "arguments": _encode(part.input).decode(),
    }


def _response(answer: EmulatedAnswer, status: str, output: list[Any], usage: dict[str, Any] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": answer.id,
        "object": "response",
        "created_at": answer.time // SECOND,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "max_output_tokens": answer.asked.max_tokens,
        "metadata": {},
        "model": answer.asked.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        **answer.asked.echoed,
    }
    if answer.asked.compare and usage is not None:
        found["prompt_cache_diagnostics"] = _diagnostics(answer)
    return found


def usage_of(answer: EmulatedAnswer) -> dict[str, Any]:
    """The counters: the input includes what was read from the cache and what was written to it."""
    usage = answer.usage
    whole, output = count(usage.total_input), count(usage.output)
    return {
        "input_tokens": whole,
        "input_tokens_details": {
            "cached_tokens": count(usage.read),
            "cache_write_tokens": count(usage.write),
            "cache_write_tokens_details": None if usage.write is None else _by_lifetime(usage),
        },
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning_of(answer)},
        "total_tokens": whole + output,
    }


def _by_lifetime(usage: Usage) -> dict[str, int]:
    return {"ttl_30m_tokens": count(usage.write_short), "ttl_12h_tokens": count(usage.write_long)}


def _diagnostics(answer: EmulatedAnswer) -> dict[str, Any]:
    said = answer.diagnosis
    if said.reason == "previous_message_not_found":
        return {"type": "comparison_response_not_found"}
    if said.reason == "unavailable":
        return {"type": "unavailable"}
    if said.reason is None:
        return {"type": "cache_hit"}
    reason = "input_changed" if said.reason in ("system_changed", "messages_changed") else said.reason
    return {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": count(said.missed_tokens),
        "comparison_reusable_tokens": answer.reusable,
    }
