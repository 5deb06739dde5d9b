"""A log read while it is written, piece by piece, gives the sessions that reading it anew gives, after each piece."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentsim.traces.readers import claude_code
from agentsim.traces.readers.claude_code import claude_growing
from agentsim.traces.readers.claude_code.claude_growing import GrowingClaudeLogs
from agentsim.traces.readers.claude_code.claude_scan import scan_blocks

SAMPLE = Path(__file__).parents[3] / "traces" / "samples" / "claude-code.jsonl"


def both(paths: list[str], grown: GrowingClaudeLogs) -> tuple[object, object]:
    problems: tuple[list[Any], list[Any]] = ([], [])
    return (
        (claude_code.read_sessions(paths, problems[0], grown), problems[0]),
        (claude_code.read_sessions(paths, problems[1]), problems[1]),
    )


def record(number: int, kind: str, parent: int, message: int, output: int | None, agent: bool) -> dict[str, Any]:
    """A line. It may name a parent that is written later or never, and repeat the message of any other."""
    base: dict[str, Any] = {
        "parentUuid": str(UUID(int=parent)) if parent else None,
        "isSidechain": agent,
        "sessionId": "s1",
        "version": f"2.1.{message // 4}",
        "uuid": str(UUID(int=number)),
        "timestamp": f"2026-11-02T05:{number % 60:02d}:11.133Z",
    }
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 10 * message, "cache_read_input_tokens": 100 * message}
    reply: dict[str, Any] = {"role": "assistant", "id": f"msg_{message}", "model": f"claude-opus-4-{5 + message % 2}"}
    reply["content"] = [{"type": "text", "text": "é" * message}]
    if output is not None:
        reply |= {"usage": usage | {"output_tokens": output}, "stop_reason": "end_turn" if output > 5 else None}
    if kind == "reply":
        return base | {"type": "assistant", "requestId": f"req_{message}", "message": reply}
    if kind == "copy":
        inner = {"type": "assistant", "message": reply, "requestId": f"req_{message}", "uuid": base["uuid"]}
        return base | {"type": "progress", "data": {"type": "agent_progress", "agentId": "a1", "message": inner}}
    if kind == "system":
        return base | {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": str(UUID(int=message))}
    return base | {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "x" * message}]}}


numbers = st.integers(0, 12)
records = st.builds(
    record,
    st.integers(1, 12),
    st.sampled_from(["reply", "reply", "reply", "user", "user", "copy", "system"]),
    numbers,
    numbers,
    st.sampled_from([None, 1, 5, 9]),
    st.booleans(),
)
texts = st.one_of(
    st.builds(lambda line, tight: json.dumps(line, separators=(",", ":") if tight else None), records, st.booleans()),
    st.builds(lambda a, b: json.dumps(a) + json.dumps(b), records, records),
    st.sampled_from(["", " ", "{", "[]", '{"type":"assistant","message":{"usage":{"input_tokens":-1}}}', "nothing"]),
)


def tight(*arguments: Any) -> str:
    return json.dumps(record(*arguments), separators=(",", ":"))


LATE_COUNTERS = [
    tight(2, "reply", 0, 1, None, False),
    tight(3, "reply", 2, 2, 9, False),
    tight(4, "reply", 2, 1, 9, False),
]
"""The counters of a reply come after the call that grew from it."""

LATE_PARENT = [
    tight(1, "reply", 5, 1, 9, False),
    tight(5, "reply", 0, 2, 9, False),
    tight(5, "user", 0, 4, None, False),
]
"""A parent is written after its child, and written again."""

SAVED_AGAIN = [
    json.dumps(record(1, "user", 0, 2, None, False)),
    tight(3, "reply", 1, 2, 9, False),
    tight(1, "system", 0, 7, None, False),
]
"""A parent has spaces, and is written again without."""


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, min_size=1, max_size=14), st.lists(st.integers(0, 9999), max_size=8), st.booleans())
@example(LATE_COUNTERS, [], True)
@example(LATE_PARENT, [], True)
@example(SAVED_AGAIN, [], True)
def test_the_same_after_each_piece(tmp_path: Path, lines: list[str], cuts: list[int], newline: bool) -> None:
    data = ("\n".join(lines) + "\n" * newline).encode()
    places = {cut % (len(data) + 1) for cut in cuts} | {data.find(b"\n") + 1, len(data)}
    if newline:
        places |= {place + 1 for place, byte in enumerate(data) if byte == ord("\n")}
    log = tmp_path / "s1.jsonl"
    log.write_bytes(b"")
    grown = GrowingClaudeLogs()
    begin = 0
    for end in sorted(places):
        with log.open("ab") as file:
            file.write(data[begin:end])
        begin = end
        kept, anew = both([str(log)], grown)
        assert kept == anew


def test_a_real_log_line_by_line_and_half_lines(tmp_path):
    log, agent = tmp_path / "session.jsonl", tmp_path / "session" / "subagents" / "agent-1.jsonl"
    agent.parent.mkdir(parents=True)
    grown = GrowingClaudeLogs()
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        half = len(line) // 2
        for part in (line[:half], line[half:]):
            with log.open("ab") as file:
                file.write(part)
            paths = [str(log)]
            if number > 10:  # a subagent's log begins later, and grows too
                with agent.open("ab") as file:
                    file.write(part.replace(b'"isSidechain":false', b'"isSidechain":true,"agentId":"1"'))
                paths.append(str(agent))
            kept, anew = both(paths, grown)
            assert kept == anew


@pytest.fixture
def scanned(monkeypatch) -> list[int]:
    """How many bytes each pass over blocks looked at."""
    sizes: list[int] = []

    def spy(unit, index, blocks, before=0):
        blocks = list(blocks)
        sizes.append(sum(block.size for block in blocks))
        return scan_blocks(unit, index, blocks, before)

    monkeypatch.setattr(claude_growing, "scan_blocks", spy)
    return sizes


def test_only_what_was_appended_is_read(tmp_path, scanned):
    log = tmp_path / "session.jsonl"
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))
    grown = GrowingClaudeLogs()
    claude_code.read_sessions([str(log)], [], grown)
    with log.open("ab") as file:
        file.write(lines[-1])
    before = claude_code.read_sessions([str(log)], [], grown)[0].requests
    assert scanned == [sum(map(len, lines[:-1])) - 1, len(lines[-1]) - 1]
    after = claude_code.read_sessions([str(log)], [], grown)[0].requests
    assert len(scanned) == 2  # nothing was appended
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_another_file_that_differs_little(tmp_path):
    """Where no sample is taken: only the file system tells."""
    log, next_log = tmp_path / "session.jsonl", tmp_path / "next.jsonl"
    text = SAMPLE.read_bytes()
    log.write_bytes(text)
    grown = GrowingClaudeLogs()
    claude_code.read_sessions([str(log)], [], grown)
    step = (len(text) - 256) // 8
    found = [match for match in re.finditer(rb'"output_tokens":[1-8]', text) if 300 < match.end() % step < step - 300]
    for match in found:
        text = text[: match.end() - 1] + b"9" + text[match.end() :]
    next_log.write_bytes(text + text.splitlines(keepends=True)[-1])
    os.replace(next_log, log)
    kept, anew = both([str(log)], grown)
    assert kept == anew


@pytest.mark.parametrize("change", ["shorter", "another file", "other beginning", "other end", "other middle", "gone"])
def test_a_file_that_did_anything_but_grow_is_read_anew(tmp_path, change):
    log = tmp_path / "session.jsonl"
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-4]))
    grown = GrowingClaudeLogs()
    claude_code.read_sessions([str(log)], [], grown)
    middle, last = (line.replace(b'"output_tokens":', b'"output_tokens":1') for line in (lines[20], lines[-5]))
    text = {
        "shorter": lines[:9],
        "another file": [*lines[2:], *lines[:9], *lines],
        "other beginning": [*lines[:2], *lines[3:], *lines],
        "other end": [*lines[:-6], last, lines[-4] * 3],
        "other middle": [*lines[:12], middle, *lines[14:], *lines],
        "gone": [],
    }[change]
    if change == "another file":
        os.rename(log, tmp_path / "old.jsonl")
    log.write_bytes(b"".join(text))
    if change == "gone":
        log.unlink()
    kept, anew = both([str(log)], grown)
    assert kept == anew


def test_packed_logs_and_conversations_of_several_files(tmp_path):
    import gzip

    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    packed, one, other = (tmp_path / name for name in ("p.jsonl", "a.jsonl", "b.jsonl"))
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    one.write_bytes(b"".join(lines[:20]))
    other.write_bytes(b"".join(lines[20:-3]))
    grown = GrowingClaudeLogs()
    for line in lines[-3:]:
        for paths in ([packed], [one, other], [one]):
            kept, anew = both([str(path) for path in paths], grown)
            assert kept == anew
        with other.open("ab") as file:
            file.write(line)
