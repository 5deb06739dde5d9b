"""What a person knows a session by."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentsim.traces.session_names import SessionNames, look_up


def lines(path: Path, *records: Any) -> tuple[str]:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return (str(path),)


def test_claude_code_tells_folder_branch_title_and_words(tmp_path: Path) -> None:
    files = lines(
        tmp_path / "a.jsonl",
        {"type": "user", "cwd": "/home/me/shop", "gitBranch": "fix/tax", "message": {"role": "user", "content": "<x>"}},
        {"type": "user", "cwd": "/b", "message": {"role": "user", "content": [{"type": "text", "text": "Do\nit"}]}},
        {"type": "custom-title", "customTitle": "Old"},
        {"type": "custom-title", "customTitle": "New"},
    )
    assert look_up(files, "a") == SessionNames(
        project="shop", folder="/home/me/shop", branch="fix/tax", title="New", first_words="Do it"
    )
    assert look_up(files, "a").place == "shop (fix/tax)"


def test_codex_tells_them_in_its_first_line(tmp_path: Path) -> None:
    meta = {"type": "session_meta", "payload": {"cwd": "C:\\work\\shop", "git": {"branch": "main"}}}
    names = look_up(lines(tmp_path / "rollout.jsonl", meta), "a")
    assert (names.project, names.branch) == ("shop", "main")


def test_pi_and_copilot(tmp_path: Path) -> None:
    assert look_up(lines(tmp_path / "pi.jsonl", {"type": "session", "cwd": "/a/b/"}), "a").project == "b"
    event = {"type": "session.start", "data": {"context": {"cwd": "/a/c", "branch": "x"}}}
    assert look_up(lines(tmp_path / "copilot.jsonl", event), "a").place == "c (x)"


def test_a_document_of_opencode(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": {"directory": "/a/b", "title": "T"}, "messages": []}, indent=1))
    assert look_up((str(path),), "a") == SessionNames(project="b", folder="/a/b", title="T")


def test_the_database_of_opencode(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE session (id TEXT, directory TEXT, title TEXT)")
    database.execute("INSERT INTO session VALUES ('one', '/a/b', 'T')")
    database.commit()
    database.close()
    assert look_up((str(path),), "one") == SessionNames(project="b", folder="/a/b", title="T")
    assert look_up((str(path),), "two") == SessionNames()


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"cwd": 5}', "\x00\xff", '{"payload": ' * 500])
def test_what_tells_nothing_has_no_names(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    assert look_up((str(path),), "a") == SessionNames()


def test_a_file_that_is_gone_and_no_file_have_no_names(tmp_path: Path) -> None:
    assert look_up((str(tmp_path / "gone.jsonl"),), "a") == look_up((), "a") == SessionNames()
