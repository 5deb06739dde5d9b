"""Heads of several sessions that are one but for text that changes by itself."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agentsim.diagnose import diagnose
from agentsim.fleet.summary import Summary, summarise
from agentsim.fleet.summary.heads_of_sessions import beginnings, shared_heads
from agentsim.report.paper import Paper
from agentsim.report.screen.summary_page import write_summary
from agentsim.traces.format_registry import read

RULES = "The rules of the house. " * 900
MARK = {"cache_control": {"type": "ephemeral"}}


def save(folder: Path, number: int, head: str, at: int, *, marked: bool = True, read_tokens: int = 0) -> None:
    """A session of one request, as pairs of a request and its reply."""
    system = [{"type": "text", "text": head + RULES, **(MARK if marked else {})}]
    messages = [{"role": "user", "content": [{"type": "text", "text": f"Question {number} " * 20}]}]
    usage = {
        "input_tokens": 60,
        "cache_creation_input_tokens": 4_500 - read_tokens,
        "cache_read_input_tokens": read_tokens,
        "output_tokens": 9,
    }
    pair = {
        "request": {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": system, "messages": messages},
        "response": {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "role": "assistant", "type": "message",
                     "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "usage": usage},
        "start": f"2026-03-01T10:{at // 60:02}:{at % 60:02}Z",
        "end": f"2026-03-01T10:{at // 60:02}:{at % 60:02}Z",
    }  # fmt: skip
    (folder / f"s{number}.jsonl").write_text(json.dumps(pair) + "\n")


def summary_of(folder: Path) -> Summary:
    summary = summarise([str(folder)])
    assert summary.sessions == len(list(folder.iterdir()))
    return summary


def test_a_clock_in_the_system_text_of_three_sessions(tmp_path: Path) -> None:
    for number, clock in enumerate(("10:00:01", "10:01:07", "10:02:59")):
        save(tmp_path, number, f"It is {clock}. ", 60 * number)
    summary = summary_of(tmp_path)
    (head,) = summary.shared_heads
    assert (head.cause, head.place, head.conversations) == ("AS111", "system[0]", 2)
    assert 0 < head.tokens <= 2 * 4_560
    assert head.cost is not None
    assert head.cost > 0
    assert summary.lost_tokens == 0, "it is in no sum of losses"
    page = io.StringIO()
    write_summary(Paper(page, width=200), summary)
    assert "2 conversations: AS111" in page.getvalue()
    sessions = list(read([str(tmp_path)], []))
    found = [one for session in sessions[::-1] for one in beginnings(diagnose(session))]
    assert shared_heads(found) == (head,), "the order in which sessions are read does not matter"


@pytest.mark.parametrize(
    ("second", "at", "marked", "read_tokens", "what"),
    [
        ("It is 10:00:01. ", 60, True, 0, "the very same head"),
        ("You test. ", 60, True, 0, "another head, on purpose"),
        ("It is 10:05:02. ", 301, True, 0, "the entry had expired"),
        ("It is 10:01:02. ", 60, False, 0, "no entry ended there"),
        ("It is 10:01:02. ", 60, True, 4_400, "it was read"),
    ],
)
def test_nothing_is_told_where_nothing_was_lost(
    tmp_path: Path, second: str, at: int, marked: bool, read_tokens: int, what: str
) -> None:
    save(tmp_path, 0, "It is 10:00:01. ", 0, marked=marked)
    save(tmp_path, 1, second, at, marked=marked, read_tokens=read_tokens)
    assert summary_of(tmp_path).shared_heads == (), what


def test_an_entry_lives_as_long_as_it_is_asked_for(tmp_path: Path) -> None:
    save(tmp_path, 0, "It is 10:00:01. ", 0)
    save(tmp_path, 1, "It is 10:05:01. ", 300)
    assert len(summary_of(tmp_path).shared_heads) == 1
