"""Chats of the Gemini CLI and of Qwen Code: input that includes what was cached, thoughts beside the output."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import gemini, qwen
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

HEAD = {"sessionId": "s1", "projectHash": "h", "startTime": "2026-09-01T10:00:00Z", "kind": "main"}


def gemini_user(id, second):
    return {"id": id, "timestamp": f"2026-09-01T10:00:{second:02}Z", "type": "user", "content": "go"}


def gemini_answer(id, second, whole, cached, output=10, thoughts=0):
    tokens = {"input": whole, "output": output, "cached": cached, "thoughts": thoughts, "tool": 0}
    tokens["total"] = whole + output + thoughts
    at = f"2026-09-01T10:00:{second:02}Z"
    return {"id": id, "timestamp": at, "type": "gemini", "model": "gemini-2.5-pro", "tokens": tokens}


JOURNAL = (
    HEAD,
    gemini_user("u1", 0),
    gemini_answer("a1", 5, 5_000, 0, output=3),
    gemini_answer("a1", 6, 5_000, 0, output=20, thoughts=30),
    {"$set": {"summary": "x"}},
    gemini_answer("a2", 9, 6_000, 4_096),
    {"$rewindTo": "a2"},
    gemini_user("u2", 20),
    gemini_answer("a3", 25, 6_100, 4_096),
)


def read(reader, tmp_path, data):
    path = tmp_path / "chat.jsonl"
    path.write_bytes(data)
    (session,) = sound(list(reader.read_sessions([str(path)])))
    return session


def test_a_journal_holds_the_last_word_on_each_message(tmp_path):
    session = read(gemini, tmp_path, jsonl(*JOURNAL))
    first, second, third = session.requests
    assert first.usage == Usage(fresh=5_000, read=0, output=50)
    assert second.usage == Usage(fresh=1_904, read=4_096, output=10)
    assert (session.id, first.provider, first.start) == ("s1", "google", None)
    assert (session.accounting.rows, session.accounting.duplicate) == (4, 1)
    # The rewind takes a2 back: a3 grew from a1.
    assert third.parent == "a1"
    assert [event.kind for event in session.events if event.before == "a3"] == ["rewind", "prompt_submitted"]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_older_document_tells_the_same(tmp_path, indent):
    messages = [JOURNAL[1], JOURNAL[3], JOURNAL[5]]
    session = read(gemini, tmp_path, json.dumps({**HEAD, "messages": messages}, indent=indent).encode())
    assert [request.usage.fresh for request in session.requests] == [5_000, 1_904]


def test_more_cached_than_sent_costs_the_row(tmp_path):
    session = read(gemini, tmp_path, jsonl(*JOURNAL, gemini_answer("a9", 50, 100, 101)))
    assert session.accounting.skipped == (("bad counter", 1),)


def qwen_line(kind, id, parent, second, **more):
    at = f"2026-09-01T10:00:{second:02}Z"
    return {
        "uuid": id,
        "parentUuid": parent,
        "sessionId": "q1",
        "timestamp": at,
        "type": kind,
        "version": "0.18",
        **more,
    }


def qwen_answer(id, parent, second, whole, cached, output=10, thoughts=0, total=None):
    usage = {
        "promptTokenCount": whole,
        "candidatesTokenCount": output,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "totalTokenCount": whole + output if total is None else total,
    }
    parts = {"role": "model", "parts": [{"text": "x"}]}
    return qwen_line("assistant", id, parent, second, model="qwen3-coder", usageMetadata=usage, message=parts)


CHAT = (
    qwen_line("user", "u1", None, 0, message={"role": "user", "parts": [{"text": "go"}]}),
    qwen_answer("a1", "u1", 5, 5_000, 0, output=20, thoughts=15),
    qwen_line("tool_result", "t1", "a1", 6),
    qwen_answer("a2", "t1", 9, 6_000, 4_096, output=20, thoughts=15, total=6_035),
    qwen_answer("a3", "t1", 15, 6_000, 5_000),
)


def test_a_chat_is_a_tree(tmp_path):
    session = read(qwen, tmp_path, jsonl(*CHAT))
    assert [(request.id, request.parent) for request in session.requests] == [("a1", None), ("a2", "a1"), ("a3", "a1")]
    first, second, _ = session.requests
    # 5,020 in all: the thoughts are part of the 20. 6,035 in all: they come on top.
    assert first.usage == Usage(fresh=5_000, read=0, output=20)
    assert second.usage == Usage(fresh=1_904, read=4_096, output=35)
    assert [(request.end - request.start) // 10**9 for request in session.requests] == [5, 3, 9]


@pytest.mark.parametrize(("rows", "name"), [(JOURNAL, "gemini-cli"), (CHAT, "qwen-code")], ids=["gemini", "qwen"])
def test_they_are_told_apart(tmp_path, rows, name):
    path = tmp_path / "x"
    path.write_bytes(jsonl(*rows))
    found = detect(str(path))
    assert found is not None
    assert (found.name, found.verified) == (name, False)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_gemini(tmp_path, damage):
    check_damaged(gemini, tmp_path / "g.jsonl", damaged(jsonl(*JOURNAL), damage))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_an_older_document(tmp_path, damage):
    data = json.dumps({**HEAD, "messages": JOURNAL[1:4]}, indent=2).encode()
    check_damaged(gemini, tmp_path / "g.json", damaged(data, damage))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage_to_qwen(tmp_path, damage):
    check_damaged(qwen, tmp_path / "q.jsonl", damaged(jsonl(*CHAT), damage))


@pytest.mark.parametrize(
    ("reader", "name", "total", "cached"),
    [(gemini, "agentsview__gemini-standard_session.json", 3_500, 150), (qwen, "splitrail__qwen_code.jsonl", 1_100, 50)],
)
def test_the_small_public_samples(shared_data, reader, name, total, cached):
    (session,) = sound(list(reader.read_sessions([str(shared_data / "gemini-qwen" / name)])))
    assert sum(request.usage.total_input for request in session.requests) == total
    assert sum(request.usage.read for request in session.requests) == cached
    assert len(session.requests) == 2
