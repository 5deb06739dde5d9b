"""Summaries of logs of any format, of several at once, and of all real ones."""

from __future__ import annotations

import json

import pytest

from agentsim.cli import main
from agentsim.diagnose import diagnose
from agentsim.fleet.summary import summarise
from agentsim.report.exits import ExitCode
from agentsim.traces.format_registry import read
from tests.agentsim.hostile import claude_code_log
from tests.traces.captures import conversation, jsonl, pair, response, usage
from tests.traces.codex.rollouts import three_calls


def mixed(folder):
    """Three sessions of three formats, and things that are none."""
    (folder / "claude").mkdir(parents=True)
    claude_code_log(folder / "claude", "one.jsonl", "claude-opus-4-8")
    (folder / "claude" / "agent-a.meta.json").write_text("{}")
    (folder / "codex").mkdir()
    (folder / "codex" / "rollout.jsonl").write_bytes(three_calls().bytes())
    (folder / "captures").mkdir()
    asked = enumerate(conversation(3))
    lines = (pair(body, response(f"m{n}", usage(fresh=100 * (n + 1))), at=1_790_000_000 + n) for n, body in asked)
    (folder / "captures" / "log.jsonl").write_bytes(jsonl(*lines))
    (folder / "captures" / "package.json").write_text('{"name": "x"}')
    (folder / "captures" / "notes.jsonl").write_text('{"hello": 1}\n')


def test_each_format_and_the_whole(tmp_path):
    mixed(tmp_path)
    summary = summarise([str(tmp_path)])
    assert {line.format: (line.sessions, line.requests) for line in summary.formats} == {
        "claude-code": (1, 3),
        "codex": (1, 3),
        "claude-trace": (1, 3),
    }
    assert (summary.sessions, summary.requests, summary.files) == (3, 9, 3)
    assert summary.cost == sum(line.cost or 0 for line in summary.formats)
    assert summary.accounting.adds_up
    assert [problem.file for problem in summary.problems if "no known format" in problem.reason] == [
        str(tmp_path / "captures" / "notes.jsonl")
    ]


def test_the_sums_are_those_of_a_replay(tmp_path):
    mixed(tmp_path)
    path = str(tmp_path / "codex" / "rollout.jsonl")
    (session,) = read([path])
    totals = diagnose(session).totals
    summary = summarise([path])
    assert (summary.fresh, summary.read, summary.output) == (totals.fresh, totals.read, totals.output)
    assert (summary.cost, summary.lost_tokens, dict(summary.kinds)) == (
        totals.cost,
        totals.lost_tokens,
        dict(totals.kinds),
    )
    assert [line.format for line in summary.formats] == ["codex"]


def test_files_and_folders_that_overlap_count_once(tmp_path):
    mixed(tmp_path)
    paths = [str(tmp_path), str(tmp_path / "codex"), str(tmp_path / "claude" / "one.jsonl")]
    assert summarise(paths).requests == 9


def test_a_copy_is_counted_once(tmp_path):
    mixed(tmp_path)
    (tmp_path / "captures" / "again.jsonl").write_bytes((tmp_path / "captures" / "log.jsonl").read_bytes())
    assert summarise([str(tmp_path)]).requests == 9


def test_the_page_and_the_document(tmp_path, capsys: pytest.CaptureFixture[str]):
    mixed(tmp_path)
    assert main(["summary", str(tmp_path)]) == ExitCode.OK
    page = capsys.readouterr().out
    assert all(name in page for name in ("claude-code", "codex", "claude-trace"))
    assert main(["summary", "--json", str(tmp_path)]) == ExitCode.OK
    formats = json.loads(capsys.readouterr().out)["formats"]
    assert [line["requests"] for line in formats] == [3, 3, 3]
    # One format needs no table of formats.
    assert main(["summary", str(tmp_path / "codex")]) == ExitCode.OK
    assert "codex" not in capsys.readouterr().out.split("Sessions that lost most")[0]


def test_what_requests_without_counters_cost_is_not_known(tmp_path):
    rows = [{"timestamp": n, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]} for n in range(3)]
    (tmp_path / "x.jsonl").write_bytes(jsonl(*rows))
    summary = summarise([str(tmp_path)])
    assert (summary.requests, summary.unreported, summary.cost, summary.hit_total) == (3, 3, None, 0)
    assert summary.first_time is None  # the trace counts from its own beginning


def test_all_real_logs(shared_data):
    """The counts of each format, which are those of its own reader: its README, or a difference that its tests tell."""
    summary = summarise([str(shared_data)])
    counts = {line.format: line.requests for line in summary.formats}
    assert counts["azure-llm"] == 4000
    assert counts["mooncake"] == 1500 + 1000
    assert counts["weka-kv-trace"] == 215 + 12
    assert counts["lmcache-agent-trace"] == 30 + 31
    assert counts["claude-trace"] == 64
    assert counts["openhands"] == 6
    assert counts["dsh"] == 12 + 5
    assert counts["cline"] == 16
    # Parents and their forks: each request once, though the README counts 178 + 194 and 133 + 155 rows.
    assert counts["codex"] == 172 + 10 + 194 + 155 + 3  # and what one of two siblings has that nobody else has
    assert summary.accounting.adds_up
    assert summary.accounting.used == summary.requests == sum(counts.values())
