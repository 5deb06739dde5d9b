"""The trace: there with each request, one file in the end, nothing private in a fingerprint, no key in any."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.key_shapes import REMOVED
from agentsim.diagnose import diagnose
from agentsim.gateway import trace_writing
from agentsim.gateway.secret_removal import Secrets
from agentsim.traces.readers.agentsim1 import read_sessions
from agentsim.traces.readers.agentsim1.trace_wire import ROWS
from tests.agentsim.gateway.serving import BASH, MODEL, WORDS, Served, serving

pytestmark = pytest.mark.loopback
pytest.importorskip("anthropic")

CANARY = "canary-7f3a9b2c5d8e1f40"


def turn(served: Served, session: str, *messages: str, **more: Any) -> None:
    with served.anthropic() as client:
        client.messages.create(
            **{
                "model": MODEL,
                "max_tokens": 50,
                "tools": [BASH],
                "system": [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": text} for text in messages],
                "extra_headers": {"x-claude-code-session-id": session},
                **more,
            }
        )


def test_each_request_can_be_read_while_the_endpoint_runs(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        turn(served, "one", "a")
        assert [len(session.requests) for session in served.sessions()] == [1]
        turn(served, "two", "a")
        turn(served, "one", "a", "b")
        assert [len(session.requests) for session in served.sessions()] == [2]
        assert [len(session.requests) for session in read_sessions([str(tmp_path / "trace.2.jsonl")])] == [1]
        assert stat.S_IMODE(os.stat(served.trace).st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]
    sessions = served.sessions()
    assert [(session.id, len(session.requests)) for session in sessions] == [("one", 2), ("two", 1)]
    assert all(session.completeness == "full" and session.lanes[0].purpose == "main" for session in sessions)
    assert stat.S_IMODE(os.stat(served.trace).st_mode) == 0o600
    for line in served.trace.read_bytes().splitlines():
        ROWS.decode(line)


def test_many_sessions_at_once_and_other_files_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_writing, "MOST_OPEN", 2)
    (tmp_path / "trace.2.jsonl").write_text("somebody's own")
    with serving(tmp_path) as served:
        for _ in range(2):
            for session in ("one", "two", "three", "four"):
                body = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": session}]}
                served.post(json.dumps(body).encode(), "/v1/messages", f"x-claude-code-session-id: {session}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.2.jsonl", "trace.jsonl"]
    assert (tmp_path / "trace.2.jsonl").read_text() == "somebody's own"
    assert [(session.id, len(session.requests)) for session in served.sessions()] == [
        ("one", 2),
        ("two", 2),
        ("three", 2),
        ("four", 2),
    ]


def test_verdicts_hold_without_words(tmp_path: Path) -> None:
    kinds = []
    for fingerprint in (False, True):
        folder = tmp_path / str(fingerprint)
        folder.mkdir()
        with serving(folder, fingerprint=fingerprint) as served:
            turn(served, "one", "a")
            turn(served, "one", "a", "b")
            turn(served, "one", "a", "b", "c", tools=[{**BASH, "description": "Changed secretly."}])
        (session,) = served.sessions()
        kinds.append([(verdict.kind, verdict.cause, verdict.lost) for verdict in diagnose(session).verdicts])
        assert (b"alpha bravo" in served.trace.read_bytes()) is not fingerprint
        assert (b"Bash" in served.trace.read_bytes()) is not fingerprint
    assert [told[:2] for told in kinds[0]] == [told[:2] for told in kinds[1]]
    for (_, _, with_words), (_, _, without) in zip(*kinds, strict=True):
        # What is left of the edited description itself counts where its words are known.
        assert 0 <= with_words - without <= 32
    assert [kind for kind, _, _ in kinds[0]] == ["first", "hit", "miss"]
    assert kinds[0][2][1] == "AS104", "a tool was edited"


def test_a_key_in_any_header_is_found_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not on disk, not on screen, not in an answer; not even where the harness sends it in a body as well."""
    headers = {
        "x-api-key": CANARY,
        "authorization": f"Bearer {CANARY}",
        "cookie": f"session={CANARY}",
        "proxy-authorization": f"Basic {CANARY}",
        "openai-organization": CANARY,
        "chatgpt-account-id": CANARY,
    }
    lines = [f"{name}: {value}" for name, value in headers.items()]
    with serving(tmp_path) as served:
        answers = []
        for words in ("go", f"my key is {CANARY}", "sk-ant-api03-AbCdEfGh1234567890"):
            body = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": words}]}
            for path in ("/v1/messages", "/v1/chat/completions", "/v1/nothing"):
                answers.append(served.post(json.dumps(body).encode(), path, *lines))
                answers.append(served.post(b"{", path, *lines))
        live = served.trace.read_bytes()
    told = capfd.readouterr()
    written = live + b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert REMOVED in written
    assert CANARY.encode() not in written + b"".join(answers)
    assert b"AbCdEfGh" not in written
    assert CANARY not in told.out + told.err


def test_what_looks_like_a_key_is_removed_and_words_are_not() -> None:
    redact = Secrets().redact
    assert redact(b'"sk-proj-abcDEF0123456789xyz"') == b'"' + REMOVED + b'"'
    for harmless in (
        b"task-0123456789abcdef0",
        b"sk-learn-is-a-library-of-tools",
        b"sk-short1",
        b"disk-0123456789012345",
    ):
        assert redact(harmless) == harmless


def test_a_disk_that_fails_is_told_and_disturbs_nobody(tmp_path: Path) -> None:
    from agentsim.gateway.answer_script import DEFAULT
    from agentsim.gateway.serve.emulated_endpoint import emulated

    with pytest.raises(FileNotFoundError):
        emulated(DEFAULT, trace=str(tmp_path / "nowhere" / "trace.jsonl"))
    (tmp_path / "somewhere").mkdir()
    endpoint = emulated(DEFAULT, trace=str(tmp_path / "somewhere" / "trace.jsonl"))
    with endpoint.server.beside():
        (tmp_path / "somewhere" / "trace.jsonl").unlink()
        (tmp_path / "somewhere").rmdir()
        turn(Served(endpoint.server.url, endpoint.server.port, tmp_path), "one", "a")
    endpoint.sessions.finish()
    assert isinstance(endpoint.sessions.failure, FileNotFoundError)
