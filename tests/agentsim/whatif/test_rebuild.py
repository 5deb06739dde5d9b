"""Prompts for rows: replayed, they behave as the log says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.traces.samples.make_claude_code import session as sample
from agentsim.whatif.rebuilt_prompts import rebuild


def reproduced(session: Session) -> tuple[int, int]:
    """Rows whose read, writes and fresh input come out of the mechanism as the log has them, and all rows."""
    rebuilt = rebuild(session, diagnose(session).verdicts)
    rows = {row.request.id: row.usage for row in scan(rebuilt, ModeledProvider(profile="session_log")).rows}
    same = 0
    for request in session.requests:
        logged, modeled = request.usage, rows[request.id]
        assert logged is not None
        same += (logged.read, logged.write, logged.fresh) == (modeled.read, modeled.write, modeled.fresh)
    return same, len(session.requests)


def test_the_sample_is_reproduced_row_by_row(tmp_path: Path) -> None:
    (session,) = read_sessions([str(sample().save(tmp_path / "s.jsonl"))])
    same, rows = reproduced(session)
    assert same == rows == 11


def test_real_logs_are_reproduced(shared_data: Path) -> None:
    counts = [reproduced(session) for session in read_sessions([str(shared_data / "claude-code")])]
    # The fork holds its parent's 250 requests too. One row reads an entry two requests back that nothing explains.
    assert sum(rows for _, rows in counts) == 1726 + 250
    assert sum(same for same, _ in counts) >= 1726 + 250 - 1


def test_an_expiry_keeps_its_prompt_so_that_a_longer_lifetime_can_save_it(tmp_path: Path) -> None:
    (session,) = read_sessions([str(sample().save(tmp_path / "s.jsonl"))])
    verdicts = diagnose(session).verdicts
    (late,) = [i for i, v in enumerate(verdicts) if v.cause == "AS202"]
    rebuilt = {request.id: request.prompt for request in rebuild(session, verdicts).requests}
    before, after = rebuilt[session.requests[late - 1].id], rebuilt[session.requests[late].id]
    assert before is not None
    assert after is not None
    # All of the earlier prompt but its uncached tail is the front of the later one.
    assert before.common_length(after) == len(before) - 1


@pytest.mark.parametrize("loss", ["AS105", "AS301"])
def test_context_requests_are_in_no_total(tmp_path: Path, loss: str) -> None:
    (session,) = read_sessions([str(sample().save(tmp_path / "s.jsonl"))])
    diagnosis = diagnose(session)
    assert loss in {verdict.cause for verdict in diagnosis.verdicts}
    rebuilt = rebuild(session, diagnosis.verdicts)
    assert sum(request.counted for request in rebuilt.requests) == len(session.requests)
    assert len(rebuilt.requests) > len(session.requests)
