"""Losses that repeat: one finding for one kind, its rhythm, and what stands in front of the losses."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.prompt import Prompt
from agentsim.core.session import Event
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.diagnose.changed_things import changed_tools, words_of_change
from agentsim.diagnose.loss_findings import RepeatedLoss, findings_of, words_of_floor
from agentsim.diagnose.loss_leads import LEAST_LOSSES, PROMPT, RowMarks, find_lead
from agentsim.diagnose.prompt_diff import first_difference
from agentsim.traces.format_registry import read
from tests.agentsim.diagnose.test_automatic_bodies import prompt, session

REPORTED = Path(__file__).resolve().parents[4] / "shared" / "reported"
needs_reports = pytest.mark.skipif(not REPORTED.exists(), reason="the reported cases are not here")


def judged(file: str | Path) -> Diagnosis:
    (found,) = read([str(file)], [])
    return diagnose(found, use_provider_diagnosis=False)


@needs_reports
@pytest.mark.parametrize(
    ("file", "what", "rhythm", "rows"),
    [
        ("20-images-keep-newest-three", "a sliding window of 3 images", "on each request from #5 to #12", 8),
        ("25-mcp-server-flap", "the MCP server db (3 tools) comes and goes", "#3 and #5", 2),
    ],
)
def test_reports_of_one_thing_that_happens_again(file: str, what: str, rhythm: str, rows: int) -> None:
    diagnosis = judged(REPORTED / file / "log.jsonl")
    (found,) = findings_of(diagnosis).repeated
    assert (found.what, found.rhythm, len(found.rows)) == (what, rhythm, rows)
    assert (found.tokens, found.cost) == (diagnosis.totals.lost_tokens, diagnosis.totals.lost_cost)


def test_the_losses_of_a_real_log_come_with_a_prompt(shared_data: Path) -> None:
    (path,) = (shared_data / "claude-code").glob("*opus5-1h-fork*part1of2.jsonl")
    found = findings_of(judged(path))
    lead = found.repeated[0].lead
    assert lead is not None
    assert (lead.what, lead.lost, lead.present, lead.lost_else, lead.absent) == (PROMPT, 5, 15, 0, 538)
    assert lead.sentence.startswith("All 5 losses fall on the first request after a prompt (15 of them), 0 of 538")
    assert found.lead is None, "the same is not said twice"


def repeated(*edited: int, of: int = 12, step: float = 30) -> tuple[RepeatedLoss, ...]:
    """A conversation that grows by a block a request; those of these numbers find their tools described anew."""
    asked, version = [], 0
    for number in range(of):
        version += number in edited
        names = (f"t1 v{version}", "sand", *(f"m{turn}" for turn in range(number + 3)))
        whole = 1000 * len(names)
        read = 0 if number == 0 or number in edited else (whole - 1000) // 128 * 128
        asked.append((number * step, prompt(*names), read))
    return findings_of(diagnose(session(*asked))).repeated


@pytest.mark.parametrize(
    ("edited", "step", "rhythm"),
    [
        ((3, 4, 5), 30, "on each request from #4 to #6"),
        ((2, 5, 8, 11), 30, "on every third request from #3 to #12"),
        ((2, 4, 8), 30, "between #3 and #9"),
        ((2, 8), 30, "#3 and #9"),
    ],
)
def test_rhythms(edited: tuple[int, ...], step: float, rhythm: str) -> None:
    (found,) = repeated(*edited, step=step)
    assert (found.cause, found.what, found.rhythm) == ("AS104", "each time in tools[0]", rhythm)
    assert found.rows == tuple(number + 1 for number in edited)


def test_one_loss_is_no_pattern() -> None:
    assert repeated(4) == ()
    assert len(repeated(4, 7)) == 1


def marked(lost_with: int, with_it: int, lost_else: int, others: int) -> tuple[list[RowMarks], set[str]]:
    rows = [RowMarks(f"w{number}", frozenset({"a hook"})) for number in range(with_it)]
    rows += [RowMarks(f"o{number}", frozenset()) for number in range(others)]
    return rows, {f"w{number}" for number in range(lost_with)} | {f"o{number}" for number in range(lost_else)}


def test_a_lead_needs_losses_enough_and_others_to_compare_with() -> None:
    def lead(*counts: int) -> bool:
        return find_lead(*marked(*counts)) is not None

    assert lead(36, 78, 1, 359)
    assert lead(LEAST_LOSSES, 3, 0, 100)
    assert not lead(LEAST_LOSSES - 1, 2, 0, 100)
    assert not lead(5, 5, 0, 0), "nothing to compare with"
    assert not lead(3, 8, 0, 4), "that may be chance"
    assert not lead(40, 80, 60, 100), "losses are as frequent elsewhere"


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_the_counts_of_a_lead_add_up(lost: int, kept: int, lost_else: int, kept_else: int) -> None:
    rows, losses = marked(lost, lost + kept, lost_else, lost_else + kept_else)
    found = find_lead(rows, losses)
    if found is not None:
        assert (found.lost, found.present, found.lost_else) == (lost, lost + kept, lost_else)
        assert found.present + found.absent == len(rows)
        assert 0 <= found.chance <= 0.01
        assert found.lift is None or found.lift >= 2


def test_marks_come_from_events_pauses_and_content() -> None:
    asked = [(300.0 * number, prompt("t1", "sand", *(f"m{n}" for n in range(number + 1))), 0) for number in range(8)]
    events = tuple(Event(kind="tools_delta", time=None, lane="main", before=f"r{n}", detail="docs") for n in (2, 4, 6))
    from agentsim.diagnose.loss_leads import marked_rows

    found = session(*asked, events=events)
    rows = {row.request: row.marks for row in marked_rows(found, diagnose(found).verdicts)}
    assert {"tools that came or went", "tools that came or went (docs)", "a pause of more than 1 min"} <= rows["r2"]
    assert "a pause of more than 5 min" not in rows["r2"], "300 s are not more than 300 s"
    assert "tools that came or went" not in rows["r3"]
    assert PROMPT in rows["r3"], "words of a user and no result of a tool"


def test_tools_of_one_server_are_one_change() -> None:
    old = prompt("t1", "s", "a")
    tools = [
        old[0],
        *(
            msgspec.structs.replace(old[0], name=f"mcp__db__{n}", digest=n.encode().ljust(16))
            for n in ("query", "list")
        ),
    ]
    new = Prompt.of([*tools, old[1], old[2]])
    assert changed_tools(old, new) == (("mcp__db__query", "mcp__db__list"), (), "db")
    sentences, fix = words_of_change(first_difference(old, new), old, new)
    assert sentences == ("2 tools of the MCP server db came together: query, list.",)
    assert fix is None
    assert words_of_change(first_difference(new, old), new, old)[0][0].startswith("2 tools of the MCP server db went")


def test_how_far_reads_reached_is_told_where_no_place_is_known() -> None:
    assert words_of_floor("AS902", (0, 0)) == "each time nothing was read"
    assert words_of_floor("AS901", (1_500, 1_500)) == "each time 1,500 tokens were read"
    assert words_of_floor("AS901", (0, 1_500, 1_900)) == "each time about 1,500 tokens were read"
    assert words_of_floor("AS104", (0, 0)) == "", "a changed tool has a place"
