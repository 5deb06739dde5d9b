"""Losses of one kind over sessions, what stands in front of them, and the rows that the dearest misses name."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.diagnose import diagnose
from agentsim.diagnose.loss_findings import SAME_FLOOR, LossKind, alike, findings_of
from agentsim.fleet.summary import Summary, summarise
from agentsim.fleet.summary.repeated_losses import LossLeads, leads_of
from agentsim.fleet.summary.session_study import SessionStudy, studies_of, with_rows
from agentsim.report.json.canonical_json import summary_document
from agentsim.report.paper import Paper
from agentsim.report.screen.summary_page import proof_of_miss, write_summary
from agentsim.traces.format_registry import read
from agentsim.traces.samples.claude_log import ClaudeLog

FLOOR = 18_000


def session(path: Path, name: str, turns: int, floor: int = FLOOR) -> None:
    """Each prompt of a person finds only the tools and the system text; what follows it reads all."""
    made = ClaudeLog(name, model="claude-opus-4-8")
    made.user("Begin.")
    made.call(0, 60_000, output=100)
    warm = 60_000
    for turn in range(turns):
        for _ in range(6):
            made.now += 10
            made.results()
            made.call(warm, 1_000, output=100)
            warm += 1_000
        made.now += 10
        made.user(f"Go on {turn}.")
        made.call(floor, warm + 1_000 - floor, output=100)
        warm += 1_000
    made.save(path)


def studied(folder: Path) -> tuple[Summary, LossLeads, list[SessionStudy]]:
    summary = summarise([str(folder)])
    studies = studies_of(summary.by_loss)
    return with_rows(summary, studies), leads_of(summary, {one.session: one.marks for one in studies}), studies


def test_one_kind_in_several_sessions_is_one_finding_with_its_lead(tmp_path: Path) -> None:
    for number in range(8):
        session(tmp_path / f"{number}.jsonl", f"s{number}", 1, FLOOR + number)
    summary, leads, _ = studied(tmp_path)
    (kind,), (lead,) = summary.kinds_of_loss, leads.kinds
    assert (kind.losses, kind.sessions) == (8, 8)
    assert kind.what == f"each time about {FLOOR + 4:,} tokens were read"
    assert (kind.tokens, kind.cost) == (summary.lost_tokens, summary.lost_cost)
    assert lead is not None
    assert (lead.what, lead.lost, lead.present, lead.lost_else, lead.sessions) == ("a prompt", 8, 8, 0, 8)
    assert leads.placeless is None, "the same is not said twice"
    text = io.StringIO()
    write_summary(Paper(text, width=100), summary, leads=leads)
    assert "8 × " in text.getvalue()
    assert "All 8 losses fall on the first request after a prompt (8 of them), 0 of" in text.getvalue()
    found = summary_document(summary, None, leads)["findings"]
    assert found["repeated"][0]["losses"] == 8
    assert found["repeated"][0]["lead"]["lift_interval"][1] is None
    assert (found["lead"], found["looked_at"]) == (None, 8)
    quick = summary_document(summary)["findings"]
    assert (quick["repeated"][0]["lead"], quick["looked_at"]) == (None, 0)


def test_a_floor_of_its_own_is_a_kind_of_its_own(tmp_path: Path) -> None:
    for number in range(4):
        session(tmp_path / f"{number}.jsonl", f"s{number}", 1, FLOOR * (1 + number % 2))
    assert [kind.sessions for kind in studied(tmp_path)[0].kinds_of_loss] == [2, 2]


def test_the_dearest_misses_name_rows_that_replay_opens(tmp_path: Path) -> None:
    session(tmp_path / "one.jsonl", "one", 3)
    session(tmp_path / "two.jsonl", "two", 1)
    summary, _, _ = studied(tmp_path)
    assert len(summary.worst_misses) == 4
    for miss in summary.worst_misses:
        (found,) = read(list(miss.files), [])
        assert found.requests[miss.row - 1].id == miss.request
        assert proof_of_miss(summary, miss) == f"agentsim replay {miss.files[0]} --row {miss.row}"
    quick = summarise([str(tmp_path)]).worst_misses[0]
    assert quick.row == 0
    assert proof_of_miss(summary, quick) == f"agentsim replay {quick.file} --line {quick.line}"


def test_bodies_know_their_rows_and_their_places_at_once(shared_data: Path) -> None:
    path = next((shared_data / "claude-trace").glob("*.jsonl"))
    summary = summarise([str(path)])
    sessions = {one.id: one for one in read([str(path)], [])}
    assert summary.worst_misses
    for miss in summary.worst_misses:
        assert sessions[miss.session].requests[miss.row - 1].id == miss.request


def test_one_session_is_told_as_its_replay_tells_it(shared_data: Path, tmp_path: Path) -> None:
    (path,) = (shared_data / "claude-code").glob("*opus5-1h-fork*part1of2.jsonl")
    (found,) = read([str(path)], [])
    alone = [one for one in findings_of(diagnose(found)).repeated if one.what]
    summary, leads, _ = studied(path)
    told = {(one.cause, one.what, one.losses, one.tokens, one.cost) for one in summary.kinds_of_loss}
    assert told == {(one.cause, one.what, len(one.rows), one.tokens, one.cost) for one in alone}
    assert {None if one is None else one.what for one in leads.kinds} == {
        None if one.lead is None else one.lead.what for one in alone
    }


@pytest.mark.parametrize("processes", [2, 3])
def test_the_studies_do_not_depend_on_the_processes(tmp_path: Path, processes: int) -> None:
    for number in range(3):
        session(tmp_path / f"{number}.jsonl", f"s{number}", number)
    lines = summarise([str(tmp_path)]).by_loss
    told: list[tuple[int, int]] = []
    found = studies_of(lines, lambda done, total: told.append((done, total)), processes=processes)
    assert msgspec.json.encode(found) == msgspec.json.encode(studies_of(lines, processes=1))
    assert told
    assert all(done <= total == 3 for done, total in told)


def test_sessions_that_share_requests_are_read_together(tmp_path: Path) -> None:
    """A fork holds copies of what another session was billed for: they cost nothing in its simulation."""
    session(tmp_path / "one.jsonl", "one", 1)
    lines = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(line | {"sessionId": "two"}) + "\n" for line in lines))
    session(tmp_path / "three.jsonl", "three", 1)
    by_loss = summarise([str(tmp_path)]).by_loss
    assert [one.copies for one in by_loss if one.session == "three"] == [False]
    studies = studies_of(by_loss, processes=2)
    assert sum(one.cost or 0 for one in studies) == summarise([str(tmp_path)]).cost


@given(st.lists(st.integers(0, 300_000), max_size=12))
def test_reads_are_of_one_kind_where_they_end_nearly_at_the_same_place(reads: list[int]) -> None:
    groups = alike([LossKind("AS130", floor=read) for read in reads])
    assert sorted(index for group in groups for index in group) == list(range(len(reads)))
    for group in groups:
        first = reads[group[0]]
        assert all(abs(reads[index] - first) * SAME_FLOOR <= first for index in group)
