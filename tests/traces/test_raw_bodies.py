"""A folder of bodies whose names do not tell which response belongs to which request."""

from __future__ import annotations

import json
import os

import pytest

from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers.raw_bodies import read_sessions
from tests.traces.captures import SMALL, START, body, conversation, response, user


def put(folder, name, content, at):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    os.utime(path, ns=((START + at) * 10**9,) * 2)


def read_one(folder):
    (session,) = read_sessions([str(folder)])
    assert session.accounting.adds_up
    return session


def said(id, text, **fields):
    return response(id, content=[{"type": "text", "text": text}], **fields)


def test_requests_and_responses_one_after_the_other(tmp_path):
    for n, asked in enumerate(conversation(3)):
        put(tmp_path, f"{9 - n}.request.json", asked, 10 * n)
        put(tmp_path, f"req_{n}.response.json", said(f"m{n}", f"do it answer {n}"), 10 * n + 4)
    session = read_one(tmp_path)
    assert [request.id for request in session.requests] == ["req_0", "req_1", "req_2"]
    assert [request.parent for request in session.requests] == [None, "req_0", "req_1"]
    assert (session.requests[1].start, session.requests[1].end) == ((START + 10) * 10**9, (START + 14) * 10**9)
    assert session.id == tmp_path.name


def test_a_response_goes_to_a_request_of_its_model(tmp_path):
    put(tmp_path, "a.request.json", body(user("long")), 0)
    put(tmp_path, "b.request.json", body(user("title"), model="claude-3-5-haiku-latest", tools=None), 1)
    put(tmp_path, "req_small.response.json", response("s", model=SMALL), 2)
    put(tmp_path, "req_main.response.json", response("m"), 9)
    session = read_one(tmp_path)
    assert {request.id: request.model for request in session.requests} == {
        "req_small": SMALL,
        "req_main": "claude-sonnet-4-20250514",
    }


def test_two_in_flight_are_told_apart_by_what_came_later(tmp_path):
    """Both wait; the one sent second is answered first. Its conversation goes on and repeats the answer."""
    one, two = body(user("first")), body(user("second"))
    put(tmp_path, "1.request.json", one, 0)
    put(tmp_path, "2.request.json", two, 1)
    put(tmp_path, "req_for_two.response.json", said("m2", "to the second"), 5)
    put(tmp_path, "req_for_one.response.json", said("m1", "to the first"), 8)
    later = body(
        user("second"), {"role": "assistant", "content": [{"type": "text", "text": "to the second"}]}, user("go")
    )
    put(tmp_path, "3.request.json", later, 10)
    put(tmp_path, "req_later.response.json", said("m3", "end"), 12)
    starts = {request.id: request.start // 10**9 - START for request in read_one(tmp_path).requests}
    assert starts == {"req_for_one": 0, "req_for_two": 1, "req_later": 10}


def test_a_request_without_a_response_is_not_billable(tmp_path):
    one, two = conversation(2)
    put(tmp_path, "1.request.json", one, 0)
    put(tmp_path, "req_1.response.json", response("m1"), 2)
    put(tmp_path, "2.request.json", two, 5)
    session = read_one(tmp_path)
    assert (session.accounting.rows, session.accounting.used, session.accounting.not_billable) == (2, 1, 1)


def test_bad_files_are_told_and_the_others_are_read(tmp_path):
    put(tmp_path, "1.request.json", body(user("x")), 0)
    put(tmp_path, "req_1.response.json", response("m1"), 2)
    put(tmp_path, "2.request.json", b'{"messages": [', 3)
    put(tmp_path, "3.request.json", b"\xff", 3)
    put(tmp_path, "4.request.json", b"[]", 3)
    put(tmp_path, "req_5.response.json", b"{}{", 4)
    os.mkfifo(tmp_path / "6.request.json")
    session = read_one(tmp_path)
    assert session.accounting.rows == 5
    assert dict(session.accounting.skipped) == {
        "broken JSON": 1,
        "not UTF-8": 1,
        "not a Messages request": 1,
        "cannot be read": 1,
    }
    assert {os.path.basename(problem.file) for problem in session.problems} == {
        "2.request.json", "3.request.json", "4.request.json", "req_5.response.json", "6.request.json",
    }  # fmt: skip


def test_a_folder_of_nothing_is_an_error(tmp_path):
    put(tmp_path, "1.request.json", body(user("x")), 0)
    with pytest.raises(TraceError, match="no Messages request with its response"):
        list(read_sessions([str(tmp_path)]))


def test_the_result_depends_on_times_and_not_on_the_order_of_names(tmp_path):
    names = ["z", "a", "m"]
    for n, asked in enumerate(conversation(3)):
        put(tmp_path, f"{names[n]}.request.json", asked, n * 10)
        put(tmp_path, f"req_{names[2 - n]}.response.json", response(f"m{n}"), n * 10 + 1)
    assert [request.id for request in read_one(tmp_path).requests] == ["req_m", "req_a", "req_z"]
