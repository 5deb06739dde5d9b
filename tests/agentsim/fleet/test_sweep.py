"""Sweeps: the same figures as without shards, whatever the shards, whoever does them, and whatever happens."""

from __future__ import annotations

import gzip
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from agentsim.diagnose import diagnose
from agentsim.traces.format_registry import read
from agentsim.whatif.comparison import compare
from tests.agentsim.fleet.logs import SAMPLES, fleet, log

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")

from agentsim.fleet import sweep_folder as folders
from agentsim.fleet.fleet_figures import figures
from agentsim.fleet.simulated_shards import units_of_scenarios
from agentsim.fleet.sweep import sweep
from agentsim.fleet.sweep_folder import DamagedTable, NotOurs, SweepSettings, held, prepare

ASKED = SweepSettings(policies=("ttl-5m", "keep-alive"), team=r"/(team-\d)/")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_figures_are_those_of_the_sessions_themselves(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs")
    done = sweep([str(logs)], ASKED, str(tmp_path / "out"), workers=0)
    found = figures(done.folder)
    sessions = list(read([str(logs)]))
    totals = [diagnose(session).totals for session in sessions]
    assert found.sessions == 9
    assert found.total.requests == sum(part.requests for part in totals) == 3 * (4 + 7 + 10)
    assert found.total.cost == Decimal(sum(part.cost for part in totals)).scaleb(-12)
    assert found.total.lost_cost == Decimal(sum(part.lost_cost for part in totals)).scaleb(-12)
    assert found.total.misses == 3 * (1 + 2 + 3)  # every third call after the first
    direct = compare(sessions, ["ttl-5m", "keep-alive"])
    savings = {outcome.policy.spec: Decimal(outcome.saving or 0).scaleb(-12) for outcome in direct.outcomes}
    assert {line.policy: line.saving for line in found.policies if line.policy in savings} == savings
    assert found.low is not None
    assert found.high is not None
    assert found.low < float(found.total.lost_cost) < found.high


def test_by_team_version_and_week(tmp_path: Path) -> None:
    done = sweep([str(fleet(tmp_path / "logs"))], ASKED, str(tmp_path / "out"), workers=0)
    found = figures(done.folder)
    # Projects 0 and 2 are team-0's: two of three projects with three sessions each.
    assert {group.name: group.misses for group in found.groups("team")} == {"team-0": 12, "team-1": 6}
    assert {group.name for group in found.groups("version")} == {
        f"claude-code 2.1.{number}" for number in (200, 201, 202)
    }
    weeks = found.groups("week")
    assert sorted(group.misses for group in weeks) == [3, 6, 9]
    assert [(group.name, group.misses) for group in found.groups("tier")] == [("1h", 18)]
    for dimension in ("harness", "version", "model", "project", "team", "week", "tier"):
        assert sum(group.lost_cost or 0 for group in found.groups(dimension)) == found.total.lost_cost, dimension


def test_shards_change_nothing(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs")
    whole = sweep([str(logs)], ASKED, str(tmp_path / "one"), workers=0)
    small = sweep([str(logs)], ASKED, str(tmp_path / "many"), workers=0, shard_bytes=4_000)
    assert len(whole.notes) == 1
    assert len(small.notes) == 9
    assert figures(whole.folder) == figures(small.folder)


def test_a_finished_sweep_does_nothing_again_and_a_changed_log_only_itself(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs")
    out = tmp_path / "out"
    first = sweep([str(logs)], ASKED, str(out), workers=0, shard_bytes=4_000)
    before = contents(out)
    times = {path: path.stat().st_mtime_ns for path in out.rglob("shard-*.parquet")}
    again = sweep([str(logs)], ASKED, str(out), workers=0, shard_bytes=4_000)
    assert (first.done_before, again.done_before) == (0, 9)
    assert contents(out) == before
    assert {path: path.stat().st_mtime_ns for path in out.rglob("shard-*.parquet")} == times
    changed = logs / "team-0" / "project-0" / "session-0-0.jsonl"
    changed.write_bytes(log("session-0-0", calls=7))
    grown = sweep([str(logs)], ASKED, str(out), workers=0, shard_bytes=4_000)
    assert grown.done_before == 8
    assert figures(str(out)).total.requests == 63 + 3
    assert len(list(out.glob("usage/*.parquet"))) == 9  # nothing is left of what the log was before
    fresh = sweep([str(logs)], ASKED, str(tmp_path / "fresh"), workers=0, shard_bytes=4_000)
    assert contents(tmp_path / "fresh") == contents(out)
    assert fresh.done_before == 0


def test_what_was_cut_off_is_done_again(tmp_path: Path) -> None:
    logs, out = fleet(tmp_path / "logs"), tmp_path / "out"
    sweep([str(logs)], ASKED, str(out), workers=0, shard_bytes=4_000)
    before = contents(out)
    # As if the machine had stopped between the tables of a shard and its note.
    note = sorted(out.glob("shards/*.json"))[0]
    note.unlink()
    (out / "misses" / f"shard-{note.stem}.parquet").write_bytes(b"half a table")
    again = sweep([str(logs)], ASKED, str(out), workers=0, shard_bytes=4_000)
    assert again.done_before == 8
    assert contents(out) == before


def test_a_fork_in_another_shard_counts_its_copies_once(tmp_path: Path) -> None:
    text = (SAMPLES / "claude-code.jsonl").read_bytes()
    one, other = tmp_path / "logs" / "a", tmp_path / "logs" / "b"
    one.mkdir(parents=True)
    other.mkdir()
    (one / "first.jsonl").write_bytes(text)
    # The history of a fork holds the same messages under the id of its own session.
    (other / "fork.jsonl").write_bytes(text.replace(b'"sessionId":"3f0c', b'"sessionId":"aaaa'))
    (other / "else.jsonl").write_bytes(log("else"))
    out = str(tmp_path / "out")
    done = sweep([str(tmp_path / "logs")], ASKED, out, workers=0, shard_bytes=1)
    assert len(done.notes) == 2  # the fork and its origin became one shard
    found = figures(out)
    alone = diagnose(next(iter(read([str(one)])))).totals
    assert found.total.requests == alone.requests + 4
    again = sweep([str(tmp_path / "logs")], ASKED, out, workers=0, shard_bytes=1)
    assert again.done_before == 2


def test_compressed_logs_and_urls(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the extra 'sweep' is not installed")
    import fsspec

    logs = fleet(tmp_path / "logs", projects=2, sessions=1)
    plain = figures(sweep([str(logs)], ASKED, str(tmp_path / "plain"), workers=0).folder)
    packed = tmp_path / "packed"
    shutil.copytree(logs, packed)
    first, second = sorted(packed.rglob("*.jsonl"))
    first.with_name(first.name + ".gz").write_bytes(gzip.compress(first.read_bytes()))
    second.with_name(second.name + ".zst").write_bytes(zstandard.compress(second.read_bytes()))
    first.unlink()
    second.unlink()
    assert figures(sweep([str(packed)], ASKED, str(tmp_path / "p"), workers=0).folder) == plain
    assert figures(sweep([f"file://{packed}"], ASKED, str(tmp_path / "f"), workers=0).folder) == plain
    store = fsspec.filesystem("memory")
    for file in packed.rglob("*.*"):
        store.pipe(f"/logs/{file.relative_to(packed)}", file.read_bytes())
    assert figures(sweep(["memory://logs"], ASKED, str(tmp_path / "m"), workers=0).folder) == plain


def test_scenarios_are_swept_too(tmp_path: Path) -> None:
    made = units_of_scenarios(["claude-code-day"], 3)
    done = sweep([], SweepSettings(policies=("ttl-1h",)), str(tmp_path / "out"), made=made, workers=0)
    found = figures(done.folder)
    assert (len(done.notes), found.sessions) == (3, 3)
    assert {line.policy: line.sessions for line in found.policies} == {"recorded": 3, "ttl-1h": 3}


def test_a_log_of_no_known_kind_is_told_and_the_others_are_done(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs", projects=1, sessions=1)
    (logs / "notes.jsonl").write_text('{"a":1}\n')
    (logs / "broken.jsonl.gz").write_bytes(b"\x1f\x8bnot really")
    done = sweep([str(logs)], ASKED, str(tmp_path / "out"), workers=0)
    assert {Path(problem.file).name for problem in done.problems} == {"notes.jsonl", "broken.jsonl.gz"}
    assert figures(done.folder).total.requests == 4


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    logs, out = fleet(tmp_path / "logs", projects=1, sessions=1), tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(NotOurs, match="something else"):
        sweep([str(logs)], ASKED, str(out), workers=0)
    assert (out / "thesis.txt").read_text() == "mine"
    (out / "thesis.txt").unlink()
    sweep([str(logs)], ASKED, str(out), workers=0)
    with pytest.raises(NotOurs, match="other policies"):
        sweep([str(logs)], SweepSettings(policies=("ttl-1h",)), str(out), workers=0)


def test_rules_of_the_users_own_go_to_the_workers(tmp_path: Path) -> None:
    logs = fleet(tmp_path / "logs", projects=1, sessions=1)
    text = """provider = "anthropic"
read_until = 2026-11-01
[[like]]
value = "anthropic"
source = "the bundled rules hold elsewhere"
confidence = "high"
[[lives_short]]
value = 5
source = "invented for this test"
confidence = "low"
"""
    asked = SweepSettings(policies=("ttl-5m",))
    plain = figures(sweep([str(logs)], asked, str(tmp_path / "plain"), workers=0).folder)
    own = SweepSettings(policies=("ttl-5m",), rules=(("mine.toml", text),))
    mine = figures(sweep([str(logs)], own, str(tmp_path / "mine"), workers=0).folder)
    # Calls are 20 s apart: entries that live five seconds are never read.
    lost = {line.policy: line.saving for line in mine.policies}["ttl-5m"]
    kept = {line.policy: line.saving for line in plain.policies}["ttl-5m"]
    assert lost is not None
    assert kept is not None
    assert lost < kept


def test_a_folder_without_results(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    done = sweep([str(tmp_path / "logs")], ASKED, str(tmp_path / "out"), workers=0)
    with pytest.raises(ValueError, match="no session"):
        figures(done.folder)
    assert folders.keys_in(done.folder) == []


def test_a_log_that_was_cut_while_it_was_compressed(tmp_path: Path) -> None:
    """Four sessions in one shard; one of them is cut in the middle. Three are whole, and the fourth is told."""
    logs = fleet(tmp_path / "logs", projects=2, sessions=2)
    whole = sorted(logs.rglob("*.jsonl"))[0]
    packed = gzip.compress(log("cut", calls=400))
    (whole.parent / "cut.jsonl.gz").write_bytes(packed[: len(packed) * 9 // 10])
    done = sweep([str(logs)], ASKED, str(tmp_path / "out"), workers=0)
    assert done.failed == ()
    assert sum(note.sessions for note in done.notes) == 5
    told = [problem for note in done.notes for problem in note.problems if problem.line == 0]
    assert [(Path(problem.file).name, problem.reason) for problem in told] == [
        ("cut.jsonl.gz", "a compressed file that is cut or damaged")
    ]


@pytest.mark.parametrize("table", ["policies", "usage", "misses", "ids"])
@pytest.mark.parametrize("harm", ["cut", "gone", "other"])
def test_a_damaged_table_is_made_again(table: str, harm: str, tmp_path: Path) -> None:
    logs, out = str(fleet(tmp_path / "logs", projects=1, sessions=1)), tmp_path / "out"
    sweep([logs], ASKED, str(out), workers=0)
    (file,) = (out / table).glob("*.parquet")
    before = file.read_bytes()
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(before[:100] if harm == "cut" else b"")
    if table != "ids":
        with pytest.raises(DamagedTable) as caught:
            figures(str(out))
        assert caught.value.path == str(file)
    done = sweep([logs], ASKED, str(out), workers=0)
    assert done.done_before == 0
    assert file.read_bytes() == before


def test_two_sweeps_at_once_in_one_folder(tmp_path: Path) -> None:
    """Each would remove the results of the other as no longer wanted."""
    out = str(tmp_path / "out")
    prepare(out, ASKED)
    with held(out), pytest.raises(NotOurs, match="another sweep is at work"):
        sweep([str(fleet(tmp_path / "logs"))], ASKED, out, workers=0)
    assert len(sweep([str(tmp_path / "logs")], ASKED, out, workers=0).notes) == 1


def test_damaged_settings_are_no_other_folder(tmp_path: Path) -> None:
    logs, out = str(fleet(tmp_path / "logs", projects=1, sessions=1)), tmp_path / "out"
    sweep([logs], ASKED, str(out), workers=0)
    (out / "sweep.json").write_text("{")
    with pytest.raises(NotOurs, match=r"sweep\.json of this sweep is damaged"):
        sweep([logs], ASKED, str(out), workers=0)


def test_a_counter_that_nobody_reports_is_null_and_those_that_do_are_counted(tmp_path: Path) -> None:
    from tests.traces.format_samples import BY_MODULE

    for name in ("codex", "claude_code"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        BY_MODULE[name](tmp_path / "logs" / name)
    folder = sweep([str(tmp_path / "logs")], SweepSettings(policies=()), str(tmp_path / "out"), workers=0).folder
    for table in ("usage", "policies"):
        rows = folders.read(folder, table, folders.keys_in(folder))
        assert rows is not None
        records = [row for row in rows.to_pylist() if row.get("policy", "logged") == "logged"]
        written = {row["format"]: row["written"] for row in records}
        assert written["codex"] is None, "its logs tell no writes, and that is not none"
        assert written["claude-code"] > 0
        if table == "usage":
            for row in records:
                assert row["with_read"] == row["requests"]
                assert row["with_written"] == (0 if row["format"] == "codex" else row["requests"])
