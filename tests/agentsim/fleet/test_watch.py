"""The regression watch: it finds what was planted, and nothing where nothing was."""

from __future__ import annotations

import json
import random
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from tests.agentsim.fleet.logs import log

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")

from agentsim.fleet.regression_watch import Reference, Watch, watch
from agentsim.fleet.sweep import sweep
from agentsim.fleet.sweep_folder import SweepSettings

DAY = 86_400


def weeks(root: Path, plan: list[list[tuple[str, int]]]) -> str:
    """A sweep over sessions of 12 calls, one a day: for each week, (version, every how many calls a loss)."""
    for week, sessions in enumerate(plan):
        for number, (version, lost_every) in enumerate(sessions):
            name = f"s-{week}-{number}"
            text = log(name, calls=12, lost_every=lost_every, version=version, begun=(week * 7 + number % 7) * DAY)
            file = root / "logs" / "p" / f"{name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
    return sweep([str(root / "logs")], SweepSettings(policies=()), str(root / "out"), workers=0).folder


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four weeks of 2.1.200 with a loss in 6 or 11 calls, then one in which 2.1.300 came, which loses every other."""
    usual = [("2.1.200", 11 if number % 2 else 6) for number in range(8)]
    last = [*usual, *[("2.1.300", 2)] * 8]
    return weeks(tmp_path_factory.mktemp("watch"), [usual] * 4 + [last])


def by_name(seen: Watch) -> dict[str, str | None]:
    return {f"{change.dimension} {change.name}".strip(): change.flag for change in seen.changes}


def test_the_version_that_came_is_flagged_and_the_one_before_is_not(regression: str) -> None:
    seen = watch(regression)
    flags = by_name(seen)
    assert flags["version claude-code 2.1.300"] == "worse"
    assert flags["version claude-code 2.1.200"] is None
    assert flags["all"] == "worse"
    change = next(change for change in seen.changes if change.name == "claude-code 2.1.300")
    assert change.new
    assert (change.sessions_before, change.sessions) == (32, 8)
    assert change.causes[0].cause == "AS112"  # the provider said: the system text changed
    assert change.excess is not None
    assert change.causes[0].cost is not None
    assert change.causes[0].cost >= change.excess > 0
    # A session of 12 calls reads and writes 25,000 + 26,000 + … + 36,000 tokens but loses other amounts.
    assert 0 < change.before < change.last < 1
    assert change.low <= change.last - change.before <= change.high


def test_a_change_smaller_than_asked_for_is_not_flagged(regression: str) -> None:
    assert by_name(watch(regression, least=0.9))["version claude-code 2.1.300"] is None


def test_earlier_weeks_had_no_regression(regression: str) -> None:
    seen = watch(regression, periods=2, until=date.fromisoformat(str(watch(regression).before_last)))
    assert set(by_name(seen).values()) == {None}


def test_noise_is_not_a_change(tmp_path: Path) -> None:
    draws = random.Random(7)
    for trial in range(5):
        plan = [[("2.1.200", draws.choice((3, 5, 11, 20))) for _ in range(12)] for _ in range(4)]
        seen = watch(weeks(tmp_path / str(trial), plan), periods=3)
        assert by_name(seen) == dict.fromkeys(("all", "harness claude-code", "version claude-code 2.1.200", *OTHERS)), (
            trial
        )


OTHERS = ("model claude-opus-4-8", "tier 1h")


def test_better_is_told_and_is_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = weeks(tmp_path, [[("2.1.200", 2)] * 8] * 2 + [[("2.1.200", 11)] * 8])
    assert main(["watch", folder, "--periods", "2"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "better everything" in out


def test_text_json_and_gauges(regression: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gauges = tmp_path / "agentsim.prom"
    assert main(["watch", regression, "--prometheus", str(gauges)]) == ExitCode.FINDINGS
    out = capsys.readouterr().out
    assert "worse version claude-code 2.1.300" in out
    assert "AS112 The system text changed" in out
    assert main(["watch", regression, "--json"]) == ExitCode.FINDINGS
    document = json.loads(capsys.readouterr().out)
    flagged = {change["name"] for change in document["changes"] if change["flag"] == "worse"}
    assert "claude-code 2.1.300" in flagged
    samples = dict(re.findall(r"^(agentsim_regression\{[^}]*\}) (\S+)$", gauges.read_text(), re.MULTILINE))
    assert samples['agentsim_regression{dimension="version",name="claude-code 2.1.300"}'] == "1"
    assert samples['agentsim_regression{dimension="version",name="claude-code 2.1.200"}'] == "0"
    for line in gauges.read_text().splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+\{dimension="\w+",name="[^"\n]*"\} -?[0-9.e+-]+', line), line


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten weeks; from the sixth on every session loses every other call."""
    plan = [[("2.1.200", 2 if week >= 5 else 11 if number % 2 else 6) for number in range(7)] for week in range(10)]
    return weeks(tmp_path_factory.mktemp("months"), plan)


