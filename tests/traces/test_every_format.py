"""What holds of every format there is: a new reader takes part in all of it, or the first test fails."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.core.session import Problem, Session
from agentsim.diagnose import diagnose
from agentsim.fleet.summary import summarise
from agentsim.traces.format_registry import FORMATS, detect, read
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers import agentsim1
from tests.traces.damage import ODD, damaged, damages
from tests.traces.format_samples import BY_MODULE, SAMPLES

NAMES = sorted(BY_MODULE)
GOOD = SAMPLES / "claude-code.jsonl"
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def module(name: str) -> str:
    """The last part of a module's name."""
    return name.rpartition(".")[2]


def test_every_format_has_a_sample() -> None:
    assert set(BY_MODULE) == {module(format.module) for format in FORMATS}


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_told_read_and_accounted_for(tmp_path: Path, name: str) -> None:
    path = BY_MODULE[name](tmp_path)
    found = detect(str(path))
    assert found is not None
    assert module(found.module) == name
    problems: list[Problem] = []
    sessions = list(read([str(path if name != "raw_bodies" else tmp_path)], problems))
    assert sum(len(session.requests) for session in sessions) >= 1
    assert not [problem for problem in problems if not problem.note]
    for session in sessions:
        sound(session)
    summary = summarise([str(tmp_path)])
    assert summary.accounting.adds_up
    assert summary.requests == sum(request.counted for session in sessions for request in session.requests)


def sound(session: Session) -> None:
    """What is true of any session that any reader gives."""
    assert session.accounting.adds_up, session.accounting
    ids = [request.id for request in session.requests]
    assert len(ids) == len(set(ids))
    assert {request.lane for request in session.requests} <= {lane.id for lane in session.lanes}
    places = {id: place for place, id in enumerate(ids)}
    for place, request in enumerate(session.requests):
        assert request.parent is None or places.get(request.parent, -1) < place
        counts = (
            [] if request.usage is None else [getattr(request.usage, name) for name in request.usage.__struct_fields__]
        )
        assert all(count is None or 0 <= count <= 2**53 for count in counts)
    assert len(diagnose(session).verdicts) == len(session.requests)


def check(folder: Path, path: Path, name: str) -> None:
    """A file that was damaged costs itself at most, beside a good one, in every command's way of reading."""
    told: list[Problem] = []
    sessions: list[Session] = []
    try:
        sessions = list(read([str(path if name != "raw_bodies" else folder)], told))
    except TraceError as error:
        told.append(Problem(file=error.file, line=error.line, reason=error.reason, remedy=error.remedy))
    assert all(problem.reason and problem.remedy for problem in told)
    for session in sessions:
        sound(session)
    (folder / "good.jsonl").write_bytes(GOOD.read_bytes())
    alone = summarise([str(folder / "good.jsonl")])
    both = summarise([str(folder)])
    assert both.accounting.adds_up
    assert both.accounting.used + both.accounting.duplicate >= alone.accounting.used


@quick
@given(damage=damages, name=st.sampled_from(NAMES))
def test_damage_costs_rows_or_the_file_and_no_more(tmp_path_factory: Any, damage: Any, name: str) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = BY_MODULE[name](folder)
    path.write_bytes(damaged(path.read_bytes(), damage))
    check(folder, path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_campaign_of_damage(tmp_path_factory: Any, name: str) -> None:
    """Seeded by the name of the format, so that each failure can be had again."""
    chance = random.Random(name)
    kinds = ("flip", "cut", "remove", "insert", "value", "value", "value", "copy", "swap lines", "join lines", "recode")
    for _ in range(40):
        folder = tmp_path_factory.mktemp("campaign")
        path = BY_MODULE[name](folder)
        extra = {"flip": 8, "remove": 400, "insert": len(ODD), "value": len(ODD), "recode": 3}
        damage = []
        for _ in range(chance.randint(1, 3)):
            kind = chance.choice(kinds)
            damage.append((kind, chance.randrange(2**20), chance.randrange(extra.get(kind, 2**20))))
        path.write_bytes(damaged(path.read_bytes(), damage))
        check(folder, path, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_fingerprint_keeps_the_bill_and_the_verdicts(tmp_path: Path, name: str) -> None:
    (tmp_path / "log").mkdir()
    path = BY_MODULE[name](tmp_path / "log")
    sessions = list(read([str(path if name != "raw_bodies" else tmp_path / "log")]))
    shared = tmp_path / "shared.jsonl"
    with shared.open("wb") as stream:
        agentsim1.write(agentsim1.fingerprints(sessions), stream)
    kept = list(read([str(shared)]))
    before, after = ([diagnose(one) for one in found] for found in (sessions, kept))
    for old, new in zip(before, after, strict=True):
        assert new.totals == msgspec.structs.replace(old.totals, losses=new.totals.losses)
        assert [(row.cost, row.stored) for row in new.rows] == [(row.cost, row.stored) for row in old.rows]
        told = [[(one.kind, one.lost, one.unlogged) for one in judged.verdicts] for judged in (old, new)]
        assert told[0] == told[1]
    summaries = [summarise([str(at)]) for at in (tmp_path / "log", shared)]
    assert len({(one.requests, one.cost, one.read, one.written, one.losses) for one in summaries}) == 1
