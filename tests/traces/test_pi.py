"""Pi sessions: disjoint counters, a tree of entries, copies in forks, and a real session of version 1."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings

from agentsim.core.dates import SECOND
from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import pi
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

START = 1_790_000_000_000


def stamp(at):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(START / 1000 + at, UTC).isoformat(timespec="milliseconds")


def header(id="s1", at=0, version=3, **more):
    return {"type": "session", "version": version, "id": id, "timestamp": stamp(at), "cwd": "/w", **more}


def entry(id, parent, at, kind="message", **fields):
    return {"type": kind, "id": id, "parentId": parent, "timestamp": stamp(at), **fields}


def user(id, parent, at):
    message = {"role": "user", "content": [{"type": "text", "text": "go"}], "timestamp": START + 1000 * at}
    return entry(id, parent, at, message=message)


def tools(id, parent, at):
    return entry(id, parent, at, message={"role": "toolResult", "content": [{"type": "text", "text": "done"}]})


def answer(
    id, parent, at, fresh, read, write, output=10, took=2, provider="anthropic", model="claude-opus-4-8", **more
):
    counters = {"input": fresh, "output": output, "cacheRead": read, "cacheWrite": write}
    message = {
        "role": "assistant",
        "provider": provider,
        "model": model,
        "content": [{"type": "thinking"}, {"type": "toolCall"}, {"type": "toolCall"}],
        "usage": {**counters, "totalTokens": sum(counters.values()), "cost": {"total": 0.1}},
        "stopReason": "toolUse",
        "timestamp": START + 1000 * at,
        **more,
    }
    return entry(id, parent, at + took, message=message)


def read(tmp_path, *files):
    paths = []
    for number, rows in enumerate(files):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(jsonl(*rows))
        paths.append(str(path))
    return sound(list(pi.read_sessions(paths)))


LINEAR = (
    header(),
    user("u1", None, 1),
    answer("a1", "u1", 2, 3, 0, 5_000),
    tools("t1", "a1", 5),
    tools("t2", "t1", 6),
    answer("a2", "t2", 7, 3, 5_000, 700),
)


def test_counters_are_disjoint_as_they_stand(tmp_path):
    (session,) = read(tmp_path, LINEAR)
    first, second = session.requests
    assert first.usage == Usage(fresh=3, read=0, write_other=5_000, output=10)
    assert second.usage is not None
    assert second.usage.total_input == 5_703
    assert [(request.end - request.start) // SECOND for request in session.requests] == [2, 2]
    # Two tool calls and two results; thinking does not count.
    assert (second.parent, second.appended_blocks) == ("a1", 4)


def test_an_automatic_cache_does_not_report_writes(tmp_path):
    rows = (
        header(),
        user("u1", None, 1),
        answer("a1", "u1", 2, 900, 1_024, 0, provider="openai-codex", model="gpt-5.5"),
    )
    (session,) = read(tmp_path, rows)
    assert session.requests[0].provider == "codex"
    assert session.requests[0].usage == Usage(fresh=900, read=1_024, write_other=None, output=10)


def test_a_total_that_shows_another_convention_costs_the_row(tmp_path):
    odd = answer("a3", "a2", 9, 6_000, 5_000, 0)
    odd["message"]["usage"]["totalTokens"] = 6_010
    (session,) = read(tmp_path, (*LINEAR, odd))
    assert session.accounting.skipped == (("bad counter", 1),)


def test_a_prompt_is_a_path_of_the_tree(tmp_path):
    rows = (
        *LINEAR,
        user("u2", "t2", 20),  # back to before a2
        answer("b1", "u2", 21, 3, 5_000, 300),
        entry("c", "b1", 24, "compaction", summary="s", firstKeptEntryId="u2", tokensBefore=9),
        entry("m", "c", 25, "model_change", provider="openai", modelId="gpt-5.5"),
        entry("l", "m", 25, "thinking_level_change", thinkingLevel="high"),
        user("u3", "l", 26),
        answer("b2", "u3", 27, 700, 0, 0, provider="openai", model="gpt-5.5"),
    )
    (session,) = read(tmp_path, rows)
    assert [(request.id, request.parent) for request in session.requests] == [
        ("a1", None),
        ("a2", "a1"),
        ("b1", "a1"),
        ("b2", "b1"),
    ]
    assert [(event.kind, event.before) for event in session.events] == [
        ("prompt_submitted", "a1"),
        ("tool_results", "a2"),
        ("tool_results", "a2"),
        ("tool_results", "b1"),
        ("tool_results", "b1"),
        ("prompt_submitted", "b1"),
        ("rewind", "b1"),
        ("compaction", "b2"),
        ("prompt_submitted", "b2"),
        ("model_change", "b2"),
    ]
    assert session.requests[3].settings == (("effort", '"high"'),)


def test_failed_answers_are_no_base_of_comparison(tmp_path):
    rows = (
        *LINEAR,
        answer("x1", "a2", 30, 0, 0, 0, output=0, stopReason="aborted"),
        answer("x2", "x1", 40, 3, 0, 5_703, output=1, stopReason="error"),
        answer("a3", "x2", 50, 3, 5_700, 100),
    )
    (session,) = read(tmp_path, rows)
    assert [(request.id, request.parent) for request in session.requests[2:]] == [("x2", "a2"), ("a3", "a2")]
    assert session.accounting.not_billable == 1
    assert ("interrupted", "x2") in [(event.kind, event.before) for event in session.events]


def test_a_fork_counts_only_its_own_answers(tmp_path):
    fork = (header("s2", 60, parentSession="/x/s1"), *LINEAR[1:], answer("f1", "a2", 61, 3, 5_700, 50))
    first, second = read(tmp_path, fork, LINEAR)
    assert (first.id, [request.counted for request in first.requests]) == ("s1", [True, True])
    assert (second.id, [request.counted for request in second.requests]) == ("s2", [False, False, True])
    assert second.requests[2].parent == "a2"


def test_version_one_is_read_in_the_order_of_its_lines(tmp_path):
    def bare(row):
        return {name: value for name, value in row.items() if name not in ("id", "parentId")}

    rows = (header(version=1, provider="anthropic", modelId="claude-opus-4-8"), *map(bare, LINEAR[1:]))
    (session,) = read(tmp_path, rows)
    assert [(request.id, request.parent) for request in session.requests] == [("s1#3", None), ("s1#6", "s1#3")]


def test_it_is_told_from_other_formats(tmp_path):
    read(tmp_path, LINEAR)
    found = detect(str(tmp_path / "0.jsonl"))
    assert found is not None
    assert found.name == "pi"


def test_a_long_chain_of_markers_is_no_trap(tmp_path):
    rows = [header(), user("u", None, 1), answer("a", "u", 2, 3, 0, 900)]
    rows += [entry(f"c{n}", f"c{n - 1}" if n else "a", 5, "compaction") for n in range(20_000)]
    rows.append(answer("z", "c19999", 6, 3, 900, 10))
    (session,) = read(tmp_path, rows)
    assert len(session.events) == 1 + pi.MAX_EVENTS


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
@example(damage=[("cut", 100, 0)])
def test_damage_costs_rows_and_nothing_else(tmp_path, damage):
    rows = (*LINEAR, entry("c", "a2", 24, "compaction"), user("u2", "t2", 20), answer("b1", "u2", 21, 3, 5_000, 300))
    check_damaged(pi, tmp_path / "p.jsonl", damaged(jsonl(*rows), damage))


def test_a_real_session(shared_data):
    (session,) = sound(list(pi.read_sessions([str(shared_data / "pi" / "pi-mono__large-session.jsonl")])))
    accounting = session.accounting
    # 453 answers, of which 14 were aborted with nothing counted.
    assert (accounting.rows, accounting.used, accounting.not_billable) == (453, 439, 14)
    total = sum(request.usage.total_input or 0 for request in session.requests if request.usage)
    reads = sum(request.usage.read or 0 for request in session.requests if request.usage)
    assert (total, round(100 * reads / total, 1)) == (47_526_750, 91.0)
    assert all(request.end > request.start for request in session.requests)
    found = diagnose(session)
    misses = [verdict for verdict in found.verdicts if verdict.kind == "miss"]
    usage = {row.request.id: row.usage for row in found.rows}
    assert len(misses) == 37
    assert all(usage[verdict.request].read == 0 for verdict in misses)
    # The log holds no reason for most of them, and none is invented.
    assert sum(verdict.evidence == "unexplained" for verdict in misses) > 20


def test_the_small_tree(shared_data):
    path = shared_data / "pi" / "agentsview__pi-v3-tree-fixture.jsonl"
    (session,) = sound(list(pi.read_sessions([str(path)])))
    assert [request.parent for request in session.requests] == [None, "entry-2"]
    assert session.accounting.skipped == (("broken JSON", 1),)
    assert "compaction" in [event.kind for event in session.events]


@pytest.mark.parametrize("content", [b"", b'{"type":"session","cwd":"/","timestamp":"2026-01-01T00:00:00Z"}\n'])
def test_an_empty_session_is_told(tmp_path, content):
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)
    with pytest.raises(OSError, match="no answer with its usage"):
        list(pi.read_sessions([str(path)]))
