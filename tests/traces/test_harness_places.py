"""Where logs of harnesses are found on a machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.report.exits import ExitCode
from agentsim.traces.harness_places import PLACES, FoundPlace, found_places, unread_places

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "samples" / "claude-code.jsonl"


def put(path: Path, text: str = "{}\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_every_harness_is_found_in_its_usual_place(own_home):
    wanted: list[FoundPlace] = []
    unread: list[FoundPlace] = []
    for places in PLACES:
        usual = next(iter(places.usual), None)
        if usual is None:  # Crush lists its projects
            usual = "work/.crush/crush.db"
            projects = {"projects": [{"path": str(own_home / "work"), "data_dir": str(own_home / "work" / ".crush")}]}
            put(own_home / ".local" / "share" / "crush" / "projects.json", json.dumps(projects))
        put(own_home / usual if usual.endswith((".db", ".json")) else own_home / usual / "a.jsonl")
        (unread if places.unread else wanted).append(FoundPlace(places.harness, str(own_home / usual)))
    assert found_places() == wanted
    assert [place for place, _ in unread_places()] == unread
    assert [place.harness for place in unread] == ["Goose"]


@pytest.mark.parametrize(
    "listed",
    ["", "[]", "{}", '{"projects": 3}', '{"projects": [{"path": 1}]}', '{"projects": [{"path": "/nowhere"}]}', "\xff"],
)
def test_a_broken_list_of_projects_names_no_database(own_home, listed):
    put(own_home / ".local" / "share" / "crush" / "projects.json", listed)
    assert found_places() == []


def test_projects_of_crush_are_found_by_its_variables_and_once(own_home, tmp_path, monkeypatch):
    database = put(tmp_path / "p" / ".crush" / "crush.db")
    monkeypatch.chdir(tmp_path / "p")
    assert found_places() == [FoundPlace("Crush", database)]
    put(tmp_path / "global" / "projects.json", json.dumps({"projects": [{"path": str(tmp_path / "p")}]}))
    monkeypatch.setenv("CRUSH_GLOBAL_DATA", str(tmp_path / "global"))
    assert found_places() == [FoundPlace("Crush", database)]


def test_a_variable_that_names_the_folder_itself(own_home, tmp_path, monkeypatch):
    put(tmp_path / "kept" / "c1" / "base_state.json")
    monkeypatch.setenv("OPENHANDS_CONVERSATIONS_DIR", str(tmp_path / "kept"))
    assert found_places() == [FoundPlace("OpenHands", str(tmp_path / "kept"))]


@pytest.mark.parametrize("packed", [True, False])
def test_a_branch_of_checkpoints_is_told_with_how_to_read_it(own_home, tmp_path, monkeypatch, packed):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert unread_places() == []
    put(tmp_path / ".git" / "refs" / "heads" / "entire-other", "0\n")
    assert unread_places() == []
    if packed:
        put(tmp_path / ".git" / "packed-refs", "# pack-refs\n" + "0" * 40 + " refs/heads/entire/checkpoints/v1\n")
    else:
        put(tmp_path / ".git" / "refs" / "heads" / "entire" / "checkpoints" / "v1", "0" * 40 + "\n")
    ((place, how),) = unread_places()
    assert place == FoundPlace("Entire checkpoints", "entire/checkpoints/v1")
    assert "git worktree add ../checkpoints entire/checkpoints/v1" in how


def test_a_variable_takes_the_place_of_the_usual_folder(own_home, tmp_path, monkeypatch):
    put(own_home / ".codex" / "sessions" / "a.jsonl")
    put(tmp_path / "elsewhere" / "sessions" / "a.jsonl")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert found_places() == [FoundPlace("Codex", str(tmp_path / "elsewhere" / "sessions"))]


def test_a_database_stands_for_the_older_files_beside_it(own_home):
    data = own_home / ".local" / "share" / "opencode"
    put(data / "storage" / "session" / "a.json")
    assert [place.path for place in found_places()] == [str(data / "storage")]
    database = put(data / "opencode.db")
    assert [place.path for place in found_places()] == [database]


def test_the_program_alone_lists_what_is_there(own_home, capsys: pytest.CaptureFixture[str]):
    put(own_home / ".codex" / "sessions" / "2026" / "a.jsonl")
    put(own_home / ".codex" / "sessions" / "2026" / "b.jsonl")
    put(own_home / ".claude" / "projects" / "p" / "c.jsonl")
    assert main([]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["Claude", "Codex"]
    assert lines[3].endswith("2 files")


def test_a_summary_without_a_path_reads_every_harness(own_home, shared_data, capsys: pytest.CaptureFixture[str]):
    (own_home / ".claude" / "projects" / "p").mkdir(parents=True)
    shutil.copy(SAMPLE, own_home / ".claude" / "projects" / "p")
    (own_home / ".codex" / "sessions").mkdir(parents=True)
    shutil.copy(shared_data / "codex" / "agentv__gpt54-10req.jsonl", own_home / ".codex" / "sessions")
    assert main(["summary"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "codex" in out
    assert "claude-code" in out


def test_where_nothing_is_the_summary_says_where_it_looked(own_home, capsys: pytest.CaptureFixture[str]):
    assert main(["summary"]) == ExitCode.UNREADABLE
    assert "no logs of a harness on this machine" in capsys.readouterr().err
