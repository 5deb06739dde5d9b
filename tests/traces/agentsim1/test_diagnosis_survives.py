"""Neither writing a session nor blinding it changes a single verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.traces.readers.agentsim1 import fingerprint, read_sessions, write

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"


def judged(session):
    """What was found out about each row, without the words that name blocks and requests."""
    return [
        (
            verdict.kind,
            verdict.cause,
            verdict.evidence,
            verdict.alternatives,
            verdict.expected,
            verdict.predicted,
            verdict.lost,
            verdict.lost_cost,
            verdict.unlogged,
            verdict.place and (verdict.place.section, verdict.place.block, verdict.place.change),
        )
        for verdict in diagnose(session).verdicts
    ]


def compare(path, folder):
    count = 0
    for session in read([str(path)], []):
        trace = folder / "trace.jsonl"
        trace.unlink(missing_ok=True)
        write(session, trace)
        (again,) = read_sessions([str(trace)])
        assert again == session
        expected = judged(session)
        assert judged(again) == expected
        assert judged(fingerprint(session)) == expected
        count += len(expected)
    return count


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.jsonl")), ids=lambda path: path.name)
def test_samples(path, tmp_path):
    assert compare(path, tmp_path)


@pytest.mark.parametrize("folder", ["claude-trace", "claude-code"])
def test_real_logs(folder, tmp_path, shared_data):
    assert compare(shared_data / folder, tmp_path) >= 64
