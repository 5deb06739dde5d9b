"""claude-trace captures: counters, times, lanes, and what is never kept."""

from __future__ import annotations

import time

import msgspec
import pytest

from agentsim.core.session import Problem
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers.claude_trace import read_sessions
from tests.traces.captures import (
    MAIN,
    SMALL,
    START,
    TOOLS,
    assistant,
    body,
    conversation,
    jsonl,
    pair,
    response,
    sse,
    stream,
    usage,
    user,
)


def sessions_in(path, problems=None):
    return list(read_sessions([str(path)], problems))


def read_all(folder, *rows, problems=None, raw=None):
    path = folder / "log.jsonl"
    path.write_bytes(jsonl(*rows) if raw is None else raw)
    return sessions_in(path, problems)


def read_one(folder, *rows):
    (session,) = read_all(folder, *rows)
    assert session.accounting.adds_up
    return session


def main_lane(turns, **fields):
    return [pair(asked, response(f"msg_{n}"), at=10 * n) for n, asked in enumerate(conversation(turns, **fields))]


def test_a_growing_conversation_is_one_lane(tmp_path):
    session = read_one(tmp_path, *main_lane(4))
    assert [lane.purpose for lane in session.lanes] == ["main"]
    assert [request.parent for request in session.requests] == [None, "msg_0", "msg_1", "msg_2"]
    assert session.accounting.used == session.accounting.rows == 4
    assert (session.harness, session.requests[0].harness_version) == ("claude-code", "1.0.6")


def test_times_are_those_of_the_wire_to_the_microsecond(tmp_path):
    line = pair(body(user("hi")), response("m"), at=0.123456, took=2.0)
    (request,) = read_one(tmp_path, line).requests
    # 1,780,000,000.123456 as a float would be off by some 100 ns
    assert request.start == START * 10**9 + 123_456_000
    assert request.end == (START + 2) * 10**9 + 123_456_000


def test_prompts_grow_by_what_is_new_and_add_up_to_what_was_counted(tmp_path):
    counters = [usage(fresh=3, write=1000), usage(fresh=3, write=100, read=1000), usage(fresh=3, write=50, read=1100)]
    rows = [pair(asked, response(f"m{n}", counters[n]), at=10 * n) for n, asked in enumerate(conversation(3))]
    session = read_one(tmp_path, *rows)
    prompts = [request.prompt for request in session.requests]
    assert [prompt.tokens for prompt in prompts] == [1003, 1103, 1153]
    assert [prompts[0].equal_length(prompt) for prompt in prompts] == [len(prompts[0])] * 3


def test_writes_under_five_minute_markers_are_for_five_minutes(tmp_path):
    session = read_one(tmp_path, pair(body(user("hi")), response("m", usage(write=500))))
    found = session.requests[0].usage
    assert (found.write_short, found.write_other) == (500, None)


