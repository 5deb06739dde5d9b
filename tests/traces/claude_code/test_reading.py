"""Claude Code logs: each request once, wherever and however often its lines stand."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from agentsim.core.session import Session
from agentsim.traces.readers.claude_code import detect, read_sessions
from agentsim.traces.samples.claude_log import ClaudeLog, stamp, turns
from agentsim.traces.time_stamps import nanoseconds


def read_one(*paths: Path) -> Session:
    sessions = read_sessions([str(path) for path in paths])
    assert len(sessions) == 1
    return sessions[0]


def test_lines_of_one_request_are_one_request_with_the_greatest_output(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, output=321, tools=3)
    session = read_one(log.save(tmp_path / "s1.jsonl"))
    (request,) = session.requests
    assert request.usage is not None
    assert (request.usage.write_short, request.usage.read, request.usage.output) == (20_000, 0, 321)
    # five lines: the prompt, thinking and three tool calls
    assert (session.accounting.rows, session.accounting.used, session.accounting.duplicate) == (5, 1, 3)
    assert session.accounting.not_billable == 1
    assert session.accounting.adds_up


def test_the_line_with_the_greatest_output_is_kept_whole(tmp_path: Path) -> None:
    """A fallback in mid-stream gives two lines of one request other models and counters; a maximum per field would
    mix."""
    log = ClaudeLog()
    log.user()
    log.call(500, 20_000, output=10, tools=0, id="msg-x", model="claude-opus-4-8")
    log.call(300, 19_000, output=90, tools=0, id="msg-x", model="claude-sonnet-4-6")
    (request,) = read_one(log.save(tmp_path / "s1.jsonl")).requests
    assert request.usage is not None
    assert (request.model, request.usage.read, request.usage.write_short, request.usage.output) == (
        "claude-sonnet-4-6",
        300,
        19_000,
        90,
    )


def test_times_run_from_the_last_line_sent_to_the_last_line_received(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, after=4)
    log.now += 30
    log.results(2)
    log.call(20_000, 500, after=7)
    first, second = read_one(log.save(tmp_path / "s1.jsonl")).requests
    assert first.end is not None
    assert second.start is not None
    assert second.end is not None
    assert second.start - first.end == 30 * 10**9
    assert second.end - second.start == 7 * 10**9


def test_a_response_ends_with_its_last_line_even_if_all_lines_count_the_same(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, output=1, tools=2)
    path = log.save(tmp_path / "s1.jsonl")
    lines = path.read_text().splitlines()
    late = lines[-1].replace(stamp(log.now), stamp(log.now + 40))
    path.write_text("\n".join([*lines[:-1], late]) + "\n")
    session = read_one(path)
    (request,) = session.requests
    assert request.end == nanoseconds(stamp(log.now + 40))
    assert (session.accounting.used, session.accounting.duplicate) == (1, 2)


def test_appended_blocks_count_reply_and_results_but_not_thinking(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, tools=11)
    log.results(11)
    log.call(9_000, 12_000)
    _, second = read_one(log.save(tmp_path / "s1.jsonl")).requests
    assert second.appended_blocks == 11 + 11


def test_a_fork_and_its_parent_count_each_request_once(tmp_path: Path) -> None:
    log = ClaudeLog("parent")
    turns(log, [500, 600])
    log.save(tmp_path / "parent.jsonl")
    fork = ClaudeLog("fork")
    fork.lines = [line.replace('"sessionId":"parent"', '"sessionId":"fork"') for line in log.lines]
    fork.parent, fork.now = log.parent, log.now + 50
    fork.user()
    fork.call(21_100, 700)
    fork.save(tmp_path / "fork.jsonl")
    sessions = {session.id: session for session in read_sessions([str(tmp_path)])}
    assert [r.counted for r in sessions["parent"].requests] == [True] * 3
    assert [r.counted for r in sessions["fork"].requests] == [False] * 3 + [True]
    assert sessions["fork"].requests[3].parent == sessions["fork"].requests[2].id
    for session in sessions.values():
        assert session.accounting.adds_up
    assert sum(session.accounting.used for session in sessions.values()) == 4
    # Alone, the fork shows its whole history.
    assert [r.counted for r in read_one(tmp_path / "fork.jsonl").requests] == [True] * 4


def test_subagents_in_the_main_file_get_a_lane_for_each_conversation(tmp_path: Path) -> None:
    log = ClaudeLog(version="2.0.0")
    log.user()
    log.call(0, 20_000)
    main_parent = log.parent
    log.sidechain = True
    for size in (9_000, 8_000):
        log.parent = None
        log.user("do this part")
        log.call(0, size)
        log.results()
        log.call(size, 300)
    log.sidechain = False
    log.parent = main_parent
    log.results()
    log.call(20_000, 400)
    session = read_one(log.save(tmp_path / "s1.jsonl"))
    assert [lane.purpose for lane in session.lanes] == ["main", "subagent", "subagent"]
    by_lane = {lane.id: [r.parent is None for r in session.requests if r.lane == lane.id] for lane in session.lanes}
    assert list(by_lane.values()) == [[True, False]] * 3


def test_subagents_in_files_of_their_own_belong_to_the_session(tmp_path: Path) -> None:
    log = ClaudeLog()
    turns(log, [500])
    log.save(tmp_path / "s1.jsonl")
    agent = ClaudeLog()
    agent.sidechain, agent.agent = True, "a7"
    turns(agent, [300], start=6_000)
    agent.save(tmp_path / "s1" / "subagents" / "agent-a7.jsonl")
    deep = ClaudeLog()
    deep.sidechain, deep.agent = True, "b8"
    turns(deep, [200], start=5_000)
    deep.save(tmp_path / "s1" / "subagents" / "workflows" / "wf_1" / "agent-b8.jsonl")
    (tmp_path / "s1" / "subagents" / "workflows" / "wf_1" / "journal.jsonl").write_text('{"type":"started"}\n')
    # ids are unique per session in the builder, so make them differ per file
    for path in tmp_path.rglob("agent-*.jsonl"):
        path.write_text(path.read_text().replace("msg-s1", f"msg-{path.stem}").replace("req-s1", f"req-{path.stem}"))
    session = read_one(tmp_path)
    assert sorted(lane.id for lane in session.lanes) == ["main", "subagent a7", "subagent b8"]
    assert len(session.requests) == 6


def test_a_subagents_copy_in_progress_records_is_counted_once(tmp_path: Path) -> None:
    agent = ClaudeLog()
    agent.sidechain, agent.agent = True, "a7"
    agent.user("part")
    agent.call(0, 6_000, id="msg-inner")
    agent.save(tmp_path / "agent-a7.jsonl")
    inner = [json.loads(line) for line in agent.lines if '"assistant"' in line]
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000)
    for record in inner:
        log.add("progress", data={"type": "agent_progress", "agentId": "a7", "message": record})
    log.add(
        "progress", data={"type": "agent_progress", "agentId": "a9", "message": {**inner[-1], "requestId": "req-other"}}
    )
    log.save(tmp_path / "s1.jsonl")
    session = read_one(tmp_path)
    assert len(session.requests) == 3  # main, a7's once, and a9's, which stands nowhere else
    assert session.accounting.adds_up


@pytest.mark.parametrize("leave_out", ["requestId", "both"])
def test_gateways_without_ids(tmp_path: Path, leave_out: str) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, tools=2)
    records = [json.loads(line) for line in log.lines]
    for record in records:
        record.pop("requestId", None)
        if leave_out == "both":
            record["message"].pop("id", None)
    path = tmp_path / "s1.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    # Three lines with one message id are one request; without any id each line stands for itself.
    assert len(read_one(path).requests) == (1 if leave_out == "requestId" else 3)


def test_one_message_id_with_two_request_ids_is_two_requests_with_names_of_their_own(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, id="msg-x")
    log.results()
    log.call(20_000, 500, id="msg-x")
    path = log.save(tmp_path / "s1.jsonl")
    lines = path.read_text().splitlines()
    later = [line.replace('"requestId":"req-x"', '"requestId":"req-y"') for line in lines[4:]]
    path.write_text("\n".join([*lines[:4], *later]) + "\n")
    first, second = read_one(path).requests
    assert (first.id, second.id, second.parent) == ("msg-x", "msg-x/2", "msg-x")


def test_synthetic_rows_are_not_requests_but_mark_a_limit(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, stop="end_turn", tools=0)
    log.user("go on")
    log.call(0, 0, fresh=0, output=0, tools=0, model="<synthetic>")
    log.user("go on")
    log.call(20_000, 400)
    session = read_one(log.save(tmp_path / "s1.jsonl"))
    assert len(session.requests) == 2
    assert "limit" in [event.kind for event in session.events]
    assert session.requests[1].parent == session.requests[0].id


def test_counters_that_are_all_zero_were_not_measured(tmp_path: Path) -> None:
    log = ClaudeLog(model="local-model")
    log.user()
    log.call(0, 0, fresh=0, output=55)
    (request,) = read_one(log.save(tmp_path / "s1.jsonl")).requests
    assert request.usage is not None
    assert request.usage.total_input is None
    assert request.usage.output == 55


def test_compaction_links_to_the_history_before_it(tmp_path: Path) -> None:
    log = ClaudeLog()
    warm = turns(log, [500])
    before = log.parent
    log.add("system", subtype="compact_boundary", parent=None, logicalParentUuid=before)
    log.user("This session is being continued.", isCompactSummary=True)
    log.call(9_000, 3_000)
    session = read_one(log.save(tmp_path / "s1.jsonl"))
    assert warm == 20_500
    assert session.requests[2].parent == session.requests[1].id
    assert "compaction" in [event.kind for event in session.events if event.before == session.requests[2].id]


def test_a_rewind_makes_the_earlier_request_the_parent(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000, stop="end_turn", tools=0)
    point = log.parent
    log.user("this way")
    log.call(20_000, 700)
    log.parent = point
    log.user("no, that way")
    log.call(20_000, 300)
    first, _, third = read_one(log.save(tmp_path / "s1.jsonl")).requests
    assert third.parent == first.id


def test_the_providers_word_absent_null_and_named_are_three_things(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.user()
    log.call(0, 20_000)
    log.results()
    log.label(None).call(20_000, 100)
    log.results()
    log.label("tools_changed", 4_321).call(9_000, 11_200)
    a, b, c = (r.diagnosis for r in read_one(log.save(tmp_path / "s1.jsonl")).requests)
    assert (a.reported, a.reason) == (False, None)
    assert (b.reported, b.reason) == (True, None)
    assert (c.reported, c.reason, c.missed_tokens) == (True, "tools_changed", 4_321)


def test_a_session_cut_into_two_files_is_one_conversation(tmp_path: Path) -> None:
    log = ClaudeLog()
    turns(log, [500, 600])
    half = len(log.lines) // 2
    (tmp_path / "b-first.jsonl").write_text("\n".join(log.lines[:half]) + "\n")
    (tmp_path / "a-second.jsonl").write_text("\n".join(log.lines[half:]) + "\n")
    session = read_one(tmp_path)
    assert len(session.requests) == 3
    assert [r.parent for r in session.requests] == [None, session.requests[0].id, session.requests[1].id]


def test_a_log_saved_again_with_spaces_reads_the_same(tmp_path: Path) -> None:
    log = ClaudeLog()
    turns(log, [500, 600])
    spaced = ClaudeLog()
    spaced.lines = [json.dumps(json.loads(line)) for line in log.lines]
    assert spaced.lines != log.lines
    one, other = read_one(log.save(tmp_path / "a" / "s1.jsonl")), read_one(spaced.save(tmp_path / "b" / "s1.jsonl"))
    blank = {"source": None}
    assert [msgspec.structs.replace(r, **blank) for r in one.requests] == [
        msgspec.structs.replace(r, **blank) for r in other.requests
    ]
    assert one.accounting == other.accounting


def test_detect_tells_a_log_from_other_json_lines() -> None:
    log = ClaudeLog()
    log.user()
    assert detect(log.lines[0].encode(), "x.jsonl")
    assert not detect(b'{"timestamp":1,"input_length":5,"hash_ids":[1]}', "x.jsonl")
    qwen = {"uuid": "a", "parentUuid": None, "sessionId": "b", "type": "user", "message": {"role": "user", "parts": []}}
    assert not detect(json.dumps(qwen).encode(), "x.jsonl")
    assert not detect(b'{"type":"session","id":"a","cwd":"/"}', "x.jsonl")


def test_real_logs_account_for_every_row(shared_data: Path) -> None:
    sessions = read_sessions([str(shared_data / "claude-code")])
    assert all(session.accounting.adds_up for session in sessions)
    assert sum(r.counted for session in sessions for r in session.requests) == 1726
    fork = next(session for session in sessions if session.id.startswith("6b6f4218"))
    assert (len(fork.requests), sum(r.counted for r in fork.requests)) == (610, 360)


def test_a_compaction_tells_who_asked_for_it(tmp_path: Path) -> None:
    log = ClaudeLog("one", model="claude-sonnet-4-5")
    log.user()
    log.call(0, 50_000)
    path = log.save(tmp_path / "one.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    last = lines[-1]
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "logicalParentUuid": last["uuid"],
        "sessionId": last["sessionId"],
        "timestamp": last["timestamp"],
        "compactMetadata": {"trigger": "manual", "preTokens": 50_000},
    }
    after = {**last, "uuid": "a", "parentUuid": "b", "requestId": "req-after"}
    after["message"] = {**last["message"], "id": "msg-after"}
    path.write_text("\n".join(json.dumps(line) for line in [*lines, boundary, after]) + "\n")
    (session,) = read_sessions([str(path)])
    assert [(event.kind, event.detail) for event in session.events if event.kind == "compaction"] == [
        ("compaction", "manual")
    ]
