"""Whatever order its lines stand in, and however many stand on one: a log is judged alike by every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.diagnose import diagnose
from agentsim.fleet.summary import summarise
from agentsim.traces.readers import claude_code
from agentsim.traces.readers.claude_code.claude_growing import GrowingClaudeLogs
from agentsim.traces.readers.claude_code.claude_scan import scan

SAMPLE = Path(__file__).resolve().parents[3] / "traces" / "samples" / "claude-code.jsonl"
LINES = SAMPLE.read_bytes().splitlines()
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def told(path: Path) -> tuple[Any, ...]:
    """What a replay says of a log: its accounts, and how each of its requests is judged."""
    (session,) = claude_code.read_sessions([str(path)])
    found = diagnose(session)
    kinds: dict[str, int] = {}
    for verdict in found.verdicts:
        kinds[verdict.kind] = kinds.get(verdict.kind, 0) + 1
    lost = sum(verdict.lost for verdict in found.verdicts if verdict.kind == "miss")
    return session.accounting, kinds, lost


def summed(path: Path) -> tuple[object, ...]:
    """The same of a summary."""
    found = summarise([str(path)])
    return found.accounting, dict(found.kinds), found.lost_tokens


@quick
@given(swaps=st.lists(st.integers(0, len(LINES) - 2), min_size=1, max_size=3))
def test_exchanged_lines_are_judged_alike(tmp_path, swaps):
    lines = list(LINES)
    for at in swaps:
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert told(path) == summed(path)
    unit, growing = scan((str(path),)), GrowingClaudeLogs().unit((str(path),))
    assert [call.key for call in growing.calls] == [call.key for call in unit.calls]


@quick
@given(joins=st.lists(st.integers(0, len(LINES) - 2), min_size=1, max_size=4, unique=True))
def test_objects_on_one_line_are_rows_each(tmp_path, joins):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    before = told(path)
    path.write_bytes(b"".join(line + (b"" if at in joins else b"\n") for at, line in enumerate(LINES)))
    assert told(path)[0] == before[0]
    assert told(path)[1:] == before[1:]
    assert summed(path)[0] == before[0]


def test_a_text_that_ends_like_two_objects_is_one_row(tmp_path):
    line = json.loads(LINES[0])
    line["message"]["content"] = "a}{"
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps(line, separators=(",", ":")).encode() + b"\n" + b"\n".join(LINES[1:]) + b"\n")
    assert told(path)[0].rows == len(LINES)


@pytest.mark.parametrize("cut", [0, 1000])
def test_a_log_that_shrinks_while_it_is_read_ends_nothing(tmp_path, cut):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    unit = scan((str(path),))
    from agentsim.traces.readers.claude_code.claude_steps import Tree

    with Tree(unit) as tree:
        tree.step(unit.calls[0])
        with path.open("r+b") as file:
            file.truncate(cut)
        for call in unit.calls:
            tree.step(call)
