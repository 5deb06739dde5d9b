"""A trace that grows: readable at any time, and in the end the same as one written at once."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from agentsim.core.session import Event, Session
from agentsim.traces.format_registry import read
from agentsim.traces.readers.agentsim1 import fingerprint, lines, read_sessions
from agentsim.traces.readers.agentsim1.trace_appending import Appender, Blinding

KEY = bytes(range(32))


@pytest.fixture
def session() -> Session:
    (found,) = read(["traces/samples/atlas-14.jsonl"]) if Path("traces/samples").is_dir() else (None,)
    assert found is not None
    return msgspec.structs.replace(found, events=(), accounting=type(found.accounting)(), problems=())


def header(session: Session, **more: object) -> Session:
    return msgspec.structs.replace(session, requests=(), events=(), **more)


@pytest.mark.parametrize("blinded", [False, True])
def test_it_ends_as_a_trace_written_at_once(tmp_path: Path, session: Session, blinded: bool) -> None:
    path = str(tmp_path / "trace.jsonl")
    appender = Appender(path, header(session, lanes=()), blinding=Blinding(KEY) if blinded else None)
    for count, request in enumerate(session.requests, 1):
        appender.request(request)
        (live,) = read_sessions([path])
        assert len(live.requests) == count, "on the disk as soon as it is known"
    target = io.BytesIO()
    appender.finish(header(session), target)
    whole = fingerprint(session, KEY) if blinded else session
    assert target.getvalue() == b"".join(lines(whole))
    assert appender.requests == len(session.requests)


def test_a_torn_last_line_costs_one_request(tmp_path: Path, session: Session) -> None:
    """A crash loses at most the request in flight."""
    path = tmp_path / "trace.jsonl"
    appender = Appender(str(path), header(session, lanes=()))
    for request in session.requests:
        appender.request(request)
    appender.close()
    path.write_bytes(path.read_bytes()[:-100])
    (found,) = read_sessions([str(path)])
    assert [request.id for request in found.requests] == [request.id for request in session.requests[:-1]]


def test_only_its_owner_may_read_it(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("old")
    path.chmod(0o644)
    Appender(str(path), header(session)).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"old" not in path.read_bytes()


def test_lines_pass_a_filter_and_are_read_in_order_of_their_start(tmp_path: Path, session: Session) -> None:
    path = tmp_path / "trace.jsonl"
    appender = Appender(str(path), header(session, title="secret"), redact=lambda line: line.replace(b"secret", b"-"))
    appender.event(Event(kind="api_error", time=1, lane="main", detail="secret"))
    appender.request(session.requests[1])
    appender.request(session.requests[0])
    appender.close()
    (read,) = read_sessions([str(path)])
    assert read.requests == session.requests[:2]
    assert b"secret" not in path.read_bytes()
    with pytest.raises(FileNotFoundError):
        Appender(str(tmp_path / "none" / "trace.jsonl"), header(session))
