"""Damaged logs: what is said between their requests is found or not, the account holds, and nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.context import account
from agentsim.core.additions import KINDS
from agentsim.traces.format_registry import read
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.words.growths import READ, growths_of
from agentsim.traces.words.quota_words import quota_readings
from tests.traces.damage import damaged, damages
from tests.traces.format_samples import BY_MODULE

NAMES = sorted(name.replace("-", "_") for name in READ)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damaged_logs(tmp_path: Path, name: str, damage: list[tuple[str, int, int]]) -> None:
    path = BY_MODULE[name](tmp_path)
    whole = path.read_bytes()
    path.write_bytes(damaged(whole, damage))
    try:
        sessions = list(read([str(path)], []))
    except TraceError:
        return
    for session in sessions:
        found = growths_of(session, content=True)
        ids = {request.id for request in session.requests}
        assert set(found) <= ids
        assert set(quota_readings(session)) <= ids
        for growth in found.values():
            for piece in growth.additions:
                assert piece.kind in KINDS
                assert piece.tokens is None or piece.tokens >= 0
        reckoned = account(session, found)
        assert reckoned.input + reckoned.output == reckoned.bill


@pytest.mark.parametrize("name", NAMES)
def test_each_format_has_words_in_its_sample(tmp_path: Path, name: str) -> None:
    path = BY_MODULE[name](tmp_path)
    (session, *_) = read([str(path)], [])
    assert session.format in READ
    assert growths_of(session)


def test_a_file_that_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = BY_MODULE["codex"](tmp_path)
    (session,) = read([str(path)], [])
    path.unlink()
    with pytest.raises(OSError):
        growths_of(session)
