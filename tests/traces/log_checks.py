"""What holds for every reader of an agent's log, whatever is in the file."""

from __future__ import annotations

import pytest

from agentsim.core.session import Problem
from agentsim.traces.format_registry import read
from agentsim.traces.hostile_records import TraceError


def sound(sessions, told=()):
    """Look at sessions: accounts that add up, unique ids, known lanes and parents, no negative counters."""
    for session in sessions:
        accounting = session.accounting
        assert accounting.adds_up
        assert accounting.used == sum(request.counted for request in session.requests)
        ids = [request.id for request in session.requests]
        assert len(ids) == len(set(ids))
        assert {request.lane for request in session.requests} == {lane.id for lane in session.lanes}
        lanes = {request.id: request.lane for request in session.requests}
        for request in session.requests:
            assert request.parent is None or lanes[request.parent] == request.lane
            if request.start is not None and request.end is not None:
                assert request.start <= request.end
            usage = request.usage
            if usage is not None:
                counters = (
                    usage.fresh,
                    usage.read,
                    usage.write_short,
                    usage.write_long,
                    usage.write_other,
                    usage.output,
                )
                assert all(count is None or count >= 0 for count in counters)
        assert all(event.before is None or event.before in lanes for event in session.events)
        for problem in (*session.problems, *told):
            assert problem.reason
            assert problem.remedy
    return sessions


def check_damaged(reader, path, data):
    """Read damaged data by the reader itself and by way of all formats: nothing comes out but clear errors."""
    path.write_bytes(data)
    told: list[Problem] = []
    sessions = sound(list(reader.read_sessions([str(path)], told)), told)
    assert sessions or told
    clear = None
    try:
        sound(list(read([str(path)], [])))
    except TraceError as error:
        clear = error
    assert clear is None or (str(path) in str(clear) and clear.remedy)
    if not sessions:
        with pytest.raises(TraceError):
            list(reader.read_sessions([str(path)]))
    return sessions
