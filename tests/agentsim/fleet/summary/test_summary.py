"""Summaries: the same verdicts and prices as a replay, each request once, whatever the workers and the order."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import pytest

from agentsim.diagnose import diagnose
from agentsim.fleet.summary import Summary, summarise
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.traces.samples.claude_log import ClaudeLog, turns


def several(folder: Path) -> Path:
    """Five sessions with an expiry, a lookback loss, an unlogged call, a rewind and a fork."""
    for number in range(5):
        log = ClaudeLog(f"s{number}")
        warm = turns(log, [500, 600, 700], start=20_000 + number)
        log.now += 400 if number == 1 else 5
        log.results(21 if number == 2 else 1)
        log.call(0, warm + 800) if number == 1 else log.call(9_000, warm - 8_200) if number == 2 else log.call(
            warm, 800
        )
        warm += 800
        log.user("next")
        log.now += 20
        log.call(warm + 100, 300) if number == 3 else log.call(warm, 300)
        log.save(folder / f"project{number % 2}" / f"s{number}.jsonl")
    fork = ClaudeLog("s9")
    text = (folder / "project0" / "s0.jsonl").read_text().replace('"sessionId":"s0"', '"sessionId":"s9"')
    fork.lines = text.splitlines()
    fork.now, fork.parent = 300.0, log_parent(fork.lines[-1])
    fork.user("fork")
    fork.call(22_900, 200)
    fork.save(folder / "project0" / "s9.jsonl")
    return folder


def log_parent(line: str) -> str:
    uuid = msgspec.json.decode(line)["uuid"]
    assert isinstance(uuid, str)
    return uuid


def without_paths(summary: Summary) -> bytes:
    return msgspec.json.encode(
        msgspec.structs.replace(
            summary,
            worst_misses=tuple(msgspec.structs.replace(m, file="", files=()) for m in summary.worst_misses),
            worst_sessions=tuple(msgspec.structs.replace(line, files=()) for line in summary.worst_sessions),
            by_loss=tuple(msgspec.structs.replace(line, files=()) for line in summary.by_loss),
        )
    )


def check_against_replay(folder: Path) -> Summary:
    summary = summarise([str(folder)], workers=1)
    totals = [diagnose(session).totals for session in read_sessions([str(folder)])]
    assert summary.requests == sum(t.requests for t in totals)
    assert summary.cost == sum(t.cost for t in totals)
    assert summary.equivalents == sum(t.equivalents for t in totals)
    assert (summary.read, summary.written, summary.fresh) == tuple(
        sum(getattr(t, name) for t in totals) for name in ("read", "written", "fresh")
    )
    assert summary.lost_cost == sum(t.lost_cost for t in totals)
    assert (summary.unlogged, summary.unlogged_cost) == (
        sum(t.unlogged for t in totals),
        sum(t.unlogged_cost for t in totals),
    )
    by_cause: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for t in totals:
        for loss in t.losses:
            by_cause[loss.cause] = by_cause.get(loss.cause, 0) + loss.count
        for kind, count in t.kinds:
            kinds[kind] = kinds.get(kind, 0) + count
    assert {loss.cause: loss.count for loss in summary.losses} == by_cause
    assert dict(summary.kinds) == kinds
    assert summary.accounting.adds_up
    return summary


def test_a_summary_says_what_the_replays_say(tmp_path: Path) -> None:
    summary = check_against_replay(several(tmp_path))
    # 5 sessions of 6 requests, and the fork's one of its own
    assert (summary.sessions, summary.requests, summary.duplicates) == (6, 31, 6)
    assert {loss.cause for loss in summary.losses} == {"AS201", "AS301"}
    assert summary.unlogged == 1


def test_real_logs_summary_says_what_the_replays_say(shared_data: Path) -> None:
    summary = check_against_replay(shared_data / "claude-code")
    assert (summary.requests, summary.duplicates, summary.sessions) == (1726, 250, 14)


def test_workers_and_order_change_nothing(tmp_path: Path) -> None:
    folder = several(tmp_path / "a")
    paths = [str(path) for path in sorted(folder.rglob("*.jsonl"))]
    expected = without_paths(summarise(paths, workers=1))
    rng = random.Random(7)
    for workers in (1, 2, 3):
        rng.shuffle(paths)
        assert without_paths(summarise(paths, workers=workers)) == expected
    moved = tmp_path / "z"
    shutil.copytree(folder, moved)
    assert without_paths(summarise([str(moved)], workers=2)) == expected


def test_a_worker_that_dies_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from agentsim.fleet.summary import summary_workers as workers

    folder = several(tmp_path)
    expected = summarise([str(folder)], workers=1)
    parent = os.getpid()
    work = workers._work

    def die(*args, **kwargs):
        if os.getpid() != parent:
            raise MemoryError
        return work(*args, **kwargs)

    monkeypatch.setattr(workers, "_work", die)
    assert summarise([str(folder)], workers=2) == expected


def test_an_unpriced_model_is_counted_and_its_cost_is_not_known(tmp_path: Path) -> None:
    log = ClaudeLog(model="claude-nobody-knows-9")
    turns(log, [500])
    log.save(tmp_path / "s1.jsonl")
    summary = summarise([str(tmp_path)])
    assert summary.unpriced == (("claude-nobody-knows-9", 2),)
    assert summary.cost is None
    assert [(line.cost, line.lost_cost) for line in summary.worst_sessions] == [(None, 0)]
    assert summary.requests == 2


def test_an_unreadable_file_is_told_and_the_rest_read(tmp_path: Path) -> None:
    several(tmp_path)
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    summary = summarise([str(tmp_path), str(tmp_path / "missing.jsonl")])
    assert summary.requests == 31
    assert [Path(problem.file).name for problem in summary.problems] == ["missing.jsonl"]


def test_no_logs_is_an_empty_summary(tmp_path: Path) -> None:
    summary = summarise([str(tmp_path)])
    assert (summary.requests, summary.sessions, summary.first_time) == (0, 0, None)


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    folder = several(tmp_path)
    told: list[tuple[int, int]] = []
    summarise([str(folder)], workers=2, progress=lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    assert told[-1] == (size, size)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
