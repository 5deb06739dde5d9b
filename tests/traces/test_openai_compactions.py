"""Captured calls in which OpenAI's server compacts a conversation: at an address of its own, and by an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsim.diagnose import diagnose
from tests.traces.test_openai_exchanges import HISTORY, I14, RESPONSES, asked, call, read, said, user

SUMMARY = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAB" + "x" * 400}
TRIGGER = {"type": "compaction_trigger"}


def folded(id: str, read: int, written: int, *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer that holds a summary; at its own address it names neither a model nor a status."""
    answer = said(id, "", read, written, output=90)
    return {"id": id, "usage": answer["usage"], "output": [*items, SUMMARY], **more}


@pytest.mark.parametrize("way", ["address", "item"])
def test_a_compaction_is_no_loss(tmp_path: Path, way: str) -> None:
    if way == "address":
        answer = folded("r3", 3_700, 8, HISTORY[0], HISTORY[2], object="response.compaction")
        summary = call(40, asked(*HISTORY[:4]), answer, f"{RESPONSES}/compact")
    else:
        answer = folded("r3", 3_700, 8, model="gpt-5.6-sol", status="completed")
        summary = call(40, asked(*HISTORY[:4], TRIGGER), answer)
    after = call(60, asked(HISTORY[0], HISTORY[2], SUMMARY, user("go on")), said("r4", "d", 3_679, 130))
    later = call(
        80,
        asked(HISTORY[0], HISTORY[2], SUMMARY, user("go on"), HISTORY[5], user("and")),
        said("r5", "e", 3_809, 12),
    )
    (session,) = read(tmp_path, *I14[:2], summary, after, later)
    assert [request.purpose for request in session.requests] == ["main", "main", "summary", "main", "main"]
    assert {request.lane for request in session.requests} == {"main"}
    assert [(event.kind, event.before) for event in session.events] == [("compaction", "r4")]
    row = session.requests[2]
    assert row.usage is not None
    assert (row.usage.read, row.usage.total_input, row.usage.output) == (3_700, 3_710, 90)
    assert row.prompt is not None
    assert [block.kind for block in row.prompt] == ["text"] * 5, "who asks for it is no part of the prompt"
    found = diagnose(session)
    assert [verdict.kind for verdict in found.verdicts] == ["first", "hit", "hit", "compaction", "hit"]
    assert found.verdicts[3].cause == "AS140"
    assert found.totals.lost_cost == 0


def test_what_is_left_is_what_the_next_response_goes_on_from(tmp_path: Path) -> None:
    answer = folded("r3", 3_700, 8, model="gpt-5.6-sol", status="completed")
    entries = [
        *I14[:1],
        call(20, asked(HISTORY[2], previous_response_id="r1"), said("r2", "b", 3_679, 21)),
        call(40, asked(TRIGGER, previous_response_id="r2"), answer),
        call(60, asked(user("go on"), previous_response_id="r3"), said("r4", "d", 3_679, 130)),
    ]
    (session,) = read(tmp_path, *entries)
    prompt = session.requests[-1].prompt
    assert prompt is not None
    told = [(block.role, block.kind) for block in prompt]
    assert told == [("system", "text"), ("user", "text"), ("user", "text"), ("user", "compaction"), ("user", "text")]
    assert diagnose(session).verdicts[-1].cause == "AS140"


@pytest.mark.parametrize("edited", [0, 2])
def test_a_summary_that_was_there_before_is_no_new_compaction(tmp_path: Path, edited: int) -> None:
    items = [HISTORY[0], SUMMARY, HISTORY[2], HISTORY[4], HISTORY[6]]
    first = call(0, asked(*items), said("r1", "a", 0, 3_800))
    items[edited] = user("another")
    second = call(20, asked(*items), said("r2", "b", 3_600, 200))
    (session,) = read(tmp_path, first, second)
    assert [request.lane for request in session.requests] == ["main", "main"]
    assert not session.events