def end_of(week: int) -> str:
    """The last day of a week of the plan."""
    return (date(1970, 1, 1) + timedelta(days=FIRST_DAY + 7 * week + 6)).isoformat()


FIRST_DAY = 0
"""The day on which logs begin, as a number; read from the first sweep."""


def test_a_regression_is_told_until_it_is_acknowledged(months: str, capsys: pytest.CaptureFixture[str]) -> None:
    global FIRST_DAY
    last = watch(months).last
    FIRST_DAY = (last - date(1970, 1, 1)).days - 69

    def run(week: int, *more: str) -> tuple[int, str]:
        code = main(["fleet", "watch", months, "--until", end_of(week), "--by", "model", *more])
        return code, capsys.readouterr().out

    assert run(4)[0] == ExitCode.OK, "nothing yet"
    code, page = run(5)
    assert code == ExitCode.FINDINGS
    assert "worse everything" in page
    begun = (date.fromisoformat(end_of(5)) - timedelta(days=6)).isoformat()
    assert re.search(rf"since {begun}\b", page), page
    code, page = run(9)
    assert "\nworse" not in page, "the four weeks before are like the last"
    assert code == ExitCode.FINDINGS
    assert "still worse everything" in page
    code, page = run(9, "--acknowledge", "everything", "--acknowledge", "model claude-opus-4-8")
    assert code == ExitCode.OK
    assert run(9)[0] == ExitCode.OK, "it is the usual from now on"
    assert run(9, "--acknowledge", "everything")[0] == ExitCode.USAGE, "there is no such regression any more"


def test_a_reference_of_ones_own(months: str, regression: str, capsys: pytest.CaptureFixture[str]) -> None:
    good = watch(months, periods=9).before_first
    days = f"{good.isoformat()}..{(good + timedelta(days=27)).isoformat()}"
    assert main(["fleet", "watch", months, "--against", days, "--json"]) == ExitCode.FINDINGS
    found = json.loads(capsys.readouterr().out)
    assert found["before"] == days.split("..")
    assert {change["flag"] for change in found["changes"] if change["dimension"] == "all"} == {"worse"}
    seen = watch(regression, against=Reference(version="2.1.200"))
    assert by_name(seen)["version claude-code 2.1.300"] == "worse"
    others = by_name(watch(regression, against=Reference(others=True)))
    assert others["version claude-code 2.1.300"] == "worse"
    assert others["version claude-code 2.1.200"] == "better"
    assert "all" not in others
    for wrong in ("yesterday", "version=", "2026-02-01..2026-01-01"):
        assert main(["fleet", "watch", months, "--against", wrong]) == ExitCode.USAGE
    assert main(["fleet", "watch", months, "--against", "version=9.9.9"]) == ExitCode.UNREADABLE


def test_nothing_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = weeks(tmp_path, [[("2.1.200", 3)] * 3])
    assert main(["watch", folder]) == ExitCode.UNREADABLE
    assert "to compare with" in capsys.readouterr().err
    assert main(["watch", folder, "--until", "yesterday"]) == ExitCode.USAGE
