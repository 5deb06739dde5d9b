"""Leads: what stands between two requests is found, and nothing is found where losses fall by chance."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from agentsim.core.session import ASIDE, Session
from agentsim.diagnose import diagnose
from agentsim.diagnose.loss_leads import (
    MOST_CHANCE,
    PROMPT,
    SEVERAL,
    MarkCounts,
    RowMarks,
    count_marks,
    find_lead,
    lead_among,
    marked_rows,
)
from agentsim.traces.format_registry import read

HERE = Path(__file__).parent
LINES = HERE / "between_requests.jsonl"


def session() -> Session:
    (found,) = read([str(LINES)], [])
    return found


def marks_of(found: Session) -> list[frozenset[str]]:
    return [row.marks for row in marked_rows(found, diagnose(found).verdicts)]


def test_what_stands_between_two_requests_of_claude_code() -> None:
    second, third, fourth = marks_of(session())
    assert second == {"a call of Skill", "a skill that was loaded", "a skill that was loaded (golang)"}
    assert third == {
        PROMPT,
        "a hook",
        "a hook (UserPromptSubmit)",
        "a change of the mode",
        "a change of the mode (default -> plan)",
        "a change of the folder",
        "skills or agents that came or went",
    }
    assert fourth == {
        SEVERAL,
        "a call of Edit",
        "a call of Read",
        "a file of instructions that was loaded or edited",
        "a file of instructions that was loaded or edited (CLAUDE.md)",
    }


def test_they_decide_no_verdict() -> None:
    found = session()
    without = [event for event in found.events if event.kind not in ASIDE]
    assert len(without) < len(found.events)
    import msgspec

    bare = msgspec.structs.replace(found, events=tuple(without))
    assert diagnose(bare).verdicts == diagnose(found).verdicts


def shuffled(random: Random, rows: list[RowMarks], losses: int) -> set[str]:
    return {row.request for row in random.sample(rows, losses)}


@pytest.mark.parametrize("losses", [3, 8, 25])
def test_no_lead_where_losses_fall_by_chance(losses: int) -> None:
    """Many marks, some nearly everywhere, some nested in others; losses drawn at random. The chance that a lead states
    holds: so many of the drawings may find one, and no more."""
    random = Random(losses)
    rows = []
    for number in range(120):
        marks = {f"mark {at}" for at in range(25) if random.random() < (at + 1) / 40}
        marks |= {f"{mark} too" for mark in marks if random.random() < 0.5}
        rows.append(RowMarks(f"r{number}", frozenset(marks)))
    drawings = 250
    found = sum(find_lead(rows, shuffled(random, rows, losses)) is not None for _ in range(drawings))
    assert found <= drawings * MOST_CHANCE + 2


def test_no_lead_from_what_differs_between_sessions() -> None:
    """A session that loses much and in which a mark is frequent, beside one with neither: no lead, whatever they add up
    to. Taken together as if they were one, they would make one."""
    random = Random(5)
    sessions: list[MarkCounts] = []
    everything: list[RowMarks] = []
    lost: set[str] = set()
    for name, share, losses in (("a", 0.9, 40), ("b", 0.05, 2)):
        rows = [
            RowMarks(f"{name}{number}", frozenset({"a hook"} if random.random() < share else ()))
            for number in range(100)
        ]
        drawn = shuffled(random, rows, losses)
        sessions.append(count_marks(rows, drawn))
        everything += rows
        lost |= drawn
    assert find_lead(everything, lost) is not None
    assert lead_among(sessions) is None


def test_a_lead_that_no_session_shows_alone() -> None:
    """One loss in each of twelve sessions, each behind the same thing."""
    one = MarkCounts(rows=20, lost=1, marks={"a change of the mode": (2, 1)})
    assert lead_among([one] * 2) is None
    found = lead_among([one] * 12)
    assert found is not None
    assert (found.lost, found.present, found.lost_else, found.absent, found.sessions) == (12, 24, 0, 216, 12)
    assert found.lift is None
    assert "at least" in found.sentence


def test_the_more_is_asked_the_less_is_a_surprise() -> None:
    rows = [RowMarks(f"r{number}", frozenset({"a hook"} if number < 8 else ())) for number in range(120)]
    lost = {f"r{number}" for number in (0, 1, 2, 60)}
    found = find_lead(rows, lost)
    assert found is not None
    assert find_lead(rows, lost, questions=int(MOST_CHANCE / found.chance)) is not None
    assert find_lead(rows, lost, questions=int(MOST_CHANCE / found.chance) + 1) is None


def test_no_lead_from_a_real_log_whose_losses_are_shuffled(shared_data: Path) -> None:
    (path,) = (shared_data / "claude-code").glob("*opus5-1h-parent*.jsonl")
    (found,) = read([str(path)], [])
    rows = marked_rows(found, diagnose(found).verdicts)
    assert len({mark for row in rows for mark in row.marks}) > 20
    random = Random(11)
    drawings = 120
    leads = sum(
        find_lead(rows, shuffled(random, rows, losses)) is not None for losses in (3, 9) for _ in range(drawings)
    )
    assert leads <= 2 * drawings * MOST_CHANCE + 1
