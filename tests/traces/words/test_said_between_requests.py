"""What logs say between their requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentsim.traces.format_registry import read
from agentsim.traces.words.growths import growths_of

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
USAGE = {"input_tokens": 1, "cache_creation_input_tokens": 50, "cache_read_input_tokens": 0, "output_tokens": 5}


def line(kind: str, uuid: str, parent: str | None, content: object, **more: object) -> str:
    message: dict[str, object] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg-{uuid}", "model": "claude-sonnet-4-5", "usage": USAGE}
    stamp = f"2026-01-01T00:00:{int(uuid):02}Z"
    record = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": stamp, **more}
    return json.dumps({**record, "message": message})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    call = [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/home/somebody/secret.py"}}]
    shown = [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "word " * 40}]}]
    path = tmp_path / "s.jsonl"
    path.write_text(
        "\n".join(
            [
                line("user", "1", None, "private words"),
                line("assistant", "2", "1", call),
                line("user", "3", "2", shown),
                line("assistant", "4", "3", [{"type": "text", "text": "done"}]),
                line("user", "5", "4", "A summary of it all", isCompactSummary=True),
                line("assistant", "6", "5", [{"type": "text", "text": "on we go"}]),
            ]
        )
        + "\n"
    )
    return path


def test_a_claude_log(log: Path) -> None:
    (session,) = read([str(log)], [])
    found = growths_of(session)
    kinds = [[piece.kind for piece in found[request.id].additions] for request in session.requests]
    assert kinds == [["user"], ["call", "file"], ["summary"]]
    assert [found[request.id].anew for request in session.requests] == [False, False, True]
    assert found[session.requests[1].id].additions[1].characters == 200


def test_words_and_paths_are_kept_only_where_they_are_asked_for(log: Path) -> None:
    (session,) = read([str(log)], [])
    assert "secret" not in repr(growths_of(session))
    assert "private" not in repr(growths_of(session))
    told = growths_of(session, content=True)
    assert told[session.requests[0].id].additions[0].words == "private words"
    assert told[session.requests[1].id].additions[1].detail == "/home/somebody/secret.py"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("claude-code/oh-my-posh__sonnet5-1h-expiry-d1ffb512.jsonl", {"harness", "user", "file", "result", "thinking"}),
        ("codex/agentv__gpt55-173req-compacted.jsonl", {"system", "harness", "user", "result", "text", "call"}),
        ("pi/pi-mono__large-session.jsonl", {"user", "file", "result", "text", "call"}),
        ("opencode/nimbus__opencode-1.2.24-parent-122req.json", {"user", "file", "result", "text", "call"}),
    ],
)
def test_real_logs(name: str, kinds: set[str]) -> None:
    if not (DATA / name).exists():
        pytest.skip("no shared data here")
    (session,) = read([str(DATA / name)], [])
    found = growths_of(session)
    assert len(found) >= len(session.requests) * 99 // 100
    assert kinds <= {piece.kind for growth in found.values() for piece in growth.additions}


def test_a_format_whose_words_are_not_read_says_nothing(tmp_path: Path) -> None:
    from tests.traces.format_samples import BY_MODULE

    for session in read([str(BY_MODULE["copilot"](tmp_path))], []):
        assert growths_of(session) == {}


@pytest.mark.parametrize(
    "junk", ["{", "[]", '"x"', '{"type":"user","message":7}', '{"type":"user","message":{"content":[3]}}']
)
def test_broken_lines_cost_nothing_but_themselves(log: Path, junk: str) -> None:
    (session,) = read([str(log)], [])
    before = growths_of(session)
    lines = log.read_text().splitlines()
    log.write_text("\n".join([*lines, junk]) + "\n")
    (again,) = read([str(log)], [])
    assert {id: growth.additions for id, growth in growths_of(again).items()} == {
        id: growth.additions for id, growth in before.items()
    }
