"""A summary by group: the groups add up to the plain summary, and each request stands in one."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import get_args

import pytest

import agentsim.traces.samples
from agentsim.cli import main
from agentsim.core.dates import DAY, start_of
from agentsim.core.session import Request, Session, Usage
from agentsim.fleet.summary import summarise
from agentsim.fleet.summary.grouped import By, GroupSums, first_day, summarise_groups, time_of
from agentsim.report.exits import ExitCode
from agentsim.traces.format_registry import read
from agentsim.traces.samples.claude_log import ClaudeLog

SAMPLES = Path(agentsim.traces.samples.__file__).parent
LOG = str(SAMPLES / "claude-code.jsonl")


def add_up(folder: str, by: By) -> None:
    plain, grouped = summarise([folder], workers=1), summarise_groups([folder], by=by)
    whole = grouped.total
    assert (whole.requests, whole.input, whole.read) == (plain.requests, plain.hit_total, plain.hit_read)
    assert (whole.cost, whole.lost_cost, whole.lost_tokens) == (plain.cost, plain.lost_cost, plain.lost_tokens)
    assert whole.misses == sum(loss.count for loss in plain.losses)
    assert whole.unpriced == sum(count for _, count in plain.unpriced)
    for field in GroupSums.__struct_fields__[1:]:
        assert sum(getattr(group, field) or 0 for group in grouped.groups) == (getattr(whole, field) or 0), field


@pytest.mark.parametrize("by", get_args(By))
def test_samples_add_up(by: By) -> None:
    add_up(str(SAMPLES), by)


def test_real_logs_add_up(shared_data: Path) -> None:
    add_up(str(shared_data / "claude-code"), "day")


def test_days_part_the_requests() -> None:
    times = [time_of(request) for session in read([LOG]) for request in session.requests if request.counted]
    days = sorted({time // DAY for time in times if time is not None})
    middle = datetime.fromtimestamp(days[0] * DAY // 10**9, UTC).date()
    until, after = (
        summarise_groups([LOG], until=middle).total.requests,
        summarise_groups([LOG], since=date.fromordinal(middle.toordinal() + 1)).total.requests,
    )
    inside = sum(time is not None and time < start_of(middle) + DAY for time in times)
    assert (until, until + after) == (inside, len(times))


def session_at(end: int | None, usage: Usage | None) -> Session:
    request = Request(id="a", lane="main", model="claude-opus-4-5", start=None, end=end, usage=usage)
    return Session(id="s", format="pairs", completeness="usage", lanes=(), requests=(request,))


@pytest.mark.parametrize(("offset", "count"), [(-1, 0), (0, 1), (DAY - 1, 1), (DAY, 0)])
def test_the_edges_of_a_day(monkeypatch: pytest.MonkeyPatch, offset: int, count: int) -> None:
    day = date(2026, 3, 1)
    session = session_at(start_of(day) + offset, Usage(fresh=10))
    monkeypatch.setattr("agentsim.fleet.summary.grouped.read", lambda paths, problems: iter([session]))
    assert summarise_groups(["x"], since=day, until=day).total.requests == count


def test_what_is_not_known_is_not_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_at(None, None)
    monkeypatch.setattr("agentsim.fleet.summary.grouped.read", lambda paths, problems: iter([session]))
    (group,) = summarise_groups(["x"], by="day").groups
    assert group.name is None
    assert (group.requests, group.bare) == (1, 1)
    assert (group.input, group.read, group.cost, group.lost_cost) == (None, None, None, None)
    left_out = summarise_groups(["x"], since=date(2026, 1, 1))
    assert (left_out.undated, left_out.total.requests) == (1, 0)


def judged_at(day: date, usage: Usage, id: str) -> Session:
    request = Request(
        id=id, lane="main", model="claude-opus-4-5", start=None, end=start_of(day), usage=usage, provider="anthropic"
    )
    return Session(id=id, format="pairs", completeness="usage", lanes=(), requests=(request,))


def test_days_are_compared_with_as_many_before(monkeypatch: pytest.MonkeyPatch) -> None:
    days = [date(2026, 3, number) for number in (1, 2, 3, 4, 5)]
    sessions = [judged_at(day, Usage(fresh=1000 * number), f"s{number}") for number, day in enumerate(days, 1)]
    monkeypatch.setattr("agentsim.fleet.summary.grouped.read", lambda paths, problems: iter(sessions))
    found = summarise_groups(["x"], since=days[3], today=days[4])
    assert found.days == 2
    assert found.before is not None
    # Days 4 and 5 against days 2 and 3; day 1 lies before both.
    assert (found.total.input, found.before.input) == (9000, 5000)
    assert summarise_groups(["x"], since=days[3], until=days[3]).days == 1
    open_end = summarise_groups(["x"], since=days[3])
    assert (open_end.days, open_end.before) == (None, None)
    assert summarise_groups(["x"], until=days[3], today=days[4]).before is None


def test_the_cause_that_grew_stands_first(shared_data: Path) -> None:
    found = summarise_groups([str(shared_data / "claude-code")], since=date(2026, 7, 20), until=date(2026, 7, 31))
    growth = [one.lost_cost - one.lost_cost_before for one in found.causes]
    assert growth == sorted(growth, reverse=True)
    assert sum(one.lost_cost for one in found.causes) == found.total.lost_cost
    assert found.before is not None
    assert sum(one.lost_cost_before for one in found.causes) == found.before.lost_cost
    assert sum(one.misses for one in found.causes) == found.total.misses


def test_the_kind_of_an_agent_stands_beside_its_log(tmp_path: Path) -> None:
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    log = ClaudeLog("s1")
    log.user("Begin.")
    log.call(0, 20_000)
    log.save(tmp_path / "s1.jsonl")
    agent = ClaudeLog("s1")
    agent.user("Look.")
    agent.call(0, 10_000, id="msg_agent")
    text = agent.save(folder / "agent-a1.jsonl").read_text()
    told = text.replace('"isSidechain":false', '"isSidechain":true,"agentId":"a1"')
    (folder / "agent-a1.jsonl").write_text(told)
    (folder / "agent-a1.meta.json").write_text('{"agentType": "Explore"}')
    names = {group.name for group in summarise_groups([str(tmp_path)], by="agent").groups}
    assert names == {"main", "Explore"}


def test_the_last_days() -> None:
    today = date(2026, 3, 1)
    assert first_day("1d", today) == today
    assert first_day("2d", today) == date(2026, 2, 28)
    assert first_day("2026-01-31", today) == date(2026, 1, 31)
    for wrong in ("0d", "d", "-1d", "yesterday"):
        with pytest.raises(ValueError):
            first_day(wrong, today)


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", LOG, "--by", "model"]) == ExitCode.OK
    assert "total" in capsys.readouterr().out
    assert main(["summary", LOG, "--by", "month", "--json"]) == ExitCode.OK
    assert '"report": "summary-by"' in capsys.readouterr().out
    assert main(["summary", LOG, "--since", "never"]) == ExitCode.USAGE
    assert main(["summary", LOG, "--since", "2026-02-02", "--until", "2026-02-01"]) == ExitCode.USAGE