def test_writes_under_an_hour_s_marker_stay_undecided(tmp_path):
    """The provider may grant five minutes where an hour was asked for."""
    asked = body(user("hi"))
    asked["system"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    session = read_one(tmp_path, pair(asked, response("m", usage(write=500))))
    found = session.requests[0].usage
    assert (found.write_short, found.write_long, found.write_other) == (None, None, 500)


def test_helpers_have_lanes_of_their_own(tmp_path):
    probe = body(user("quota"), model=SMALL, tools=None, system=None, max_tokens=1)
    title = body(user("a title for: do it"), model=SMALL, tools=None, system="Make titles.")
    rows = [pair(probe, response("p"), at=0), pair(title, response("t"), at=1)]
    rows += [pair(asked, response(f"m{n}"), at=10 + n * 5) for n, asked in enumerate(conversation(2))]
    session = read_one(tmp_path, *rows)
    assert [(request.id, request.purpose) for request in session.requests] == [
        ("p", "probe"), ("t", "helper"), ("m0", "main"), ("m1", "main"),
    ]  # fmt: skip
    purposes = {lane.id: lane.purpose for lane in session.lanes}
    assert [purposes[request.lane] for request in session.requests] == ["helper", "helper", "main", "main"]
    assert len({request.lane for request in session.requests}) == 3


def test_a_chat_without_tools_is_no_helper(tmp_path):
    session = read_one(tmp_path, *main_lane(2, tools=None))
    assert [lane.purpose for lane in session.lanes] == ["main"]


def test_a_compaction_call_belongs_to_the_lane_it_summarises_and_so_does_what_follows(tmp_path):
    rows = main_lane(4)
    history = list(conversation(5))[-1]["messages"]
    summary = body(*history[:-1], user("Summarise."), tools=TOOLS[:1], system="You summarise.")
    after = body(user("do it again", "This continues an earlier session: …"))
    rows += [pair(summary, response("s"), at=100), pair(after, response("a"), at=110)]
    session = read_one(tmp_path, *rows)
    assert [lane.id for lane in session.lanes] == ["main"]
    shown = [(request.id, request.purpose, request.parent) for request in session.requests[-2:]]
    assert shown == [("s", "summary", "msg_3"), ("a", "main", "msg_3")]
    assert [(event.kind, event.before) for event in session.events] == [("compaction", "a")]


@pytest.mark.parametrize(
    ("opening", "lane"),
    [
        ("This session continues an earlier one. A summary of it: …", "main"),
        ("The conversation before this point was compacted into the following summary: …", "main"),
        ("Write a summary of the parser's modules.", "main-2"),
        ("earlier " + "x" * 385 + "summary", "main"),
        ("earlier " + "x" * 386 + "summary", "main-2"),
        ("Find the bug in the parser.", "main-2"),
    ],
)
def test_a_history_replaced_by_a_summary_that_nobody_logged_stays_in_its_lane(tmp_path, opening, lane):
    rows = main_lane(4)
    session = read_one(tmp_path, *rows, pair(body(user(opening)), response("a"), at=100))
    assert session.requests[-1].lane == lane
    assert [event.kind for event in session.events] == (["compaction"] if lane == "main" else [])


def test_a_tool_that_came_does_not_start_a_new_lane(tmp_path):
    one, two = conversation(2)
    two["tools"] = [*TOOLS, {"name": "new", "description": "", "input_schema": {"type": "object"}}]
    session = read_one(tmp_path, pair(one, response("a")), pair(two, response("b"), at=10))
    assert [(request.lane, request.purpose) for request in session.requests] == [("main", "main")] * 2


def test_subagents_under_another_head_are_told_apart_from_the_main_lane(tmp_path):
    rows = main_lane(2)
    for n, asked in enumerate(conversation(2, first="look for x", system="You are a scout.")):
        rows.append(pair(asked, response(f"sub_{n}"), at=30 + 5 * n))
    session = read_one(tmp_path, *rows)
    assert [(lane.id, lane.purpose, lane.parent) for lane in session.lanes] == [
        ("main", "main", None), ("subagent", "subagent", "main"),
    ]  # fmt: skip
    assert session.requests[-1].parent == "sub_0"


def test_what_is_sent_while_a_lane_waits_is_a_lane_of_its_own(tmp_path):
    """Two branches of one conversation sent together: 2 s apart, each takes 8 s."""
    rows = main_lane(2)
    *history, _ = list(conversation(3))[-1]["messages"]
    for n in range(2):
        rows.append(pair(body(*history, user(f"branch {n}")), response(f"b{n}"), at=30 + 2 * n, took=8))
    session = read_one(tmp_path, *rows)
    assert [request.lane for request in session.requests] == ["main", "main", "main", "subagent"]


def test_a_second_conversation_with_the_same_first_words_is_another_lane(tmp_path):
    rows = main_lane(3) + [pair(asked, response(f"z{n}"), at=60 + n) for n, asked in enumerate(conversation(1))]
    session = read_one(tmp_path, *rows)
    assert [lane.purpose for lane in session.lanes] == ["main", "main"]


def test_sessions_are_told_apart_by_what_the_harness_sends(tmp_path):
    one = body(user("hi"), metadata={"user_id": "user_1_account__session_aaaa"})
    two = body(user("ho"), metadata={"user_id": '{"device_id":"d","session_id":"bbbb"}'})
    three = pair(body(user("hu")), response("c"), at=5, headers={"X-Claude-Code-Session-Id": "cccc"})
    sessions = read_all(tmp_path, pair(one, response("a")), pair(two, response("b"), at=1), three)
    assert [session.id for session in sessions] == ["aaaa", "bbbb", "cccc"]
    assert sum(session.accounting.rows for session in sessions) == 3
    assert all(session.accounting.adds_up for session in sessions)


def test_rows_that_cost_nothing_are_not_billable(tmp_path):
    rows = [
        *main_lane(2),
        pair(body(user("x")), {"input_tokens": 5}, url="https://api.anthropic.com/v1/messages/count_tokens?beta=true"),
        pair(list(conversation(3))[-1], None, at=90),
        pair(list(conversation(3))[-1], {"type": "error"}, at=95, status=529),
    ]
    session = read_one(tmp_path, *rows)
    assert (session.accounting.used, session.accounting.not_billable) == (2, 3)
    assert [(event.kind, event.detail) for event in session.events] == [
        ("interrupted", None), ("api_error", "HTTP 529"),
    ]  # fmt: skip


def test_a_response_captured_twice_counts_once_over_all_files(tmp_path):
    one, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    one.write_bytes(jsonl(*main_lane(2), *main_lane(1)))
    two.write_bytes(jsonl(*main_lane(3)))
    sessions = list(read_sessions([str(one), str(two)]))
    assert [len(session.requests) for session in sessions] == [2, 1]
    assert [session.accounting.duplicate for session in sessions] == [1, 2]


def test_a_file_that_holds_only_copies_is_said_so_and_is_no_error(tmp_path):
    one, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path in (one, two):
        path.write_bytes(jsonl(*main_lane(2)))
    problems: list[Problem] = []
    assert len(list(read_sessions([str(one), str(two)], problems))) == 1
    assert [problem.reason for problem in problems] == ["all of it was in an earlier file"]


def test_keys_in_headers_are_never_kept(tmp_path):
    secret = {"authorization": "Bearer canary", "x-api-key": "canary", "cookie": "canary", "user-agent": "canary"}
    session = read_one(tmp_path, pair(body(user("hi")), response("m"), headers=secret))
    assert b"canary" not in msgspec.json.encode(session, enc_hook=repr)


def test_betas_of_the_header_are_part_of_the_settings(tmp_path):
    session = read_one(tmp_path, pair(body(user("hi")), response("m"), headers={"anthropic-beta": "b, a,b"}))
    assert dict(session.requests[0].settings)["betas"] == '["a","b"]'


def test_a_stream_that_broke_off_has_no_final_output(tmp_path):
    start, *_ = stream("m", usage(fresh=2, output=1))
    (request,) = read_one(tmp_path, pair(body(user("hi")), sse(start))).requests
    assert not request.output_final


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (pair(body(user("x")), response("b", usage(read=-1))), "bad counter"),
        (pair(body(user("x")), response("b", usage(read="7"))), "bad counter"),
        (pair({"model": MAIN}, response("b")), "not a Messages request"),
        (pair("text", response("b")), "not a Messages request"),
        (pair(body(user("x")), {"id": "b"}), "no usage"),
        (pair(body(user("x")), "data: {}\n\n"), "no response"),
        ({"request": {"method": "POST"}}, "bad field"),
        ([], "not an object"),
    ],
)
def test_a_bad_row_is_skipped_with_its_reason_and_line(tmp_path, row, reason):
    (session,) = read_all(tmp_path, *main_lane(1), row)
    assert session.accounting.skipped == ((reason, 1),)
    assert session.accounting.adds_up
    (problem,) = session.problems
    assert (problem.file, problem.line) == (str(tmp_path / "log.jsonl"), 2)
    assert problem.reason.startswith(reason)
    assert problem.remedy


