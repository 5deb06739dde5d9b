"""Logs packed with gzip are read as what is in them; damaged ones are told."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings

from agentsim.core.session import Problem
from agentsim.diagnose import diagnose
from agentsim.fleet.summary import summarise
from agentsim.traces.format_registry import detect, read
from agentsim.traces.readers import mooncake
from tests.traces.captures import jsonl
from tests.traces.codex.rollouts import three_calls
from tests.traces.damage import damaged, damages
from tests.traces.format_samples import BY_MODULE
from tests.traces.log_checks import sound

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"
ROWS = [{"timestamp": n, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]} for n in range(200)]


def test_lines_and_documents(tmp_path):
    (tmp_path / "rollout.jsonl.gz").write_bytes(gzip.compress(three_calls().bytes()))
    whole = {"schema_version": "ATIF-v1.6", "steps": [{"metrics": {"prompt_tokens": 5, "completion_tokens": 1}}]}
    (tmp_path / "trajectory.json").write_bytes(gzip.compress(json.dumps(whole).encode()))
    sessions = sound(list(read([str(tmp_path)])))
    assert [(session.format, len(session.requests)) for session in sessions] == [("codex", 3), ("atif", 1)]
    assert summarise([str(tmp_path / "rollout.jsonl.gz")]).requests == 3
    assert summarise([str(tmp_path)]).requests == 4


def test_logs_of_claude_code_read_the_same_packed(tmp_path):
    """Their reader goes back to places in the file, which are places in what was packed."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    for folder in (plain, packed):
        (folder / "project").mkdir(parents=True)
    data = (SAMPLES / "claude-code.jsonl").read_bytes()
    (plain / "project" / "x.jsonl").write_bytes(data)
    (packed / "project" / "x.jsonl.gz").write_bytes(gzip.compress(data))
    (expected,) = read([str(plain)])
    for path in (packed, packed / "project" / "x.jsonl.gz"):
        (session,) = sound(list(read([str(path)])))
        assert diagnose(session).verdicts == diagnose(expected).verdicts
        assert [(r.id, r.usage, r.parent, r.start, r.end, r.lane) for r in session.requests] == [
            (r.id, r.usage, r.parent, r.start, r.end, r.lane) for r in expected.requests
        ]
        one, other = summarise([str(path)]), summarise([str(plain)])
        assert (one.cost, one.lost_cost, one.kinds, one.requests) == (
            other.cost,
            other.lost_cost,
            other.kinds,
            other.requests,
        )


def test_a_log_of_claude_code_too_large_to_unpack_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("agentsim.traces.readers.claude_code.claude_scan.MOST_UNPACKED", 2**20)
    path = tmp_path / "x.jsonl.gz"
    line = b'{"type":"summary","isSidechain":false,"summary":"' + b"x" * 1000 + b'"}\n'
    path.write_bytes(gzip.compress(line * 1100))
    with pytest.raises(OSError, match="larger than 1 MiB unpacked"):
        list(read([str(path)]))
    assert "larger than 1 MiB unpacked" in summarise([str(path)]).problems[0].reason


def test_several_members_are_one_file(tmp_path):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(*ROWS[:80])) + gzip.compress(jsonl(*ROWS[80:])))
    (session,) = read([str(path)])
    assert len(session.requests) == 200


def test_a_cut_one_is_told(tmp_path):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(*ROWS))[:-12])
    told: list[Problem] = []
    assert not list(mooncake.read_sessions([str(path)], told))
    assert "cut off or damaged" in told[0].reason
    with pytest.raises(OSError, match="cut off or damaged"):
        list(read([str(path)]))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(damaged(gzip.compress(jsonl(*ROWS)), damage))
    told = ""
    try:
        detect(str(path))
        sound(list(read([str(path)], [])))
    except OSError as error:
        told = str(error)
    # Bits that no longer look packed are text of no known format; all else is told in plain words.
    assert not told or "damaged" in told or "known format" in told or str(path) in told


@pytest.mark.parametrize("end", [".gz", ".zst"])
@pytest.mark.parametrize("module", sorted(BY_MODULE))
def test_every_format_reads_the_same_packed(module: str, end: str, tmp_path: Path) -> None:
    """In a folder, too, where the name decides whether a file is looked at. Databases and zip files are no text."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.mkdir()
    BY_MODULE[module](plain)
    if any(path.suffix in (".db", ".eval") for path in plain.rglob("*")):
        pytest.skip("no text")
    pack = gzip.compress if end == ".gz" else zstandard.ZstdCompressor().compress
    for path in plain.rglob("*"):
        if path.is_file():
            target = packed / path.relative_to(plain).with_name(path.name + end)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(pack(path.read_bytes()))
            shutil.copystat(path, target)

    def told(folder: Path) -> list[str]:
        return sorted(
            str((session.format, request.model, request.usage, request.start, request.end, request.purpose))
            for session in read([str(folder)], [])
            for request in session.requests
        )

    assert told(packed) == told(plain) != []
