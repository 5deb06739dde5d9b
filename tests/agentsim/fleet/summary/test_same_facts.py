"""The fast path of a summary yields the facts of a replay, and asks the same judge: request by request, of any log."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentsim.core.sums import known
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.fleet.summary import Summary, summarise
from agentsim.traces.format_registry import detect
from agentsim.traces.kept_places import kept_file
from agentsim.traces.readers import claude_code
from agentsim.traces.samples.claude_log import ClaudeLog, turns

SAMPLES = Path(__file__).resolve().parents[4] / "traces" / "samples"
SAMPLE = [json.loads(line) for line in (SAMPLES / "claude-code.jsonl").read_bytes().splitlines()]
REPLIES = [at for at, line in enumerate(SAMPLE) if line["type"] == "assistant"]


def counted(diagnosis: Diagnosis) -> dict[str, Any]:
    """What a replay says of the requests that count."""
    pairs = zip(diagnosis.session.requests, diagnosis.verdicts, diagnosis.rows, strict=True)
    found = [(request, verdict, row) for request, verdict, row in pairs if request.counted]
    misses = [(request, verdict) for request, verdict, _ in found if verdict.kind == "miss"]
    totals = diagnosis.totals
    return {
        "kinds": Counter(verdict.kind for _, verdict, _ in found),
        "misses": Counter((one.request, one.cause, one.lost, one.lost_cost) for _, one in misses),
        "tokens": Counter(read=totals.read, written=totals.written, fresh=totals.fresh, output=totals.output),
        "requests": Counter(all=totals.requests),
        "unlogged": Counter(count=totals.unlogged, cost=totals.unlogged_cost or 0),
        "cost": Counter(cost=sum(row.cost or 0 for _, _, row in found)),
        "unpriced": Counter(row.request.model for _, _, row in found if row.cost is None),
    }


def replayed(diagnoses: list[Diagnosis]) -> dict[str, Any]:
    """The sums over several sessions."""
    found = [counted(one) for one in diagnoses]
    return {name: sum((one[name] for one in found), Counter()) for name in found[0]}


def summed(summary: Summary) -> dict[str, Any]:
    """The same of a summary that names all misses."""
    return {
        "kinds": Counter(dict(summary.kinds)),
        "misses": Counter((one.request, one.cause, one.lost, one.lost_cost) for one in summary.worst_misses),
        "tokens": Counter(read=summary.read, written=summary.written, fresh=summary.fresh, output=summary.output),
        "requests": Counter(all=summary.requests),
        "unlogged": Counter(count=summary.unlogged, cost=summary.unlogged_cost or 0),
        "cost": Counter(cost=summary.cost or 0),
        "unpriced": Counter(dict(summary.unpriced)),
    }


def agree(paths: list[str]) -> None:
    sessions = [session for path in paths for session in claude_code.read_sessions([path])]
    summary = summarise(paths, workers=1, worst=10**6)
    assert summed(summary) == replayed([diagnose(session) for session in sessions])
    assert summary.accounting.adds_up
    assert summary.lost_cost == known(summary.lost_cost or 0, 1, 0) or not summary.losses


FIELDS: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "speed": (("message", "usage", "speed"), ["fast", "standard"]),
    "tier": (("message", "usage", "service_tier"), ["batch", "priority"]),
    "region": (("message", "usage", "inference_geo"), ["us"]),
    "model": (("message", "model"), ["claude-sonnet-4-6", "claude-haiku-4-5", "gpt-5.5", "glm-4.7", "other", ""]),
    "version": (("version",), ["2.1.0", None]),
    "effort": (("effort",), ["high", "low", None]),
    "stop": (("message", "stop_reason"), ["end_turn", None, "refusal"]),
    "read": (("message", "usage", "cache_read_input_tokens"), [0, 1, 5000, None]),
    "fresh": (("message", "usage", "input_tokens"), [0, 1, 100_000]),
    "output": (("message", "usage", "output_tokens"), [0, 1, 100_000]),
    "short": (("message", "usage", "cache_creation"), [{"ephemeral_5m_input_tokens": 700}, None, {}]),
    "all": (("message", "usage", "cache_creation"), [None]),
    "hour": (("message", "usage", "cache_creation"), [{"ephemeral_1h_input_tokens": 700}]),
    "written": (("message", "usage", "cache_creation_input_tokens"), [0, 700, None]),
    "time": (("timestamp",), ["2026-03-01T00:00:00.000Z", "2026-09-09T00:00:00.000Z", None, "x"]),
    "parent": (("parentUuid",), [None, "nobody", SAMPLE[-1].get("uuid"), SAMPLE[0].get("uuid")]),
    "sidechain": (("isSidechain",), [True]),
    "agent": (("agentId",), ["a1"]),
    "key": (("message", "id"), [None, "msg_twice"]),
}

changes = st.one_of(
    st.tuples(st.sampled_from(sorted(FIELDS)), st.sampled_from(REPLIES), st.integers(0, 9), st.integers(1, 9)),
    st.tuples(st.just("swap"), st.integers(0, len(SAMPLE) - 2), st.just(0), st.just(1)),
    st.tuples(st.just("drop"), st.integers(0, len(SAMPLE) - 1), st.just(0), st.just(1)),
    st.tuples(st.just("copy"), st.integers(0, len(SAMPLE) - 1), st.integers(0, len(SAMPLE)), st.just(1)),
)


def changed(change: list[tuple[str, int, int, int]]) -> list[dict[str, Any]]:
    """The sample with fields of replies changed (of so many in a row), and lines exchanged, dropped or repeated."""
    lines: list[dict[str, Any]] = json.loads(json.dumps(SAMPLE))
    for kind, at, which, count in change:
        if kind in FIELDS:
            *path, last = FIELDS[kind][0]
            values = FIELDS[kind][1]
            for line in [line for line in lines[at:] if line["type"] == "assistant"][:count]:
                table = line
                for part in path:
                    table = table.setdefault(part, {})
                if values[which % len(values)] is None:
                    table.pop(last, None)
                else:
                    table[last] = values[which % len(values)]
        elif kind == "swap":
            at %= max(1, len(lines) - 1)
            lines[at : at + 2] = lines[at : at + 2][::-1]
        elif kind == "drop":
            del lines[at % len(lines)]
        else:
            lines.insert(which, lines[at % len(lines)])
    return lines


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=st.lists(changes, min_size=1, max_size=4))
@example(change=[])
def test_a_changed_log_is_judged_alike(tmp_path: Path, change: list[tuple[str, int, int, int]]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in changed(change)))
    agree([str(path)])


def test_the_harness_s_own_words_count_for_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    log = ClaudeLog("s1")
    warm = turns(log, [500, 600, 700], start=20_000)
    log.results(1)
    log.call(0, warm + 800)
    log.save(tmp_path / "s1.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "s1.jsonl").read_text().splitlines()]
    kept = Path(kept_file("s1") or "")
    kept.parent.mkdir(parents=True)
    at = datetime.fromisoformat([line for line in lines if line["type"] == "assistant"][-1]["timestamp"]).timestamp()
    word = {"misses": 1, "missed": int(at), "recached": 1, "causes": ["tools_changed"]}
    kept.write_text(json.dumps({"misses": 0}) + "\n" + json.dumps(word) + "\n")
    (session,) = claude_code.read_sessions([str(tmp_path / "s1.jsonl")])
    assert session.requests[-1].diagnosis.reason == "tools_changed"
    agree([str(tmp_path / "s1.jsonl")])


def test_a_change_of_speed_is_a_cause_for_both(tmp_path: Path) -> None:
    log = ClaudeLog("fast")
    warm = turns(log, [500, 600, 700], start=20_000)
    log.results(1)
    log.call(0, warm + 800)
    log.save(tmp_path / "fast.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "fast.jsonl").read_text().splitlines()]
    replies = [line for line in lines if line["type"] == "assistant"]
    for line in replies:
        line["message"]["usage"]["speed"] = "fast" if line is replies[-1] else "standard"
    (tmp_path / "fast.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    agree([str(tmp_path / "fast.jsonl")])
    summary = summarise([str(tmp_path)], workers=1)
    assert [loss.cause for loss in summary.losses] == ["AS406"]


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.name)
def test_the_samples_of_every_format(path: Path) -> None:
    found = detect(str(path))
    assert found is not None
    sessions = list(found.reader.read_sessions([str(path)]))
    summary = summarise([str(path)], workers=1, worst=10**6)
    assert summed(summary) == replayed([diagnose(session) for session in sessions])
