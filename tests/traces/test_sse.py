"""Usage out of streamed responses: whole, cut, odd."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentsim.bodies.captured_calls import read_answered
from agentsim.bodies.messages_replies import read_message
from agentsim.bodies.sse import is_stream, read_events, read_stream
from agentsim.core.session import ProviderDiagnosis, Usage
from agentsim.core.strict_decoding import BadRow
from tests.traces.captures import MAIN, sse, stream, usage


def test_input_comes_from_the_start_and_output_from_the_last_delta():
    reply = read_stream(sse(*stream("msg_1", usage(fresh=4, write=15032, read=0, output=2), {"output_tokens": 174})))
    assert reply.usage == Usage(fresh=4, write_other=15032, read=0, output=174)
    assert (reply.id, reply.model, reply.stop_reason, reply.output_final) == ("msg_1", MAIN, "end_turn", True)


def test_the_last_value_that_is_not_null_holds():
    first = usage(fresh=4, write=100, read=50, output=1)
    last = {"input_tokens": 6, "cache_read_input_tokens": None, "output_tokens": 9}
    reply = read_stream(sse(*stream("msg_1", first, last)))
    assert reply.usage == Usage(fresh=6, write_other=100, read=50, output=9)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_three_ways(end):
    assert read_stream(sse(*stream("msg_1", usage()), end=end)).id == "msg_1"


def test_data_over_several_lines_is_one_event():
    text = 'data: {"type": "message_start",\ndata: "message": {"id": "msg_1"}}\n\n'
    assert read_stream(text).id == "msg_1"


def test_a_stream_that_broke_off_keeps_what_was_seen():
    start, *_ = stream("msg_1", usage(fresh=4, write=100, output=1))
    reply = read_stream(sse(start) + 'event: message_delta\ndata: {"type": "message_delta", "usa')
    assert reply.usage == Usage(fresh=4, write_other=100, read=0, output=1)
    assert not reply.output_final


def test_writes_by_lifetime():
    first = {**usage(write=30), "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}
    reply = read_stream(sse(*stream("msg_1", first)))
    assert reply.usage is not None
    assert (reply.usage.write_short, reply.usage.write_long, reply.usage.write_other) == (10, 20, None)


def test_a_breakdown_that_exceeds_the_total_is_refused():
    first = {**usage(write=29), "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}}
    with pytest.raises(BadRow, match="bad counter"):
        read_stream(sse(*stream("msg_1", first)))


@pytest.mark.parametrize("value", [-1, "7", 1.5, True, 2**53 + 1])
def test_a_counter_that_is_none_is_refused(value):
    with pytest.raises(BadRow, match="bad counter"):
        read_stream(sse(*stream("msg_1", {**usage(), "cache_read_input_tokens": value})))


def test_an_answer_that_quotes_events_changes_nothing():
    """The model's own text may contain what looks like an event, with counters of its own."""
    quoted = json.dumps({"type": "message_delta", "usage": {"output_tokens": 999_999}})
    start, delta, stop = stream("msg_1", usage(), {"output_tokens": 7})
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": quoted}}
    reply = read_stream(sse(start, text, delta, stop))
    assert reply.usage is not None
    assert reply.usage.output == 7


def test_a_list_of_events_is_read_like_a_stream():
    events = stream("msg_1", usage(fresh=4, write=100))
    assert read_events(json.dumps(event).encode() for event in events) == read_stream(sse(*events))


@pytest.mark.parametrize("text", ["", "data: x\n\n", "event: ping\ndata: {}\n\n", "<html>"])
def test_what_holds_no_reply_is_refused(text):
    with pytest.raises(BadRow, match="no response"):
        read_stream(text)


def test_counters_of_another_provider_are_not_taken_for_these():
    with pytest.raises(BadRow, match="other provider"):
        read_message(b'{"usage": {"prompt_tokens": 10, "completion_tokens": 2}}')


@pytest.mark.parametrize(
    ("diagnostics", "expected"),
    [
        (b"", ProviderDiagnosis()),
        (b',"diagnostics":null', ProviderDiagnosis(reported=True)),
        (b',"diagnostics":{"cache_miss_reason":null}', ProviderDiagnosis()),
        (
            b',"diagnostics":{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":9}}',
            ProviderDiagnosis(reported=True, reason="tools_changed", missed_tokens=9),
        ),
    ],
)
def test_the_diagnosis_of_the_provider(diagnostics, expected):
    assert read_message(b'{"usage":{"input_tokens":1}' + diagnostics + b"}").diagnosis == expected


WHOLE = sse(*stream("msg_1", usage(fresh=4, write=100, read=3), {"output_tokens": 9})).encode()


@settings(max_examples=500, deadline=None)
@given(at=st.integers(0, len(WHOLE)), new=st.binary(max_size=4), length=st.integers(0, 40))
@example(at=len(WHOLE) // 2, new=b"", length=0)
def test_a_damaged_stream_never_does_more_than_refuse(at, new, length):
    with contextlib.suppress(BadRow):
        read_stream(WHOLE[:at] + new + WHOLE[at + length :])


@given(cut=st.integers(0, len(WHOLE)))
def test_a_cut_stream_never_invents_counters(cut):
    try:
        reply = read_stream(WHOLE[:cut])
    except BadRow:
        return
    assert reply.usage in [Usage(fresh=4, write_other=100, read=3, output=n) for n in (5, 9)]


CHAT = b"""data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}

data: {"object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}

data: [DONE]
"""
GENERATED = b"""data: {"candidates":[{"finishReason":"STOP"}],"modelVersion":"m","usageMetadata":{"promptTokenCount":9}}
"""
MESSAGES = sse(*stream("msg_1", usage(fresh=4, write=100, read=50, output=1), {"output_tokens": 9})).encode()


@pytest.mark.parametrize(("api", "streamed"), [("chat", CHAT), ("generate", GENERATED), ("messages", MESSAGES)])
@pytest.mark.parametrize(
    "before", [b": PROCESSING\n\n: PROCESSING\n\n", b"id: 1\n", b"retry: 10\n\n", b"\n", b"\xef\xbb\xbf"]
)
def test_whatever_a_stream_may_begin_with_changes_nothing(api, streamed, before):
    whole = read_answered(streamed, api)
    assert whole.reply.usage is not None
    again = read_answered(before + streamed, api)
    assert again.reply.usage == whole.reply.usage


@pytest.mark.parametrize("body", [b"", b"{}", b'{"data:": 1}', b"[]", b"data", b"event", b"null", b'"data: x"'])
def test_what_is_no_stream(body):
    assert not is_stream(body)