def test_a_cut_last_line_costs_only_itself(tmp_path):
    (session,) = read_all(tmp_path, raw=jsonl(*main_lane(2))[:-40])
    assert session.accounting.skipped == (("incomplete", 1),)
    assert len(session.requests) == 1


def test_two_pairs_on_one_line_are_both_read(tmp_path):
    (session,) = read_all(tmp_path, raw=jsonl(*main_lane(2)).replace(b"}\n{", b"}{"))
    assert (session.accounting.rows, session.accounting.used) == (2, 2)


def test_a_capture_without_a_usable_pair_is_an_error_that_names_line_and_reason(tmp_path):
    with pytest.raises(TraceError, match=r"log\.jsonl: no pair of a Messages request .*line 1: bad counter"):
        read_all(tmp_path, pair(body(user("x")), response("b", usage(read=-1))))


def test_assistant_words_are_not_needed_to_follow_a_rewind(tmp_path):
    """The person goes back two turns and says something else: still the same conversation."""
    rows = main_lane(4)
    back = body(user("do it"), assistant("do it answer 0"), user("something else"))
    session = read_one(tmp_path, *rows, pair(back, response("r"), at=90))
    assert {request.lane for request in session.requests} == {"main"}


REAL = "claude-trace/lemmy__claude-code-1.0.6-full-requests.jsonl"


def test_a_real_capture(shared_data):
    """64 requests, 331,241 input tokens, 84.47 % of them read; a compaction and what came after it."""
    (session,) = sessions_in(shared_data / REAL)
    assert (session.accounting.rows, session.accounting.used) == (64, 64)
    usages = [request.usage for request in session.requests]
    assert sum(found.total_input for found in usages) == 331_241
    assert sum(found.read for found in usages) == 279_790
    assert all(request.prompt.tokens == request.usage.total_input for request in session.requests)
    by_lane: dict[str, int] = {}
    for request in session.requests:
        by_lane[request.lane] = by_lane.get(request.lane, 0) + 1
    # 18 quota probes; titles and topics under four system prompts; the main thread
    assert by_lane == {"helper": 1, "probe": 18, "helper-2": 23, "main": 17, "helper-3": 2, "helper-4": 3}
    by_line = {request.source.line: request for request in session.requests}
    before, summary, after = by_line[33], by_line[35], by_line[58]
    assert (summary.lane, summary.purpose, summary.parent) == ("main", "summary", before.id)
    assert (summary.usage.read, summary.usage.write) == (0, 12_072)
    assert (after.lane, after.purpose, after.parent) == ("main", "main", before.id)
    assert (after.usage.read, after.usage.write) == (13_515, 8_284)
    assert before.prompt.common_length(summary.prompt) == 0
    assert before.prompt.section_end("system") <= after.prompt.common_length(before.prompt) < len(before.prompt)
    assert [event.before for event in session.events if event.kind == "compaction"] == [after.id]


def test_many_unrelated_requests_are_read_in_linear_time(tmp_path):
    """3,000 conversations of one request: comparing each with all others would be 4.5 million comparisons."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl(*(pair(body(user(f"task {n}")), response(f"m{n}"), at=n * 2) for n in range(3000))))
    began = time.process_time()
    (session,) = sessions_in(path)
    assert len(session.lanes) == 3000
    assert time.process_time() - began < 6  # 0.6 s where this was written
