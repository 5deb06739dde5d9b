"""What tells a format may stand behind a long prompt."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.traces import format_registry
from agentsim.traces.format_registry import HEAD_BYTES, detect, read

LONG = "x" * (HEAD_BYTES + 100)
COUNTERS = {"prompt_tokens": 9, "completion_tokens": 2, "startTime": 1.0, "endTime": 2.0, "call_type": "completion"}
OBSERVED = {"id": "o", "type": "GENERATION", "traceId": "t", "startTime": "2026-01-01T00:00:00Z",
            "usageDetails": {"input": 9, "output": 2, "total": 11}, "model": "gpt-5.5"}  # fmt: skip
RUN = {"run_type": "llm", "id": "r", "start_time": "2026-01-01T00:00:00Z",
       "outputs": {"usage_metadata": {"input_tokens": 9, "output_tokens": 2}}}  # fmt: skip
BODY = {"model": "claude-opus-5", "messages": [{"role": "user", "content": "hi"}]}
ANSWER = {"id": "m", "model": "claude-opus-5", "usage": {"input_tokens": 9, "output_tokens": 2}}
ROWS: dict[str, dict[str, Any]] = {
    "pairs": {"request": {"tools": [{"name": "t", "description": LONG}], **BODY}, "response": ANSWER},
    "litellm": {"request_id": "a", "messages": [{"role": "user", "content": LONG}], "model": "gpt-5.5", **COUNTERS},
    "langfuse": {"input": LONG, **OBSERVED},
    "langsmith": {"inputs": {"messages": [LONG]}, **RUN},
    "anthropic-batch": {"params": {"system": LONG, **BODY}, "custom_id": "a"},
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", ["line", "array", "pages"])
def test_a_format_is_told_whatever_its_first_record_holds(tmp_path, name, shape):
    path = tmp_path / "log.jsonl"
    if shape != "line" and name not in ("langfuse", "langsmith"):
        return
    rows = {"line": ROWS[name], "array": [ROWS[name]], "pages": {"data": [ROWS[name]]}}[shape]
    path.write_text(json.dumps(rows, indent=None if shape == "line" else 1))
    found = detect(str(path))
    assert found is not None
    assert found.name == name


@settings(max_examples=30, deadline=None)
@given(size=st.integers(HEAD_BYTES - 400, HEAD_BYTES + 400), name=st.sampled_from(["pairs", "litellm", "langfuse"]))
def test_the_size_of_a_prompt_decides_nothing(tmp_path_factory, size, name):
    row = json.dumps(ROWS[name]).replace(LONG, "x" * size)
    path = tmp_path_factory.mktemp("rows") / "log.jsonl"
    path.write_text(row + "\n")
    (session,) = read([str(path)])
    assert (session.format, session.accounting.used) == (name, 1)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_logs_are_read_as_what_is_in_them(tmp_path, pack):
    data = "".join(json.dumps({**ROWS["pairs"], "response": {**ANSWER, "id": f"m{n}"}}) + "\n" for n in range(3))
    (tmp_path / "log.jsonl").write_text(data)
    (tmp_path / "packed").mkdir()
    end = "gz" if pack is gzip.compress else "zst"
    (tmp_path / "packed" / f"log.jsonl.{end}").write_bytes(pack(data[:1000].encode()) + pack(data[1000:].encode()))
    (plain,), (packed,) = read([str(tmp_path / "log.jsonl")]), read([str(tmp_path / "packed")])
    assert [r.usage for r in packed.requests] == [r.usage for r in plain.requests]
    assert packed.accounting == plain.accounting
    whole = tmp_path / "packed" / f"log.jsonl.{end}"
    whole.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(OSError, match=r"cut off or damaged|no request"):
        list(read([str(whole)]))


READER = """
NAME = "theirs"
DESCRIPTION = "somebody else's log"
VERIFIED = False
def detect(head, path):
    return head.startswith(b"THEIRS")
def read_sessions(paths, problems=None):
    from agentsim.core.session import Session
    for path in paths:
        yield Session(id="s", format=NAME, completeness="usage", lanes=(), requests=(), files=(path,))
"""


def test_another_package_may_bring_a_format(tmp_path, monkeypatch):
    (tmp_path / "their_reader.py").write_text(READER)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[agentsim.formats]\ntheirs = their_reader\nbroken = no_such_module_at_all\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    format_registry.brought_formats.cache_clear()
    try:
        log = tmp_path / "a.log"
        log.write_text("THEIRS")
        (session,) = read([str(log)])
        assert session.format == "theirs"
        assert [format.name for format in format_registry.all_formats()][-1] == "theirs"
        (problem,) = format_registry.brought_formats()[1]
        assert "'broken'" in problem.reason
    finally:
        format_registry.brought_formats.cache_clear()
