"""Bodies and answers of the APIs that only one provider's servers have."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import MessagesReader
from agentsim.bodies.api_shapes import api_of, model_in
from agentsim.bodies.captured_calls import body_to_read, read_answered
from agentsim.bodies.content_encoding import unpacked
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow


def frame(event: str, payload: bytes) -> bytes:
    """A frame of an event stream, its checksums not computed: no reader of logs looks at them."""
    name, value = b":event-type", event.encode()
    head = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    return struct.pack(">II", 16 + len(head) + len(payload), len(head)) + b"crc0" + head + payload + b"crc1"


CONVERSE = {
    "system": [{"text": "Be short."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": [{"text": "hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "read", "input": {"p": 1}}}]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t", "content": [{"text": "a"}]}},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]},
}
COUNTED = {"inputTokens": 4, "outputTokens": 5, "cacheReadInputTokens": 6, "cacheWriteInputTokens": 7}


@pytest.mark.parametrize(
    ("url", "api", "model"),
    [
        ("https://b/model/us.anthropic.claude-x-v1%3A0/converse", "converse", "us.anthropic.claude-x-v1:0"),
        ("https://b/model/anthropic.claude-x/invoke-with-response-stream", "invoke", "anthropic.claude-x"),
        ("https://g/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "generate", "gemini-3-pro"),
        ("https://v/publishers/anthropic/models/claude-x@20250514:rawPredict", "messages", "claude-x@20250514"),
        ("https://a/v1/messages?beta=true", "messages", None),
        ("https://a/v1/messages/count_tokens", None, None),
        ("https://g/v1/models/gemini-3-pro:countTokens", None, "gemini-3-pro"),
    ],
)
def test_an_address_tells_the_api_and_the_model(url: str, api: str | None, model: str | None) -> None:
    assert (api_of(url), model_in(url)) == (api, model)


def test_cache_points_are_breakpoints_behind_the_block_before_them() -> None:
    read = MessagesReader().read(body_to_read(json.dumps(CONVERSE).encode(), "converse", "claude-x"))
    assert [block.kind for block in read.prompt] == ["tool", "text", "text", "tool_use", "tool_result"]
    assert [block.section for block in read.prompt] == ["tools", "system", "messages", "messages", "messages"]
    assert [(marker.position, marker.ttl) for marker in read.prompt.breakpoints] == [(1, 3600), (4, 300)]
    assert read.model == "claude-x"


def test_counters_of_converse_stand_apart_whole_and_streamed() -> None:
    whole = json.dumps(
        {"stopReason": "end_turn", "usage": {**COUNTED, "cacheDetails": [{"ttl": "1h", "inputTokens": 7}]}}
    )
    usage = Usage(fresh=4, read=6, write_short=0, write_long=7, output=5)
    assert read_answered(whole.encode(), "converse").reply.usage == usage
    stream = frame("messageStop", b'{"stopReason":"end_turn"}') + frame(
        "metadata", json.dumps({"usage": COUNTED}).encode()
    )
    reply = read_answered(stream, "converse").reply
    assert (reply.usage, reply.stop_reason) == (Usage(fresh=4, read=6, write_other=7, output=5), "end_turn")
    assert not read_answered(stream[:-9], "converse").reply.output_final


def test_claudes_own_events_come_out_of_the_frames() -> None:
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "claude-x", "usage": {"input_tokens": 3}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    ]
    chunks = [{"bytes": base64.b64encode(json.dumps(event).encode()).decode()} for event in events]
    data = b"".join(frame("chunk", json.dumps(chunk).encode()) for chunk in chunks)
    reply = read_answered(data, "invoke").reply
    assert (reply.id, reply.usage) == ("m", Usage(fresh=3, output=9))


def test_gemini_counts_thoughts_on_top_and_cached_inside() -> None:
    said = {"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5,
                              "thoughtsTokenCount": 7}, "modelVersion": "gemini-3-pro"}  # fmt: skip
    expected = Usage(fresh=40, read=60, output=12)
    forms = (json.dumps(said), json.dumps([{}, said]), f"data: {{}}\n\ndata: {json.dumps(said)}\n\n",
             json.dumps({"response": said}))  # fmt: skip
    assert {read_answered(form.encode(), "generate").reply.usage for form in forms} == {expected}


def test_gemini_bodies_become_blocks() -> None:
    sent = {
        "systemInstruction": {"parts": [{"text": "Be short."}]},
        "tools": [{"functionDeclarations": [{"name": "read", "parameters": {"type": "object"}}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "a"}}}]},
        ],
    }
    for body in (sent, {"model": "gemini-3-pro", "request": sent}):
        read = MessagesReader().read(body_to_read(json.dumps(body).encode(), "generate", "gemini-3-pro"))
        assert [block.kind for block in read.prompt] == ["tool", "text", "text", "tool_use", "tool_result"]
        assert read.model == "gemini-3-pro"


@given(st.binary(max_size=300), st.sampled_from(("converse", "generate", "invoke")))
def test_nothing_but_a_bad_row_comes_out_of_damage(data: bytes, api: str) -> None:
    for read in (lambda: read_answered(data, api), lambda: body_to_read(data, api, "m")):  # type: ignore[arg-type]
        try:
            read()
        except BadRow:
            continue


BODY = b'{"usage":{}}' * 50


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (gzip.compress(BODY, mtime=0), None),
        (zstandard.compress(BODY), None),
        (zlib.compress(BODY), "deflate"),
        (BODY, "gzip"),
    ],
)
def test_bodies_are_unpacked_by_what_they_are(packed: bytes, encoding: str | None) -> None:
    assert unpacked(packed, encoding) == BODY


@pytest.mark.parametrize("packed", [gzip.compress(BODY, mtime=0), zstandard.compress(BODY)])
def test_no_more_is_unpacked_than_was_allowed(packed: bytes) -> None:
    assert unpacked(packed, limit=len(BODY)) == BODY
    with pytest.raises(BadRow, match="too long"):
        unpacked(packed, limit=len(BODY) - 1)
    with pytest.raises(BadRow, match="broken body"):
        unpacked(packed[: len(packed) // 2])
