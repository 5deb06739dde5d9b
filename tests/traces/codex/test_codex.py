"""Codex rollouts: calls, times, copies of a parent's calls, and what real ones add up to."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings

from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import codex
from tests.traces.codex.rollouts import BASE, RolloutFile, three_calls
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound


def read(*paths, problems=None):
    return sound(list(codex.read_sessions([str(path) for path in paths], problems)))


def only(file, tmp_path):
    (session,) = read(file.write(tmp_path / "rollout.jsonl"))
    return session


def seconds(request):
    return tuple(None if time is None else time / SECOND - BASE for time in (request.start, request.end))


def test_a_call_is_split_without_overlap(tmp_path):
    session = only(three_calls(), tmp_path)
    first = session.requests[0]
    assert first.usage == Usage(fresh=2_000 - 1_408, read=1_408, write_other=None, output=10)
    assert (first.model, first.provider, first.harness_version) == ("gpt-5.5", "codex", "0.150.0")
    assert first.settings == (("effort", '"high"'),)
    assert [request.parent for request in session.requests] == [None, "t1#1", "t1#2"]
    assert (session.id, session.completeness, session.harness) == ("t1", "messages", "codex")


def test_a_reply_ends_with_its_last_item_and_not_after_its_tools(tmp_path):
    session = only(three_calls(), tmp_path)
    # The user speaks at 2 s, the reply is logged at 4 and 5 s, the tool's result at 9 s, the count at 10 s.
    assert [seconds(request) for request in session.requests] == [(2, 5), (9, 15), (19, 25)]


def test_a_written_part_is_neither_fresh_nor_unknown(tmp_path):
    file = RolloutFile().context(1, model="gpt-5.6").count(5, 4_000, 1_000, cache_write_input_tokens=2_500)
    file.count(9, 4_100, 4_000, cache_write_input_tokens=0)
    first, second = only(file, tmp_path).requests
    assert first.usage == Usage(fresh=500, read=1_000, write_other=2_500, output=10)
    assert second.usage == Usage(fresh=100, read=4_000, write_other=0, output=10)


def test_more_cached_than_sent_is_told_and_not_bent(tmp_path):
    file = three_calls().count(50, 1_000, 900, cache_write_input_tokens=101)
    session = only(file, tmp_path)
    assert len(session.requests) == 3
    assert session.accounting.skipped == (("bad counter", 1),)


def test_repeated_totals_are_one_call(tmp_path):
    session = only(three_calls().repeat(60).repeat(61), tmp_path)
    assert (session.accounting.rows, session.accounting.used, session.accounting.duplicate) == (5, 3, 2)


def test_rate_limits_alone_are_no_call(tmp_path):
    session = only(three_calls().line("event_msg", 60, type="token_count", info=None), tmp_path)
    assert session.accounting.not_billable == 1


def test_without_the_last_usage_totals_are_subtracted(tmp_path):
    file = RolloutFile().context(1).count(5, 2_000, 0, 7, last=False).count(9, 2_600, 1_920, 9, last=False)
    first, second = only(file, tmp_path).requests
    assert first.usage == Usage(fresh=2_000, read=0, output=7)
    assert second.usage == Usage(fresh=680, read=1_920, output=9)
    file.total = dict.fromkeys(file.total, 0)  # reset, as after a compaction
    file.count(12, 1_500, 1_024, 3, last=False)
    assert only(file, tmp_path).requests[2].usage == Usage(fresh=476, read=1_024, output=3)


@pytest.mark.parametrize("record_first", [True, False])
def test_a_usage_record_and_its_count_are_one_call(tmp_path, record_first):
    file = three_calls()
    steps = [lambda: file.record(60, "resp_4", 4_000, 3_968), lambda: file.count(61, 4_000, 3_968)]
    for step in steps if record_first else steps[::-1]:
        step()
    session = only(file, tmp_path)
    assert [request.id for request in session.requests] == ["t1#1", "t1#2", "t1#3", "resp_4"]
    assert (session.accounting.used, session.accounting.duplicate) == (4, 1)


def test_equal_calls_in_a_row_stay_two(tmp_path):
    file = three_calls()
    for number in range(2):
        file.record(60 + number, f"resp_{number}", 4_000, 3_968).count(60 + number, 4_000, 3_968)
    assert only(file, tmp_path).accounting.used == 5


def test_what_happened_before_a_call_is_told(tmp_path):
    file = three_calls().line("compacted", 40, message="").line("event_msg", 41, type="context_compacted")
    file.context(42, model="gpt-5.4", effort="low").user(43).reply(45).count(46, 900, 0)
    file.line("session_meta", 50, id="t1", cli_version="0.151.0").reply(55).count(56, 1_000, 512)
    events = [(event.kind, event.before, event.detail) for event in only(file, tmp_path).events]
    assert [event for event in events if event[0] == "tool_results"] == [
        ("tool_results", f"t1#{number}", "run") for number in (2, 3, 4, 5)
    ]
    assert [event for event in events if event[0] != "tool_results"] == [
        ("prompt_submitted", "t1#1", None),
        ("compaction", "t1#4", None),
        ("prompt_submitted", "t1#4", None),
        ("model_change", "t1#4", "gpt-5.5 -> gpt-5.4"),
        ("effort_change", "t1#4", "high -> low"),
        ("resume", "t1#5", None),
        ("version_change", "t1#5", "0.150.0 -> 0.151.0"),
    ]


@pytest.mark.parametrize("named", ["resp_4", "resp_5", None])
def test_the_call_that_made_a_summary_is_told(tmp_path, named):
    file = three_calls().record(60, "resp_4", 4_000, 3_968)
    file.line("compacted", 62, message="", compaction_response_id=named).reply(64).count(66, 900, 512)
    requests = only(file, tmp_path).requests
    assert [request.purpose for request in requests] == [
        *["main"] * 3,
        "summary" if named == "resp_4" else "main",
        "main",
    ]


def forked(id="child", at=100, copied=3, own=77, **meta):
    """A thread that begins with the calls of another one, restamped, and goes on by itself."""
    file = three_calls(id, at, **meta)
    del file.lines[1 + 2 + 5 * copied :]
    return file.user(at + 80).reply(at + 82).count(at + 84, 5_000, 2_432, own)


@pytest.mark.parametrize("named", [{"forked_from_id": "t1"}, {"parent_thread_id": "t1"}, {}])
def test_a_fork_counts_only_its_own_calls(tmp_path, named):
    parent = three_calls().write(tmp_path / "b.jsonl")
    child = forked(**named).write(tmp_path / "a.jsonl")
    first, second = read(child, parent)
    assert [request.counted for request in first.requests] == [True] * 3
    assert [request.counted for request in second.requests] == [False] * 3 + [True]
    assert (second.accounting.used, second.accounting.duplicate) == (1, 3)
    assert second.requests[3].parent == second.requests[2].id  # the copies stay as what the fork grew from


def test_two_forks_of_a_missing_parent_count_its_calls_once(tmp_path):
    paths = [
        forked(f"c{n}", 100 + n, own=70 + n, forked_from_id="gone").write(tmp_path / f"{n}.jsonl") for n in range(2)
    ]
    first, second = read(*paths)
    assert [request.counted for request in first.requests + second.requests] == [True] * 4 + [False] * 3 + [True]
    assert "forked from" in first.problems[0].reason


def test_a_copy_that_was_over_before_the_thread_began_is_not_its_own(tmp_path):
    file = forked("child", 0, forked_from_id="gone")
    file.lines[0]["payload"]["timestamp"] = "2026-09-21T14:14:00Z"  # 40 s after the first line
    (session,) = read(file.write(tmp_path / "a.jsonl"))
    assert [request.counted for request in session.requests] == [False] * 3 + [True]
    assert not session.problems


def test_declared_history_is_not_counted(tmp_path):
    file = forked("child", 0, parent_thread_id="gone", subagent_history_start_ordinal=18)
    (session,) = read(file.write(tmp_path / "a.jsonl"))
    assert [request.counted for request in session.requests] == [False] * 3 + [True]


def test_a_subagent_is_a_lane_of_the_thread_that_started_it(tmp_path):
    parent = three_calls().write(tmp_path / "a.jsonl")
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "t1", "agent_nickname": "Scout"}}}
    child = (
        RolloutFile("t2", 30, source=source)
        .context(31)
        .user(32)
        .reply(34)
        .count(40, 1_500, 0)
        .write(tmp_path / "b.jsonl")
    )
    (session,) = read(parent, child)
    assert [(lane.id, lane.title, lane.purpose, lane.parent) for lane in session.lanes] == [
        ("main", "main", "main", None),
        ("subagent t2", "subagent Scout", "subagent", "main"),
    ]
    assert session.requests[-1].lane == "subagent t2"
    assert session.requests[-1].parent is None


def test_an_archived_copy_of_a_thread_counts_once(tmp_path):
    active = three_calls().user(60).reply(62).count(64, 4_000, 3_456).write(tmp_path / "sessions" / "r.jsonl")
    archived = three_calls().write(tmp_path / "archived_sessions" / "r.jsonl")
    (session,) = read(archived, active)
    assert len(session.requests) == session.accounting.used == 4
    assert session.accounting.duplicate == 3
    assert session.files == (active, archived)


def test_it_is_told_from_other_formats(tmp_path):
    path = three_calls().write(tmp_path / "anything.log")
    found = detect(path)
    assert found is not None
    assert found.name == "codex"
    spaced = tmp_path / "spaced.jsonl"
    spaced.write_text("\n".join(json.dumps(line) for line in three_calls().lines))
    assert [len(session.requests) for session in read(spaced)] == [3]


LOG = (
    three_calls()
    .record(60, "resp_4", 4_000, 3_968)
    .count(61, 4_000, 3_968)
    .line("compacted", 62, message="")
    .context(63, model="gpt-5.4")
    .reply(64)
    .count(66, 900, 0, cache_write_input_tokens=100)
    .bytes()
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
@example(damage=[("cut", 100, 0)])
def test_damage_costs_rows_and_nothing_else(tmp_path, damage):
    check_damaged(codex, tmp_path / "r.jsonl", damaged(LOG, damage))


@pytest.mark.parametrize(
    ("names", "requests", "total", "read_share"),
    [
        (["agentv__gpt55-173req-compacted"], 172, 19_615_319, 92.9),
        (["agentv__gpt54-10req"], 10, 266_714, 86.5),
        (["codexbar__live-fork-4d90-52bf-parent"], 178, 24_889_714, 95.4),
        (["codexbar__live-fork-4d90-52bf-child"], 194, 26_692_274, 95.1),
        (["codexbar__archived-fork-33ce-3869-parent"], 133, 13_359_699, 90.9),
        (["codexbar__archived-fork-33ce-3869-child"], 155, 15_253_283, 88.8),
        # A child's copy of its parent's calls is counted once: 178 + 16 and 133 + 22.
        (["codexbar__live-fork-4d90-52bf-child", "codexbar__live-fork-4d90-52bf-parent"], 194, 26_692_274, 95.1),
        (
            ["codexbar__archived-fork-33ce-3869-child", "codexbar__archived-fork-33ce-3869-parent"],
            155,
            15_253_283,
            88.8,
        ),
    ],
)
def test_real_rollouts_add_up(shared_data, names, requests, total, read_share):
    sessions = read(*(shared_data / "codex" / f"{name}.jsonl" for name in names))
    counted = [request for session in sessions for request in session.requests if request.counted]
    assert len(counted) == requests
    assert sum(request.usage.total_input for request in counted) == total
    assert round(100 * sum(request.usage.read for request in counted) / total, 1) == read_share


def test_nothing_heavy_is_imported():
    code = "import sys, agentsim.traces.readers.codex; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"agentsim.traces.readers.codex.codex_rollout", "pydantic", "sqlite3"} & set(loaded)
