"""Checkpoints: the longest log of each session, by the reader of its own format."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Problem
from agentsim.traces.format_registry import detect, read
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers import entire
from tests.traces.codex.rollouts import three_calls
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import sound


def checkpoint(folder, id, number, data, session="t1", metadata=True):
    place = folder / id[:2] / id[2:] / str(number)
    place.mkdir(parents=True)
    (place / "full.jsonl").write_bytes(data)
    if metadata:
        described = {"agent": "Codex", "model": "gpt-5.5", "session_id": session, "token_usage": {}}
        (place / "metadata.json").write_text(json.dumps(described))
    return str(place / "full.jsonl")


def test_the_longest_checkpoint_of_a_session_is_read(tmp_path):
    long = three_calls().user(60).reply(62).count(64, 4_000, 3_456).bytes()
    checkpoint(tmp_path, "0123456789ab", 0, three_calls().bytes())
    longest = checkpoint(tmp_path, "ab0123456789", 1, long)
    checkpoint(tmp_path, "cd0123456789", 0, three_calls("t2", 500).count(540, 900, 0).bytes(), session="t2")
    first, second = sound(list(read([str(tmp_path)])))
    assert (first.format, first.files, len(first.requests)) == ("codex", (longest,), 4)
    assert first.accounting.duplicate == 0  # the shorter one was not even opened
    assert second.id == "t2"


def test_a_log_that_was_written_anew_loses_nothing(tmp_path):
    checkpoint(tmp_path, "0123456789ab", 0, three_calls().count(60, 700, 0).bytes())
    checkpoint(tmp_path, "ab0123456789", 0, three_calls().user(60).reply(62).count(64, 4_000, 3_456).bytes())
    (session,) = sound(list(read([str(tmp_path)])))
    assert len(session.requests) == 5
    assert session.accounting.duplicate == 3


def test_a_log_without_its_description_is_what_it_is(tmp_path):
    path = checkpoint(tmp_path, "0123456789ab", 0, three_calls().bytes(), metadata=False)
    found = detect(path)
    assert found is not None
    assert found.name == "codex"
    described = detect(checkpoint(tmp_path, "ab0123456789", 0, three_calls().bytes()))
    assert described is not None
    assert described.name == "entire-checkpoints"


def test_logs_that_cannot_be_read_are_told(tmp_path):
    bad = checkpoint(tmp_path, "0123456789ab", 0, b"hello\n", session="x")
    checkpoint(tmp_path, "ab0123456789", 0, three_calls().bytes())
    problems: list[Problem] = []
    assert len(list(entire.read_sessions([bad], problems))) == 0
    assert problems[0].reason == "a log of no known format"
    with pytest.raises(OSError, match="no known format"):
        list(entire.read_sessions([bad]))
    assert len(list(read([str(tmp_path)], []))) == 1


@pytest.mark.parametrize("metadata", [b"", b"[]", b"\xff", b'{"session_id": 7}', b"[" * 5_000])
def test_odd_descriptions_are_none(tmp_path, metadata):
    path = checkpoint(tmp_path, "0123456789ab", 0, three_calls().bytes())
    (tmp_path / "01" / "23456789ab" / "0" / "metadata.json").write_bytes(metadata)
    found = detect(path)
    assert found is not None
    assert found.name == "codex"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages, description=damages)
def test_damage(tmp_path, damage, description):
    """A log and what describes it, both damaged, beside a sound checkpoint of the same session."""
    log = three_calls().bytes()
    for folder, id in (("one", "0123456789ab"), ("other", "ab0123456789")):
        place = tmp_path / folder / id[:2] / id[2:] / "0"
        place.mkdir(parents=True, exist_ok=True)
        described = json.dumps({"agent": "Codex", "session_id": "t1"}).encode()
        (place / "full.jsonl").write_bytes(damaged(log, damage) if folder == "one" else log)
        (place / "metadata.json").write_bytes(damaged(described, description) if folder == "one" else described)
    paths = [str(path) for path in sorted(tmp_path.rglob("full.jsonl"))]
    told: list[Problem] = []
    sessions = sound(list(entire.read_sessions(paths, told)), told)
    assert sum(len(session.requests) for session in sessions) >= 3
    clear = None
    try:
        sound(list(read([str(tmp_path)], [])))
    except TraceError as error:
        clear = error
    assert clear is None or clear.remedy
