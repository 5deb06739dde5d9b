"""OpenCode's exports, database and old files: one answer counted once, wherever it was stored."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import detect, read
from agentsim.traces.readers import opencode
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

T0 = 1_790_000_000_000
MS = 10**6


def tokens(fresh, cached, written=0, output=10):
    total = fresh + cached + written + output
    cache = {"read": cached, "write": written}
    return {"total": total, "input": fresh, "output": output, "reasoning": 3, "cache": cache}


def user(id, at, *kinds, session="ses_1"):
    info = {"role": "user", "time": {"created": T0 + at}, "id": id, "sessionID": session}
    return {"info": info, "parts": [{"type": kind} for kind in kinds or ("text",)]}


def answer(id, at, counters, *steps, took=1500, session="ses_1", model="gpt-5.3-codex", provider="openai", **more):
    info = {
        "role": "assistant",
        "time": {"created": T0 + at, **({"completed": T0 + at + took} if took else {})},
        "modelID": model,
        "providerID": provider,
        "tokens": counters,
        "finish": "stop",
        **more,
        "id": id,
        "sessionID": session,
    }
    parts = [{"type": "step-start"}, {"type": "reasoning", "time": {"start": T0 + at + 400}}]
    parts += [{"type": "step-finish", "tokens": step} for step in steps or (counters,)]
    return {"info": info, "parts": parts}


def export(*messages, id="ses_1", **about):
    info = {"id": id, "projectID": "p", "title": "t", "version": "1.2.24", **about}
    return json.dumps({"info": info, "messages": list(messages)}, indent=2).encode()


MESSAGES = (
    user("msg_1", 0),
    answer("msg_2", 10, tokens(9_000, 0)),
    answer("msg_3", 2_000, tokens(700, 8_960)),
    user("msg_4", 9_000),
    answer("msg_5", 9_010, tokens(800, 9_600, output=0)),
)


def sessions(*paths):
    return sound(list(opencode.read_sessions([str(path) for path in paths])))


def only(tmp_path, data):
    path = tmp_path / "full.jsonl"
    path.write_bytes(data)
    (session,) = sessions(path)
    return session


def database(path, *stored, keep_open=False):
    """A database of sessions ``(id, parent, messages)`` as version 1.2 keeps it, in write-ahead mode."""
    link = sqlite3.connect(path)
    link.execute("PRAGMA journal_mode = WAL")
    link.execute("CREATE TABLE session (id TEXT, parent_id TEXT, project_id TEXT, title TEXT, version TEXT)")
    link.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
    link.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
    for id, parent, messages in stored:
        link.execute("INSERT INTO session VALUES (?, ?, 'p', 't', '1.2.24')", (id, parent))
        for message in messages:
            info = dict(message["info"])
            own = info.pop("id")
            info.pop("sessionID")
            values = (own, id, info["time"]["created"], json.dumps(info))
            link.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
            for number, part in enumerate(message["parts"]):
                values = (f"{own}-{number}", own, id, json.dumps(part))
                link.execute("INSERT INTO part VALUES (?, ?, ?, ?)", values)
    link.commit()
    if keep_open:
        return link
    link.close()
    return None


def test_an_answer_is_a_request_with_both_its_times(tmp_path):
    session = only(tmp_path, export(*MESSAGES))
    first, second, third = session.requests
    assert second.usage == Usage(fresh=700, read=8_960, write_other=None, output=10)
    assert (first.start, first.first_token, first.end) == tuple((T0 + at) * MS for at in (10, 410, 1_510))
    assert (second.parent, third.parent) == ("msg_2", "msg_3")
    assert [(event.kind, event.before) for event in session.events] == [
        ("prompt_submitted", "msg_2"),
        ("prompt_submitted", "msg_5"),
    ]
    assert (session.title, first.harness_version, first.provider) == ("t", "1.2.24", "openai")


def test_zero_writes_mean_nothing_where_the_provider_has_none(tmp_path):
    claude = answer("msg_2", 10, tokens(5, 0, 0), provider="anthropic", model="claude-opus-4-8")
    assert only(tmp_path, export(claude)).requests[0].usage == Usage(fresh=5, read=0, write_other=0, output=10)
    assert only(tmp_path, export(MESSAGES[1])).requests[0].usage == Usage(fresh=9_000, read=0, output=10)


def test_steps_count_instead_of_their_sum(tmp_path):
    steps = (tokens(900, 0), tokens(50, 896))
    session = only(tmp_path, export(answer("msg_2", 10, tokens(950, 896, output=20), *steps)))
    assert [(request.id, request.usage.fresh) for request in session.requests] == [("msg_2", 900), ("msg_2/2", 50)]
    assert session.accounting.rows == 2


def test_aborted_answers_are_not_billed(tmp_path):
    nothing = tokens(0, 0, output=0)
    aborted = answer("msg_6", 9_500, nothing, took=0, error={"name": "MessageAbortedError"})
    failed = answer("msg_7", 9_600, nothing, took=0, error={"name": "APIError"})
    session = only(tmp_path, export(*MESSAGES, aborted, failed, answer("msg_8", 9_700, tokens(900, 9_600))))
    assert session.accounting.not_billable == 2
    assert [event.kind for event in session.events if event.before == "msg_8"] == ["interrupted", "api_error"]


def test_a_compaction_is_told(tmp_path):
    summary = answer("msg_7", 9_600, tokens(9_000, 896), summary=True)
    session = only(
        tmp_path, export(*MESSAGES, user("msg_6", 9_500, "compaction"), summary, answer("m", 9_900, tokens(9, 0)))
    )
    assert [request.purpose for request in session.requests[-2:]] == ["summary", "main"]
    assert [(event.kind, event.before) for event in session.events[-2:]] == [
        ("compaction", "msg_7"),
        ("compaction", "m"),
    ]


def test_the_database_tells_the_same_as_the_export(tmp_path):
    exported = only(tmp_path, export(*MESSAGES))
    database(tmp_path / "opencode.db", ("ses_1", None, MESSAGES))
    (stored,) = sessions(tmp_path / "opencode.db")
    for one, other in zip(exported.requests, stored.requests, strict=True):
        assert (one.id, one.usage, one.start, one.end, one.parent) == (
            other.id,
            other.usage,
            other.start,
            other.end,
            other.parent,
        )


def test_rows_that_are_still_in_the_write_ahead_file_are_read(tmp_path):
    path = tmp_path / "opencode.db"
    with closing(database(path, ("ses_1", None, MESSAGES), keep_open=True)):
        assert (tmp_path / "opencode.db-wal").stat().st_size > 0
        before = path.read_bytes()
        (session,) = sessions(path)
        assert path.read_bytes() == before
    assert len(session.requests) == 3


def test_database_export_and_old_files_together_count_once(tmp_path):
    database(tmp_path / "opencode.db", ("ses_1", None, MESSAGES))
    (tmp_path / "old.json").write_bytes(export(*MESSAGES[:3]))
    (tmp_path / "msg_3.json").write_text(json.dumps({"id": "msg_3", **MESSAGES[2]["info"]}))
    (session,) = read([str(tmp_path)])
    assert session.accounting.used == len(session.requests) == 3
    assert session.accounting.duplicate == 3


def test_a_subagent_is_a_lane_and_a_fork_counts_its_own(tmp_path):
    child = (user("msg_a", 3_000), answer("msg_b", 3_010, tokens(4_000, 0), session="ses_2"))
    copied = answer("msg_c", 10, tokens(9_000, 0), session="ses_3")
    fork = (copied, answer("msg_d", 20_000, tokens(900, 8_960), session="ses_3"))
    database(tmp_path / "o.db", ("ses_1", None, MESSAGES), ("ses_2", "ses_1", child), ("ses_3", None, fork))
    first, second = sessions(tmp_path / "o.db")
    assert [lane.id for lane in first.lanes] == ["main", "subagent ses_2"]
    assert [request.counted for request in second.requests] == [False, True]


def test_other_databases_are_not_touched(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as link:
        link.execute("CREATE TABLE x (y)")
        link.commit()
    assert detect(str(tmp_path / "other.db")) is None
    with pytest.raises(OSError, match="no logs in here"):
        list(read([str(tmp_path)]))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_an_export_costs_messages_or_the_file(tmp_path, damage):
    check_damaged(opencode, tmp_path / "o.json", damaged(export(*MESSAGES), damage))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_a_database_costs_messages_or_the_file(tmp_path_factory, damage):
    folder = tmp_path_factory.mktemp("db")
    database(folder / "whole.db", ("ses_1", None, MESSAGES))
    data = damaged((folder / "whole.db").read_bytes(), damage)
    check_damaged(opencode, folder / "o.db", data)


def test_a_real_export(shared_data):
    path = shared_data / "opencode" / "nimbus__opencode-1.2.24-parent-122req.json"
    (session,) = sessions(path)
    accounting = session.accounting
    # 122 answers, of which 3 were aborted with nothing counted.
    assert (accounting.rows, accounting.used, accounting.not_billable) == (122, 119, 3)
    total = sum(request.usage.total_input for request in session.requests)
    assert (total, round(100 * sum(request.usage.read for request in session.requests) / total, 1)) == (9_299_578, 91.3)
    verdicts = diagnose(session).verdicts
    reads = [request.usage.read for request in session.requests]
    large = [
        read
        for read, verdict in zip(reads, verdicts, strict=True)
        if verdict.kind == "miss" and 5 * read < 4 * (verdict.expected or 0)
    ]
    assert large == [9_856, 0, 0, 0, 0, 0]
    assert not any("five-minute" in sentence for verdict in verdicts for sentence in verdict.established)
