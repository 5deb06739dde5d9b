"""Requests beside their responses, under whatever names."""

from __future__ import annotations

import json

import pytest

from agentsim.core.session import Usage
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers.pairs import read_sessions
from tests.traces.captures import START, body, conversation, jsonl, response, sse, stream, usage, user

ASKED = body(user("hi"))
ANSWERED = response("m", usage(fresh=3, write=10, read=20, output=4))
EXPECTED = Usage(fresh=3, write_5m=10, write_1h=0, read=20, output=4)
STREAM = stream("m", usage(fresh=3, write=10, read=20, output=1), {"output_tokens": 4})


def read_all(folder, *rows):
    path = folder / "pairs.jsonl"
    path.write_bytes(jsonl(*rows))
    return list(read_sessions([str(path)]))


@pytest.mark.parametrize(
    "row",
    [
        {"request": ASKED, "response": ANSWERED},
        {"request": {"body": ASKED}, "response": {"body": ANSWERED, "status": 200}},
        {"request": {"body": json.dumps(ASKED)}, "response": {"body": json.dumps(ANSWERED)}},
        {"request_body": json.dumps(ASKED), "response_body": json.dumps(ANSWERED)},
        {"requestBody": ASKED, "responseBody": ANSWERED},
        {"body": ASKED, "response": sse(*STREAM)},
        {"request": ASKED, "response": {"body_raw": sse(*STREAM)}},
        {"request": ASKED, "response": STREAM},
        {"request": ASKED, "response": {"content": STREAM}},
        {"request": ASKED, "usage": ANSWERED["usage"]},
        {"request": ASKED, "response": None, "usage": ANSWERED["usage"]},
        {**ASKED, "response": ANSWERED},
        {**ASKED, "usage": ANSWERED["usage"]},
    ],
    ids=lambda row: "+".join(row)[:40],
)
def test_a_pair_is_found_under_usual_names(tmp_path, row):
    (session,) = read_all(tmp_path, row)
    assert session.accounting.used == 1
    (request,) = session.requests
    assert request.usage == EXPECTED
    assert len(request.prompt) == len(ASKED["tools"]) + 1 + 1


@pytest.mark.parametrize(
    ("names", "first_token"),
    [
        ({"start": START + 0.5, "end": START + 2}, None),
        ({"timestamp": f"{START}.5", "end": START}, None),
        ({"startTime": (START * 1000) + 500, "endTime": (START + 2) * 1000}, None),
        (
            {
                "start_time": "2026-05-28T20:26:40.5Z",
                "end_time": "2026-05-28T20:26:42Z",
                "completionStartTime": "2026-05-28T20:26:41Z",
            },
            START + 1,
        ),
    ],
)
def test_times_are_taken_in_usual_forms(tmp_path, names, first_token):
    (session,) = read_all(tmp_path, {"request": ASKED, "response": ANSWERED, **names})
    (request,) = session.requests
    if "timestamp" in names:
        # A number in a string is no time stamp, and an end alone is one.
        assert (request.start, request.end) == (None, START * 10**9)
        return
    assert (request.start, request.end) == (START * 10**9 + 500_000_000, (START + 2) * 10**9)
    assert request.first_token == (None if first_token is None else first_token * 10**9)


def test_without_times_the_order_is_that_of_the_file(tmp_path):
    rows = [{"request": asked, "response": response(f"m{n}")} for n, asked in enumerate(conversation(3))]
    (session,) = read_all(tmp_path, *rows)
    assert [request.parent for request in session.requests] == [None, "m0", "m1"]
    assert {request.start for request in session.requests} == {None}


def test_rows_of_several_sessions_are_told_apart(tmp_path):
    rows = [{"request": ASKED, "response": response(f"m{n}"), "session_id": name} for n, name in enumerate("aba")]
    assert [(session.id, len(session.requests)) for session in read_all(tmp_path, *rows)] == [("a", 2), ("b", 1)]


def test_an_error_response_is_not_billable(tmp_path):
    rows = [{"request": ASKED, "response": ANSWERED}, {"request": ASKED, "response": {"status": 429, "body": {}}}]
    (session,) = read_all(tmp_path, *rows)
    assert (session.accounting.used, session.accounting.not_billable) == (1, 1)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"response": ANSWERED}, "not a Messages request"),
        ({"request": {"messages": 3}, "response": ANSWERED}, "not a Messages request"),
        ({"request": ASKED, "response": {"usage": {"input_tokens": "3"}}}, "bad counter"),
        ({"request": ASKED, "response": {"usage": {"prompt_tokens": 3}}}, "other provider"),
        ({"request": ASKED, "response": {"usage": None}}, "no usage"),
    ],
)
def test_a_bad_row_is_skipped_with_its_reason(tmp_path, row, reason):
    (session,) = read_all(tmp_path, {"request": ASKED, "response": ANSWERED}, row)
    assert session.accounting.skipped == ((reason, 1),)
    assert session.accounting.adds_up
    with pytest.raises(TraceError, match=reason):
        read_all(tmp_path, row)
